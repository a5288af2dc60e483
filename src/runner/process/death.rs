//! How a worker died, and what that makes of its case.

use crate::record::Status;
use crate::runner::Phase;
use std::fmt;
use std::time::Duration;

/// How a worker died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// What happened.
    pub cause: Cause,
    /// What it was doing with its case; none when it had not begun with one.
    pub phase: Option<Phase>,
    /// The last lines it printed, those to standard error after all others.
    pub last_words: Vec<String>,
}

/// What happened to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It did not answer within this time and was killed.
    TimedOut(Duration),
    /// It ended, as the operating system puts it: `signal: 6 (SIGABRT)`, `exit status: 3`.
    Exited(String),
    /// The case panicked with this message.
    Panicked(String),
    /// It said something that has no place in the protocol.
    Protocol(String),
}

impl Death {
    /// The status of the case that it befell.
    pub fn status(&self) -> Status {
        match self.cause {
            Cause::TimedOut(_) => Status::Timeout,
            Cause::Exited(_) | Cause::Panicked(_) | Cause::Protocol(_) => Status::Crashed,
        }
    }
}

impl std::error::Error for Death {}

impl fmt::Display for Death {
    /// One line, as it becomes a row's reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::TimedOut(after) => write!(f, "no answer within {} s", after.as_secs_f64())?,
            Cause::Exited(status) => write!(f, "the worker ended with {status}")?,
            Cause::Panicked(_) => write!(f, "panic")?,
            Cause::Protocol(problem) => write!(f, "the worker broke the protocol ({problem})")?,
        }
        match self.phase {
            Some(phase) => write!(f, " while {phase}")?,
            None => write!(f, " before it began with a case")?,
        }
        // A panic that was not caught ends with a note on backtraces.
        let telling = self.last_words.iter().rfind(|line| !line.starts_with("note: "));
        match (&self.cause, telling) {
            (Cause::Panicked(message), _) => write!(f, ": {}", message.split_whitespace().collect::<Vec<_>>().join(" ")),
            (_, Some(line)) => write!(f, "; its last line: {line}"),
            (_, None) => Ok(()),
        }
    }
}
