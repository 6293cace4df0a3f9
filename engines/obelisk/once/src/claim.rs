//! The claim of a creation: whose text is in it has begun the creation.

use wasip2::clocks::monotonic_clock;
use wasip2::random::random::get_random_u64;

use crate::engine::Engine;

/// How often it is tried to write. The text is the same each time, so that no run meets itself.
const TRIES: u32 = 3;

const PAUSE_MS: u64 = 200;

/// Takes the claim for this run; the error says why it may not begin.
pub fn take(engine: &Engine, claim: &str) -> Result<(), String> {
    let value = format!(
        r#"{{"ok":"{:016x}{:016x}"}}"#,
        get_random_u64(),
        get_random_u64()
    );
    let mut tries = 1;
    loop {
        let answer = engine.stub(claim, &value);
        match verdict(&answer) {
            Verdict::Taken => return Ok(()),
            Verdict::BegunBefore => {
                return Err(
                    "the engine ran the creation a second time: the outcome of the first run is unknown"
                        .to_owned(),
                );
            }
            Verdict::NotNow if tries < TRIES => {}
            Verdict::NotNow | Verdict::Refused => {
                let why = match answer {
                    Ok(status) => format!("{status}"),
                    Err(error) => error,
                };
                return Err(format!(
                    "the claim {claim} could not be written by the engine's API at {} \
                     (OBELISK_API_URL): {why}; this run has sent nothing",
                    engine.url()
                ));
            }
        }
        tries += 1;
        monotonic_clock::subscribe_duration(PAUSE_MS * 1_000_000).block();
    }
}

/// What an answer of the engine means.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// This run's text is in the claim.
    Taken,
    /// Another text is.
    BegunBefore,
    /// Nobody knows, and the same may succeed.
    NotNow,
    /// Nothing is written, and the same would fail again.
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
