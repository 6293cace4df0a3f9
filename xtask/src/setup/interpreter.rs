//! Programs that must be on the PATH: how to install them is the user's choice.

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::process::succeeds;

pub struct Interpreter {
    pub program: &'static str,
    at_least: &'static str,
    /// The option for code, and code that succeeds if the program is new enough.
    check: [&'static str; 2],
}

pub const PYTHON: Interpreter = Interpreter {
    program: "python3",
    at_least: "3.10",
    check: ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"],
};

pub const NODE: Interpreter = Interpreter {
    program: "node",
    at_least: "20",
    check: [
        "-e",
        "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)",
    ],
};

impl Interpreter {
    pub fn check(&self, shell: &Shell) -> Result<()> {
        let Self {
            program, at_least, ..
        } = self;
        ensure!(
            succeeds(cmd!(shell, "{program}").args(self.check).ignore_stderr()),
            "`{program}` is needed on the PATH, {at_least} or newer"
        );
        Ok(())
    }
}
