//! The checksums of a release and their signature, by minisign.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    inspect::sha256,
    process::{announce, succeeds},
    release::history::sizes_of,
    setup,
    workspace::shell_in,
};

pub const SUMS: &str = "SHA256SUMS";

pub const SIGNATURE: &str = "SHA256SUMS.minisig";

/// Compares the files with their checksums.
pub const CHECK: &str = "sha256sum --check --quiet --strict SHA256SUMS";

/// What users run in a folder with the files that they downloaded. `--ignore-missing` is not among
/// the options: a file that is listed and missing is an error.
pub const VERIFY: &str = "minisign -V -q -p voice-calling.pub -m SHA256SUMS && sha256sum --check --quiet --strict SHA256SUMS";

/// The public key, in the folder of the release and in the repository.
pub const PUBLIC_KEY: &str = "voice-calling.pub";

/// Lists every file of the folder, in the form of `sha256sum`.
pub fn write_sums(folder: &Path) -> Result<()> {
    let mut sums = String::new();
    for file in sizes_of(folder)?.into_keys() {
        let bytes = fs::read(folder.join(&file))?;
        sums += &format!("{}  {file}\n", sha256(&bytes));
    }
    Ok(fs::write(folder.join(SUMS), sums)?)
}

/// Signs the checksums, after they have been compared with the files. minisign asks for the key's
/// password, unless it has none.
pub fn sign(folder: &Path, key: &Path, comment: &str) -> Result<()> {
    let shell = shell_in(folder)?;
    setup::check_release(&shell)?;
    let check = cmd!(shell, "bash -c {CHECK}").quiet();
    check
        .run()
        .context("the files are not those that were released")?;
    let sign = cmd!(shell, "minisign -S -s {key} -m {SUMS} -t {comment}").quiet();
    sign.ignore_stdout().run().context("cannot sign")?;
    announce(&format!("{SIGNATURE}: signed"));
    Ok(())
}

/// As users do it.
pub fn is_verified(shell: &Shell) -> bool {
    succeeds(cmd!(shell, "bash -c {VERIFY}").quiet().ignore_stderr())
}

/// A change to the files in a folder.
type Tampering<'a> = &'a dyn Fn(&Path) -> Result<()>;

/// Proves that verification can fail: for a changed and a missing file, changed checksums,
/// and another key.
pub fn prove(folder: &Path, scratch: &Path) -> Result<()> {
    announce("verifying the release, and copies of it that were tampered with");
    let shell = shell_in(scratch)?;
    setup::check_release(&shell)?;
    let key = |name: &str| {
        let (public, secret) = (format!("{name}.pub"), format!("{name}.key"));
        let generate = cmd!(shell, "minisign -G -f -W -p {public} -s {secret}").quiet();
        generate.ignore_stdout().run()?;
        Ok::<_, anyhow::Error>((scratch.join(public), scratch.join(secret)))
    };
    let (public, secret) = key("ours")?;
    let (other, _) = key("other")?;
    let copy = scratch.join("copy");
    let files: Vec<_> = sizes_of(folder)?.into_keys().collect();
    let fresh = || -> Result<Shell> {
        shell.remove_path(&copy)?;
        shell.create_dir(&copy)?;
        for file in &files {
            shell.copy_file(folder.join(file), copy.join(file))?;
        }
        shell.copy_file(&public, copy.join(PUBLIC_KEY))?;
        sign(&copy, &secret, "rehearsal")?;
        shell_in(&copy)
    };
    ensure!(
        is_verified(&fresh()?),
        "the release is not verified: {VERIFY}"
    );
    let victim = &files[0];
    let changes: [(&str, Tampering); 4] = [
        ("a changed file", &|copy| {
            let mut bytes = fs::read(copy.join(victim))?;
            let last = bytes.last_mut().context("the file is empty")?;
            *last ^= 1;
            Ok(fs::write(copy.join(victim), bytes)?)
        }),
        ("a missing file", &|copy| {
            Ok(fs::remove_file(copy.join(victim))?)
        }),
        ("changed checksums", &|copy| {
            let bytes = b"another file";
            fs::write(copy.join(victim), bytes)?;
            let sums = fs::read_to_string(copy.join(SUMS))?;
            let old = sha256(&fs::read(folder.join(victim))?);
            Ok(fs::write(
                copy.join(SUMS),
                sums.replace(&old, &sha256(bytes)),
            )?)
        }),
        ("another key", &|copy| {
            Ok(fs::copy(&other, copy.join(PUBLIC_KEY)).map(drop)?)
        }),
    ];
    for (name, change) in changes {
        let shell = fresh()?;
        change(&copy)?;
        ensure!(!is_verified(&shell), "{name} was not noticed by: {VERIFY}");
    }
    shell.remove_path(&copy)?;
    Ok(())
}
