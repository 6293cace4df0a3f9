//! Dockets that were fetched or verified, which may resolve an unknown outcome.

use super::entry::Entry;
use crate::exact::canonical_text;
use crate::json::Value;
use crate::types::Docket;
use serde::Serialize;

const DAY_MS: u64 = 86_400_000;

/// A docket that was fetched or verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservedDocket {
    /// Its possible keys: its `external_id`, or without one the texts in its context.
    pub keys: Vec<String>,
    /// Its id.
    pub docket_id: String,
    /// Its phone number, as an argument of a claim: another person's docket resolves nothing.
    pub to_phone_number: String,
    /// The day of its creation, counted from 1970.
    pub created_day: Option<u64>,
}

impl ObservedDocket {
    /// Returns what can be compared of a docket; `None` if it has no key or no number.
    pub fn of(docket: &Docket) -> Option<Self> {
        let number = docket.to_phone_number.as_deref()?;
        let mut keys = Vec::from_iter(docket.external_id.clone());
        let context = docket.call_context.as_deref().map(Value::parse);
        if let (true, Some(Ok(context))) = (keys.is_empty(), context)
            && let Ok(object) = context.to_object()
        {
            keys.extend(object.members().filter_map(|(_, value)| value.to_text()));
        }
        (!keys.is_empty()).then(|| Self {
            keys,
            docket_id: docket.docket_id.clone(),
            to_phone_number: canonical_text(number),
            created_day: docket.created_at.as_deref().and_then(day_of),
        })
    }

    /// Returns `true` if the create of this entry may have created the docket. It is not enough
    /// that the key and the number are the same: one that was created before the create was begun
    /// is another one. The service's time has no zone, hence a day more.
    pub(super) fn may_be_of(&self, entry: &Entry, to_phone_number: &str) -> bool {
        let number = entry.digests.get("to_phone_number");
        let is_new = |day: u64| day + 1 >= entry.begun_ms / DAY_MS;
        entry.function.starts_with("dockets.")
            && number.is_some_and(|number| number == to_phone_number)
            && self.created_day.is_some_and(is_new)
    }
}

/// Returns the day of a time in ISO 8601, counted from 1970.
fn day_of(time: &str) -> Option<u64> {
    let mut parts = time.get(..10)?.splitn(3, '-');
    let mut next = || parts.next()?.parse::<u64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // The year begins in March, so that the leap day is its last.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days_before_year = 365 * year + year / 4 - year / 100 + year / 400;
    let days_before_month = (153 * month + 2) / 5;
    (days_before_year + days_before_month + day).checked_sub(719_469)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::DOCKET_ID;

    #[test]
    fn a_day_is_counted_from_1970() {
        for (time, day) in [
            ("1970-01-01T00:00:00", Some(0)),
            ("1994-11-06T08:49:37.5", Some(9_075)),
            ("2000-02-29", Some(11_016)),
            ("2026-11-28T00:00:00", Some(20_785)),
            ("9999-12-31T23:59:59", Some(2_932_896)),
            ("1969-12-31", None),
            ("2026-13-01", None),
            ("2026-1-1", None),
            ("yesterday..", None),
            ("", None),
        ] {
            assert_eq!(day_of(time), day, "{time}");
        }
    }

    #[test]
    fn an_observed_docket_has_its_possible_keys() {
        let number = r#""to_phone_number":"919876543210""#;
        for (docket, keys) in [
            (
                format!(r#"{number},"external_id":"crm-1""#),
                Some(vec!["crm-1"]),
            ),
            // The key of a docket is the one that it was created with.
            (
                format!(r#"{number},"external_id":"a","call_context":{{"key":"b"}}"#),
                Some(vec!["a"]),
            ),
            (
                format!(r#"{number},"call_context":{{"key":"b","n":1,"o":{{"x":"y"}}}}"#),
                Some(vec!["b"]),
            ),
            (format!(r#"{number},"call_context":{{"n":1}}"#), None),
            (format!(r#"{number},"status":"OPEN""#), None),
            (r#""external_id":"crm-1""#.to_owned(), None),
        ] {
            let json =
                format!(r#"{{"docket_id":"{DOCKET_ID}",{docket},"created_at":"1994-11-06T08"}}"#);
            let docket = crate::dockets::decode(&json).unwrap();
            let expected = keys.map(|keys| ObservedDocket {
                keys: keys.into_iter().map(str::to_owned).collect(),
                docket_id: DOCKET_ID.to_owned(),
                to_phone_number: "\"919876543210\"".to_owned(),
                created_day: Some(9_075),
            });
            assert_eq!(ObservedDocket::of(&docket), expected);
        }
    }
}
