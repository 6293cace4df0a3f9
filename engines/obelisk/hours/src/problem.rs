//! An option that is not allowed.

const SHOWN_CHARACTERS: usize = 60;

/// An option that is not allowed, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The option, such as `options.hours.week[2].from`; counted from 0.
    pub subject: String,
    /// What was found, cut where it is long.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}

impl Problem {
    pub(crate) fn new(subject: &str, found: &str, allowed: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            found: found.chars().take(SHOWN_CHARACTERS).collect(),
            allowed: allowed.to_owned(),
        }
    }
}
