//! Results that are changed on their way back to the caller.

use crate::mutant::Mutant;
use crate::raw_json::{with_rounded_numbers, without_unknown_fields};
use voice_calling_core::types::{
    AgentList, Attempt, CallDetailsList, CallDetailsOutcome, CallDetailsWait, CreatedAgent,
    CreatedDocket, CreatedDocketV2, Docket, DocketOutcome, DocketWait, Failure, RequestError,
    StartedCall, Verification,
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

    fn attempts(&self, attempts: &mut Vec<Attempt>) {
        if self.mutant == Mutant::HidesAttempts {
            attempts.drain(..attempts.len().saturating_sub(1));
        }
    }

    fn error(&self, error: &mut RequestError) {
        if let RequestError::PermanentOutcomeUnknown(failure) = error {
            match (self.mutant, &failure.response) {
                (Mutant::CallsSilenceHarmless, None) => {
                    *error = RequestError::TimedOut(failure.clone());
                }
                (Mutant::CallsServerErrorsHarmless, Some(_)) => {
                    *error = RequestError::Unavailable(failure.clone());
                }
                _ => {}
            }
        }
        let Some(failure) = failure(error) else {
            return;
        };
        self.attempts(&mut failure.attempts);
        match (self.mutant, &mut failure.response) {
            (Mutant::DropsBodies, Some(response)) => response.body.clear(),
            (Mutant::ForgetsCreations, _) => failure.may_have_created = false,
            (Mutant::LeaksToken, _) => {
                failure.message += &format!(" (auth_token: Bearer {})", self.token);
            }
            (Mutant::LeaksEscapedToken, _) => {
                let escaped = self
                    .token
                    .chars()
                    .map(|one| format!("\\u{:04x}", u32::from(one)));
                failure.message.extend(escaped);
            }
            _ => {}
        }
    }
}

/// What all errors of a client have in common.
fn failure(error: &mut RequestError) -> Option<&mut Failure> {
    match error {
        RequestError::ExecutionFailed => None,
        RequestError::PermanentConfiguration(failure)
        | RequestError::PermanentInvalidInput(failure)
        | RequestError::PermanentUnauthorized(failure)
        | RequestError::PermanentNotFound(failure)
        | RequestError::PermanentRejected(failure)
        | RequestError::PermanentUnexpectedResponse(failure)
        | RequestError::PermanentOutcomeUnknown(failure)
        | RequestError::RateLimited(failure)
        | RequestError::Unavailable(failure)
        | RequestError::Unreachable(failure)
        | RequestError::TimedOut(failure) => Some(failure),
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

macro_rules! answers {
    ($($record:ty)*) => {$(
        impl Changeable for $record {
            fn apply(&mut self, change: &Change<'_>) {
                change.raw_json(&mut self.raw_json);
                change.attempts(&mut self.attempts);
            }
        }
    )*};
}

answers!(AgentList CallDetailsList Docket);

macro_rules! creations {
    ($($record:ty)*) => {$(
        impl Changeable for $record {
            fn apply(&mut self, change: &Change<'_>) {
                change.raw_json(&mut self.raw_json);
                change.attempts(&mut self.attempts);
                self.may_be_duplicate &= change.mutant != Mutant::ForgetsDuplicates;
            }
        }
    )*};
}

creations!(StartedCall CreatedDocket CreatedDocketV2);

impl Changeable for CreatedAgent {
    fn apply(&mut self, change: &Change<'_>) {
        self.raw_json
            .iter_mut()
            .for_each(|json| change.raw_json(json));
        change.attempts(&mut self.attempts);
        self.may_be_duplicate &= change.mutant != Mutant::ForgetsDuplicates;
    }
}

macro_rules! waits {
    ($($wait:ty: $outcome:ident, $mistaken:expr;)*) => {$(
        impl Changeable for $wait {
            fn apply(&mut self, change: &Change<'_>) {
                self.polls += u32::from(change.mutant == Mutant::CountsUnsentPolls);
                if let $outcome::Completed(seen) | $outcome::Pending(Some(seen)) = &mut self.outcome {
                    seen.apply(change);
                }
                let outcome = std::mem::replace(&mut self.outcome, $outcome::Pending(None));
                self.outcome = match outcome {
                    $outcome::Completed(seen) if change.mutant == Mutant::MistakesReadiness => {
                        $outcome::Pending(Some(seen))
                    }
                    $outcome::Pending(Some(seen))
                        if change.mutant == Mutant::MistakesReadiness
                            || $mistaken(change.mutant, &seen) =>
                    {
                        $outcome::Completed(seen)
                    }
                    outcome => outcome,
                };
            }
        }
    )*};
}

waits! {
    CallDetailsWait: CallDetailsOutcome, |mutant, seen: &CallDetailsList| {
        let all = seen.calls.iter().all(|call| call.call_insights.is_some());
        mutant == Mutant::TrustsEmptyInsights && !seen.calls.is_empty() && all
    };
    DocketWait: DocketOutcome, |_, _: &Docket| false;
}

impl Changeable for Verification {
    fn apply(&mut self, change: &Change<'_>) {
        if let Verification::Contradicted(verified) = self
            && change.mutant == Mutant::ConfirmsEverything
        {
            *self = Verification::Confirmed(verified.clone());
        }
        if let Verification::Confirmed(verified) | Verification::Contradicted(verified) = self {
            verified.docket.apply(change);
        }
    }
}
