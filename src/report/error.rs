//! Why there is no report.

use crate::chart::ChartError;
use crate::claims::ClaimError;
use crate::record::RecordError;
use std::io;
use std::path::PathBuf;

/// A report that cannot be made or written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The run cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Its `claims.csv` cannot be read.
    #[error(transparent)]
    Claims(#[from] ClaimError),
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The page cannot be put together.
    #[error("the report's template: {0}")]
    Template(String),
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
}
