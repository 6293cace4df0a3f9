//! Builds the package for Python as a wheel, and tests it as its users install it.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::{
    core_module::{FLAGS_VARIABLE, reproducible_flags},
    harness::Programs,
    licenses,
    process::{announce, path_from, run_quietly},
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
    let shell = shell_in(&workspace.root.join(FOLDER))?;
    shell.copy_file(workspace.root.join("LICENSE"), ".")?;
    licenses::write(workspace, &[], &[PACKAGE], &shell.current_dir())?;
    let python = tools(workspace)?;
    announce("the wheel");
    let folder = workspace.target.join("bindings/python");
    shell.remove_path(&folder)?;
    let toolchain = Toolchain::find(&shell)?;
    // Without a target, the flags would also apply to programs that run during the build.
    let host = &toolchain.compiler.host;
    let build = cmd!(
        shell,
        "{python} -m maturin build --locked --target {host} --out {folder}"
    )
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
    let shell = shell_in(&workspace.root.join(FOLDER))?;
    let (tools, own) = (tools(workspace)?, own_python(&shell)?);
    let user = environment(
        workspace,
        "bindings/python/requirements/examples.txt",
        &own,
        Some(wheel),
    )?;
    announce("format, lints and types of the Python package");
    let steps = ["ruff format --check", "ruff check", "mypy", "pyright"];
    check(&shell, &tools, &tools, &steps)?;

    announce(
        "types as users see them: those of the README's examples, and that all that is public has one",
    );
    let examples = workspace.target.join("python/readme");
    run_quietly(cmd!(shell, "{user} tests/readme.py {examples}"))?;
    let steps = [
        "mypy --strict --no-incremental --python-executable python .",
        "pyright .",
        "pyright --verifytypes voice_calling --ignoreexternal",
    ];
    check(&shell_in(&examples)?, &tools, &user, &steps)?;

    // The tests run on the lowest and the newest Python.
    let mut found = pythons(&shell);
    let newest = found.pop_last().unwrap_or(own);
    let lowest = found.pop_first();
    if lowest.is_none() {
        announce("only one Python is installed, so only that one is tested");
    }
    for python in lowest.into_iter().chain([newest]) {
        announce(&format!("Python 3.{}", python.0));
        let python = environment(
            workspace,
            "bindings/python/requirements/test.txt",
            &python,
            Some(wheel),
        )?;
        cmd!(shell, "{python} -m pytest --quiet -c pyproject.toml tests")
            .quiet()
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(programs.clone())
            .env("USER_PYTHON", &user)
            .run()?;
    }
    announce("Python: that the figures can be measured");
    let bench = cmd!(shell, "{user} bench.py --short").quiet();
    Ok(bench.envs(programs.clone()).run()?)
}

/// Returns the Python that has the tools that build and check.
fn tools(workspace: &Workspace) -> Result<PathBuf> {
    let own = own_python(&workspace.shell)?;
    environment(
        workspace,
        "bindings/python/requirements/tools.txt",
        &own,
        None,
    )
}

/// Runs modules of `tools` on what is in the shell's folder, for users of `python`: it is the first
/// on PATH, where Pyright looks for it.
pub fn check(shell: &Shell, tools: &Path, python: &Path, steps: &[&str]) -> Result<()> {
    let path = path_from(&[python.parent().context("a Python in a folder")?])?;
    let steps = steps.iter().map(|step| step.split(' '));
    let steps = steps.map(|step| cmd!(shell, "{tools} -m {step...}").env("PATH", &path));
    steps.into_iter().try_for_each(run_quietly)
}

/// A CPython 3: its minor version, such as the 13 of 3.13, and the program.
type Python = (u32, PathBuf);

/// Returns the Python on the PATH: how to install it is the user's choice.
pub fn own_python(shell: &Shell) -> Result<Python> {
    let found = python_at(shell, "python3".into()).filter(|(minor, _)| PYTHONS.start <= *minor);
    found.context("`python3` is needed on the PATH, 3.11 or newer")
}

/// Returns all Pythons on the PATH or installed by pyenv.
fn pythons(shell: &Shell) -> BTreeMap<u32, PathBuf> {
    let on_path = PYTHONS.map(|minor| PathBuf::from(format!("python3.{minor}")));
    let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(env::home_dir()?.join(".pyenv")));
    let versions = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let versions = versions.into_iter().flatten().flatten();
    let installed = versions.map(|version| version.path().join("bin/python3"));
    let all = on_path.chain(installed);
    let found = all.filter_map(|it| python_at(shell, it));
    found.filter(|(minor, _)| PYTHONS.contains(minor)).collect()
}

fn python_at(shell: &Shell, program: PathBuf) -> Option<Python> {
    let code = "import sys; print(sys.version_info[1])";
    let minor = cmd!(shell, "{program} -c {code}").quiet().ignore_stderr();
    Some((minor.read().ok()?.parse().ok()?, program))
}

/// Makes a virtual environment in the target directory, with the packages in a file of requirements and the current wheel, and returns its Python.
pub fn environment(
    workspace: &Workspace,
    requirements: &str,
    (minor, program): &Python,
    wheel: Option<&Path>,
) -> Result<PathBuf> {
    let shell = &workspace.shell;
    let name = requirements.trim_end_matches(".txt").replace('/', "-");
    let venv = workspace.target.join(format!("python/{name}-3.{minor}"));
    let python = venv.join("bin/python");
    if !python.exists() {
        announce(&format!("{} for Python 3.{minor}", workspace.shown(&venv)));
        run_quietly(cmd!(shell, "{program} -m venv {venv}"))?;
    }
    let install = || {
        cmd!(
            shell,
            "{python} -m pip install --quiet --disable-pip-version-check"
        )
    };
    run_quietly(install().args(["--requirement", requirements]))?;
    if let Some(wheel) = wheel {
        // It has no dependencies.
        run_quietly(
            install()
                .args(["--no-deps", "--force-reinstall"])
                .arg(wheel),
        )?;
    }
    Ok(python)
}
