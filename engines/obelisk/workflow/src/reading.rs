//! Reads with retries, which are always safe.

use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::pace::Pauses;
use crate::waiting::after;

/// The number of attempts: with their pauses, half a minute.
const TRIES: u32 = 6;

/// Repeats a read while its failure `may_pass`, in addition to the component's own retries.
pub fn retried<T, E>(
    mut read: impl FnMut() -> Result<T, E>,
    may_pass: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut pauses = Pauses::new(1_000, 30_000);
    for _ in 1..TRIES {
        match read() {
            Err(error) if may_pass(&error) => {}
            answer => return answer,
        }
        // A sleep that an operator cancels ends early, which does no harm.
        let _ = engine::sleep(after(pauses.next_ms()), None);
    }
    read()
}
