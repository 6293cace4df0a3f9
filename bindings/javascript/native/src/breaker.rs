//! Decisions before a create is sent: those of the breaker of a series, and of the calling hours.

use crate::errors::thrown;
use napi::Result;
use napi_derive::napi;
use std::cell::RefCell;
use voice_calling::{Breaker, Decision, Failure, NextStep};
use voice_calling_rules::Hours;

#[napi]
pub struct NativeBreaker(RefCell<Breaker>);

#[napi]
impl NativeBreaker {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self(RefCell::default())
    }

    /// Returns the decision: `begin`, `wait`, or the reason of a stop.
    #[napi]
    pub fn decide(&self) -> String {
        match self.0.borrow_mut().decide() {
            Decision::Begin => "begin".to_owned(),
            Decision::Wait => "wait".to_owned(),
            Decision::Stop(reason) => reason,
        }
    }

    #[napi]
    pub fn on_success(&self) {
        self.0.borrow_mut().on_success();
    }

    #[napi]
    pub fn on_failure(&self, sent: bool, next_step: String, message: String) {
        let next_step = NextStep::ALL.into_iter().find(|it| it.name() == next_step);
        let next_step = next_step.unwrap_or(NextStep::Unknown);
        let mut breaker = self.0.borrow_mut();
        breaker.on_error(sent, next_step, &message);
    }

    #[napi]
    pub fn resume(&self) {
        self.0.borrow_mut().resume();
    }
}

/// Returns when a call may begin that is due at `at_ms` (milliseconds since 1970), if ever.
#[napi]
pub(crate) fn next_calling_time(
    hours: String,
    time_zone: String,
    at_ms: f64,
) -> Result<Option<f64>> {
    let read = Hours::of_line(("hours", &hours), ("timeZone", &time_zone));
    let read = read.map_err(|problem| thrown(&Failure::from(problem).into()))?;
    // What is no such time, NaN included, is the beginning of 1970 or the end of time.
    Ok(read.next_call_ms(at_ms as u64).map(|it| it as f64))
}
