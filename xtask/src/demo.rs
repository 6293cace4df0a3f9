//! The demo: the host harness and its mock service, with the component that was just built.

use std::thread;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{
    component,
    guest::{CLIENT, CLIENT_P3},
    harness,
    process::announce,
    setup::What,
    workspace::Workspace,
};

#[derive(Args)]
pub struct Demo {
    /// Which component to build and run
    #[arg(long, value_name = "KIND", default_value = "0.2")]
    guest: Kind,
    /// For `host-test demo`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// For WASI 0.2
    #[value(name = "0.2")]
    V0_2,
    /// For WASI 0.3
    #[value(name = "0.3")]
    V0_3,
}

impl Demo {
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        let guest = match self.guest {
            Kind::V0_2 => &CLIENT,
            Kind::V0_3 => &CLIENT_P3,
        };
        What::Guest.install(workspace)?;
        // Both run at the same time, since each leaves processors idle, the guest while it is
        // linked.
        let component = thread::spawn(move || component::build(&Workspace::load()?, &[guest]));
        let harness = harness::build(workspace);
        component.join().expect("a build does not panic")?;
        let demo = workspace.shell.cmd(harness?).quiet();
        announce("host-test: demo");
        let demo = demo
            .args(["demo", "--component"])
            .arg(workspace.component_of(guest));
        Ok(demo.args(&self.arguments).run()?)
    }
}
