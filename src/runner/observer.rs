//! What a run tells those who watch it.

use super::{Death, Hello, Phase};
use crate::peak::Peaks;
use crate::record::{CaseKey, CaseRows, Expense, Status};

/// Something that happened in a run. Positions count from 0 over the cases of this run.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The device is open and the cases are known.
    Started {
        /// Cases to come, those without need of the device included.
        total: usize,
        /// Cases left out because an earlier run recorded them.
        recorded: usize,
        /// The device.
        hello: &'a Hello,
    },
    /// The device's own limits were measured, taken over from the earlier part of the run, or could not be had.
    Limits {
        /// The limits, or why there are none.
        peaks: Result<&'a Peaks, &'a str>,
    },
    /// A case goes to the worker.
    CaseStarted {
        /// Its position.
        index: usize,
        /// Cases in all.
        total: usize,
        /// The case.
        case: &'a CaseKey,
    },
    /// The worker begins a phase of the case.
    Phase {
        /// The case.
        case: &'a CaseKey,
        /// The phase.
        phase: Phase,
    },
    /// A worker died; `case` is the one it had taken, if any. The case's row follows.
    WorkerDied {
        /// The case.
        case: Option<&'a CaseKey>,
        /// How.
        death: &'a Death,
    },
    /// A case has its row, and the row is written. One that needed no device ends without having started.
    CaseEnded {
        /// Its position.
        index: usize,
        /// Cases in all.
        total: usize,
        /// Its rows.
        rows: &'a CaseRows,
    },
    /// The last case has ended.
    Finished {
        /// What became of the cases of this run.
        counts: &'a Counts,
        /// Where the time went.
        expense: &'a Expense,
    },
}

/// Watches a run.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>) {
        let _ = event;
    }
}

/// How many cases ended with which status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(Vec<(Status, usize)>);

impl Counts {
    pub(super) fn add(&mut self, status: Status) {
        match self.0.iter_mut().find(|(s, _)| *s == status) {
            Some((_, count)) => *count += 1,
            None => self.0.push((status, 1)),
        }
    }

    /// Cases that ended with `status`.
    pub fn of(&self, status: Status) -> usize {
        self.0.iter().find(|(s, _)| *s == status).map_or(0, |&(_, count)| count)
    }

    /// Cases in all.
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Cases that make a run end with a failure.
    pub fn failures(&self) -> usize {
        self.iter().filter(|(status, _)| status.is_failure()).map(|(_, count)| count).sum()
    }

    /// Each status that occurred, in the order of first occurrence, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Status, usize)> {
        self.0.iter().copied()
    }
}
