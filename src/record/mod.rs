//! The files of a run: rows, environment, append-and-flush writer, strict reader.
//!
//! A run is a folder of `environment.json` and four CSV files ([`RunDirectory`] writes them, [`Run`] reads them).
//!
//! The CSV is that of RFC 4180 with a header and with lines that end in LF. A cell is empty where nothing was measured,
//! never 0 or NaN. A text that begins with `= + - @`, a tab or a line break would run as a formula when the file is opened
//! in a spreadsheet; quotes do not prevent that, so such a text is written with a `'` before it, which the reader here
//! takes off again. Numbers are never touched, negative ones included. Line breaks and other control characters in
//! `reason` become spaces; names keep theirs, quoted.

mod cell;
mod directory;
mod environment;
mod error;
mod expense;
mod export;
mod files;
mod reader;
mod rows;
mod table;
#[cfg(test)]
mod tests;

pub use crate::peak::Limit as StepLimit;
pub use cell::guarded;
pub use directory::{RUN_FILES, Resumed, RunDirectory, default_directory, slug};
pub use environment::{Environment, Resumption, SCHEMA_VERSION, Settings};
pub use error::RecordError;
pub use expense::Expense;
pub use export::{ExportFormat, ExportTable, export};
pub use files::replace;
pub use reader::Run;
pub use rows::{Cache, CaseKey, CaseRows, LedgerRow, Measurement, SampleRow, Status, StepRow};
