//! Numbers as JSON writes them, exact to the last digit.

use std::cmp::Ordering;

/// More significant digits do not change which number is the nearest, but whether there is one.
const MAX_DIGITS: usize = 800;

/// Powers of ten beyond which a number is infinite or zero, whatever its digits are.
const MAX_POWER: i64 = 310;
const MIN_POWER: i64 = -345;

/// The digits that any f64 holds, and the powers of ten that are one without being rounded.
const EXACT_DIGITS: usize = 15;
const EXACT_POWER: u64 = 22;

/// A number: its digits without zeros around them, times a power of ten.
pub(crate) struct Decimal<'a> {
    written: &'a str,
    digits: String,
    /// Of the last digit; none if it is beyond all reason.
    exponent: Option<i64>,
}

impl<'a> Decimal<'a> {
    /// Takes apart a number that is known to be one of JSON.
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

    /// The one text that all ways to write the number have in common. One whose exponent is
    /// beyond all reason stays as it is written.
    pub(crate) fn normal(&self) -> String {
        match self.exponent {
            _ if self.digits.is_empty() => "0".to_owned(),
            Some(exponent) => format!("{}{}e{exponent}", self.sign(), self.digits),
            None => self.written.to_owned(),
        }
    }

    /// The nearest number that an f64 can hold, of two the even one; infinite beyond the largest.
    ///
    /// The standard library does the same faster, with tables of ten kilobytes.
    pub(crate) fn nearest(&self) -> f64 {
        let is_small = self.written.contains(['e', 'E']) && self.written[1..].contains('-');
        let beyond = if is_small { i64::MIN } else { i64::MAX };
        let nearest = nearest(&self.digits, self.exponent.unwrap_or(beyond));
        match self.sign() {
            "-" => -nearest,
            _ => nearest,
        }
    }
}

fn nearest(digits: &str, exponent: i64) -> f64 {
    // Of the first digit.
    let power = exponent.saturating_add(digits.len() as i64);
    if digits.is_empty() || power < MIN_POWER {
        return 0.0;
    }
    if power > MAX_POWER {
        return f64::INFINITY;
    }
    if digits.len() <= EXACT_DIGITS && exponent.unsigned_abs() <= EXACT_POWER {
        // Neither is rounded, so that the result is rounded once.
        let digits = digits
            .bytes()
            .fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit - b'0'));
        let power = (0..exponent.unsigned_abs()).fold(1.0, |power, _| power * 10.0);
        return match exponent < 0 {
            true => digits / power,
            false => digits * power,
        };
    }
    let kept = &digits[..digits.len().min(MAX_DIGITS)];
    let cut = (digits.len() - kept.len()) as i64;
    let mut numerator = Natural::default();
    for digit in kept.bytes() {
        numerator.push_digit(digit - b'0');
    }
    if cut > 0 {
        // Something follows, since the last digit is no zero.
        numerator.0[0] |= 1;
    }
    let mut denominator = Natural(vec![1]);
    let exponent = exponent + cut;
    let scaled = match exponent < 0 {
        true => &mut denominator,
        false => &mut numerator,
    };
    for _ in 0..exponent.unsigned_abs() {
        scaled.push_digit(0);
    }
    quotient(numerator, denominator)
}

/// The nearest to a fraction: 64 bits by long division, of which those are kept that fit.
fn quotient(mut numerator: Natural, mut denominator: Natural) -> f64 {
    // Both as long as each other: the quotient is between 1/2 and 2, times a power of two.
    let power = numerator.bits() as i64 - denominator.bits() as i64;
    let shorter = match power < 0 {
        true => &mut numerator,
        false => &mut denominator,
    };
    for _ in 0..power.unsigned_abs() {
        shorter.double();
    }
    let mut bits = 0_u64;
    for _ in 0..64 {
        bits <<= 1;
        if numerator.compare(&denominator).is_ge() {
            numerator.subtract(&denominator);
            bits |= 1;
        }
        numerator.double();
    }
    let is_inexact = numerator.bits() > 0;

    // The powers of two of the last bit, of the first one, and of the last that is kept.
    let last = power - 63;
    let first = last + i64::from(bits.ilog2());
    let kept = (first - 52).max(-1074);
    if first > 1023 {
        return f64::INFINITY;
    }
    let Ok(dropped @ 1..=64) = u32::try_from(kept - last) else {
        return 0.0;
    };
    let whole = bits.checked_shr(dropped).unwrap_or(0);
    let rest = bits.wrapping_sub(whole.checked_shl(dropped).unwrap_or(0));
    let is_up = match rest.cmp(&(1 << (dropped - 1))) {
        Ordering::Less => false,
        Ordering::Equal => is_inexact || whole % 2 == 1,
        Ordering::Greater => true,
    };
    // No further rounding: the whole fits, and a power of two is exact.
    (whole + u64::from(is_up)) as f64 * power_of_two(kept)
}

