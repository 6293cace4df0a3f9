//! Python and Node, which run the tools that make guests of their languages.

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

/// A program that has to be on the PATH: what it comes with is the user's choice.
pub struct Interpreter {
    pub program: &'static str,
    name: &'static str,
    /// Major and minor version.
    at_least: (u32, u32),
}

pub const PYTHON: Interpreter = Interpreter {
    program: "python3",
    name: "Python",
    at_least: (3, 10),
};

pub const NODE: Interpreter = Interpreter {
    program: "node",
    name: "Node",
    at_least: (20, 0),
};

impl Interpreter {
    /// Whether it is there and new enough.
    pub fn check(&self, shell: &Shell) -> Result<()> {
        let Self { program, name, .. } = self;
        let (major, minor) = self.at_least;
        let needed = format!("{name} {major}.{minor} or newer is needed as `{program}`");
        let printed = cmd!(shell, "{program} --version")
            .read()
            .with_context(|| format!("{needed}, and is not on the PATH"))?;
        let found = version(&printed)
            .with_context(|| format!("{needed}, and `{printed}` tells no version"))?;
        ensure!(found >= self.at_least, "{needed}, found `{printed}`");
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

    #[test]
    fn who_has_no_interpreter_is_told_which_one() {
        let absent = Interpreter {
            program: "no-such-interpreter",
            ..PYTHON
        };
        let error = format!("{:#}", absent.check(&Shell::new().unwrap()).unwrap_err());
        let told = "Python 3.10 or newer is needed as `no-such-interpreter`";
        assert!(error.starts_with(told), "{error}");
    }
}
