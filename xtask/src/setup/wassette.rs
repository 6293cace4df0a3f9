//! Wassette needs a newer C library than Debian 12 has: there it gets one of its own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use crate::{
    process::{announce, run_quietly, succeeds},
    setup::wheel::WASSETTE,
    workspace::{Workspace, shell_in},
};

/// What it says of itself.
const VERSION: &str = "0.8.0";

/// What Debian signs the release with that has the newer C library.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Where the program is.
pub fn find(workspace: &Workspace) -> Result<PathBuf> {
    let program = WASSETTE.folder()?.join("wassette");
    let said = cmd!(workspace.shell, "{program} --version").ignore_stderr();
    ensure!(
        said.quiet()
            .read()
            .is_ok_and(|said| said.starts_with(VERSION)),
        "Wassette {VERSION} is missing: `cargo xtask setup wassette` installs it"
    );
    Ok(program)
}

/// Installs it, unless it is there.
pub fn install(workspace: &Workspace) -> Result<()> {
    if let Ok(program) = find(workspace) {
        announce(&format!("Wassette {VERSION}: {}", program.display()));
        return Ok(());
    }
    let shell = &workspace.shell;
    announce(&format!("installing Wassette {VERSION}"));
    let folder = WASSETTE.folder()?;
    let program = WASSETTE.unpack(shell)?;
    let launcher = match succeeds(cmd!(shell, "{program} --version")) {
        true => format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display()),
        false => with_own_library(&folder, &program)?,
    };
    let path = folder.join("wassette");
    fs::write(&path, launcher).with_context(|| format!("cannot write {}", path.display()))?;
    cmd!(shell, "chmod +x {path}").quiet().run()?;
    find(workspace).map(drop)
}

fn with_own_library(folder: &Path, program: &Path) -> Result<String> {
    announce("the C library of Debian 13 for it");
    let shell = shell_in(folder)?;
    let lists = folder.join("lists/partial");
    fs::create_dir_all(&lists)?;
    let sources = folder.join("sources.list");
    let release = format!("deb [signed-by={KEYRING}] http://deb.debian.org/debian trixie main\n");
    fs::write(&sources, release)?;
    let options = [
        format!("Dir::Etc::sourcelist={}", sources.display()),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("Dir::State::lists={}", folder.join("lists").display()),
        "Dir::Cache::pkgcache=".to_owned(),
        "Dir::Cache::srcpkgcache=".to_owned(),
        "APT::Sandbox::User=root".to_owned(),
    ];
    let options = options.map(|option| format!("--option={option}"));
    let options = &options;
    run_quietly(cmd!(shell, "apt-get --quiet {options...} update"))?;
    run_quietly(cmd!(shell, "apt-get --quiet {options...} download libc6"))?;
    let mut package = None;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            package = Some(path);
        }
    }
    let package = package.context("apt-get has downloaded no package")?;
    let library = folder.join("libc");
    run_quietly(cmd!(shell, "dpkg-deb --extract {package} {library}"))?;
    let library = library.join("usr/lib/x86_64-linux-gnu");
    Ok(format!(
        "#!/bin/sh\nexec '{library}/ld-linux-x86-64.so.2' --library-path \
         '{library}:/usr/lib/x86_64-linux-gnu' '{}' \"$@\"\n",
        program.display(),
        library = library.display(),
    ))
}
