//! Builds the package for JavaScript as npm tarballs, and tests it as its users install it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use xshell::cmd;

use crate::{
    bindings::npm,
    core_module::{FLAGS_VARIABLE, reproducible_flags},
    harness::Programs,
    process::announce,
    program,
    release::licenses,
    toolchain::Toolchain,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/javascript";

/// The package of its native half.
pub const NATIVE: &str = "voice-calling-javascript";

/// The native half in the folder of the package.
const MODULE: &str = "voice-calling.node";

/// Builds the tarball for this machine, native half included, and returns its path.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root.join(FOLDER);
    let built = build_native(workspace)?;
    // A program may have loaded the earlier one: it keeps that.
    let new = folder.join(format!("{MODULE}.new"));
    fs::copy(&built, &new)?;
    fs::rename(&new, folder.join(MODULE))?;
    write_licenses(workspace, &folder)?;
    let tarball = npm::pack(workspace, &folder)?;
    println!("{}", workspace.shown(&tarball));
    Ok(tarball)
}

/// Writes the licences of what has the native half.
fn write_licenses(workspace: &Workspace, folder: &Path) -> Result<()> {
    fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
    licenses::write_for_package(workspace, NATIVE, folder)
}

/// Builds the native half, which is the same wherever the workspace is.
fn build_native(workspace: &Workspace) -> Result<PathBuf> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{NATIVE}: {}", toolchain.compiler()));
    let target = workspace.target.join("program");
    let host = toolchain.compiler().host();
    let mut flags = reproducible_flags(&toolchain, workspace)?;
    if host.ends_with("musl") {
        // Node loads a module, which shares its libc.
        flags.push("\u{1f}-Ctarget-feature=-crt-static");
    }
    toolchain
        .cargo_for_programs(&workspace.shell)
        .args(["build", "--locked", "--package", NATIVE])
        // Without a target, the flags would also apply to programs that run during the build.
        .args(["--target", host, "--profile", program::PROFILE])
        .arg("--target-dir")
        .arg(&target)
        .env(FLAGS_VARIABLE, flags)
        .run()?;
    let name = NATIVE.replace('-', "_");
    let (prefix, suffix) = (env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let folder = target.join(host).join(program::PROFILE);
    Ok(folder.join(format!("{prefix}{name}{suffix}")))
}

/// Builds and packs what is published for the platform of this machine: the native half alone.
pub fn pack_platform(workspace: &Workspace) -> Result<PathBuf> {
    let (package, platforms) = (read(workspace, "package.json")?, platforms(workspace)?);
    let toolchain = Toolchain::find(&workspace.shell)?;
    let host = toolchain.compiler().host();
    let mut of_host = platforms.iter().filter(|(_, it)| it["target"] == host);
    let Some((platform, conditions)) = of_host.next() else {
        bail!("{FOLDER}/platforms.json has no platform for {host}");
    };
    let folder = workspace.target.join("npm").join(platform);
    workspace.shell.remove_path(&folder)?;
    workspace.shell.create_dir(&folder)?;
    let mut native = json!({ "name": format!("@voice-calling/{platform}"), "main": MODULE });
    for name in ["version", "license", "engines", "description"] {
        native[name] = package[name].clone();
    }
    for name in ["os", "cpu", "libc"] {
        if let Some(condition) = conditions.get(name) {
            native[name] = condition.clone();
        }
    }
    fs::write(folder.join("package.json"), native.to_string())?;
    fs::copy(build_native(workspace)?, folder.join(MODULE))?;
    write_licenses(workspace, &folder)?;
    let tarball = npm::pack(workspace, &folder)?;
    println!("{}", workspace.shown(&tarball));
    Ok(tarball)
}

/// Packs what is published for all platforms: the package without a native half, which depends on
/// those of the platforms.
pub fn pack_for_release(workspace: &Workspace) -> Result<PathBuf> {
    let mut package = read(workspace, "package.json")?;
    let version = package["version"].clone();
    let platforms = platforms(workspace)?.into_iter();
    let native = platforms.map(|(name, _)| (format!("@voice-calling/{name}"), version.clone()));
    package.insert("optionalDependencies".to_owned(), native.collect());
    package.remove("devDependencies");
    package.remove("scripts");
    let shell = &workspace.shell;
    let folder = workspace.target.join("npm/voice-calling");
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    for name in ["bin", "src", "types", "platforms.json", "README.md"] {
        let from = workspace.root.join(FOLDER).join(name);
        cmd!(shell, "cp -r {from} {folder}").quiet().run()?;
    }
    fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
    let package = serde_json::to_string_pretty(&package)?;
    fs::write(folder.join("package.json"), package)?;
    npm::pack_into(&folder, &folder)
}

/// Reads a file of the package.
fn read(workspace: &Workspace, name: &str) -> Result<Map<String, Value>> {
    let text = fs::read_to_string(workspace.root.join(FOLDER).join(name))?;
    serde_json::from_str(&text).context(format!("{FOLDER}/{name}"))
}

/// Returns the platforms that have a package.
fn platforms(workspace: &Workspace) -> Result<Map<String, Value>> {
    read(workspace, "platforms.json")
}

pub fn test(workspace: &Workspace, tarball: &Path, programs: &Programs) -> Result<()> {
    let folder = workspace.root.join(FOLDER);
    npm::install(&folder)?;
    let shell = shell_in(&folder)?;
    let runtimes = folder.join("test/runtimes");
    npm::install(&runtimes)?;
    let runtime = |path: &str| runtimes.join("node_modules").join(path);
    let nodes = ["node-oldest", "node-newest"].map(|name| runtime(name).join("bin/node"));
    let deno = runtime("@deno/linux-x64-glibc/deno");

    // The files are named one by one, since old and new versions of Node interpret patterns
    // differently.
    let mut tests = shell.read_dir("test")?;
    tests.retain(|path| path.to_string_lossy().ends_with(".test.mjs"));
    ensure!(!tests.is_empty(), "{FOLDER}/test has no tests");
    let tests = &tests;
    for node in [PathBuf::from("node")].into_iter().chain(nodes) {
        announce(&format!("JavaScript: tests with {}", node.display()));
        cmd!(shell, "{node} --test --test-reporter=spec {tests...}")
            .envs(programs.clone())
            .env("VOICE_CALLING_TARBALL", tarball)
            .env("DENO", &deno)
            .quiet()
            .run()?;
    }
    let frameworks = folder.join("test/frameworks");
    npm::install(&frameworks)?;
    announce("JavaScript: users' tests in Jest and Vitest");
    let test = cmd!(shell, "npm test --silent --prefix {frameworks}").quiet();
    test.run()?;
    announce("JavaScript: that the figures can be measured");
    let bench = cmd!(shell, "node bench.mjs --short").quiet();
    let bench = bench.envs(programs.clone());
    bench
        .run()
        .context("the bench of the package for JavaScript")
}
