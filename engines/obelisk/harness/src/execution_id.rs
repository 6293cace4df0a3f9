//! The name of an execution, chosen by the one who submits it.

use uuid::Uuid;

/// The digits of Crockford's base 32: no I, L, O and U, which are easily misread.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// How many of them 128 bits take.
const LENGTH: u32 = 26;

/// The id of a new top-level execution: `E_` and a ULID.
///
/// A UUID of version 7 has the layout of a ULID, milliseconds since 1970 and then random
/// bits, so that these ids sort by time as the engine's own do.
pub fn execution_id() -> String {
    named(Uuid::now_v7().as_u128())
}

fn named(bits: u128) -> String {
    let digit = |place: u32| {
        let value = (bits >> (5 * place)) & 31;
        char::from(DIGITS[value as usize])
    };
    let ulid: String = (0..LENGTH).rev().map(digit).collect();
    format!("E_{ulid}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_a_ulid() {
        assert_eq!(named(0), "E_00000000000000000000000000");
        assert_eq!(named(u128::MAX), "E_7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(named(32), "E_00000000000000000000000010");
    }

    #[test]
    fn is_new_each_time_and_sorts_by_time() {
        let ids: Vec<String> = (0..100).map(|_| execution_id()).collect();
        assert!(ids.is_sorted());
        assert!(ids.windows(2).all(|two| two[0] != two[1]));
    }
}
