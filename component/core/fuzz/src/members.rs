//! JSON taken apart by its brackets: the second way to a record's fields.

use serde_json::value::RawValue;

/// The text of the JSON value that a body holds: bytes that are not UTF-8 replaced, without
/// a byte order mark and the white space around it. None where it holds no JSON.
pub(crate) fn json_of(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let json = text.trim_matches(is_space);
    is_json(json).then(|| json.to_owned())
}

/// Whether a text is a JSON value and nothing else, not even white space.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok_and(|value| value.get() == text)
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// The members of a JSON object, or none for anything else.
#[derive(Default)]
pub(crate) struct Members<'a>(Vec<(Option<String>, &'a str)>);

impl<'a> Members<'a> {
    /// The members of a valid JSON value.
    pub(crate) fn of(json: &'a str) -> Self {
        if !json.starts_with('{') {
            return Self::default();
        }
        let members = parts(json).into_iter().map(|member| {
            let key_end = text_end(member);
            let (key, rest) = member.split_at(key_end);
            let value = rest.trim_matches(is_space).strip_prefix(':');
            let value = value.expect("a member has a value").trim_matches(is_space);
            (serde_json::from_str(key).ok(), value)
        });
        Self(members.collect())
    }

    /// The last member of that name, as JSON.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let named = |key: &Option<String>| key.as_deref() == Some(name);
        let member = self.0.iter().rfind(|(key, _)| named(key))?;
        Some(member.1)
    }

    /// The last member of that name, where it is an object.
    pub(crate) fn object(&self, name: &str) -> Option<&'a str> {
        self.get(name).filter(|json| json.starts_with('{'))
    }

    /// The members of the last member of that name.
    pub(crate) fn inner(&self, name: &str) -> Members<'a> {
        self.get(name).map_or_else(Members::default, Members::of)
    }

    /// The decoded text of that name.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let json = self.get(name).filter(|json| json.starts_with('"'))?;
        serde_json::from_str(json).ok()
    }

    /// The integer of that name.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        let json = self.get(name).filter(|json| *json != "-0")?;
        json.parse().ok()
    }

    /// The number of that name, if it is a finite one.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let is_number = |json: &&str| json.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let number: f64 = self.get(name).filter(is_number)?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// The boolean of that name.
    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        self.get(name)?.parse().ok()
    }

    /// The text of that name, where it can identify what an answer is about.
    pub(crate) fn identifier(&self, name: &str) -> Option<String> {
        let unbroken = |text: &String| !text.is_empty() && !text.contains('\u{fffd}');
        self.text(name).filter(unbroken)
    }
}

/// The elements of a valid JSON array; none for anything else.
pub(crate) fn elements(json: &str) -> Option<Vec<&str>> {
    json.starts_with('[').then(|| parts(json))
}

/// How deep values are looked into.
const MAX_DEPTH: usize = 64;

/// Whether a valid JSON value has anything in it but nulls and what is empty; what is too deep
/// to look into counts.
pub(crate) fn is_evidence(json: &str) -> bool {
    let mut layer = vec![json];
    for _ in 0..MAX_DEPTH {
        let (inner, scalars): (Vec<_>, Vec<_>) = layer
            .into_iter()
            .partition(|json| json.starts_with(['{', '[']));
        if scalars.iter().any(|json| !matches!(*json, "null" | "\"\"")) {
            return true;
        }
        layer = inner
            .into_iter()
            .flat_map(|json| match elements(json) {
                Some(elements) => elements,
                None => Members::of(json)
                    .0
                    .into_iter()
                    .map(|(_, json)| json)
                    .collect(),
            })
            .collect();
    }
    !layer.is_empty()
}

/// Whether parsers may read a valid JSON value differently: an object in it has a name again, or
/// it is nested deeper than anything is compared.
pub(crate) fn is_ambiguous(json: &str) -> bool {
    let mut layer = vec![json];
    for _ in 0..=200 {
        let objects: Vec<_> = layer.iter().map(|json| Members::of(json)).collect();
        let repeats = |object: &Members<'_>| {
            let mut names: Vec<_> = object.0.iter().map(|(name, _)| name).collect();
            names.sort();
            names.windows(2).any(|pair| pair[0] == pair[1])
        };
        if objects.iter().any(repeats) {
            return true;
        }
        let elements = layer.iter().filter_map(|json| elements(json)).flatten();
        let members = objects.iter().flat_map(|object| &object.0);
        layer = elements.chain(members.map(|(_, json)| *json)).collect();
    }
    !layer.is_empty()
}

/// Whether a text is a UUID of five groups of digits.
pub(crate) fn is_uuid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    let digits = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().all(digits) && groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
}

/// What stands between the commas of a valid JSON object or array.
fn parts(json: &str) -> Vec<&str> {
    let inside = &json[1..json.len() - 1];
    let mut parts = Vec::new();
    let (mut begin, mut position, mut depth) = (0, 0, 0);
    while let Some(byte) = inside.as_bytes().get(position) {
        match byte {
            b'"' => {
                position += text_end(&inside[position..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(inside[begin..position].trim_matches(is_space));
                begin = position + 1;
            }
            _ => {}
        }
        position += 1;
    }
    let last = inside[begin..].trim_matches(is_space);
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// Where the JSON text that stands at the beginning ends.
fn text_end(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.expect("a JSON text ends") + 2
}
