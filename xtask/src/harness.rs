//! The host harness, which is the program `host-test`: its demo, its bench, the mock's page, and
//! the judge of the table of cases, with which the clients of all languages are tested.

use std::{env, path::PathBuf, thread};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};

use crate::{
    component,
    guest::{CLIENT, CLIENT_P3, PEER},
    process::{Service, announce},
    setup::{What, debian::CHROMIUM},
    test_run::{BROWSER_TESTS, COMPONENT_VARIABLE, all_tests},
    workspace::Workspace,
};

/// The variable that tells a language's tests the path of the program `host-test`.
pub const HARNESS_VARIABLE: &str = "HOST_TEST";

/// The variable that tells a language's tests the address of the judge.
pub const JUDGE_VARIABLE: &str = "VOICE_CALLING_CASES";

/// The services that the tests of the packages use.
pub struct Services {
    /// The program `host-test`.
    pub harness: PathBuf,
    /// The judge, which all languages share.
    pub judge: Service,
}

impl Services {
    pub fn start(workspace: &Workspace) -> Result<Self> {
        let harness = build(workspace)?;
        let judge = Service::start(&harness, &workspace.root, &["cases"])?;
        Ok(Self { harness, judge })
    }
}

/// Builds the program `host-test`, and returns its path.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    announce("host-test: building (some minutes the first time)");
    let build = workspace.cargo("build --locked --bin host-test");
    build.run().context("cannot build the host harness")?;
    let name = format!("host-test{}", env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("debug").join(name))
}

#[derive(Args)]
pub struct Demo {
    /// Which component to build and run
    #[arg(long, value_name = "WASI", default_value = "0.2", value_parser = ["0.2", "0.3"])]
    guest: String,
    /// For `host-test demo`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Demo {
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        let guest = match self.guest.as_str() {
            "0.3" => &CLIENT_P3,
            _ => &CLIENT,
        };
        What::Guest.install(workspace)?;
        // Both run at the same time, since each leaves processors idle, the guest while it is
        // linked.
        let component = thread::spawn(move || component::build(&Workspace::load()?, &[guest]));
        let harness = build(workspace);
        component.join().expect("a build does not panic")?;
        let demo = workspace.shell.cmd(harness?).quiet();
        announce("host-test: demo");
        let demo = demo
            .args(["demo", "--component"])
            .arg(workspace.component_of(guest));
        Ok(demo.args(&self.arguments).run()?)
    }
}

/// The components that were just built beside a native client and one written with wstd, in an
/// optimized harness. The short form measures nothing, so it uses the build of the tests.
#[derive(Args)]
pub struct Bench {
    /// Only prove that the bench works
    #[arg(long)]
    short: bool,
}

impl Bench {
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        let profile = if self.short { "dev" } else { "release" };
        let short = self.short.then_some("--short");
        component::build(workspace, &[&PEER])?;
        announce("host-test: bench (building takes some minutes the first time)");
        let bench = workspace
            .cargo("run --quiet --locked --bin host-test --profile")
            .args([profile, "--", "bench", "--component"])
            .arg(workspace.component());
        Ok(bench.args(short).run()?)
    }
}

#[derive(Subcommand)]
pub enum Page {
    /// Run the tests
    Test,
    /// Draw the page into docs/pictures
    Pictures,
}

/// Runs the tests of the mock's page in Chromium, which also draw the pictures of the
/// documentation.
pub fn run_page(workspace: &Workspace, page: Page) -> Result<()> {
    CHROMIUM.check(&workspace.shell)?;
    component::build(workspace, &[&CLIENT])?;
    announce("the mock's page in Chromium");
    let tests = all_tests(workspace)
        .args(["--features", BROWSER_TESTS, "--test", "telephone"])
        .env(COMPONENT_VARIABLE, workspace.component());
    match page {
        Page::Test => Ok(tests.run()?),
        Page::Pictures => {
            let folder = workspace.root.join("docs/pictures");
            workspace.shell.create_dir(&folder)?;
            let drawing = tests.arg("the_page_is_drawn").env("PAGE_PICTURES", &folder);
            drawing.run()?;
            println!("{}", workspace.shown(&folder));
            Ok(())
        }
    }
}
