//! The claim of a creation. The run whose text it contains has begun the creation.

use wasip2::clocks::monotonic_clock;
use wasip2::random::random::get_random_u64;

use voice_calling_obelisk_guest::{Api, failure};

use crate::bindings::exports::voice_calling::once::dockets::{CreationError, Unclaimed};

/// The number of attempts to write the same text, which does not conflict with itself.
const TRIES: u32 = 3;

const PAUSE_MS: u64 = 200;

/// Takes the claim for this run. The error says why the run may not begin.
pub(crate) fn take(api: &Api, claim: &str) -> Result<(), CreationError> {
    let text = format!("{:016x}{:016x}", get_random_u64(), get_random_u64());
    let value = format!(r#"{{"ok":"{text}"}}"#);
    let mut tries = 1;
    loop {
        let answer = api.stub(claim, &value);
        match verdict(&answer) {
            Verdict::Taken => return Ok(()),
            Verdict::BegunBefore => {
                return Err(CreationError::Failed(failure::unknown(
                    "the engine ran the creation a second time: the outcome of the first run is unknown",
                )));
            }
            Verdict::NotNow if tries < TRIES => {}
            Verdict::NotNow | Verdict::Refused => {
                let why = match answer {
                    Ok(status) => format!("{status}"),
                    Err(error) => error,
                };
                let reason = format!(
                    "the claim {claim} could not be written by the engine's API at {} \
                     (OBELISK_API_URL): {why}; this run has sent nothing",
                    api.url()
                );
                return Err(CreationError::Unclaimed(Unclaimed { text, reason }));
            }
        }
        tries += 1;
        monotonic_clock::subscribe_duration(PAUSE_MS * 1_000_000).block();
    }
}

/// The meaning of an answer of the engine.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The claim contains this run's text.
    Taken,
    /// The claim contains another text.
    BegunBefore,
    /// It is unknown whether the text was written, and a retry may succeed.
    NotNow,
    /// Nothing was written, and a retry would fail.
    Refused,
}

fn verdict(answer: &Result<u16, String>) -> Verdict {
    match answer {
        Ok(200) => Verdict::Taken,
        Ok(409) => Verdict::BegunBefore,
        Err(_) | Ok(408 | 429 | 500..) => Verdict::NotNow,
        Ok(_) => Verdict::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_that_the_engine_took_is_a_claim() {
        for (answer, expected) in [
            (Ok(200), Verdict::Taken),
            (Ok(409), Verdict::BegunBefore),
            (Ok(201), Verdict::Refused),
            (Ok(302), Verdict::Refused),
            (Ok(401), Verdict::Refused),
            (Ok(404), Verdict::Refused),
            (Ok(422), Verdict::Refused),
            (Ok(503), Verdict::NotNow),
            (Err(String::new()), Verdict::NotNow),
        ] {
            assert_eq!(verdict(&answer), expected, "{answer:?}");
        }
    }
}
