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
    harness::HARNESS_VARIABLE,
    process::announce,
    program,
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
    let shell = shell_in(&folder)?;
    let built = build_native(workspace)?;
    // A program may have loaded the earlier one: it keeps that.
    let new = folder.join(format!("{MODULE}.new"));
    fs::copy(&built, &new)?;
    fs::rename(&new, folder.join(MODULE))?;
    shell.copy_file(workspace.root.join("LICENSE"), &folder)?;
    let tarball = npm::pack(workspace, &folder)?;
    println!("{}", workspace.shown(&tarball));
    Ok(tarball)
}

/// Builds the native half, which is the same wherever the workspace is.
fn build_native(workspace: &Workspace) -> Result<PathBuf> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{NATIVE}: {}", toolchain.compiler()));
    let target = workspace.target.join("program");
    let host = toolchain.compiler().host();
    toolchain
        .cargo_for_programs(&workspace.shell)
        .args(["build", "--locked", "--package", NATIVE])
        // Without a target, the flags would also apply to programs that run during the build.
        .args(["--target", host, "--profile", program::PROFILE])
        .arg("--target-dir")
        .arg(&target)
        .env(FLAGS_VARIABLE, reproducible_flags(&toolchain, workspace)?)
        .run()?;
    let name = NATIVE.replace('-', "_");
    let (prefix, suffix) = (env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let folder = target.join(host).join(program::PROFILE);
    Ok(folder.join(format!("{prefix}{name}{suffix}")))
}

/// Packs what is published: the package without a native half, which depends on those of the
/// platforms, and that of this machine.
pub fn pack_for_release(workspace: &Workspace) -> Result<[PathBuf; 2]> {
    let folder = workspace.root.join(FOLDER);
    let read = |name: &str| -> Result<Map<String, Value>> {
        Ok(serde_json::from_str(&fs::read_to_string(
            folder.join(name),
        )?)?)
    };
    let (mut package, platforms) = (read("package.json")?, read("platforms.json")?);
    let toolchain = Toolchain::find(&workspace.shell)?;
    let host = toolchain.compiler().host();
    let mut of_host = platforms.iter().filter(|(_, it)| it["target"] == host);
    let Some((platform, conditions)) = of_host.next() else {
        bail!("{FOLDER}/platforms.json has no platform for {host}");
    };

    let shell = &workspace.shell;
    let scratch = workspace.target.join("npm").join(platform);
    shell.remove_path(&scratch)?;
    shell.create_dir(&scratch)?;
    let mut native = json!({ "name": format!("@voice-calling/{platform}"), "main": MODULE });
    for name in ["version", "license", "engines", "description"] {
        native[name] = package[name].clone();
    }
    for name in ["os", "cpu", "libc"] {
        if let Some(condition) = conditions.get(name) {
            native[name] = condition.clone();
        }
    }
    fs::write(scratch.join("package.json"), native.to_string())?;
    for file in [folder.join(MODULE), workspace.root.join("LICENSE")] {
        shell.copy_file(file, &scratch)?;
    }
    let native = npm::pack(workspace, &scratch)?;

    let version = package["version"].clone();
    let names = platforms
        .keys()
        .map(|it| (format!("@voice-calling/{it}"), version.clone()));
    package.insert("optionalDependencies".to_owned(), names.collect());
    package.remove("devDependencies");
    package.remove("scripts");
    let scratch = workspace.target.join("npm/voice-calling");
    shell.remove_path(&scratch)?;
    shell.create_dir(&scratch)?;
    for name in ["src", "types", "platforms.json", "README.md", "LICENSE"] {
        let from = folder.join(name);
        cmd!(shell, "cp -r {from} {scratch}").quiet().run()?;
    }
    let package = serde_json::to_string_pretty(&package)?;
    fs::write(scratch.join("package.json"), package)?;
    Ok([npm::pack_into(&scratch, &scratch)?, native])
}

pub fn test(workspace: &Workspace, tarball: &Path, harness: &Path) -> Result<()> {
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
            .env(HARNESS_VARIABLE, harness)
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
    let bench = bench.env(HARNESS_VARIABLE, harness);
    bench
        .run()
        .context("the bench of the package for JavaScript")
}
