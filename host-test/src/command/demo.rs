//! The command `demo`.

use crate::command::archive::Archive;
use crate::command::component::{Component, loading};
use crate::demo;
use anyhow::{Context, Result};
use clap::Args;
use voice_calling_host::{Plugin, Recorder};
use voice_calling_mock_server::PageArguments;

#[derive(Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    component: Component,
    #[command(flatten)]
    archive: Archive,
    #[command(flatten)]
    page: PageArguments,
}

pub(crate) async fn run_demo(demo: Demo, recorder: Recorder) -> Result<()> {
    let plugin = Plugin::load_with(&demo.component.path, &loading())?;
    let (recorder, file) = demo.archive.begin(recorder)?;
    let ran = demo::run(&plugin, recorder.clone(), &demo.page).await;
    let written = demo.archive.write(file, &recorder);
    let (page, _service) = ran?;
    written?;
    if page.is_some() {
        println!("The page stays until Ctrl-C.");
        let interrupted = tokio::signal::ctrl_c().await;
        interrupted.context("cannot wait for Ctrl-C")?;
    }
    Ok(())
}
