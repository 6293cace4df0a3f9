//! Progress for people: a spinner on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget};
use std::io::{IsTerminal, stdout};
use std::time::Duration;
use voice_calling_host::Secrets;

/// What is done step by step, as it is done.
pub struct Progress {
    secrets: Secrets,
    spinner: ProgressBar,
    step: String,
}

impl Progress {
    /// What is shown is shown without these secrets.
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

    /// A step begins.
    pub fn begin(&mut self, step: &str) {
        self.step = step.to_owned();
        self.spinner.set_message(self.step.clone());
    }

    /// How far the step is; seen on a terminal only.
    pub fn update(&self, state: &str) {
        self.spinner
            .set_message(self.secrets.mask(&format!("{}: {state}", self.step)));
    }

    /// Something that happened in the step.
    pub fn detail(&self, detail: &str) {
        self.line(&format!("      {detail}"));
    }

    /// The step has succeeded.
    pub fn done(&self, outcome: &str) {
        self.line(&format!("  ok  {}: {outcome}", self.step));
    }

    /// Nothing more comes.
    pub fn finish(&self) {
        self.spinner.finish_and_clear();
    }

    /// A line without the secrets.
    pub fn line(&self, line: &str) {
        let line = self.secrets.mask(line);
        self.spinner.suspend(|| println!("{line}"));
    }
}
