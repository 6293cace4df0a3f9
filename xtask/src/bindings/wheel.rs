//! The package for Python as a wheel: built, and tried as its users install it.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::{
    guest::{CLIENT, SANS_IO},
    harness::{HARNESS_VARIABLE, JUDGE_VARIABLE, Services},
    interpreter::PYTHON,
    process::{announce, run_quietly},
    stamp::Stamp,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/python";

/// The lowest wasmtime that the package allows, and the newest that it is tried with.
const LOWEST_WASMTIME: &str = "25.0.0";
const NEWEST_WASMTIME: &str = "50.0.1";

/// The lowest Python, 3.10, and the first that nobody has tried.
const PYTHONS: std::ops::Range<u32> = 10..20;

/// The Python in which a user has installed the package, and what examples import.
const USER_VARIABLE: &str = "USER_PYTHON";

pub fn build(workspace: &Workspace) -> Result<()> {
    wheel(workspace).map(drop)
}

/// All that CI does.
pub fn test(workspace: &Workspace, services: &Services) -> Result<()> {
    let wheel = wheel(workspace)?;
    let tools = tools(workspace)?;
    check(&tools)?;

    let python = Python::find(&workspace.shell)?;
    let user = Environment::make(workspace, &python, "user")?;
    user.install(workspace, "requirements/examples.txt")?;
    user.install_afresh(&wheel)?;
    check_as_user(workspace, &tools, &user)?;

    for (python, wasmtime) in combinations(&workspace.shell)? {
        announce(&format!("Python 3.{} on wasmtime {wasmtime}", python.minor));
        let name = format!("test-3.{}", python.minor);
        let environment = Environment::make(workspace, &python, &name)?;
        environment.install(workspace, "requirements/test.txt")?;
        environment.install_afresh(&wheel)?;
        environment
            .module("pytest")
            .args(["--quiet", "-c", "pyproject.toml", "tests"])
            .env(
                "PYTHONPATH",
                wasmtime_of(workspace, &environment, wasmtime)?,
            )
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("EXPECTED_WASMTIME", wasmtime)
            .env("XDG_CACHE_HOME", workspace.target.join("python/cache"))
            .env(HARNESS_VARIABLE, &services.harness)
            .env(JUDGE_VARIABLE, &services.judge.url)
            .env(USER_VARIABLE, &user.python)
            .run()?;
    }

    announce("the bench, briefly");
    let bench = Environment::make(workspace, &python, "bench")?;
    bench.install(workspace, "requirements/bench.txt")?;
    bench.install_afresh(&wheel)?;
    let short = bench.python().args(["bench.py", "--short"]);
    Ok(short.env(HARNESS_VARIABLE, &services.harness).run()?)
}

