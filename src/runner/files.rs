//! The run directory as a sink: begun when the device is known, or gone on with if it is still the same device.

use super::error::same_device;
use super::{Hello, Sink, SinkError};
use crate::peak::Peaks;
use crate::record::{CaseKey, CaseRows, Environment, Expense, Resumed, RunDirectory};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where and how a new run is recorded, as the device decides.
type Begin<'a> = Box<dyn FnOnce(&Hello) -> (PathBuf, Environment) + 'a>;

/// The files of a run.
pub struct Files<'a>(State<'a>);

enum State<'a> {
    New(Begin<'a>),
    Old(Box<Resumed>),
    Open(Box<(RunDirectory, Environment)>),
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
            State::Open(open) => Some(open.0.path()),
            _ => None,
        }
    }
}

impl Files<'_> {
    fn update(&mut self, change: impl FnOnce(&mut Environment)) -> Result<(), SinkError> {
        match &mut self.0 {
            State::Open(open) => {
                change(&mut open.1);
                Ok(open.0.update(&open.1)?)
            }
            _ => Err("the files of a run are not open".into()),
        }
    }
}

impl Sink for Files<'_> {
    fn open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError> {
        let (directory, environment, done) = match std::mem::replace(&mut self.0, State::Failed) {
            State::New(begin) => {
                let (path, environment) = begin(hello);
                (RunDirectory::create(&path, &environment)?, environment, HashSet::new())
            }
            State::Old(resumed) => {
                same_device((&resumed.environment.device, &resumed.environment.limits), hello)?;
                (resumed.directory, resumed.environment, resumed.done)
            }
            State::Open(_) | State::Failed => return Err("the files of a run can be opened only once".into()),
        };
        self.0 = State::Open(Box::new((directory, environment)));
        Ok(done)
    }

    fn peaks(&self) -> Option<Peaks> {
        match &self.0 {
            State::Open(open) => open.1.peaks.clone(),
            _ => None,
        }
    }

    fn note_peaks(&mut self, peaks: Result<&Peaks, &str>) -> Result<(), SinkError> {
        self.update(|environment| match peaks {
            Ok(peaks) => environment.peaks = Some(peaks.clone()),
            Err(reason) => {
                environment.notes.insert("utilisation, limit".into(), reason.into());
            }
        })
    }

    fn close(&mut self, expense: &Expense) -> Result<(), SinkError> {
        self.update(|environment| environment.expense = Some(environment.expense.take().unwrap_or_default().and(expense)))
    }

    fn append(&mut self, rows: &CaseRows) -> Result<(), SinkError> {
        match &mut self.0 {
            State::Open(open) => Ok(open.0.append(rows)?),
            _ => Err("the files of a run are not open".into()),
        }
    }
}
