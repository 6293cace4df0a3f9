//! The id of a run: the engine's form, and the ids derived from it.

use std::fmt;

/// The id of a `run-docket` execution in the engine's form: `E_`, a ULID, and for a child of a
/// campaign the path to it (`E_….n:open_7`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId(String);

impl RunId {
    /// The name of the join set in which a run waits.
    pub const JOIN_SET: &str = "docket";

    /// Parses an id. Returns `None` if it lacks the engine's form. Ids from outside are parsed here
    /// first, since the engine fails a workflow for good if it cannot parse an id.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let top = parts.next()?.strip_prefix("E_")?;
        (is_ulid(top) && parts.all(is_child)).then(|| Self(text.to_owned()))
    }

    /// Returns the id of the run's first stub, on which it waits for its completion.
    pub fn completion(&self) -> String {
        format!("{}.n:{}_1", self.0, Self::JOIN_SET)
    }

    /// Returns the id after this one, if it has no parent. The engine never generates that one.
    pub fn next(&self) -> Option<Self> {
        let ulid = self.0.strip_prefix("E_").filter(|it| is_ulid(it))?;
        let end = ulid.trim_end_matches('Z');
        let (last, rest) = (end.chars().next_back()?, ulid.len() - end.len());
        let larger = ALPHABET.chars().nth(ALPHABET.find(last)? + 1)?;
        let text = format!("E_{}{larger}{}", &end[..end.len() - 1], "0".repeat(rest));
        Self::read(&text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The digits of a ULID.
const ALPHABET: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A ULID is 128 bits as 26 characters of five bits, of which the first carries only three.
fn is_ulid(text: &str) -> bool {
    text.len() == 26 && text.starts_with(|c| c <= '7') && text.chars().all(|c| ALPHABET.contains(c))
}

/// `n:open_7`: the kind of a join set, its name, and the index in it.
fn is_child(part: &str) -> bool {
    let Some((kind, rest)) = part.split_once(':') else {
        return false;
    };
    let Some((name, index)) = rest.split_once('_') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/');
    let index_fits = index.parse().is_ok_and(|index: u32| index > 0);
    matches!(kind, "n" | "g" | "o") && !name.is_empty() && name.chars().all(is_name) && index_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA";

    #[test]
    fn a_run_and_the_child_of_a_campaign_know_the_stub_they_wait_on() {
        let run = RunId::read(TOP).unwrap();
        assert_eq!(run.completion(), format!("{TOP}.n:docket_1"));
        let child = RunId::read(&format!("{TOP}.n:open_7")).unwrap();
        assert_eq!(child.completion(), format!("{TOP}.n:open_7.n:docket_1"));
    }

    #[test]
    fn an_id_is_followed_by_the_next_number() {
        for (end, next) in [("QA", "QB"), ("9H", "9J"), ("QZ", "R0"), ("ZZ", "")] {
            let id = RunId::read(&format!("E_01JA1Z3KQ4T2X8V5R6M7N8P9{end}")).unwrap();
            let expected = match next {
                "" => "E_01JA1Z3KQ4T2X8V5R6M7N8PA00".to_owned(),
                _ => format!("E_01JA1Z3KQ4T2X8V5R6M7N8P9{next}"),
            };
            assert_eq!(id.next().unwrap().as_str(), expected);
        }
        let child = RunId::read(&format!("{TOP}.n:open_7")).unwrap();
        assert_eq!(child.next(), None);
        assert_eq!(
            RunId::read("E_7ZZZZZZZZZZZZZZZZZZZZZZZZZ").unwrap().next(),
            None
        );
    }

    #[test]
    fn what_the_engine_could_not_read_is_no_id() {
        for text in [
            "",
            "E_",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9Q",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QAA",
            "E_81JA1Z3KQ4T2X8V5R6M7N8P9QA",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QU",
            "E_01ja1z3kq4t2x8v5r6m7n8p9qa",
            "01JA1Z3KQ4T2X8V5R6M7N8P9QA",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.n:open",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.n:open_0",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.n:_1",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.x:open_1",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.n:a b_1",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.n:a_b_1",
            "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA\n",
        ] {
            assert_eq!(RunId::read(text), None, "{text:?}");
        }
    }
}
