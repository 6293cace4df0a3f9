//! Builds the package for Python as a wheel, and tests it as its users install it.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use xshell::{Cmd, Shell, cmd};

use crate::{
    core_module::{FLAGS_VARIABLE, reproducible_flags},
    harness::Programs,
    process::{announce, run_quietly},
    release::licenses,
    setup::check_python,
    toolchain::Toolchain,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/python";

/// The crate that is compiled into the wheel.
pub const PACKAGE: &str = "voice-calling-python";

/// The lowest Python, 3.11, and the first untested one.
const PYTHONS: std::ops::Range<u32> = 11..20;

/// Builds the wheel, with the Rust client for this machine, and returns its path.
pub fn wheel(workspace: &Workspace) -> Result<PathBuf> {
    let (shell, package) = (&workspace.shell, workspace.root.join(FOLDER));
    shell.copy_file(workspace.root.join("LICENSE"), &package)?;
    licenses::write_for_package(workspace, PACKAGE, &package)?;
    let tools = tools(workspace)?;
    announce("the wheel");
    let folder = workspace.target.join("bindings/python");
    shell.remove_path(&folder)?;
    let toolchain = Toolchain::find(shell)?;
    let build = tools
        .module("maturin")
        .args(["build", "--locked", "--out"])
        .arg(&folder)
        // Without a target, the flags would also apply to programs that run during the build.
        .args(["--target", toolchain.compiler().host()])
        .env(FLAGS_VARIABLE, reproducible_flags(&toolchain, workspace)?);
    run_quietly(build.env("CARGO_TARGET_DIR", &workspace.target))?;
    let wheels = shell.read_dir(&folder)?;
    let [wheel] = &wheels[..] else {
        bail!(
            "expected one wheel in {}, found {wheels:?}",
            folder.display()
        );
    };
    println!("{}", workspace.shown(wheel));
    Ok(wheel.clone())
}

/// Runs all checks and tests of CI.
pub fn test(workspace: &Workspace, wheel: &Path, programs: &Programs) -> Result<()> {
    let shell = &workspace.shell;
    let tools = tools(workspace)?;
    let own = own_python(shell)?;
    let user = Environment::with(workspace, (FOLDER, "user"), &own, "examples", wheel)?;
    check_sources(&tools)?;
    check_as_user(workspace, &tools, &user)?;

    // The tests run on the lowest and the newest Python.
    let mut found = pythons(shell);
    let newest = found.pop_last().unwrap_or(own);
    let lowest = found.pop_first();
    if lowest.is_none() {
        announce("only one Python is installed, so only that one is tested");
    }
    for python in lowest.into_iter().chain([newest]) {
        let minor = python.0;
        announce(&format!("Python 3.{minor}"));
        let name = format!("test-3.{minor}");
        let environment = Environment::with(workspace, (FOLDER, &name), &python, "test", wheel)?;
        environment
            .module("pytest")
            .args(["--quiet", "-c", "pyproject.toml", "tests"])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(programs.clone())
            .env("USER_PYTHON", &user.python)
            .run()?;
    }

    announce("Python: that the figures can be measured");
    let short = user.python().args(["bench.py", "--short"]);
    Ok(short.envs(programs.clone()).run()?)
}

/// Returns the environment with the tools that build and check.
fn tools(workspace: &Workspace) -> Result<Environment> {
    Environment::make(
        workspace,
        (FOLDER, "tools"),
        &own_python(&workspace.shell)?,
        "tools",
    )
}

/// Checks format, lints and types of the sources.
fn check_sources(tools: &Environment) -> Result<()> {
    announce("format, lints and types of the Python package");
    let files = ["src", "tests", "bench.py"];
    let steps: [&[&str]; 4] = [
        &["ruff", "format", "--check"],
        &["ruff", "check"],
        &["mypy"],
        &["pyright"],
    ];
    for step in steps {
        let step = tools.python().arg("-m").args(step).args(files);
        run_quietly(seeing(step, tools)?)?;
    }
    Ok(())
}

/// Checks types as users see them: those of the README's examples, and that everything public has
/// one.
fn check_as_user(workspace: &Workspace, tools: &Environment, user: &Environment) -> Result<()> {
    announce("types as users see them");
    let examples = workspace.target.join("python/examples");
    run_quietly(user.python().arg("tests/readme.py").arg(&examples))?;
    let (python, tools) = (user.python.display(), tools.in_folder(&examples)?);
    let interpreter = format!("--python-executable={python}");
    let steps: [&[&str]; 3] = [
        &["mypy", "--strict", "--no-incremental", &interpreter, "."],
        &["pyright", "."],
        &[
            "pyright",
            "--verifytypes",
            "voice_calling",
            "--ignoreexternal",
        ],
    ];
    for step in steps {
        run_quietly(seeing(tools.python().arg("-m").args(step), user)?)?;
    }
    Ok(())
}

/// Pyright asks the first Python on PATH for the folder of installed packages; `--verifytypes`
/// ignores the option for that.
fn seeing<'a>(step: Cmd<'a>, environment: &Environment) -> Result<Cmd<'a>> {
    let folder = environment
        .python
        .parent()
        .context("a Python in a folder")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(folder.to_owned()).chain(env::split_paths(&path));
    Ok(step.env("PATH", env::join_paths(path)?))
}