/// From -1074 to 1023.
fn power_of_two(power: i64) -> f64 {
    f64::from_bits(match power < -1022 {
        true => 1 << (power + 1074),
        false => ((power + 1023) as u64) << 52,
    })
}

/// A natural number of any size, its least significant part first; the last part is not 0.
#[derive(Default)]
struct Natural(Vec<u32>);

impl Natural {
    /// Adds a decimal digit behind those that there are.
    fn push_digit(&mut self, digit: u8) {
        self.multiply_and_add(10, digit.into());
    }

    fn double(&mut self) {
        self.multiply_and_add(2, 0);
    }

    fn multiply_and_add(&mut self, factor: u32, summand: u32) {
        let mut carry = u64::from(summand);
        for part in &mut self.0 {
            carry += u64::from(*part) * u64::from(factor);
            *part = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Subtracts a number that is not larger.
    fn subtract(&mut self, other: &Self) {
        let others = other.0.iter().copied().chain(std::iter::repeat(0));
        let mut borrow = false;
        for (part, other) in self.0.iter_mut().zip(others) {
            let (difference, is_less) = part.overflowing_sub(other);
            let (difference, is_zero) = difference.overflowing_sub(borrow.into());
            (*part, borrow) = (difference, is_less || is_zero);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let lengths = self.0.len().cmp(&other.0.len());
        lengths.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// How many bits it has; 0 has none.
    fn bits(&self) -> usize {
        let last = self.0.last().map_or(0, |part| part.leading_zeros());
        32 * self.0.len() - last as usize
    }
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
    fn a_number_is_the_nearest_that_an_f64_can_hold() {
        let zeros = "0".repeat(2_000);
        let at_the_edges = "0 -0 0.0 0e99999999999999999999 1 -1 10 0.1 -0.10 83.5 \
            9007199254740991 9007199254740992 9007199254740993 9007199254740995 \
            9007199254740993.0000000000000000000000000000000000000001 \
            123456789012345678901234567890 1e22 1e23 1E-22 1e-23 8.5e+2 \
            1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 \
            1e309 1e310 1e400 -1e99999999999999999999 1e-99999999999999999999 \
            2.2250738585072014e-308 2.2250738585072011e-308 2.2250738585072009e-308 \
            5e-324 4.9e-324 3e-324 2.5e-324 2.4703282292062328e-324 2.4703282292062327e-324 \
            2e-324 1e-330 1e-345 1e-400";
        let long = [
            format!("1{zeros}e-2000"),
            format!("0.{zeros}1e2001"),
            format!("1{zeros}1e-2001"),
            format!("9007199254740993.{zeros}1"),
            format!("9007199254740993{zeros}e-2000"),
        ];
        let at_the_edges = at_the_edges.split_whitespace();
        at_the_edges
            .chain(long.iter().map(String::as_str))
            .for_each(assert_is_the_nearest);
    }

    #[test]
    fn numbers_of_all_sizes_and_those_halfway_between_two_are_rounded_as_they_should_be() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state ^ (state >> 29)
        };
        for _ in 0..4_000 {
            let number = f64::from_bits(random() >> 1);
            if number.is_finite() {
                assert_is_the_nearest(&format!("{number:e}"));
                assert_is_the_nearest(&format!("{number:.18e}"));
            }
            let (digits, exponent) = (random(), random() as i8);
            assert_is_the_nearest(&format!("{digits}e{exponent}"));
            assert_is_the_nearest(&format!("{}e{}", digits % 1_000_000, exponent / 4));
            // Written in full, what is halfway between two numbers, the first or the second even.
            let (even, shift) = ((digits >> 12) * 2, 54 + exponent.unsigned_abs() % 16);
            let shifted = |number: u64| (u128::from(number) << shift).to_string();
            assert_is_the_nearest(&shifted(2 * even + 1));
            assert_is_the_nearest(&shifted(2 * even + 3));
        }
    }
}
