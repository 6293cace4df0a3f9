//! The last release, as far as the next one has to know it: its WIT, and how large it was.
//!
//! `xtask/released/<version>/` has the packages as WIT text, and `sizes.txt`. A release whose version
//! promises that nothing breaks (another patch; from 1.0 on, another minor) is refused if a host
//! or a guest that was built for the last one could not use it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::semver::Version;
use wit_component::{WitPrinter, semver_check};
use wit_parser::{PackageId, Resolve};

use crate::{release::artifact::WIT_PACKAGES, workspace::Workspace};

/// The worlds of the packages that components implement.
const WORLDS: [(&str, &[&str]); 3] = [
    ("client", &["plugin"]),
    ("client-async", &["plugin"]),
    ("tools", &["tools", "read-only"]),
];

pub struct LastRelease {
    pub version: Version,
    folder: PathBuf,
}

impl LastRelease {
    pub fn find(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.root.join("xtask/released");
        let entries = fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))?;
        let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
        let [entry] = entries.as_slice() else {
            bail!(
                "{} has to hold one folder, the last release",
                folder.display()
            );
        };
        let version = entry.file_name().to_string_lossy().parse();
        Ok(Self {
            version: version.context("released/ holds a folder that is not a version")?,
            folder: entry.path(),
        })
    }

    /// Bytes by file.
    pub fn sizes(&self) -> Result<BTreeMap<String, u64>> {
        let text = fs::read_to_string(self.folder.join("sizes.txt"))?;
        let lines = text.lines().map(|line| {
            let (bytes, file) = line.split_once(' ').context("`<bytes> <file>`")?;
            Ok((file.to_owned(), bytes.parse()?))
        });
        lines.collect()
    }

    /// Refuses a WIT that breaks what the version promises to keep.
    pub fn check(&self, workspace: &Workspace) -> Result<()> {
        let version: Version = workspace.version()?.parse()?;
        ensure!(
            version >= self.version,
            "version {version} is older than the last release, {}",
            self.version
        );
        for (package, worlds) in WORLDS {
            let last = self.folder.join(format!("{package}.wit"));
            if !last.is_file() {
                continue;
            }
            let last = fs::read_to_string(last)?;
            let (now, _) = read(workspace, package)?;
            for world in worlds {
                let kept = compatible(now.clone(), &last, package, world);
                if let Err(error) = kept {
                    ensure!(
                        may_break(&self.version, &version),
                        "the WIT of voice-calling:{package} breaks {}, and {version} promises \
                         to break nothing: {error:#}",
                        self.version
                    );
                }
            }
        }
        Ok(())
    }

    /// Makes the release of this version the last one.
    pub fn replace(self, workspace: &Workspace, release: &Path) -> Result<()> {
        let version = workspace.version()?;
        let folder = self.folder.with_file_name(&version);
        fs::remove_dir_all(&self.folder)?;
        fs::create_dir(&folder)?;
        for (package, ..) in WIT_PACKAGES {
            let (resolve, id) = read(workspace, package)?;
            fs::write(folder.join(format!("{package}.wit")), text(&resolve, id)?)?;
        }
        let mut sizes = String::new();
        for (file, bytes) in sizes_of(release)? {
            sizes += &format!("{bytes} {file}\n");
        }
        Ok(fs::write(folder.join("sizes.txt"), sizes)?)
    }
}

/// Bytes by file.
pub fn sizes_of(folder: &Path) -> Result<BTreeMap<String, u64>> {
    let entries = fs::read_dir(folder)?.map(|entry| {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, entry.metadata()?.len()))
    });
    entries.collect()
}

/// Before 1.0, another minor version may break.
fn may_break(last: &Version, next: &Version) -> bool {
    next.major > last.major || next.major == 0 && next.minor > last.minor
}

/// The package as it is now, with all that it uses.
fn read(workspace: &Workspace, package: &str) -> Result<(Resolve, PackageId)> {
    let mut packages = WIT_PACKAGES.iter();
    let (_, folders, _) = packages
        .find(|(name, ..)| *name == package)
        .with_context(|| format!("no WIT package is called `{package}`"))?;
    let mut resolve = Resolve::new();
    let mut id = None;
    for folder in *folders {
        id = Some(resolve.push_dir(workspace.root.join(folder))?.0);
    }
    Ok((resolve, id.context("a package is in a folder")?))
}

/// The package and all that it uses, without comments.
fn text(resolve: &Resolve, main: PackageId) -> Result<String> {
    let others = resolve.packages.iter().map(|(id, _)| id);
    let others: Vec<_> = others.filter(|id| *id != main).collect();
    let mut printer = WitPrinter::default();
    printer.emit_docs(false);
    printer.print(resolve, main, &others)?;
    Ok(printer.output.to_string())
}

