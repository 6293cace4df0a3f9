//! One line of the table: a ratio, or a size, with what it is compared to.

use serde::Serialize;
use std::fmt;

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// So much or more.
    AtLeast(f64),
    /// So much or less.
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Goal::AtLeast(limit) => value >= limit,
            Goal::AtMost(limit) => value <= limit,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtLeast(limit) => write!(formatter, "≥ {}", shown(*limit)),
            Goal::AtMost(limit) => write!(formatter, "≤ {}", shown(*limit)),
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub title: &'static str,
    /// What it is compared to, measured in the same run; or the unit.
    pub baseline: &'static str,
    /// What it should be, where there is something to aim at.
    pub goal: Option<Goal>,
    /// One value for each round.
    pub rounds: Vec<f64>,
    /// The one in the middle.
    pub median: f64,
    /// The lowest.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

impl Figure {
    pub(super) fn new(title: &'static str, baseline: &'static str, rounds: Vec<f64>) -> Self {
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        Self {
            title,
            baseline,
            goal: None,
            median: median(&rounds),
            lowest: at(0),
            highest: at(sorted.len().saturating_sub(1)),
            rounds,
        }
    }

    pub(super) fn with_goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    /// Whether the median is what it should be.
    pub fn is_met(&self) -> bool {
        self.goal.is_none_or(|goal| goal.is_met(self.median))
    }

    pub(super) fn cells(&self) -> [String; 6] {
        let mark = match self.goal {
            None => "",
            Some(_) if self.is_met() => "✓",
            Some(_) => "✗",
        };
        [
            mark.to_owned(),
            self.title.to_owned(),
            shown(self.median),
            match self.rounds.len() {
                1 => String::new(),
                _ => format!("{} … {}", shown(self.lowest), shown(self.highest)),
            },
            self.goal.map_or_else(String::new, |goal| goal.to_string()),
            self.baseline.to_owned(),
        ]
    }
}

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

    #[test]
    fn a_goal_is_met_on_its_side_of_the_limit() {
        let figure = |value| Figure::new("", "", vec![value]);
        assert!(figure(0.8).with_goal(Goal::AtLeast(0.8)).is_met());
        assert!(!figure(0.79).with_goal(Goal::AtLeast(0.8)).is_met());
        assert!(figure(5.0).with_goal(Goal::AtMost(5.0)).is_met());
        assert!(!figure(5.1).with_goal(Goal::AtMost(5.0)).is_met());
        assert!(!figure(f64::NAN).with_goal(Goal::AtMost(5.0)).is_met());
        assert!(figure(5.1).is_met());
    }

    #[test]
    fn figures_are_shown_with_three_digits() {
        for (value, text) in [
            (0.0349, "0.035"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (45_678.9, "45679"),
        ] {
            assert_eq!(shown(value), text);
        }
    }
}
