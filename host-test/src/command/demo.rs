//! The command `demo`.

use crate::command::archive::Archive;
use crate::command::component::{Component, loading};
use crate::demo;
use anyhow::Result;
use clap::Args;
use voice_calling_host::{Plugin, Recorder};
use voice_calling_mock_server::{PageArguments, stop_at_ctrl_c};

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
    let (page, service) = ran?;
    written?;
    if page.is_some() {
        println!("The page stays until Ctrl-C.");
        return stop_at_ctrl_c(page, service).await;
    }
    Ok(())
}