// ---------------------------------------------------------------------------------- interpreters

/// A CPython 3: its minor version, such as the 13 of 3.13, and the program.
pub type Python = (u32, PathBuf);

pub fn own_python(shell: &Shell) -> Result<Python> {
    check_python(shell)?;
    let found = python_at(shell, "python3".into());
    found.context("`python3` is no CPython 3")
}

/// Returns all Pythons on the PATH or installed by pyenv.
fn pythons(shell: &Shell) -> BTreeMap<u32, PathBuf> {
    let on_path = PYTHONS.map(|minor| PathBuf::from(format!("python3.{minor}")));
    let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(env::home_dir()?.join(".pyenv")));
    let versions = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let versions = versions.into_iter().flatten().flatten();
    let installed = versions.map(|version| version.path().join("bin/python3"));
    let found = on_path
        .chain(installed)
        .filter_map(|it| python_at(shell, it));
    found.filter(|(minor, _)| PYTHONS.contains(minor)).collect()
}

fn python_at(shell: &Shell, program: PathBuf) -> Option<Python> {
    let code = "import sys; print(sys.version_info[1])";
    let minor = cmd!(shell, "{program} -c {code}").quiet().ignore_stderr();
    Some((minor.read().ok()?.parse().ok()?, program))
}

/// A virtual environment in the target directory, which copies of the workspace share.
pub struct Environment {
    python: PathBuf,
    /// A shell in the folder of its requirements, or another one.
    shell: Shell,
}

impl Environment {
    /// Creates the environment, unless it exists, with exactly the packages in the file of
    /// requirements.
    fn make(
        workspace: &Workspace,
        (folder, name): (&str, &str),
        python: &Python,
        requirements: &str,
    ) -> Result<Self> {
        let shell = shell_in(&workspace.root.join(folder))?;
        let folder = workspace.programs().join("python").join(name);
        let environment = Self {
            python: folder.join("bin/python"),
            shell,
        };
        let (minor, program) = python;
        let there = python_at(&environment.shell, environment.python.clone());
        if there.is_none_or(|(there, _)| there != *minor) {
            announce(&format!("an environment for Python 3.{minor}: {name}"));
            let shell = &environment.shell;
            run_quietly(cmd!(shell, "{program} -m venv --clear {folder}"))?;
        }
        let requirements = format!("requirements/{requirements}.txt");
        run_quietly(
            environment
                .pip_install()
                .args(["--requirement", &requirements]),
        )?;
        Ok(environment)
    }

    /// Creates the environment with the current wheel and its dependencies.
    pub fn with(
        workspace: &Workspace,
        (folder, name): (&str, &str),
        python: &Python,
        requirements: &str,
        wheel: &Path,
    ) -> Result<Self> {
        let environment = Self::make(workspace, (folder, name), python, requirements)?;
        run_quietly(environment.pip_install().arg(wheel))?;
        let again = environment.pip_install();
        run_quietly(again.args(["--no-deps", "--force-reinstall"]).arg(wheel))?;
        Ok(environment)
    }

    fn in_folder(&self, folder: &Path) -> Result<Self> {
        Ok(Self {
            python: self.python.clone(),
            shell: shell_in(folder)?,
        })
    }

    pub fn python(&self) -> Cmd<'_> {
        self.shell.cmd(&self.python).quiet()
    }

    pub fn module(&self, name: &str) -> Cmd<'_> {
        self.python().args(["-m", name])
    }

    fn pip_install(&self) -> Cmd<'_> {
        let pip = self.module("pip");
        pip.args(["install", "--disable-pip-version-check", "--quiet"])
    }
}
