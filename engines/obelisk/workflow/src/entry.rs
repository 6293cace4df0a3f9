//! The contacts as they are read: checked, with their numbers in one form, and each number once.

use std::collections::{BTreeMap, VecDeque};

use voice_calling_core::dockets;
use voice_calling_core::types::{DocketRequestV2, Problem};
use voice_calling_rules::{number, zone};

use crate::bindings::voice_calling::operator::check::Verdict;
use crate::bindings::voice_calling::operator::contacts::Entry;
use voice_calling_obelisk_guest::campaign::{Contact, Exclusion, Row, State};

use crate::docket::correlated;

/// Returns the contact of an entry, excluded if the entry is not allowed.
pub(crate) fn contact(index: u32, entry: Entry, country_code: Option<&str>) -> Contact {
    let time_zone = entry.time_zone.clone();
    let (request, excluded) = match check(&entry, country_code) {
        Ok(request) => (request, None),
        Err(problem) => {
            let reason = problem.to_string();
            (request(entry), Some(Exclusion::Invalid(reason)))
        }
    };
    Contact {
        index,
        request,
        time_zone,
        excluded,
        not_before_ms: 0,
        waited_ms: 0,
        tries: 0,
    }
}

/// Returns the request of an entry that is allowed.
pub(crate) fn check(entry: &Entry, country_code: Option<&str>) -> Result<DocketRequestV2, Problem> {
    let to_phone_number =
        number::normalize("to-phone-number", &entry.to_phone_number, country_code)?;
    if let Some(name) = &entry.time_zone {
        zone("time-zone", name)?;
    }
    let request = DocketRequestV2 {
        to_phone_number,
        ..request(entry.clone())
    };
    // The run's id is not known yet.
    dockets::check_docket_v2(&correlated(request.clone(), "")?)?;
    Ok(request)
}

fn request(entry: Entry) -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: entry.agent_id,
        to_phone_number: entry.to_phone_number,
        call_context: entry.call_context,
        external_id: entry.external_id,
        extra: entry.extra,
    }
}

/// Returns the number of a contact that may be called.
pub(crate) fn number(contact: &Contact) -> Option<u64> {
    let is_allowed = contact.excluded.is_none();
    let number = is_allowed.then(|| contact.request.to_phone_number.parse().ok());
    number.flatten()
}

/// Returns `true` if the contact may have to wait while others are called.
pub(crate) fn is_set_aside(contact: &Contact) -> bool {
    contact.time_zone.is_some() || contact.not_before_ms > 0
}

/// A contact and the first one that has its number, by their indices.
pub(crate) type Duplicate = (u32, u32);

/// The numbers of a campaign so far, each with the index of the first contact that has it.
#[derive(Debug, Default)]
pub(crate) struct Numbers(BTreeMap<u64, u32>);

impl Numbers {
    /// Adds the numbers of consecutive contacts, of which the first has the index `first`.
    pub(crate) fn add(&mut self, first: u32, numbers: &[Option<u64>]) -> Vec<Duplicate> {
        let contacts = (first..).zip(numbers);
        let duplicate = |(index, number): (u32, &Option<u64>)| {
            let first = *self.0.entry((*number)?).or_insert(index);
            (first != index).then_some((index, first))
        };
        contacts.filter_map(duplicate).collect()
    }
}

/// Excludes duplicates among consecutive contacts.
pub(crate) fn exclude(contacts: &mut [Contact], duplicates: &[Duplicate]) {
    let Some(begin) = contacts.first().map(|contact| contact.index) else {
        return;
    };
    for (index, first) in duplicates {
        let position = index.checked_sub(begin).map(|position| position as usize);
        if let Some(contact) = position.and_then(|position| contacts.get_mut(position)) {
            contact.excluded = Some(Exclusion::Duplicate(*first));
        }
    }
}

/// Excludes contacts whose numbers are spared. `verdicts` has one for each contact that is not
/// excluded.
pub(crate) fn spare(queue: &mut VecDeque<Contact>, verdicts: Vec<Verdict>) {
    let allowed = queue.iter_mut().filter(|it| it.excluded.is_none());
    for (contact, verdict) in allowed.zip(verdicts) {
        if let Verdict::Spared(reason) = verdict {
            contact.excluded = Some(Exclusion::Spared(reason));
        }
    }
}

