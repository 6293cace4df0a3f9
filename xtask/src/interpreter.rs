//! Python and Node, which run the tools that make guests of their languages.

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

/// A program that has to be on the PATH: what it comes with is the user's choice.
pub struct Interpreter {
    pub program: &'static str,
    /// Major and minor version.
    at_least: (u32, u32),
}

pub const PYTHON: Interpreter = Interpreter {
    program: "python3",
    at_least: (3, 10),
};

pub const NODE: Interpreter = Interpreter {
    program: "node",
    at_least: (20, 0),
};

impl Interpreter {
    /// Whether it is there and new enough.
    pub fn check(&self, shell: &Shell) -> Result<()> {
        let program = self.program;
        let (major, minor) = self.at_least;
        let needed = format!("`{program}` is needed on the PATH, {major}.{minor} or newer");
        let printed = cmd!(shell, "{program} --version").read();
        let printed = printed.with_context(|| needed.clone())?;
        ensure!(
            version(&printed) >= Some(self.at_least),
            "{needed}, found `{printed}`"
        );
        Ok(())
    }
}

/// Major and minor version of `Python 3.11.7` or `v20.20.2`.
fn version(printed: &str) -> Option<(u32, u32)> {
    let numbers = printed.trim_start_matches(|it: char| !it.is_ascii_digit());
    let mut numbers = numbers.split('.').map(str::parse);
    match (numbers.next()?, numbers.next()?) {
        (Ok(major), Ok(minor)) => Some((major, minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(version("Python 3.11.7"), Some((3, 11)));
        assert_eq!(version("v20.20.2"), Some((20, 20)));
        assert!(version("Python 3.9.2") < Some(PYTHON.at_least));
        assert!(version("v18.20.4") < Some(NODE.at_least));
        assert_eq!(version("command not found"), None);
        assert_eq!(version("v20"), None);
    }
}
