//! voice-calling on the workflow engine Obelisk: the folder that its users copy, and the proof
//! that it works, on the engine itself.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    component, debian,
    process::{announce, output, run, succeeds},
    tool::Tool,
    toolchain::Toolchain,
    workspace::Workspace,
};

const OBELISK: Tool = Tool {
    name: "obelisk",
    version: "0.38.3",
    takes: "10 to 20 minutes, once for this user",
};

/// Names an engine that is there already.
const PROGRAM_VARIABLE: &str = "OBELISK";

/// Tells the tests where the folder is that they deploy.
const FOLDER_VARIABLE: &str = "OBELISK_FOLDER";

/// What is copied as it is.
const FILES: [&str; 4] = [
    "README.md",
    "deployment.toml",
    "server.toml",
    "server-postgres.toml",
];

const HARNESS: &str = "obelisk-harness";

pub fn run_command(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        None => run_harness(workspace, "story"),
        Some((command, [])) if command == "throughput" => {
            debian::provide(&["postgresql"], has_postgres)?;
            run_harness(workspace, "throughput")
        }
        Some((command, [])) if command == "build" => {
            build(workspace)?;
            println!("{}", workspace.shown(&folder(workspace)));
            Ok(())
        }
        Some((command, arguments)) if command == "test" => {
            debian::provide(&["postgresql"], has_postgres)?;
            let engine = install()?;
            build(workspace)?;
            let test = ["test", "--locked", "--package", HARNESS, "--no-fail-fast"];
            let mut tests = workspace.cargo();
            tests.args(test).args(arguments);
            run(with_engine(&mut tests, workspace, &engine))
        }
        Some(_) => bail!(
            "`obelisk` takes nothing, `build`, `throughput`, or `test` and its arguments, found `{}`",
            arguments.join(" ")
        ),
    }
}

fn run_harness(workspace: &Workspace, command: &str) -> Result<()> {
    let engine = install()?;
    build(workspace)?;
    let mut harness = workspace.cargo();
    harness.args(["run", "--locked", "--package", HARNESS, "--", command]);
    run(with_engine(&mut harness, workspace, &engine))
}

/// What users copy.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("obelisk")
}

/// Builds the components, and puts all that a deployment needs into one folder.
fn build(workspace: &Workspace) -> Result<()> {
    let folder = folder(workspace);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let toolchain = Toolchain::prepare(workspace)?;
    let guests = [
        &workspace.guest,
        &workspace.obelisk_workflow,
        &workspace.obelisk_webhook,
    ];
    for guest in guests {
        component::build(&toolchain, workspace, guest)?;
    }
    copy(&workspace.component(), &folder)?;
    let source = workspace.root.join("engines/obelisk");
    FILES
        .iter()
        .try_for_each(|file| copy(&source.join(file), &folder))
}

fn copy(file: &Path, folder: &Path) -> Result<()> {
    let name = file.file_name().context("a file has a name")?;
    let copied = fs::copy(file, folder.join(name));
    copied.with_context(|| format!("cannot copy {} to {}", file.display(), folder.display()))?;
    Ok(())
}

/// The engine: the user's, or one that is installed for this user, since it takes long.
fn install() -> Result<PathBuf> {
    let program = match env::var_os(PROGRAM_VARIABLE) {
        Some(program) => PathBuf::from(program),
        None => install_for_user()?,
    };
    let version = output(Command::new(&program).arg("--version"))?;
    let expected = format!("obelisk {}", OBELISK.version);
    ensure!(
        version == expected,
        "{} is `{version}`, and what is here was written for `{expected}`",
        program.display()
    );
    Ok(program)
}

fn install_for_user() -> Result<PathBuf> {
    debian::provide(&["protobuf-compiler", "libprotobuf-dev"], || {
        succeeds("protoc", &["--version"]) && Path::new("/usr/include/google/protobuf").is_dir()
    })?;
    let folder = cache()?.join("voice-calling").join("engines");
    // Unoptimized it is built in a quarter of the time, and quick enough to be tested with.
    OBELISK.install_into(&folder, |install| {
        install
            .arg("--debug")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_INCREMENTAL", "0")
            .env_remove("CARGO_TARGET_DIR");
    })
}

/// The user's folder for what can be had again.
fn cache() -> Result<PathBuf> {
    let set = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    set.filter(|folder| folder.is_absolute())
        .or_else(|| Some(env::home_dir()?.join(".cache")))
        .context("neither XDG_CACHE_HOME nor a home directory is known")
}

fn has_postgres() -> bool {
    let installed = || {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
        versions
            .flatten()
            .find(|it| it.path().join("bin/initdb").is_file())
    };
    succeeds("initdb", &["--version"]) || installed().is_some()
}

fn with_engine<'a>(
    command: &'a mut Command,
    workspace: &Workspace,
    engine: &Path,
) -> &'a mut Command {
    announce(&format!("on {}", engine.display()));
    command
        .env(PROGRAM_VARIABLE, engine)
        .env(FOLDER_VARIABLE, folder(workspace))
}
