//! Progress for people: a spinner on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget};
use std::io::{IsTerminal, stdout};
use std::time::Duration;
use voice_calling_host::Secrets;

/// Shows the progress of steps.
pub struct Progress {
    secrets: Secrets,
    spinner: ProgressBar,
    step: String,
}

impl Progress {
    /// Starts the display, from which these secrets are masked.
    pub fn start(secrets: Secrets) -> Self {
        let spinner = ProgressBar::new_spinner();
        spinner.set_draw_target(match stdout().is_terminal() {
            true => ProgressDrawTarget::stdout(),
            false => ProgressDrawTarget::hidden(),
        });
        spinner.enable_steady_tick(Duration::from_millis(100));
        Self {
            secrets,
            spinner,
            step: String::new(),
        }
    }

    /// Begins a step.
    pub fn begin(&mut self, step: &str) {
        self.step = step.to_owned();
        self.spinner.set_message(self.step.clone());
    }

    /// Updates the state of the step, which only a terminal shows.
    pub fn update(&self, state: &str) {
        self.spinner
            .set_message(self.secrets.mask(&format!("{}: {state}", self.step)));
    }

    /// Shows an event of the step.
    pub fn detail(&self, detail: &str) {
        self.line(&format!("      {detail}"));
    }

    /// Reports that the step succeeded.
    pub fn done(&self, outcome: &str) {
        self.line(&format!("  ok  {}: {outcome}", self.step));
    }

    /// Ends the display.
    pub fn finish(&self) {
        self.spinner.finish_and_clear();
    }

    /// Prints a line with the secrets masked.
    pub fn line(&self, line: &str) {
        let line = self.secrets.mask(line);
        self.spinner.suspend(|| println!("{line}"));
    }
}
