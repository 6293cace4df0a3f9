//! What became of the rows of a list.

use std::fmt::Write;
use voice_calling::{Error, FailureKind, NextStep};

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It may be called, and was not yet.
    Callable,
    /// It was called by this run.
    Called,
    /// It was called by an earlier run, or by another process.
    CalledBefore,
    /// It was called before, and its row has changed since.
    Changed,
    /// It may have been called.
    Unknown,
    /// A process is calling it, or was killed while it did.
    InProgress,
    /// The service refused it.
    Refused,
    /// It was not called, and can be called later.
    NotCalled,
    /// Its number or key is wrong.
    Invalid,
    /// Its key, or its number, is that of another row.
    Duplicate,
    /// Its number is on the do-not-call list.
    DoNotCall,
    /// Its number was called too short a time ago.
    TooSoon,
    /// It is outside of the calling hours.
    Closed,
}

/// What follows for the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Done = 0,
    /// Someone has to look at a row.
    Wrong = 1,
    /// The command is to be run again.
    Left = 3,
}

impl Kind {
    pub(crate) const ALL: [(Self, &'static str, Verdict); 13] = [
        (Self::Callable, "callable", Verdict::Left),
        (Self::Called, "called", Verdict::Done),
        (Self::CalledBefore, "called before", Verdict::Done),
        (Self::Changed, "changed after its call", Verdict::Wrong),
        (Self::Unknown, "unknown", Verdict::Wrong),
        (Self::InProgress, "in progress", Verdict::Left),
        (Self::Refused, "refused", Verdict::Wrong),
        (Self::NotCalled, "not called", Verdict::Left),
        (Self::Invalid, "invalid", Verdict::Wrong),
        (Self::Duplicate, "duplicate", Verdict::Wrong),
        (Self::DoNotCall, "do not call", Verdict::Done),
        (Self::TooSoon, "too soon", Verdict::Left),
        (Self::Closed, "outside hours", Verdict::Left),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(crate) fn verdict(self) -> Verdict {
        Self::ALL[self as usize].2
    }
}

/// What became of a row, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub kind: Kind,
    pub docket_id: Option<Box<str>>,
    /// When the call was begun, in milliseconds since 1970; 0 if it was not.
    pub at_ms: u64,
    /// The reason, in a sentence.
    pub note: Box<str>,
}

impl Outcome {
    pub(crate) fn new(kind: Kind, note: impl Into<Box<str>>) -> Self {
        Self {
            kind,
            docket_id: None,
            at_ms: 0,
            note: note.into(),
        }
    }

    /// Judges the error of a create.
    pub(crate) fn of_error(error: &Error) -> Self {
        let is_about_key = error.problem().is_some_and(|it| it.subject == "key");
        let kind = match error.next_step() {
            _ if is_about_key && error.kind() == FailureKind::InvalidInput => Kind::Changed,
            _ if is_about_key => Kind::InProgress,
            NextStep::Unknown => Kind::Unknown,
            NextStep::Refused => Kind::Refused,
            NextStep::FixSetting | NextStep::RetryLater => Kind::NotCalled,
        };
        Self::new(kind, error.to_string())
    }
}

/// The number of rows of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts([usize; Kind::ALL.len()]);

impl Counts {
    pub(crate) fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut counts = Self::default();
        outcomes
            .into_iter()
            .for_each(|outcome| counts.0[outcome.kind as usize] += 1);
        counts
    }

    pub(crate) fn get(&self, kind: Kind) -> usize {
        self.0[kind as usize]
    }

    /// Records that a row has got another outcome.
    pub(crate) fn replace(&mut self, before: Kind, now: Kind) {
        self.0[before as usize] -= 1;
        self.0[now as usize] += 1;
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = (Kind, &'static str, usize)> {
        let counts = Kind::ALL.iter().zip(self.0);
        let counts = counts.map(|((kind, name, _), count)| (*kind, *name, count));
        counts.filter(|(.., count)| *count > 0)
    }

    /// Returns what follows from the rows: the gravest.
    pub(crate) fn verdict(&self) -> Verdict {
        let verdicts = self.present().map(|(kind, ..)| kind.verdict());
        verdicts.max().unwrap_or(Verdict::Done)
    }

    pub(crate) fn shown(&self) -> String {
        let mut shown = String::new();
        for (_, name, count) in self.present() {
            let comma = if shown.is_empty() { "" } else { ", " };
            let _ = write!(shown, "{comma}{count} {name}");
        }
        shown
    }
}
