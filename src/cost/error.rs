//! Why a file of costs cannot be had.

use crate::suite::Place;
use std::io;
use std::path::PathBuf;

/// A file of costs that cannot be read or does not say what one says. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum CostError {
    /// The operating system refused, or the file is not text.
    #[error("{}: cannot read the costs: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is larger than any file of costs.
    #[error("{}: larger than {most} bytes, too large for a file of costs", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The greatest size.
        most: u64,
    },
    /// Not TOML, or not what a file of costs holds.
    #[error("{place}: {problem}")]
    Content {
        /// Where.
        place: Place,
        /// What is wrong there, with the value.
        problem: String,
    },
}
