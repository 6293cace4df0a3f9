//! The main job on the built-in mock service.

use crate::Component;
use crate::archive::Archive;
use anyhow::Result;
use clap::Args;
use host_test::{Plugin, Recorder, demo};

#[derive(Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    component: Component,
    #[command(flatten)]
    archive: Archive,
}

pub(crate) async fn run_demo(demo: Demo, recorder: Recorder) -> Result<()> {
    let plugin = Plugin::load(&demo.component.path())?;
    let (recorder, file) = demo.archive.begin(recorder)?;
    let ran = demo::run(&plugin, recorder.clone()).await;
    let written = demo.archive.write(file, &recorder);
    ran.and(written)
}