/// Removes the contacts that are never called, and returns their results.
pub(crate) fn take_excluded(queue: &mut VecDeque<Contact>) -> Vec<Row> {
    let row = |contact: &Contact| {
        let (state, reason) = match contact.excluded.as_ref()? {
            Exclusion::Duplicate(first) => {
                (State::Duplicate, format!("the number of contact {first}"))
            }
            Exclusion::Invalid(reason) => (State::Invalid, reason.clone()),
            Exclusion::Spared(reason) => (State::Spared, reason.clone()),
        };
        Some(Row {
            error: Some(reason),
            ..Row::of(contact, state)
        })
    };
    let rows = queue.iter().filter_map(row).collect();
    queue.retain(|it| it.excluded.is_none());
    rows
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn entry(number: &str) -> Entry {
        Entry {
            agent_id: 7,
            to_phone_number: number.to_owned(),
            call_context: "{}".to_owned(),
            external_id: None,
            extra: None,
            time_zone: None,
        }
    }

    /// Returns a contact that has not been tried.
    pub(crate) fn untried(index: u32) -> Contact {
        contact(index, entry("919876543210"), None)
    }

    #[test]
    fn an_entry_that_is_not_allowed_is_excluded_with_the_reason() {
        let good = Entry {
            time_zone: Some("America/New_York".to_owned()),
            ..entry("98765 43210")
        };
        let read = contact(5, good, Some("91"));
        assert_eq!((read.index, &read.excluded), (5, &None));
        assert_eq!(read.request.to_phone_number, "919876543210");
        assert_eq!(read.time_zone.as_deref(), Some("America/New_York"));
        let with = |change: fn(&mut Entry)| {
            let mut entry = entry("+919876543210");
            change(&mut entry);
            contact(0, entry, None)
        };
        for (contact, subject) in [
            (with(|it| it.to_phone_number.push('x')), "to-phone-number"),
            (
                with(|it| it.time_zone = Some("IST+5".to_owned())),
                "time-zone",
            ),
            (with(|it| it.call_context = "[]".to_owned()), "call-context"),
            (with(|it| it.extra = Some("7".to_owned())), "extra"),
        ] {
            let Some(Exclusion::Invalid(reason)) = &contact.excluded else {
                panic!("{subject}: {contact:?}");
            };
            assert!(
                reason.starts_with(&format!("{subject}: found ")),
                "{reason}"
            );
            assert!(!reason.contains("9876"), "{reason}");
            // The results show it as it came.
            assert!(contact.request.to_phone_number.starts_with('+'));
            assert_eq!(number(&contact), None);
        }
    }

    #[test]
    fn a_number_is_called_once_however_and_wherever_it_is_written() {
        let page = |first: u32, numbers: &[&str]| -> Vec<Contact> {
            let contacts = (first..).zip(numbers);
            contacts
                .map(|(index, it)| contact(index, entry(it), Some("91")))
                .collect()
        };
        let mut first = page(
            0,
            &["x", "919876543210", "x", "098765 43211", "+91 98765-43210"],
        );
        let mut second = page(5, &["009198765 43211", "919876543212", "9876543210"]);
        let mut numbers = Numbers::default();
        let mut called = Vec::new();
        for contacts in [&mut first, &mut second] {
            let known: Vec<_> = contacts.iter().map(number).collect();
            let duplicates = numbers.add(contacts[0].index, &known);
            // The same page again: an index is no duplicate of itself.
            assert_eq!(numbers.add(contacts[0].index, &known), duplicates);
            exclude(contacts, &duplicates);
            called.extend(
                contacts
                    .iter()
                    .filter(|it| it.excluded.is_none())
                    .map(|it| it.index),
            );
        }
        assert_eq!(called, [1, 3, 6]);
        assert_eq!(first[4].excluded, Some(Exclusion::Duplicate(1)));
        assert_eq!(second[0].excluded, Some(Exclusion::Duplicate(3)));
        assert_eq!(second[2].excluded, Some(Exclusion::Duplicate(1)));
    }

    #[test]
    fn contacts_that_are_never_called_have_their_results_at_once() {
        let mut queue: VecDeque<_> = (0..4).map(untried).collect();
        queue[0].excluded = Some(Exclusion::Duplicate(9));
        let spared = Verdict::Spared("listed".to_owned());
        spare(
            &mut queue,
            vec![Verdict::Allowed, spared, Verdict::NotBefore(1)],
        );
        let rows = take_excluded(&mut queue).into_iter();
        let found: Vec<_> = rows.map(|it| (it.index, it.state, it.error)).collect();
        let reason = |text: &str| Some(text.to_owned());
        let expected = [
            (Some(0), State::Duplicate, reason("the number of contact 9")),
            (Some(2), State::Spared, reason("listed")),
        ];
        assert_eq!(found, expected);
        let left: Vec<_> = queue.iter().map(|it| it.index).collect();
        assert_eq!(left, [1, 3]);
    }
}
