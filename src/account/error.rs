//! What goes wrong with an account.

use crate::device::DeviceError;
use crate::plan::Unsupported;
use std::path::PathBuf;

/// Why a case cannot be accounted for.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// There is no such algorithm.
    #[error("'{0}' is no algorithm of this version")]
    Algorithm(String),
    /// The algorithm is not made for the problem, or the device allows less than it needs.
    #[error("{case}: {reason}")]
    Unsupported {
        /// The case.
        case: String,
        /// Why, with the numbers.
        reason: Unsupported,
    },
    /// The device fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Nothing tells what the process holds.
    #[error("nothing tells what this process holds ({0}): there is no level `resident` to lead to")]
    NotTold(String),
}

/// A file of an account that cannot be read, or is not as written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct FiledError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}
