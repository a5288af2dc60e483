//! The files of a run: rows, status, environment, writer and strict reader.

mod rows;

pub use rows::{Cache, CaseKey, LedgerRow, Measurement, SampleRow, Status, StepLimit, StepRow};
