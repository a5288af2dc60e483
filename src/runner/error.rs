//! What stops a run as a whole. What befalls one case is a row, never one of these.

use super::{Death, Hello};
use crate::device::Identity;
use crate::plan::Limits;
use std::io;

/// What a [`super::Sink`] fails with.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Why a run cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// An `--algorithm` pattern is not a glob, or its variant is not one.
    #[error("algorithm pattern '{pattern}': {problem}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An `--algorithm` pattern names no algorithm.
    #[error("algorithm pattern '{pattern}' matches none of the algorithms: {known}")]
    UnknownAlgorithm {
        /// The pattern.
        pattern: String,
        /// Every id.
        known: String,
    },
    /// An `--algorithm` pattern names an algorithm, but no variant it has for these layers.
    #[error("algorithm pattern '{pattern}' selects no case of these layers; to force a variant, write it out, as in im2col:strip=8")]
    NothingSelected {
        /// The pattern.
        pattern: String,
    },
    /// The `--algorithm` patterns leave out everything.
    #[error("algorithm pattern '{pattern}' leaves no case of these layers")]
    NothingLeft {
        /// The last pattern that leaves out.
        pattern: String,
    },
    /// The worker could not be started.
    #[error("cannot start the worker '{program}': {source}")]
    Spawn {
        /// What was started.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The worker could not open the device; the text is its reason.
    #[error("{0}")]
    Refused(String),
    /// The worker died before it was ready for a case.
    #[error("{0}")]
    StartUp(Death),
    /// It did so again and again.
    #[error("gave up after {attempts} workers in a row did not start: {last}")]
    StartUps {
        /// How many.
        attempts: u32,
        /// Why the last one did not.
        last: Box<RunnerError>,
    },
    /// A fresh worker, or a resumed run, found another device, or other limits of it, than the run began with.
    #[error("the run began on {before}, but the device is now {after}: rows of two devices do not belong in one directory")]
    DeviceChanged {
        /// The device the run began with.
        before: String,
        /// The device found now.
        after: String,
    },
    /// What was measured could not be written.
    #[error("{0}")]
    Sink(#[source] SinkError),
    /// The worker lost its parent.
    #[error("worker: the pipe to its parent: {0}")]
    Pipe(#[from] io::Error),
    /// The worker was sent something that is not a task.
    #[error("worker: line {line} of its input is not a task: {source}")]
    Task {
        /// Position of the line, from 1.
        line: usize,
        /// What the reader says.
        source: serde_json::Error,
    },
}

/// Holds a worker's device against the one that a run began with.
pub(super) fn same_device(before: (&Identity, &Limits), hello: &Hello) -> Result<(), RunnerError> {
    let name = |device: &Identity| format!("{} ({}, {} {})", device.name, device.backend, device.driver, device.driver_info);
    let after = match (before.0 == &hello.identity, before.1 == &hello.limits) {
        (true, true) => return Ok(()),
        (true, false) if Limits { tuning: hello.limits.tuning.clone(), ..before.1.clone() } == hello.limits => {
            "the same with other tuning (--tuning)".to_owned()
        }
        (true, false) => "the same with other limits".to_owned(),
        (false, _) => name(&hello.identity),
    };
    Err(RunnerError::DeviceChanged { before: name(before.0), after })
}
