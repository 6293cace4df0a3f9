//! The engine's records of a number: whether the person opted out, and when it was called.
//!
//! Each entry is an execution that is submitted paused, and whose id has the number: so it is found
//! without a list, and of two runs that would write the same one only one does. An entry that is
//! resumed has ended, and no longer counts.

use serde_json::{Value, json};
use voice_calling_obelisk_guest::{Api, RunId, Submission};
use voice_calling_rules::{Limits, Refusal as Rule};

use crate::bindings::exports::voice_calling::once::dockets::{NumberLimits, Refusal};

const OPTED_OUT: Kind = Kind {
    letter: 'D',
    ffqn: "voice-calling:workflows/numbers@0.2.0.opted-out",
};
const CALLED: Kind = Kind {
    letter: 'C',
    ffqn: "voice-calling:workflows/numbers@0.2.0.called",
};

/// The maximum number of entries of a kind.
const MOST: u32 = 999;

/// The number of attempts to write the same entry.
const TRIES: u32 = 3;

struct Kind {
    letter: char,
    ffqn: &'static str,
}

/// Returns the id of an entry, which is a ULID of the year 1970.
fn id(kind: &Kind, nth: u32, number: &str) -> Result<RunId, String> {
    let id = RunId::read(&format!("E_0000000000{}{nth:03}{number}", kind.letter));
    id.ok_or_else(|| "a number of the service has 12 digits".to_owned())
}

/// Returns the entries of a kind that count, and the index of the next one.
fn entries(api: &Api, kind: &Kind, number: &str) -> Result<(Vec<RunId>, u32), String> {
    let mut entries = Vec::new();
    for nth in 1..=MOST {
        let id = id(kind, nth, number)?;
        let Some(status) = api.status(id.as_str())? else {
            return Ok((entries, nth));
        };
        if !status.is_finished() {
            entries.push(id);
        }
    }
    Err(format!("there are more than {MOST} entries of the number"))
}

/// Writes an entry. Returns `false` if another one has its place.
fn write(api: &Api, id: &RunId, kind: &Kind, params: &Value) -> Result<bool, String> {
    let submission = Submission {
        ffqn: kind.ffqn,
        params: params.clone(),
        paused: true,
    };
    let mut tries = 1;
    loop {
        match api.submit(id, &submission) {
            Ok(200 | 201) => return Ok(true),
            Ok(409) => return Ok(false),
            // The same entry is accepted again.
            Ok(500..) | Err(_) if tries < TRIES => tries += 1,
            Ok(status) => return Err(format!("the engine answered {status}")),
            Err(reason) => return Err(reason),
        }
    }
}

/// Checks that the person of a number has not opted out.
pub(crate) fn check_opt_out(api: &Api, number: &str) -> Result<(), Refusal> {
    if id(&OPTED_OUT, 1, number).is_err() {
        // The client refuses such a number.
        return Ok(());
    }
    match entries(api, &OPTED_OUT, number) {
        Ok((entries, _)) if entries.is_empty() => Ok(()),
        Ok(_) => Err(Refusal::Spared("the person opted out".to_owned())),
        Err(reason) => Err(Refusal::Unreachable(reason)),
    }
}

/// Records that the person of a number opted out.
pub(crate) fn opt_out(api: &Api, number: &str, run: &str, reason: &str) -> Result<(), String> {
    loop {
        let (entries, nth) = entries(api, &OPTED_OUT, number)?;
        if !entries.is_empty()
            || write(
                api,
                &id(&OPTED_OUT, nth, number)?,
                &OPTED_OUT,
                &json!([run, reason]),
            )?
        {
            return Ok(());
        }
    }
}

/// A call that is counted.
pub(crate) struct Call(RunId);

impl Call {
    /// Counts a call, if the earlier ones allow it.
    pub(crate) fn count(
        api: &Api,
        number: &str,
        run: &str,
        limits: NumberLimits,
        clock_ms: fn() -> u64,
    ) -> Result<Self, Refusal> {
        let earlier = entries(api, &CALLED, number);
        let (earlier, nth) = earlier.map_err(Refusal::Unreachable)?;
        let at_ms = |id: &RunId| {
            let params = api.params(id.as_str())?;
            let at_ms = params.get(1).and_then(Value::as_u64);
            at_ms.ok_or_else(|| format!("{id} does not say when"))
        };
        let earlier_ms: Result<Vec<_>, String> = earlier.iter().map(at_ms).collect();
        let earlier_ms = earlier_ms.map_err(Refusal::Unreachable)?;
        let now_ms = clock_ms();
        check_limits(limits, &earlier_ms, now_ms)?;
        let id = id(&CALLED, nth, number).map_err(Refusal::Unreachable)?;
        match write(api, &id, &CALLED, &json!([run, now_ms])) {
            Ok(true) => Ok(Self(id)),
            // Another run calls the number now.
            Ok(false) => Err(Refusal::TooSoon(now_ms + 1_000)),
            Err(reason) => Err(Refusal::Unreachable(reason)),
        }
    }

    /// Takes back a call that was certainly not made. If that fails, it goes on counting.
    pub(crate) fn take_back(&self, api: &Api) {
        let _ = api.unpause(&self.0);
    }
}

fn check_limits(limits: NumberLimits, earlier_ms: &[u64], now_ms: u64) -> Result<(), Refusal> {
    let max_calls = limits.max_calls;
    let limits = Limits {
        max_calls: max_calls as usize,
        gap_ms: limits.gap_ms,
    };
    limits.check(now_ms, earlier_ms).map_err(|rule| match rule {
        Rule::TooSoon(ms) => Refusal::TooSoon(ms),
        _ => Refusal::Spared(format!("the number was called {max_calls} times")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_an_id_of_the_engine_in_which_the_number_is_read() {
        let found = id(&OPTED_OUT, 7, "919876543210").map(|id| id.to_string());
        assert_eq!(found, Ok("E_0000000000D007919876543210".to_owned()));
        assert!(id(&CALLED, 1, "91987654321").is_err());
    }

    #[test]
    fn a_number_is_called_so_often_and_not_too_soon() {
        let limits = NumberLimits {
            max_calls: 2,
            gap_ms: 100,
        };
        let check = |earlier: &[u64]| check_limits(limits, earlier, 1_000);
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[900]), Ok(()));
        assert_eq!(check(&[901]), Err(Refusal::TooSoon(1_001)));
        assert!(matches!(check(&[1, 2]), Err(Refusal::Spared(_))));
    }
}
