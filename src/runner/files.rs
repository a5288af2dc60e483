//! The run directory as a sink: begun when the device is known, or gone on with if it is still the same device.

use super::error::same_device;
use super::{Hello, Sink, SinkError};
use crate::record::{CaseKey, CaseRows, Environment, Resumed, RunDirectory};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where and how a new run is recorded, as the device decides.
type Begin<'a> = Box<dyn FnOnce(&Hello) -> (PathBuf, Environment) + 'a>;

/// The files of a run.
pub struct Files<'a>(State<'a>);

enum State<'a> {
    New(Begin<'a>),
    Old(Box<Resumed>),
    Open(RunDirectory),
    Failed,
}

impl<'a> Files<'a> {
    /// A new run, in the directory and with the environment that `begin` gives for the device.
    pub fn create(begin: impl FnOnce(&Hello) -> (PathBuf, Environment) + 'a) -> Self {
        Self(State::New(Box::new(begin)))
    }

    /// A run that goes on. Opening it fails where the device is not the one that it began on.
    pub fn resume(resumed: Resumed) -> Self {
        Self(State::Old(Box::new(resumed)))
    }

    /// The directory, once it is open.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            State::Open(directory) => Some(directory.path()),
            _ => None,
        }
    }
}

impl Sink for Files<'_> {
    fn open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError> {
        let (directory, done) = match std::mem::replace(&mut self.0, State::Failed) {
            State::New(begin) => {
                let (path, environment) = begin(hello);
                (RunDirectory::create(&path, &environment)?, HashSet::new())
            }
            State::Old(resumed) => {
                same_device((&resumed.environment.device, &resumed.environment.limits), hello)?;
                (resumed.directory, resumed.done)
            }
            State::Open(_) | State::Failed => return Err("the files of a run can be opened only once".into()),
        };
        self.0 = State::Open(directory);
        Ok(done)
    }

    fn append(&mut self, rows: &CaseRows) -> Result<(), SinkError> {
        match &mut self.0 {
            State::Open(directory) => Ok(directory.append(rows)?),
            _ => Err("the files of a run are not open".into()),
        }
    }
}
