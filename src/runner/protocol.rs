//! What parent and worker say to each other: one JSON value a line, over the worker's standard input and output.
//!
//! Drivers print to standard output too. So a reply begins with a line break and [`PREFIX`]; a line without the prefix is
//! noise, kept with what the worker prints to standard error.

use crate::account::Life;
use crate::device::{ClockFacts, Identity, Source};
use crate::experiment::{Measured, Part};
use crate::peak::Peaks;
use crate::plan::Limits;
use crate::record::{CaseKey, CaseRows};
use crate::tune::{Trial, TrialFailure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// What tells a reply from a driver's own output.
const PREFIX: &str = "@convledger ";

/// What a worker is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Run a case.
    Case(Box<Task>),
    /// Measure the device's own limits, in about this time.
    Peaks(Duration),
    /// Try a candidate of tuning.
    Trial(Box<Trial>),
    /// Live through a case, from before the device is opened to after it is dropped; the one order of a process.
    Life(Box<CaseKey>),
    /// Run a part of an experiment; likewise.
    Experiment(Part),
}

/// A case to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The case.
    pub case: CaseKey,
    /// Seed of the inputs; the same in every case of a run, so that cases of one layer share inputs and reference.
    pub seed: u64,
    /// How long samples may be taken.
    pub budget: Duration,
    /// The device's limits, as the run measured them; without them its utilisation stays empty.
    pub peaks: Option<Box<Peaks>>,
}

/// What a worker spent time on since it was last asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Work {
    /// Waiting for the device.
    pub device: Duration,
    /// Waiting for the driver's compiler.
    pub compiler: Duration,
    /// Making inputs, computing references, comparing.
    pub verification: Duration,
}

/// Who the worker is, said once when it is ready for tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The device.
    pub identity: Identity,
    /// What it allows; the schedule is made from it.
    pub limits: Limits,
    /// Names of the features it was opened with.
    pub features: Vec<String>,
    /// The clock times are read from.
    pub clock: ClockFacts,
    /// Who tells what is resident; none where nobody does.
    pub resident_source: Option<Source>,
    /// Columns that stay empty on this device, each with the reason.
    pub notes: BTreeMap<String, String>,
}

/// What a worker is doing with its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Planning, allocating, filling buffers. Every case begins with it.
    Preparing,
    /// Building pipelines.
    Compiling,
    /// Computing the reference and comparing.
    Verifying,
    /// Warming up and taking samples.
    Measuring,
    /// Measuring the device's own limits; no case's phase.
    Limits,
    /// Measuring what a process holds; the phase of one that takes a single order.
    Memory,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Preparing => "preparing",
            Self::Compiling => "compiling",
            Self::Verifying => "verifying",
            Self::Measuring => "measuring",
            Self::Limits => "measuring the device's limits",
            Self::Memory => "measuring what it holds",
        })
    }
}

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The device is open; tasks may come.
    Hello(Box<Hello>),
    /// The device could not be opened; the worker ends.
    Refused(String),
    /// A phase of the case in flight begins.
    Phase(Phase),
    /// The case in flight has ended.
    Done {
        /// Its rows.
        rows: Box<CaseRows>,
        /// Whether the worker ends now because its device is lost.
        leaving: bool,
        /// What it took.
        work: Work,
    },
    /// The device's limits are measured.
    Peaks {
        /// The limits, or why there are none.
        peaks: Result<Box<Peaks>, String>,
        /// What it took.
        work: Work,
    },
    /// The trial in flight has ended: nanoseconds of its sample, or why there are none. The worker ends where its device is lost.
    Trial(Result<f64, TrialFailure>),
    /// What the process held through its life, or why there was none.
    Life(Result<Box<Life>, String>),
    /// What the part of an experiment measured, or why it did not.
    Experiment(Result<Box<Measured>, String>),
    /// The case in flight panicked; the worker ends.
    Panicked(String),
}

impl Reply {
    /// Reads a line of a worker's output; none is a line that is no reply.
    pub(super) fn read(line: &str) -> Option<serde_json::Result<Self>> {
        line.strip_prefix(PREFIX).map(serde_json::from_str)
    }

    /// Writes the reply in one piece, after a line break that ends whatever a driver left unfinished.
    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let json = serde_json::to_string(self)?;
        output.write_all(format!("\n{PREFIX}{json}\n").as_bytes())?;
        output.flush()
    }

    /// What kind of reply it is.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Refused(_) => "refused",
            Self::Phase(_) => "a phase",
            Self::Done { .. } => "rows",
            Self::Peaks { .. } => "limits",
            Self::Trial(_) => "a trial's outcome",
            Self::Life(_) => "a life",
            Self::Experiment(_) => "an experiment's rows",
            Self::Panicked(_) => "a panic",
        }
    }
}
