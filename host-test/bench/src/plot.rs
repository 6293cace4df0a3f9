//! Pictures of what was measured, for people to look at.

use super::crowd::Who;
use super::report::{Growth, Measure, Report};
use super::situation::Situation;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (960, 540);

/// Of how many points a curve consists.
const POINTS: usize = 400;

type Curve = (String, Vec<(f64, f64)>);

/// Writes `latencies.svg` (which part of the calls took how long) and `growth.svg` (what a
/// call costs, by how many are in flight; what a docket costs, by the size of its batch)
/// into a folder, and for each delay of the service a `calls-per-second-….svg` (how many
/// calls each subject makes, by how many are in flight).
pub(super) fn draw(report: &Report, folder: &Path) -> Result<()> {
    let curves: Vec<_> = report.measures.iter().map(distribution).collect();
    let latencies = Axes {
        title: "Latency: the part of the calls that took so long or less",
        x: "microseconds",
        y: "percent",
        legend: SeriesLabelPosition::UpperLeft,
        room: 20.0,
    };
    latencies.draw(&curves, &folder.join("latencies.svg"))?;
    let cost = |points: &[Growth], value: fn(&Growth) -> Option<f64>| {
        let points = points.iter();
        let point = |point: &Growth| Some((point.size as f64, value(point)?));
        points.filter_map(point).collect::<Vec<_>>()
    };
    let curves = [
        (
            "a call, by calls in flight: fresh".to_owned(),
            cost(&report.in_flight, |it| Some(it.cpu_us)),
        ),
        (
            "a call, by calls in flight: native".to_owned(),
            cost(&report.in_flight, |it| it.native_cpu_us),
        ),
        (
            "a docket, by dockets in a batch".to_owned(),
            cost(&report.batches, |it| Some(it.cpu_us)),
        ),
    ];
    let growth = Axes {
        title: "What one costs, by how many there are",
        x: "how many",
        y: "microseconds of CPU",
        legend: SeriesLabelPosition::UpperRight,
        room: 1.0,
    };
    growth.draw(&curves, &folder.join("growth.svg"))?;
    let mut delays_ms: Vec<_> = report.situations.iter().map(|it| it.delay_ms).collect();
    delays_ms.dedup();
    for delay_ms in delays_ms {
        let title = match delay_ms {
            0 => "Calls per second of a service that answers at once".to_owned(),
            _ => format!("Calls per second of a service that answers after {delay_ms} ms"),
        };
        let rates = Axes {
            title: &title,
            x: "calls in flight",
            y: "calls per second",
            legend: match delay_ms {
                0 => SeriesLabelPosition::MiddleRight,
                _ => SeriesLabelPosition::UpperLeft,
            },
            room: 1.0,
        };
        let curves = Who::ALL.map(|who| rates_of(who, delay_ms, &report.situations));
        let file = format!("calls-per-second-{delay_ms}-ms.svg");
        rates.draw(&curves, &folder.join(file))?;
    }
    Ok(())
}

/// Of one subject, by calls in flight.
fn rates_of(who: Who, delay_ms: u64, situations: &[Situation]) -> Curve {
    let situations = situations.iter().filter(|it| it.delay_ms == delay_ms);
    let points = situations.filter_map(|it| {
        let rate = it.median(who, |crowd| crowd.calls_per_s)?;
        Some((it.in_flight as f64, rate))
    });
    (who.to_string(), points.collect())
}

fn distribution(measure: &Measure) -> Curve {
    let count = measure.latencies.len();
    let points = (0..POINTS).filter_map(|point| {
        let part = (point as f64 + 0.5) / POINTS as f64;
        let latency = measure.latencies.get((part * count as f64) as usize)?;
        Some((latency.as_secs_f64() * 1e6, part * 100.0))
    });
    (measure.subject.clone(), points.collect())
}

/// What a picture shows; the axis along the bottom is logarithmic.
struct Axes<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    /// Where no curve goes.
    legend: SeriesLabelPosition,
    /// How far the axis along the bottom begins before the first point, as a factor.
    room: f64,
}

impl Axes<'_> {
    fn draw(&self, curves: &[Curve], file: &Path) -> Result<()> {
        self.try_to_draw(curves, file)
            .map_err(|error| anyhow!("cannot draw {}: {error}", file.display()))
    }

    fn try_to_draw(
        &self,
        curves: &[Curve],
        file: &Path,
    ) -> std::result::Result<(), Box<dyn std::error::Error>> {
        let points = || curves.iter().flat_map(|(_, points)| points);
        let left = points().map(|point| point.0).fold(f64::MAX, f64::min) / self.room;
        let right = points().map(|point| point.0).fold(1.0, f64::max);
        let top = points().map(|point| point.1).fold(1.0, f64::max);
        let area = SVGBackend::new(file, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d((left.min(right)..right * 1.1).log_scale(), 0.0..top * 1.02)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .draw()?;
        for (index, (name, points)) in curves.iter().enumerate() {
            let style = Palette99::pick(index).stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style))?
                .label(name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        }
        chart
            .configure_series_labels()
            .position(self.legend.clone())
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::Crowd;
    use crate::situation::Outcome;

    fn situation(delay_ms: u64, in_flight: usize, outcome: Outcome) -> Situation {
        Situation {
            delay_ms,
            in_flight,
            outcomes: vec![(Who::Shared, outcome)],
        }
    }

    fn measured(rates: &[f64]) -> Outcome {
        let crowd = |&calls_per_s: &f64| Crowd {
            memory_bytes_per_call: Some(1.0),
            linear_memory_bytes_per_call: None,
            opening_s: 1.0,
            calls_per_s,
            cpu_us_per_call: 1.0,
        };
        Outcome::Measured(rates.iter().map(crowd).collect())
    }

    #[test]
    fn a_curve_has_the_medians_of_one_delay_and_nothing_that_was_left_out() {
        let situations = [
            situation(0, 64, measured(&[7.0, 9.0, 8.0])),
            situation(0, 1_000, Outcome::LeftOut("no room".to_owned())),
            situation(20, 64, measured(&[3.0])),
        ];
        let (name, points) = rates_of(Who::Shared, 0, &situations);
        assert_eq!((name.as_str(), points), ("shared", vec![(64.0, 8.0)]));
    }
}