/// Builds the wheel and returns where it lies.
pub fn wheel(workspace: &Workspace) -> Result<PathBuf> {
    let package = workspace.root.join(FOLDER);
    let module = package.join("src/voice_calling").join(SANS_IO.file);
    copy(&workspace.component_of(&SANS_IO), &module)?;
    copy(&workspace.root.join("LICENSE"), &package.join("LICENSE"))?;

    let tools = tools(workspace)?;
    announce("the wheel");
    let folder = workspace.target.join("bindings");
    let build = tools.pip();
    let build = build.args(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir"]);
    run_quietly(build.arg(&folder).arg(&package))?;
    let version = &workspace.package(&CLIENT)?.version;
    let wheel = folder.join(format!("voice_calling-{version}-py3-none-any.whl"));
    ensure!(
        wheel.is_file(),
        "the wheel is not called {}: does pyproject.toml have the workspace's version?",
        wheel.display()
    );
    println!("{}", workspace.shown(&wheel));
    Ok(wheel)
}

/// Builds the source distribution, from which installers make the wheel where they have to.
pub fn sdist(workspace: &Workspace) -> Result<PathBuf> {
    announce("the source distribution");
    let folder = workspace.target.join("bindings");
    let tools = tools(workspace)?;
    let build = tools.module("hatchling");
    run_quietly(build.args(["build", "-t", "sdist", "-d"]).arg(&folder))?;
    Ok(folder.join(format!("voice_calling-{}.tar.gz", workspace.version()?)))
}

/// What builds and checks.
fn tools(workspace: &Workspace) -> Result<Environment> {
    let tools = Environment::make(workspace, &Python::find(&workspace.shell)?, "tools")?;
    tools.install(workspace, "requirements/tools.txt")?;
    Ok(tools)
}

/// Format, lints and types of what is in the repository.
fn check(tools: &Environment) -> Result<()> {
    announce("format, lints and types of the Python package");
    let files = ["src", "tests", "bench.py"];
    let steps: [(&str, &[&str]); 4] = [
        ("ruff", &["format", "--check"]),
        ("ruff", &["check"]),
        ("mypy", &[]),
        ("pyright", &[]),
    ];
    for (module, arguments) in steps {
        let step = tools.module(module).args(arguments).args(files);
        run_quietly(with_interpreter(module, step, tools)?)?;
    }
    Ok(())
}

/// Types as users see them: of the README's examples, and whether all that is public has one.
fn check_as_user(workspace: &Workspace, tools: &Environment, user: &Environment) -> Result<()> {
    announce("types as users see them");
    let examples = workspace.target.join("python/examples");
    run_quietly(user.python().arg("tests/readme.py").arg(&examples))?;
    let shell = shell_in(&examples)?;
    let steps: [(&str, &[&str]); 3] = [
        ("mypy", &["--strict", "--no-incremental", "."]),
        ("pyright", &["."]),
        (
            "pyright",
            &["--verifytypes", "voice_calling", "--ignoreexternal"],
        ),
    ];
    for (module, arguments) in steps {
        let step = shell.cmd(&tools.python).args(["-m", module]);
        run_quietly(with_interpreter(module, step.args(arguments), user)?)?;
    }
    Ok(())
}

/// Tells a checker of types where packages are installed.
fn with_interpreter<'a>(module: &str, step: Cmd<'a>, environment: &Environment) -> Result<Cmd<'a>> {
    let step = match module {
        "mypy" => step.arg("--python-executable").arg(&environment.python),
        _ => step,
    };
    // Pyright asks the first Python on PATH; it has an option, which `--verifytypes` ignores.
    let folder = environment
        .python
        .parent()
        .context("a Python in a folder")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(folder.to_owned()).chain(env::split_paths(&path));
    Ok(step.env("PATH", env::join_paths(path)?))
}

/// What the tests run on: the lowest and the newest wasmtime, and the lowest and the newest of other
/// Pythons where there are some.
fn combinations(shell: &Shell) -> Result<Vec<(Python, &'static str)>> {
    let python = Python::find(shell)?;
    let mut others = Python::all(shell);
    others.remove(&python.minor);
    let lowest = others.pop_first().map(|(_, python)| python);
    let newest = others.pop_last().map(|(_, python)| python);
    let mut combinations = vec![(python.clone(), NEWEST_WASMTIME), (python, LOWEST_WASMTIME)];
    if lowest.is_none() {
        announce("only one Python is installed, so only that one is tested");
    }
    combinations.extend(lowest.map(|python| (python, LOWEST_WASMTIME)));
    combinations.extend(newest.map(|python| (python, NEWEST_WASMTIME)));
    Ok(combinations)
}

