//! Numbers in JSON's notation: compared to the last digit, and converted to f64.

/// The number of decimal digits, and of powers of ten, that a u64 can hold.
const EXACT_DIGITS: usize = 19;
const EXACT_POWERS: u64 = 19;

/// The power of ten above which a number is infinite, and below the negative of which it is zero,
/// whatever its digits are.
const MAX_POWER: i64 = 400;

/// A number: its digits without leading or trailing zeros, times a power of ten.
pub(crate) struct Decimal<'a> {
    written: &'a str,
    digits: String,
    /// The power of ten of the last digit; `None` if it is out of all proportion.
    exponent: Option<i64>,
}

impl<'a> Decimal<'a> {
    /// Splits a number that is known to be JSON.
    pub(crate) fn of(written: &'a str) -> Self {
        let unsigned = written.trim_start_matches('-');
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let shift = zeros as i64 - fraction.len() as i64;
        let exponent = exponent.parse::<i64>().ok();
        Self {
            written,
            digits: significant.to_owned(),
            exponent: exponent.and_then(|exponent| exponent.checked_add(shift)),
        }
    }

    fn sign(&self) -> &'static str {
        match self.written.starts_with('-') {
            true => "-",
            false => "",
        }
    }

    /// Returns the one text that all notations of the number share. A number with an exponent out
    /// of all proportion stays as it is written.
    pub(crate) fn canonical(&self) -> String {
        match self.exponent {
            _ if self.digits.is_empty() => "0".to_owned(),
            Some(exponent) => format!("{}{}e{exponent}", self.sign(), self.digits),
            None => self.written.to_owned(),
        }
    }

    /// Returns the nearest f64, of two the even one, if the number has at most 19 digits and a
    /// power of ten up to 19; otherwise one that is near it, or infinity beyond the largest.
    ///
    /// The standard library is exact for all numbers, with tables of ten kilobytes.
    pub(crate) fn nearest(&self) -> f64 {
        let is_small = self.written.contains(['e', 'E']) && self.written[1..].contains('-');
        let beyond = if is_small { -MAX_POWER } else { MAX_POWER };
        let kept = &self.digits[..self.digits.len().min(EXACT_DIGITS)];
        let cut = (self.digits.len() - kept.len()) as i64;
        let power = self.exponent.map_or(beyond, |it| it.saturating_add(cut));
        let power = power.clamp(-MAX_POWER, MAX_POWER);
        let exact = power.unsigned_abs().min(EXACT_POWERS);
        let rest = power.unsigned_abs() - exact;
        let factor = 10_u64.pow(exact as u32);
        let digits = kept
            .bytes()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        let nearest = match power < 0 {
            true => (0..rest).fold(quotient(digits, factor), |number, _| number / 10.0),
            false => {
                let product = u128::from(digits) * u128::from(factor);
                (0..rest).fold(product as f64, |number, _| number * 10.0)
            }
        };
        match self.sign() {
            "-" => -nearest,
            _ => nearest,
        }
    }
}

/// Returns a quotient that is rounded once: the first 64 bits or more are rounded to those of an
/// f64.
fn quotient(dividend: u64, divisor: u64) -> f64 {
    let shift = dividend.leading_zeros() + 63;
    let dividend = u128::from(dividend) << shift;
    let divisor = u128::from(divisor);
    // Any remainder decides between two numbers that are equally near.
    let follows = u128::from(!dividend.is_multiple_of(divisor));
    let power_of_two = f64::from_bits(u64::from(1023 - shift) << 52);
    ((dividend / divisor) | follows) as f64 * power_of_two
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard library is exact.
    fn assert_is_the_nearest(written: &str) {
        let expected = written.parse::<f64>().unwrap();
        let nearest = Decimal::of(written).nearest();
        assert_eq!(nearest.to_bits(), expected.to_bits(), "{written}");
    }

    #[test]
    fn a_number_of_up_to_19_digits_is_the_nearest_that_an_f64_can_hold() {
        "0 -0 0.0 0e99999999999999999999 1 -1 10 0.1 -0.10 83.5 8.5e+2 1E-19 \
            9007199254740991 9007199254740992 9007199254740993 9007199254740995 \
            9007199254740993.001 9007199254740992.999 9999999999999999999 \
            9999999999999999999e19 1e309 -1e99999999999999999999 1e-99999999999999999999 1e-400"
            .split_whitespace()
            .for_each(assert_is_the_nearest);
        let mut state = 1_u64;
        for exponent in (-19..=19).cycle().take(20_000) {
            state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
            let digits = (state >> (1 + state % 63)) | 1;
            assert_is_the_nearest(&format!("{digits}e{exponent}"));
            // Halfway between two numbers, the first or the second even.
            let between = (1 << 53) + 2 * (digits % (1 << 52)) + 1;
            assert_is_the_nearest(&between.to_string());
            assert_is_the_nearest(&format!("{}.5", between / 2));
        }
    }

    #[test]
    fn any_other_number_is_near_it() {
        let long = format!("9007199254740993.{}1", "0".repeat(2_000));
        for written in [
            "123456789012345678901234567890",
            "12345678901234567890123456789e-20",
            "1e22",
            "-1.7976931348623157e300",
            "2.2250738585072014e-300",
            "1.5e-25",
            &long,
        ] {
            let expected = written.parse::<f64>().unwrap();
            let nearest = Decimal::of(written).nearest();
            assert!((nearest / expected - 1.0).abs() < 1e-13, "{written}");
        }
    }
}
