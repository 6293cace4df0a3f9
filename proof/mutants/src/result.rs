//! Results that are changed on their way back to the caller.

use crate::mutant::Mutant;
use crate::raw_json::{with_rounded_numbers, without_unknown_fields};
use crate::types::{
    AgentSummary, Attempt, CallDetails, CallDetailsWait, CallInsights, CreatedAgent, CreatedDocket,
    CreatedDocketV2, Docket, DocketWait, HttpResponse, NextAction, RequestError, StartedCall,
    TransportFailure, UserInterest,
};

/// What is done to results.
pub(crate) struct Change<'a> {
    pub(crate) mutant: Mutant,
    pub(crate) token: &'a str,
}

impl Change<'_> {
    fn raw_json(&self, json: &mut String) {
        match self.mutant {
            Mutant::DropsUnknownFields => *json = without_unknown_fields(json),
            Mutant::RoundsNumbers => *json = with_rounded_numbers(json),
            _ => {}
        }
    }

    fn error(&self, error: &mut RequestError) {
        if let (Mutant::CallsSilenceHarmless, RequestError::PermanentOutcomeUnknown(unknown)) =
            (self.mutant, &mut *error)
        {
            *error = RequestError::TimedOut(TransportFailure {
                message: std::mem::take(&mut unknown.message),
                attempts: std::mem::take(&mut unknown.attempts),
            });
        }
        if self.mutant == Mutant::DropsBodies
            && let Some(response) = response(error)
        {
            response.body.clear();
        }
        let (message, attempts) = parts(error);
        match (self.mutant, message, attempts) {
            (Mutant::LeaksToken, Some(message), _) => {
                message.push_str(&format!(" (auth_token: Bearer {})", self.token));
            }
            (Mutant::HidesAttempts, _, Some(attempts)) => {
                let earlier = attempts.len().saturating_sub(1);
                attempts.drain(..earlier);
            }
            _ => {}
        }
    }
}

/// The answer that an error keeps.
fn response(error: &mut RequestError) -> Option<&mut HttpResponse> {
    match error {
        RequestError::PermanentUnauthorized(failure)
        | RequestError::PermanentNotFound(failure)
        | RequestError::PermanentRejected(failure)
        | RequestError::PermanentUnexpectedResponse(failure)
        | RequestError::RateLimited(failure)
        | RequestError::Unavailable(failure) => Some(&mut failure.response),
        RequestError::PermanentOutcomeUnknown(unknown) => unknown.response.as_mut(),
        _ => None,
    }
}

/// The message for people and the attempts, where an error has them.
fn parts(error: &mut RequestError) -> (Option<&mut String>, Option<&mut Vec<Attempt>>) {
    match error {
        RequestError::ExecutionFailed | RequestError::PermanentInvalidInput(_) => (None, None),
        RequestError::PermanentConfiguration(problem) => (None, Some(&mut problem.attempts)),
        RequestError::PermanentUnauthorized(failure)
        | RequestError::PermanentNotFound(failure)
        | RequestError::PermanentRejected(failure)
        | RequestError::PermanentUnexpectedResponse(failure)
        | RequestError::RateLimited(failure)
        | RequestError::Unavailable(failure) => {
            (Some(&mut failure.message), Some(&mut failure.attempts))
        }
        RequestError::PermanentOutcomeUnknown(unknown) => {
            (Some(&mut unknown.message), Some(&mut unknown.attempts))
        }
        RequestError::Unreachable(failure) | RequestError::TimedOut(failure) => {
            (Some(&mut failure.message), Some(&mut failure.attempts))
        }
    }
}

/// A result, or a part of one, with everything in it that can be changed.
pub(crate) trait Changeable {
    fn apply(&mut self, change: &Change<'_>);
}

impl<R: Changeable> Changeable for Result<R, RequestError> {
    fn apply(&mut self, change: &Change<'_>) {
        match self {
            Ok(result) => result.apply(change),
            Err(error) => change.error(error),
        }
    }
}

impl<R: Changeable> Changeable for Vec<R> {
    fn apply(&mut self, change: &Change<'_>) {
        self.iter_mut().for_each(|part| part.apply(change));
    }
}

impl<R: Changeable> Changeable for Option<R> {
    fn apply(&mut self, change: &Change<'_>) {
        self.iter_mut().for_each(|part| part.apply(change));
    }
}

/// The records that keep the JSON they came from, and the records within them.
macro_rules! records {
    ($($record:ty { $($part:ident),* })*) => {$(
        impl Changeable for $record {
            fn apply(&mut self, change: &Change<'_>) {
                change.raw_json(&mut self.raw_json);
                $(self.$part.apply(change);)*
            }
        }
    )*};
}

records! {
    AgentSummary {}
    StartedCall {}
    CallDetails { call_insights }
    CallInsights { user_interest, next_action }
    UserInterest {}
    NextAction {}
    CreatedDocket {}
    CreatedDocketV2 {}
    Docket {}
}

impl Changeable for CreatedAgent {
    fn apply(&mut self, change: &Change<'_>) {
        self.raw_json
            .iter_mut()
            .for_each(|json| change.raw_json(json));
    }
}

impl Changeable for CallDetailsWait {
    fn apply(&mut self, change: &Change<'_>) {
        self.completed ^= change.mutant == Mutant::MistakesReadiness;
        self.details.apply(change);
    }
}

impl Changeable for DocketWait {
    fn apply(&mut self, change: &Change<'_>) {
        self.completed ^= change.mutant == Mutant::MistakesReadiness;
        self.docket.apply(change);
    }
}
