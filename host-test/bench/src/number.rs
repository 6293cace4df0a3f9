//! Numbers, and how they are shown.

/// The value in the middle, or between the two in the middle.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (below, above) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(below), sorted.get(above)) {
        (Some(below), Some(above)) => (below + above) / 2.0,
        _ => f64::NAN,
    }
}

/// Three significant digits, and all before the point.
pub(super) fn shown(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert!(median(&[]).is_nan());
    }
}
