//! A guest: cargo makes a core WebAssembly module of it, the same on every machine that has
//! this compiler.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::Cmd;

use crate::{
    process::announce,
    toolchain::{TARGET, Toolchain},
    workspace::Workspace,
};

/// A package that is built for WebAssembly, and what is made of it.
pub struct Guest {
    pub package: &'static str,
    /// What `wasm-tools metadata show` calls it.
    pub component: &'static str,
    /// Where it lies in the target directory.
    pub file: &'static str,
    pub form: Form,
}

/// What is made of a package.
#[derive(Clone, Copy)]
pub enum Form {
    /// A component of the world that its bindings were generated from.
    Component,
    /// A component of another world than that of the bindings.
    ComponentOf {
        /// The package with the world is in the last; it uses those before.
        folders: &'static [&'static str],
        world: &'static str,
    },
    /// The core module itself, with these exports.
    CoreModule(&'static [&'static str]),
}

/// The guest that all this is for.
pub const CLIENT: Guest = Guest {
    package: "voice-calling-p2",
    component: "voice-calling",
    file: "voice-calling.wasm",
    form: Form::Component,
};

/// The same for hosts of WASI 0.3, where all calls may be on one instance.
pub const CLIENT_P3: Guest = Guest {
    package: "voice-calling-p3",
    component: "voice-calling-p3",
    file: "voice-calling-p3.wasm",
    form: Form::Component,
};

/// The client without I/O, for hosts that do it themselves. Its world exports the types that the
/// bindings import: they are the same to the functions.
pub const STEPS: Guest = Guest {
    package: "voice-calling-steps-typed",
    component: "voice-calling-steps",
    file: "voice-calling-steps.wasm",
    form: Form::ComponentOf {
        folders: &["wit", "wit-steps"],
        world: "plugin",
    },
};

/// The same for hosts that know nothing of the component model.
pub const STEPS_TEXT: Guest = Guest {
    package: "voice-calling-steps-text",
    component: "voice-calling-steps-text",
    file: "voice-calling-steps-text.wasm",
    form: Form::CoreModule(&[
        "memory",
        "input",
        "configure",
        "step",
        "parse_docket_completed",
        "mask",
    ]),
};

/// The tools for AI agents, into which the client is plugged.
pub const TOOLS: Guest = Guest {
    package: "voice-calling-tools",
    component: "voice-calling-tools",
    file: "tools-guest.wasm",
    form: Form::Component,
};

/// The same without the tools that make a telephone ring.
pub const TOOLS_READ_ONLY: Guest = Guest {
    package: "voice-calling-tools",
    component: "voice-calling-tools-read-only",
    file: "tools-read-only-guest.wasm",
    form: Form::ComponentOf {
        folders: &["wit", "wit-tools"],
        world: "read-only",
    },
};

/// All that users get.
pub const PRODUCTS: [&Guest; 4] = [&CLIENT, &CLIENT_P3, &STEPS, &STEPS_TEXT];

/// The guest on a core that misbehaves, with which the check of components proves that it can fail.
pub const MUTANTS: Guest = Guest {
    package: "voice-calling-mutants-p2",
    component: "voice-calling-mutants",
    file: "mutants.wasm",
    form: Form::Component,
};

/// A guest that uses the one for WASI 0.3 and cancels its calls, with which tests prove what
/// becomes of these.
pub const IMPATIENT: Guest = Guest {
    package: "voice-calling-impatient",
    component: "voice-calling-impatient",
    file: "impatient-guest.wasm",
    form: Form::Component,
};

/// One operation of the service written with wstd, which the bench compares the client with.
pub const PEER: Guest = Guest {
    package: "voice-calling-bench-peer",
    component: "voice-calling-bench-peer",
    file: "voice-calling-peer.wasm",
    form: Form::Component,
};

/// An HTTP server for hosts of `wasi:http`; the client is plugged into it.
pub const EXAMPLE_HTTP: Guest = Guest {
    package: "voice-calling-example-http",
    component: "voice-calling-example-http",
    file: "http-guest.wasm",
    form: Form::Component,
};

/// What runs beside the guest on the workflow engine Obelisk.
pub const OBELISK_WORKFLOW: Guest = Guest {
    package: "voice-calling-obelisk-workflow",
    component: "voice-calling-workflow",
    file: "obelisk/workflow.wasm",
    form: Form::Component,
};

/// What begins a creation once there; the client is plugged into it.
pub const OBELISK_ONCE: Guest = Guest {
    package: "voice-calling-obelisk-once",
    component: "voice-calling-once",
    file: "once-guest.wasm",
    form: Form::Component,
};