/// Whether a component of the world as it is now can stand where the last one's was: it exports all
/// that was exported, with the same types, and imports nothing else.
fn compatible(mut now: Resolve, last: &str, package: &str, world: &str) -> Result<()> {
    // Both are to be in one `Resolve`, which takes each version of a package once.
    let last: Vec<_> = last.lines().map(unversioned).collect();
    let mut before = Resolve::new();
    before.push_str("last.wit", &last.join("\n"))?;
    now.merge(before)?;
    let find = |is_last: bool| {
        let mut worlds = now.worlds.iter().filter(|(_, it)| it.name == world);
        let found = worlds.find(|(_, it)| {
            let name = it.package.map(|id| &now.packages[id].name);
            name.is_some_and(|name| {
                let version = name.version.as_ref().map(ToString::to_string);
                let is_unversioned = version.as_deref() == Some(UNVERSIONED);
                name.namespace == "voice-calling"
                    && name.name == package
                    && is_unversioned == is_last
            })
        });
        let found = found.map(|(id, _)| id);
        found.with_context(|| format!("voice-calling:{package} has no world `{world}`"))
    };
    let (old, new) = (find(true)?, find(false)?);
    semver_check(now, new, old)
}

const UNVERSIONED: &str = "0.0.0";

/// A line in which our own packages have the version that no release has.
fn unversioned(line: &str) -> String {
    let Some(at) = line.find("voice-calling:") else {
        return line.to_owned();
    };
    let Some(version) = line[at..].find('@').map(|found| at + found + 1) else {
        return line.to_owned();
    };
    let rest = line[version..].splitn(3, '.').nth(2).unwrap_or_default();
    let rest = rest.trim_start_matches(|it: char| it.is_ascii_digit());
    format!("{}{UNVERSIONED}{rest}", &line[..version])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: &str = "package voice-calling:x@0.2.0;\n\
        interface i {\n  variant v { a, b }\n  record r { c: u8, d: u8 }\n\
          f: func(r: r) -> v;\n}\n\
        interface j { g: func(); }\n\
        world w { export i; }\n";

    fn check(next: &str) -> Result<()> {
        let mut resolve = Resolve::new();
        resolve.push_str("next.wit", next).unwrap();
        compatible(resolve, LAST, "x", "w")
    }

    #[test]
    fn what_only_adds_functions_breaks_nothing() {
        check(LAST).unwrap();
        check(
            &LAST
                .replace("@0.2.0", "@0.2.1")
                .replace("f: func", "e: func();\n  f: func"),
        )
        .unwrap();
        check(&LAST.replace("export i;", "export i; export j;")).unwrap();
    }

    #[test]
    fn another_case_field_order_function_or_import_breaks() {
        for (last, next) in [
            ("a, b }", "a, b, c }"),
            ("a, b }", "b, a }"),
            ("a, b }", "a }"),
            ("c: u8, d: u8", "c: u8, d: u8, e: u8"),
            ("c: u8, d: u8", "d: u8, c: u8"),
            ("c: u8, d: u8", "c: u8, d: u16"),
            ("f: func(r: r) -> v;", ""),
            ("f: func(r: r) -> v;", "f: func(r: r, s: u8) -> v;"),
            ("export i;", ""),
            ("export i;", "import j; export i;"),
        ] {
            assert!(check(&LAST.replace(last, next)).is_err(), "{next}");
        }
    }

    #[test]
    fn a_minor_version_may_break_before_1_0_only() {
        let may =
            |last: &str, next: &str| may_break(&last.parse().unwrap(), &next.parse().unwrap());
        assert!(may("0.2.0", "0.3.0"));
        assert!(!may("0.2.0", "0.2.1"));
        assert!(may("1.2.0", "2.0.0"));
        assert!(!may("1.2.0", "1.3.0"));
        assert!(may("0.2.0", "1.0.0"));
    }

    #[test]
    fn only_our_own_packages_lose_their_version() {
        assert_eq!(
            unversioned("package voice-calling:x@0.2.0;"),
            "package voice-calling:x@0.0.0;"
        );
        assert_eq!(
            unversioned("  use voice-calling:client/types@0.12.10.{a};"),
            "  use voice-calling:client/types@0.0.0.{a};"
        );
        assert_eq!(
            unversioned("import wasi:http/types@0.2.12;"),
            "import wasi:http/types@0.2.12;"
        );
    }
}
