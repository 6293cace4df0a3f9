//! How far a run is: a bar in a terminal, lines elsewhere.

use crate::outcome::{Counts, Kind};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// The time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The progress of a run, on stderr.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// When the next line is due; `None` in a terminal.
    next_line: Option<Instant>,
    began: Instant,
    total: usize,
}

impl Progress {
    /// Begins to show the progress of this many calls.
    pub(crate) fn new(total: usize) -> Self {
        let is_terminal = stderr().is_terminal();
        let target = match is_terminal {
            true => ProgressDrawTarget::stderr_with_hz(5),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target);
        let style = "{bar:24} {pos}/{len} {per_sec:.1}, {eta} left | {wide_msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a template that is tested"));
        Self {
            bar,
            next_line: (!is_terminal).then(|| Instant::now() + LINE_EVERY),
            began: Instant::now(),
            total,
        }
    }

    /// Shows what became of the calls so far.
    pub(crate) fn update(&mut self, counts: &Counts) {
        let ended = self.total - counts.get(Kind::Callable);
        self.bar.set_position(ended as u64);
        match self.next_line {
            None => self.bar.set_message(counts.shown()),
            Some(due) if Instant::now() >= due => {
                self.next_line = Some(Instant::now() + LINE_EVERY);
                let rate = ended as f64 / self.began.elapsed().as_secs_f64();
                let left_s = (self.total - ended) as f64 / rate.max(0.001);
                let (total, counts) = (self.total, counts.shown());
                crate::say(format_args!(
                    "{ended}/{total}, {rate:.1}/s, {left_s:.0} s left | {counts}"
                ));
            }
            Some(_) => {}
        }
    }

    /// Shows a line.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| crate::say(line));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
