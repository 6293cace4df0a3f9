//! The main job on the built-in mock service.

use crate::Component;
use crate::command::archive::Archive;
use crate::command::loading::loading;
use crate::demo;
use anyhow::Result;
use clap::Args;
use voice_calling_host::{Plugin, Recorder};

#[derive(Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    component: Component,
    #[command(flatten)]
    archive: Archive,
}

pub(crate) async fn run_demo(demo: Demo, recorder: Recorder) -> Result<()> {
    let plugin = Plugin::load_with(&demo.component.path(), &loading())?;
    let (recorder, file) = demo.archive.begin(recorder)?;
    let ran = demo::run(&plugin, recorder.clone()).await;
    let written = demo.archive.write(file, &recorder);
    ran.and(written)
}
