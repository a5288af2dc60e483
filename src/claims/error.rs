//! Why claims cannot be had.

use crate::suite::Place;
use std::io;
use std::path::{Path, PathBuf};

/// A file of claims, or a `claims.csv`, that cannot be read or written. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is larger than any file of claims.
    #[error("{}: larger than {most} bytes, too large for a file of claims", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The greatest size.
        most: u64,
    },
    /// Not TOML, not what a file of claims holds, or an expression that cannot be evaluated.
    #[error("{place}: {problem}")]
    Content {
        /// Where.
        place: Place,
        /// What is wrong there, with the value.
        problem: String,
    },
    /// A row of a `claims.csv` that this version would not have written.
    #[error("{file}, line {line}: {problem}")]
    Row {
        /// The file.
        file: String,
        /// The line that the row begins on, from 1.
        line: u64,
        /// What is wrong with it, with column and value.
        problem: String,
    },
    /// No claim is left to audit.
    #[error("--id '{pattern}' matches none of the claims: {known}")]
    NoSuchClaim {
        /// The pattern.
        pattern: String,
        /// The ids there are.
        known: String,
    },
    /// A pattern that is not a glob.
    #[error("--id '{pattern}': {problem}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl ClaimError {
    /// For `map_err`: what was tried on which path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