/// What the operator of campaigns supplies there.
pub const OBELISK_OPERATOR: Guest = Guest {
    package: "voice-calling-obelisk-operator",
    component: "voice-calling-operator",
    file: "obelisk/operator.wasm",
    form: Form::Component,
};

/// What receives the service's webhook there.
pub const OBELISK_WEBHOOK: Guest = Guest {
    package: "voice-calling-obelisk-webhook",
    component: "voice-calling-webhook",
    file: "obelisk/webhook.wasm",
    form: Form::Component,
};

/// At which an operator watches and steers campaigns there.
pub const OBELISK_CAMPAIGNS: Guest = Guest {
    package: "voice-calling-obelisk-campaigns",
    component: "voice-calling-campaigns",
    file: "obelisk/campaigns.wasm",
    form: Form::Component,
};

pub const PROFILE: &str = "guest";

/// Goes before every other place from which cargo takes flags.
pub const FLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// What stands between flags there.
const SEPARATOR: &str = "\u{1f}";

/// The command that builds the core module. One for each guest: cargo would unify the features of
/// what several depend on, and the bytes would depend on what else is built.
pub fn build<'a>(workspace: &'a Workspace, guest: &Guest) -> Result<Cmd<'a>> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{}: {}", guest.package, toolchain.description()));
    Ok(toolchain
        .cargo(&workspace.shell)
        .args(["build", "--locked", "--package", guest.package])
        .args(["--target", TARGET, "--profile", PROFILE, "--target-dir"])
        .arg(workspace.guest_target())
        .env(FLAGS_VARIABLE, flags(&toolchain, workspace)?))
}

/// Where cargo leaves the core module in a target directory.
pub fn core_module(target: &Path, guest: &Guest) -> PathBuf {
    let file = format!("{}.wasm", guest.package.replace('-', "_"));
    target.join(TARGET).join(PROFILE).join(file)
}

/// Cargo's own folder, with the sources of all dependencies.
pub fn cargo_home() -> Result<PathBuf> {
    env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .context("neither CARGO_HOME nor a home directory is known")
}

/// What makes a component a twelfth smaller. The linker pads every address in the code to five
/// bytes, so that it could be changed in place: compressed, it is not. And every place in the code
/// that may panic has its file and line in the data; the message of a panic stays without them.
const SMALLER: [&str; 2] = [
    "-Clink-arg=--compress-relocations",
    "-Zlocation-detail=none",
];

/// The value of [`FLAGS_VARIABLE`] for a guest.
pub fn flags(toolchain: &Toolchain, workspace: &Workspace) -> Result<OsString> {
    let smaller = SMALLER.map(OsString::from);
    let remapped = reproducible_flags(toolchain, workspace)?;
    Ok([&smaller[..], &[remapped]]
        .concat()
        .join(SEPARATOR.as_ref()))
}

/// The same for what is not a guest. Panic messages hold the path of the source they come from:
/// every folder that differs from machine to machine gets a fixed name instead.
pub fn reproducible_flags(toolchain: &Toolchain, workspace: &Workspace) -> Result<OsString> {
    let compiler = toolchain.compiler();
    let mut folders = vec![
        (workspace.root.clone(), "/voice-calling".to_owned()),
        (workspace.target.clone(), "/target".to_owned()),
        (cargo_home()?, "/cargo".to_owned()),
        (compiler.std_source(), compiler.std_source_name()),
    ];
    // A compiler may print the folder that a symbolic link leads to instead of the link.
    let real: Vec<_> = folders
        .iter()
        .filter_map(|(folder, name)| Some((fs::canonicalize(folder).ok()?, name.clone())))
        .filter(|pair| !folders.contains(pair))
        .collect();
    folders.extend(real);
    Ok(remap_flags(folders))
}

/// Of several prefixes that fit, rustc takes the last: the innermost folder has to come last.
fn remap_flags(mut folders: Vec<(PathBuf, String)>) -> OsString {
    folders.sort_by_key(|(folder, _)| folder.components().count());
    let flag = |(folder, name): &(PathBuf, String)| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(folder);
        flag.push("=");
        flag.push(name);
        flag
    };
    let flags: Vec<_> = folders.iter().map(flag).collect();
    flags.join(SEPARATOR.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_folder_is_renamed_last() {
        let flags = remap_flags(vec![
            ("/w/target/x".into(), "/target".into()),
            ("/w".into(), "/voice-calling".into()),
        ]);
        assert_eq!(
            flags,
            "--remap-path-prefix=/w=/voice-calling\u{1f}\
             --remap-path-prefix=/w/target/x=/target"
        );
    }
}
