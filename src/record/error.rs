//! Why a run cannot be written or read.

use std::io;
use std::path::{Path, PathBuf};

/// A run directory that cannot be written, or a file of one that cannot be read; names the place and the value.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
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
    /// A time that no case takes.
    #[error("{}: {case}: {column} is {value:e}, which is no time of a case", path.display())]
    Time {
        /// The file.
        path: PathBuf,
        /// Layer and algorithm.
        case: String,
        /// The column.
        column: &'static str,
        /// Nanoseconds.
        value: f64,
    },
    /// The Parquet library refused.
    #[error("cannot write Parquet: {source}")]
    Parquet {
        /// What it says.
        source: parquet::errors::ParquetError,
    },
    /// The folder is not fresh.
    #[error("{} already holds a run ({file}): continue it with --resume, or name another folder with --out", path.display())]
    HoldsRun {
        /// The folder.
        path: PathBuf,
        /// The file found in it.
        file: &'static str,
    },
    /// The folder is not that of a run.
    #[error("{} holds no run: it has no measurements.csv", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// Another process is writing.
    #[error("{} is being written by another run: wait for it to end, or name another folder with --out", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// `environment.json` is not what this version writes.
    #[error("{}: {source}", path.display())]
    Environment {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// The files are of another version.
    #[error("{}: schema_version is {found}, this version reads {}", path.display(), super::SCHEMA_VERSION)]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The first line is not the header of this file.
    #[error("{}, line 1: {problem}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The first difference.
        problem: String,
    },
    /// A line is not a row at all.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A cell does not hold what its column says.
    #[error("{}, line {line}, column {column}: {value:?} {problem}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The line that the row begins on, from 1.
        line: u64,
        /// Name of the column.
        column: &'static str,
        /// The text found, cut short where it is long.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value that has no form in the files.
    #[error("cannot write {file}, column {column}: {problem}")]
    Value {
        /// The file.
        file: &'static str,
        /// Name of the column.
        column: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl RecordError {
    /// For `map_err`: what was tried on which path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