/// A folder with this wasmtime, to be searched first.
fn wasmtime_of(workspace: &Workspace, environment: &Environment, version: &str) -> Result<PathBuf> {
    let folder = workspace.target.join(format!("python/wasmtime-{version}"));
    if !folder.join("wasmtime").is_dir() {
        let install = environment.pip().args(["install", "--no-deps", "--target"]);
        run_quietly(install.arg(&folder).arg(format!("wasmtime=={version}")))?;
    }
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

// ---------------------------------------------------------------------------------- interpreters

/// A CPython 3.
#[derive(Clone)]
struct Python {
    program: PathBuf,
    /// The 11 of 3.11.
    minor: u32,
}

impl Python {
    /// The user's own.
    fn find(shell: &Shell) -> Result<Self> {
        PYTHON.check(shell)?;
        let found = Self::at(shell, PYTHON.program);
        found.context("`python3` did not print its version")
    }

    /// All that are here, the lowest first.
    fn all(shell: &Shell) -> BTreeMap<u32, Self> {
        let on_path = PYTHONS.map(|minor| PathBuf::from(format!("python3.{minor}")));
        let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from);
        let pyenv = pyenv.or_else(|| Some(env::home_dir()?.join(".pyenv")));
        let versions = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok());
        let versions = versions.into_iter().flatten().flatten();
        let installed = versions.map(|version| version.path().join("bin/python3"));
        let found = on_path
            .chain(installed)
            .filter_map(|program| Self::at(shell, program));
        found
            .filter(|python| PYTHONS.contains(&python.minor))
            .map(|python| (python.minor, python))
            .collect()
    }

    fn at(shell: &Shell, program: impl Into<PathBuf>) -> Option<Self> {
        let program = program.into();
        let code = "import sys; print('%d.%d' % sys.version_info[:2])";
        let version = cmd!(shell, "{program} -c {code}")
            .ignore_stderr()
            .read()
            .ok()?;
        Some(Self {
            minor: minor_of(&version)?,
            program,
        })
    }
}

/// The 11 of `3.11`.
fn minor_of(version: &str) -> Option<u32> {
    version.strip_prefix("3.")?.parse().ok()
}

/// A virtual environment in the target directory.
struct Environment {
    python: PathBuf,
    /// In the package's folder.
    shell: Shell,
    folder: PathBuf,
}

impl Environment {
    /// Makes it, unless it is there.
    fn make(workspace: &Workspace, python: &Python, name: &str) -> Result<Self> {
        let folder = workspace.target.join("python").join(name);
        let program = if cfg!(windows) {
            folder.join("Scripts/python.exe")
        } else {
            folder.join("bin/python")
        };
        let shell = shell_in(&workspace.root.join(FOLDER))?;
        if Python::at(&shell, &program).map(|made| made.minor) != Some(python.minor) {
            announce(&format!(
                "a virtual environment for Python 3.{}: {name}",
                python.minor
            ));
            let python = &python.program;
            run_quietly(cmd!(shell, "{python} -m venv --clear {folder}"))?;
        }
        Ok(Self {
            python: program,
            shell,
            folder,
        })
    }

    fn python(&self) -> Cmd<'_> {
        self.shell.cmd(&self.python).quiet()
    }

    fn module(&self, name: &str) -> Cmd<'_> {
        self.python().args(["-m", name])
    }

    fn pip(&self) -> Cmd<'_> {
        let pip = self.module("pip");
        pip.args(["--disable-pip-version-check", "--quiet"])
    }

    /// Installs exact versions, unless the same were installed before.
    fn install(&self, workspace: &Workspace, requirements: &str) -> Result<()> {
        let file = workspace.root.join(FOLDER).join(requirements);
        let pinned = Stamp::of(requirements, &self.folder, [&file])?;
        pinned
            .unless_fresh(|| run_quietly(self.pip().args(["install", "--requirement"]).arg(&file)))
    }

    /// Installs the wheel as it is now, and what it depends on.
    fn install_afresh(&self, wheel: &Path) -> Result<()> {
        run_quietly(self.pip().arg("install").arg(wheel))?;
        let again = ["install", "--no-deps", "--force-reinstall"];
        run_quietly(self.pip().args(again).arg(wheel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_is_known_by_its_version() {
        assert_eq!(minor_of("3.11"), Some(11));
        assert_eq!(minor_of("3.9"), Some(9));
        assert_eq!(minor_of("2.7"), None);
        assert_eq!(minor_of("4.0"), None);
    }

    #[test]
    fn the_versions_of_wasmtime_that_are_tried_are_those_that_the_package_names() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(FOLDER);
        let manifest = fs::read_to_string(root.join("pyproject.toml")).unwrap();
        assert!(manifest.contains(&format!("\"wasmtime>={LOWEST_WASMTIME}\"")));
        let guest = fs::read_to_string(root.join("src/voice_calling/_guest.py")).unwrap();
        assert!(guest.contains(&format!("OLDEST_WASMTIME = \"{LOWEST_WASMTIME}\"")));
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        assert!(readme.contains(&format!("wasmtime {LOWEST_WASMTIME} and {NEWEST_WASMTIME}")));
    }
}
