//! The files of a run: rows, status, environment, writer and strict reader.

mod rows;

pub use rows::{Cache, CaseKey, LedgerRow, Measurement, SampleRow, Status, StepLimit, StepRow};

/// Temporary.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CaseRows {
    /// m
    pub measurement: Measurement,
    /// l
    pub ledger: Vec<LedgerRow>,
    /// s
    pub steps: Vec<StepRow>,
    /// s
    pub samples: Vec<SampleRow>,
}
