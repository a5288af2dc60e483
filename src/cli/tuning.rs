//! `--tuning FILE`: a tuning file whose choices go before those built in.

use super::note;
use crate::device::{Adapter, choose};
use crate::plan::TuningFile;
use crate::runner::{Event, Observer};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The option, for the commands that run kernels.
#[derive(clap::Args)]
pub(super) struct TuningArgument {
    /// A tuning file, as `convledger tune` writes it: what it says for this device, or its kind, goes before what is built in
    #[arg(long = "tuning", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl TuningArgument {
    /// The file's path.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// What the file says; one that cannot be read is told before a device is opened.
    pub(super) fn read(&self) -> anyhow::Result<Option<TuningFile>> {
        Ok(self.path().map(TuningFile::read).transpose()?)
    }

    /// The adapter of `--device`, with the file's choices.
    pub(super) fn choose(&self, device: Option<&str>) -> anyhow::Result<Adapter> {
        let file = self.read()?;
        let adapter = choose(device)?;
        Ok(match file {
            Some(file) => adapter.tuned(&file),
            None => adapter,
        })
    }

    /// Has a worker read the same file.
    pub(super) fn pass_on(&self, command: &mut Command) {
        if let Some(path) = &self.file {
            command.arg("--tuning").arg(path);
        }
    }
}

/// Tells which file's choices are taken, once the device is known.
pub(super) struct TuningNote<'a> {
    pub(super) path: Option<&'a Path>,
    pub(super) file: Option<TuningFile>,
}

impl Observer for TuningNote<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let (Event::Started { hello, .. }, Some(path), Some(file)) = (event, self.path, &self.file) {
            let device = &hello.identity;
            let own = file.select_for(device.class, &device.name, &format!("{} {}", device.driver, device.driver_info));
            let others = [own.lanes.is_some(), own.specialise.is_some(), own.vector_loads.is_some()].into_iter().filter(|&is| is).count();
            note(match own.tiles.len() + others {
                0 => format!("tuning   {} says nothing of this device: what is built in is taken", path.display()),
                1 => format!("tuning   {}: 1 choice for this device", path.display()),
                choices => format!("tuning   {}: {choices} choices for this device", path.display()),
            });
        }
    }
}
