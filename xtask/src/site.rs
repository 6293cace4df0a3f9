//! The documentation as a site: the project's Markdown by mdBook, the WIT's own reference, and the
//! documentation of the crates for hosts in Rust. It needs no network when it is read.

use std::{
    mem,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use wit_bindgen_core::Files;
use wit_parser::Resolve;
use xshell::cmd;

use crate::{
    process::announce,
    setup::{check_chromium, tool::MDBOOK, wheel::LYCHEE},
    test_run::{BROWSER_TESTS, test_harness},
    workspace::Workspace,
};

#[derive(Subcommand)]
pub enum Command {
    /// Check every link, and open every page in Chromium
    Test,
}

type Pages = &'static [(&'static str, &'static str)];

/// What the site has, by reader. The files keep their places, so that links between them hold.
const PARTS: [(&str, Pages); 7] = [
    ("", &[("voice-calling", "README.md")]),
    (
        "On an engine",
        &[
            ("Hosts", "docs/hosts.md"),
            ("Obelisk", "engines/obelisk/README.md"),
            ("AI agents (MCP)", "bindings/mcp/README.md"),
            ("Node-RED", "bindings/node-red/README.md"),
            ("WASI 0.3", "docs/wasi-0.3.md"),
        ],
    ),
    (
        "From a language",
        &[
            ("Python", "bindings/python/README.md"),
            ("JavaScript", "bindings/javascript/README.md"),
            ("Rust", "bindings/rust/README.md"),
            ("Composition", "examples/README.md"),
            ("Without I/O", "docs/sans-io.md"),
            ("Embedding in Rust", "docs/embedding.md"),
        ],
    ),
    (
        "The service",
        &[
            ("Errors and retries", "docs/errors.md"),
            ("The mock", "docs/mock.md"),
            ("The command", "docs/command.md"),
            (
                "What the specification leaves open",
                "docs/specification.md",
            ),
        ],
    ),
    (
        "WIT reference",
        &[
            ("voice-calling:client", "wit/client.md"),
            ("voice-calling:client-async", "wit/client-async.md"),
            ("voice-calling:tools", "wit/tools.md"),
        ],
    ),
    (
        "Judging it",
        &[
            ("Judging a plugin", "docs/judging.md"),
            ("How it is proven", "docs/proof.md"),
            ("The table of cases", "host-test/cases/README.md"),
            ("Transport errors", "docs/faults.md"),
            ("Mutants", "docs/mutants.md"),
            ("Speed", "docs/speed.md"),
        ],
    ),
    (
        "The project",
        &[
            ("Contributing", "CONTRIBUTING.md"),
            ("Releasing", "docs/releasing.md"),
            ("Changelog", "CHANGELOG.md"),
            ("Upgrading from 0.1", "docs/upgrading.md"),
        ],
    ),
];

/// The page of each WIT package: its folders, the last of which has the world.
const WORLDS: [(&str, &[&str], &str); 3] = [
    ("client", &["wit"], "plugin"),
    ("client-async", &["wit", "wit/async"], "plugin"),
    ("tools", &["wit", "wit/tools"], "tools"),
];

/// Whose documentation is in the folder `rust`.
const CRATES: [&str; 4] = [
    "voice-calling",
    "voice-calling-host",
    "voice-calling-mock",
    "voice-calling-page",
];

/// Links to folders, and what the site has in their place.
const FOLDERS: [(&str, &str); 7] = [
    ("](wit/)", "](wit/client.md)"),
    ("](../wit)", "](../wit/client.md)"),
    ("](../wit/async)", "](../wit/client-async.md)"),
    ("](../host)", "](../rust/voice_calling_host/index.html)"),
    ("](../bindings/python)", "](../bindings/python/README.md)"),
    (
        "](../bindings/javascript)",
        "](../bindings/javascript/README.md)",
    ),
    (
        "](../host-test/mock)",
        "](../rust/voice_calling_mock/index.html)",
    ),
];

/// Files that pages link to and that are not pages.
const FILES: [&str; 10] = [
    "LICENSE",
    "docs/pictures/page-dark.png",
    "docs/pictures/page-light.png",
    "docs/pictures/page-narrow.png",
    "examples/core-module/src/main.rs",
    "examples/harness/tests/hosts.rs",
    "examples/http/.wash/config.yaml",
    "examples/http/src/lib.rs",
    "host/examples/embed.rs",
    "wit/tools/tools.wit",
];

const BOOK: &str = "[book]\ntitle = \"voice-calling\"\nlanguage = \"en\"\n\
    [build]\nuse-default-preprocessors = false\n\
    [output.html]\nno-section-label = true\ninput-404 = \"\"\n\
    [output.html.print]\nenable = false\n";

/// Tells the tests where the site is.
const FOLDER_VARIABLE: &str = "VOICE_CALLING_SITE";

pub fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    match command {
        None => {
            let site = build(workspace)?;
            println!("{}", workspace.shown(&site.join("index.html")));
            Ok(())
        }
        Some(Command::Test) => {
            check_chromium(&workspace.shell)?;
            test(workspace, &build(workspace)?)
        }
    }
}

