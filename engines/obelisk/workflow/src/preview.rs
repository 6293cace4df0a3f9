//! Checks contacts without calling anyone.

use crate::bindings::exports::voice_calling::workflows::campaign::CheckError;
use crate::bindings::exports::voice_calling::workflows::parts::PartError;
use crate::bindings::voice_calling::operator::check::{self, Verdict};
use crate::bindings::voice_calling::operator::contacts::Entry;
use crate::bindings::voice_calling::workflows::campaign_types::{
    CampaignOptions, CheckedPage, Contacts, ContactsReport, Exclusion, Finding,
};
use crate::bindings::voice_calling::workflows::parts::PartError as ChildError;
use crate::bindings::voice_calling::workflows_obelisk_ext::parts;
use crate::entry::{self, Numbers};
use crate::plan;
use crate::segment::page;
use crate::sleep::retried;
use crate::waiting::Inbox;

/// The number of findings of each kind in a report.
const MOST_FINDINGS: usize = 20;

/// `campaign.check-contacts`
pub fn run(contacts: Contacts, options: &CampaignOptions) -> Result<ContactsReport, CheckError> {
    plan::check_options(&contacts, options).map_err(CheckError::PermanentInvalidInput)?;
    let country_code = options.country_code.as_deref();
    let mut report = Report {
        numbers: (!plan::allows_duplicates(options)).then(Numbers::default),
        report: EMPTY,
    };
    match contacts {
        Contacts::Listed(entries) => {
            let page = check_entries(0, entries, country_code, None);
            report.add(page.map_err(CheckError::Unreadable)?);
        }
        Contacts::Source(source) => {
            // A page is checked by a workflow of its own, so that its contacts are in no history
            // that is read again for each page.
            let mut pages = Inbox::named("page");
            let mut next = Some(0);
            while let Some(position) = next {
                let first = report.report.contacts;
                parts::check_page_submit(&pages.set, &source, position, first, country_code);
                let id = pages.next_execution();
                let page = match parts::check_page_get(&id) {
                    Ok(Ok(page)) => page,
                    Ok(Err(ChildError::Unreadable(reason))) => {
                        return Err(CheckError::Unreadable(reason));
                    }
                    _ => return Err(CheckError::ExecutionFailed),
                };
                next = page.next;
                report.add(page);
            }
        }
    }
    Ok(report.report)
}

/// `parts.check-page`
pub fn check_page(
    source: &str,
    position: u64,
    first: u32,
    country_code: Option<&str>,
) -> Result<CheckedPage, PartError> {
    let page = retried(|| page(source, position), |_| true).map_err(PartError::Unreadable)?;
    check_entries(first, page.entries, country_code, page.next).map_err(PartError::Unreadable)
}

/// Checks at most 500 entries, of which the first has the index `first`.
fn check_entries(
    first: u32,
    entries: Vec<Entry>,
    country_code: Option<&str>,
    next: Option<u64>,
) -> Result<CheckedPage, String> {
    let mut page = CheckedPage {
        numbers: Vec::new(),
        invalid: Vec::new(),
        spared: Vec::new(),
        next,
    };
    let mut allowed = Vec::new();
    for (index, entry) in (first..).zip(entries) {
        let contact = entry::contact(index, entry, country_code);
        page.numbers.push(entry::number(&contact));
        match contact.excluded {
            Some(Exclusion::Invalid(reason)) => page.invalid.push(Finding { index, reason }),
            _ => allowed.push((index, contact.request.to_phone_number)),
        }
    }
    let numbers: Vec<_> = allowed.iter().map(|(_, number)| number.clone()).collect();
    let preview = || match check::preview(&numbers)? {
        verdicts if verdicts.len() == numbers.len() => Ok(verdicts),
        verdicts => Err(format!(
            "`check.preview` returned {} verdicts for {} numbers",
            verdicts.len(),
            numbers.len()
        )),
    };
    let verdicts = retried(preview, |_| true)?;
    for ((index, _), verdict) in allowed.into_iter().zip(verdicts) {
        if let Verdict::Spared(reason) = verdict {
            page.spared.push(Finding { index, reason });
        }
    }
    Ok(page)
}

const EMPTY: ContactsReport = ContactsReport {
    contacts: 0,
    callable: 0,
    invalid: 0,
    duplicate: 0,
    spared: 0,
    first_invalid: Vec::new(),
    first_duplicate: Vec::new(),
    first_spared: Vec::new(),
};

struct Report {
    /// `None` if duplicates are called.
    numbers: Option<Numbers>,
    report: ContactsReport,
}

impl Report {
    /// Adds the next page. A contact counts once: as invalid, as a duplicate, or as spared.
    fn add(&mut self, page: CheckedPage) {
        let report = &mut self.report;
        let numbers = self.numbers.as_mut();
        let duplicates = numbers.map(|it| it.add(report.contacts, &page.numbers));
        let duplicates = duplicates.unwrap_or_default();
        let is_first = |found: &Finding| !duplicates.iter().any(|(index, _)| *index == found.index);
        let spared = page.spared.into_iter().filter(is_first).collect();
        let duplicate = duplicates.iter().map(|(index, first)| Finding {
            index: *index,
            reason: plan::duplicate_of(*first),
        });
        report.contacts += page.numbers.len() as u32;
        count(&mut report.invalid, &mut report.first_invalid, page.invalid);
        count(
            &mut report.duplicate,
            &mut report.first_duplicate,
            duplicate.collect(),
        );
        count(&mut report.spared, &mut report.first_spared, spared);
        report.callable = report.contacts - report.invalid - report.duplicate - report.spared;
    }
}

fn count(count: &mut u32, first: &mut Vec<Finding>, mut found: Vec<Finding>) {
    *count += found.len() as u32;
    found.truncate(MOST_FINDINGS - first.len());
    first.append(&mut found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contact_is_counted_once_and_the_first_of_a_kind_are_shown() {
        let finding = |index| Finding {
            index,
            reason: "why".to_owned(),
        };
        let page = || CheckedPage {
            numbers: vec![Some(1), None, Some(2), Some(1)],
            invalid: vec![finding(1)],
            // The fourth contact is on the list as well as the first, whose number it has.
            spared: vec![finding(0), finding(3)],
            next: None,
        };
        let checked = |numbers, pages| {
            let mut report = Report {
                numbers,
                report: EMPTY,
            };
            (0..pages).for_each(|_| report.add(page()));
            report.report
        };
        let once = checked(Some(Numbers::default()), 1);
        let counts = |it: &ContactsReport| {
            [
                it.contacts,
                it.callable,
                it.invalid,
                it.duplicate,
                it.spared,
            ]
        };
        assert_eq!(counts(&once), [4, 1, 1, 1, 1]);
        assert_eq!(once.first_duplicate[0].index, 3);
        assert!(once.first_duplicate[0].reason.contains("contact 0"));
        assert_eq!(once.first_spared, [finding(0)]);
        assert_eq!(counts(&checked(None, 1)), [4, 1, 1, 0, 2]);
        let many = checked(None, 25);
        assert_eq!(
            (many.invalid, many.first_invalid.len()),
            (25, MOST_FINDINGS)
        );
    }
}
