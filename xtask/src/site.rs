//! Builds the documentation as a site: mdBook renders the project's Markdown (`docs/SUMMARY.md`
//! lists the pages, which keep their paths, so that links between them are valid) and the WIT, which
//! is documented item by item. Reading it needs no network.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::cmd;

use crate::{
    process::{announce, run_quietly},
    setup::What,
    workspace::Workspace,
};

/// The page of each WIT package, and its folder.
const WIT: [(&str, &str); 4] = [
    ("types", "wit/types"),
    ("client", "wit"),
    ("client-async", "wit/async"),
    ("tools", "wit/tools"),
];

/// Links to folders of the WIT, and their replacements on the site.
const FOLDERS: [(&str, &str); 4] = [
    ("](wit/)", "](wit/client.md)"),
    ("](../wit)", "](../wit/client.md)"),
    ("](../wit/types)", "](../wit/types.md)"),
    ("](../wit/async)", "](../wit/client-async.md)"),
];

const BOOK: &str = "[book]\ntitle = \"voice-calling\"\nlanguage = \"en\"\n\
    [build]\nuse-default-preprocessors = false\n\
    [output.html]\nno-section-label = true\ninput-404 = \"\"\n\
    [output.html.print]\nenable = false\n";

/// Builds the site, and returns its folder.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mdbook = What::Docs.program(workspace, "mdbook")?;
    announce("the documentation as a site");
    let (shell, root) = (&workspace.shell, &fs::canonicalize(&workspace.root)?);
    let book = workspace.target.join("book");
    let source = book.join("src");
    shell.remove_path(&book)?;
    let summary = shell.read_file("docs/SUMMARY.md")?;
    shell.write_file(source.join("SUMMARY.md"), &summary)?;
    for page in summary
        .lines()
        .filter_map(|line| Some(line.split_once("](")?.1))
    {
        let page = page.trim_end_matches(')');
        // The other pages are generated here.
        if !page.starts_with("wit/") {
            let mut text = shell.read_file(page)?;
            for file in linked_files(&text, &root.join(page))? {
                let to = source.join(file.strip_prefix(root)?);
                shell.create_dir(to.parent().context("a file is in a folder")?)?;
                shell.copy_file(file, to)?;
            }
            for (folder, page) in FOLDERS {
                text = text.replace(folder, page);
            }
            shell.write_file(source.join(page), text)?;
        }
    }
    shell.write_file(book.join("book.toml"), BOOK)?;
    for (name, folder) in WIT {
        let mut page = format!("# voice-calling:{name}\n");
        for path in shell.read_dir(folder)? {
            if let Some(file) = path.file_name().filter(|_| path.is_file()) {
                let (file, text) = (file.to_string_lossy(), shell.read_file(&path)?);
                page += &format!("\n## {file}\n\n```text\n{text}```\n");
            }
        }
        shell.write_file(source.join(format!("wit/{name}.md")), page)?;
    }
    let site = workspace.target.join("docs-site");
    shell.remove_path(&site)?;
    let build = cmd!(shell, "{mdbook} build --dest-dir {site} {book}");
    run_quietly(build)?;
    println!("{}", workspace.shown(&site.join("index.html")));
    Ok(site)
}

/// Returns the files that a page links to, other than pages.
fn linked_files(text: &str, page: &Path) -> Result<Vec<PathBuf>> {
    let folder = page.parent().context("a page is in a folder")?;
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', '#']).next());
    let files = links.filter_map(|link| fs::canonicalize(folder.join(link)).ok());
    let is_other = |it: &PathBuf| it.is_file() && it.extension().is_none_or(|it| it != "md");
    Ok(files.filter(is_other).collect())
}

/// Builds the site, and checks its links.
pub fn test(workspace: &Workspace) -> Result<()> {
    let lychee = What::Docs.program(workspace, "lychee")?;
    let site = &build(workspace)?;
    announce("every link of the site");
    let options = ["--offline", "--no-progress", "--include-fragments"];
    let check = cmd!(workspace.shell, "{lychee} {options...}");
    let check = check.quiet().arg("--root-dir").args([site, site]);
    check.run().context("the site has links that lead nowhere")
}