/// Makes the site, and returns its folder.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mdbook = MDBOOK.find()?;
    announce("the documentation as a site");
    let (shell, root) = (&workspace.shell, &workspace.root);
    let book = workspace.target.join("book");
    let source = book.join("src");
    shell.remove_path(&book)?;
    let mut summary = String::new();
    for (part, pages) in PARTS {
        if !part.is_empty() {
            summary += &format!("\n# {part}\n\n");
        }
        for (title, page) in pages {
            summary += &format!("- [{title}]({page})\n");
            if page.starts_with("wit/") {
                continue;
            }
            let mut text = shell.read_file(root.join(page))?;
            for (folder, page) in FOLDERS {
                text = text.replace(folder, page);
            }
            shell.write_file(source.join(page), text)?;
        }
    }
    summary += "- [Crates for hosts in Rust](rust.md)\n";
    shell.write_file(source.join("rust.md"), crates_page())?;
    shell.write_file(source.join("SUMMARY.md"), summary)?;
    shell.write_file(book.join("book.toml"), BOOK)?;
    for (name, folders, world) in WORLDS {
        let text = reference(root, folders, world)?;
        shell.write_file(source.join(format!("wit/{name}.md")), text)?;
    }
    for file in FILES {
        let to = source.join(file);
        shell.create_dir(to.parent().context("a file is in a folder")?)?;
        shell.copy_file(root.join(file), to)?;
    }
    let site = workspace.target.join("docs-site");
    shell.remove_path(&site)?;
    let build = cmd!(shell, "{mdbook} build --dest-dir {site} {book}").quiet();
    build
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .context("mdBook")?;
    crates(workspace, &site.join("rust"))?;
    Ok(site)
}

/// The page of a world, from the comments of its WIT.
fn reference(root: &Path, folders: &[&str], world: &str) -> Result<String> {
    let mut resolve = Resolve::new();
    let mut package = None;
    for folder in folders {
        package = Some(resolve.push_dir(root.join(folder))?.0);
    }
    let package = package.context("a world is in a package")?;
    let world = resolve.select_world(&[package], Some(world))?;
    // WASI has documentation of its own.
    let mut imports = mem::take(&mut resolve.worlds[world].imports);
    imports.retain(|key, _| !resolve.name_world_key(key).starts_with("wasi:"));
    resolve.worlds[world].imports = imports;

    let mut files = Files::default();
    let mut generator = wit_bindgen_markdown::Opts::default().build();
    generator.generate(&mut resolve, world, &mut files)?;
    let mut pages = files.iter().filter(|(name, _)| name.ends_with(".md"));
    let (_, page) = pages.next().context("the world has no page")?;
    let page = str::from_utf8(page)?.replacen("# ", "## ", 1);
    let package = &resolve.packages[package];
    let docs = package.docs.contents.as_deref().unwrap_or_default();
    Ok(format!("# {}\n\n{docs}\n\n{page}", package.name))
}

fn crates_page() -> String {
    let mut text = String::from("# Crates for hosts in Rust\n\n");
    for name in CRATES {
        let folder = name.replace('-', "_");
        text += &format!("- [{name}](rust/{folder}/index.html)\n");
    }
    text
}

/// rustdoc's pages.
fn crates(workspace: &Workspace, to: &Path) -> Result<()> {
    announce("the documentation of the crates");
    let shell = &workspace.shell;
    // It is one folder for all that was ever documented, with an index of it.
    let made = workspace.programs().join("doc");
    shell.remove_path(&made)?;
    // One after the other: a page links to what is documented already.
    for name in CRATES {
        let doc = workspace.cargo("doc --quiet --locked --no-deps --all-features --package");
        doc.arg(name).run()?;
    }
    let copy = cmd!(shell, "cp -R {made} {to}").quiet();
    copy.run()
        .context("cannot copy the documentation of the crates")
}

fn test(workspace: &Workspace, site: &Path) -> Result<()> {
    let lychee = LYCHEE.find(&workspace.shell)?;
    announce("every link of the site");
    let check = |folder: &Path| {
        let check = cmd!(
            workspace.shell,
            "{lychee} --offline --no-progress --include-fragments"
        );
        // rustdoc checks its own links.
        let check = check
            .args(["--exclude-path", "/rust/"])
            .arg("--root-dir")
            .arg(folder);
        check.arg(folder).quiet()
    };
    check(site)
        .run()
        .context("the site has links that lead nowhere")?;
    let broken = workspace.target.join("broken-site");
    workspace.shell.remove_path(&broken)?;
    let links = [
        "<a href=\"nowhere.html\">",
        "<p id=\"a\"></p><a href=\"#nowhere\">",
    ];
    for link in links {
        workspace
            .shell
            .write_file(broken.join("index.html"), link)?;
        let found = check(&broken)
            .ignore_stdout()
            .ignore_stderr()
            .ignore_status();
        ensure!(
            !found.output()?.status.success(),
            "a broken link was not found: {link}"
        );
    }
    announce("every page in Chromium");
    let tests = test_harness(workspace).args(["--features", BROWSER_TESTS, "--test", "site"]);
    Ok(tests.env(FOLDER_VARIABLE, site).run()?)
}
