//! Why rows of peers cannot be had.

use std::io;
use std::path::PathBuf;

/// A file of rows that cannot be read, or a layer its columns cannot say; names the place and the value.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// The operating system refused, or the file is not text.
    #[error("{}: cannot read the rows: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is larger than any comparison.
    #[error("{}: larger than {most} bytes, too large for a file of rows", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The greatest size.
        most: u64,
    },
    /// A cell does not hold what its column says.
    #[error("{}, line {line}{}: {problem}", path.display(), of_column(.column))]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Name of the column; empty where the whole line is at fault.
        column: String,
        /// What is wrong.
        problem: String,
    },
    /// One name for two problems, which nobody could tell apart in a table.
    #[error("layer '{layer}' is {one} in one place and {other} in another")]
    Ambiguous {
        /// The layer.
        layer: String,
        /// Its key where it came up first.
        one: String,
        /// Its key where it came up again.
        other: String,
    },
    /// The columns have no place for a problem.
    #[error("layer '{layer}' ({conv}): rows for peers are of forward 2-D convolutions with one stride, padding and dilation for all sides")]
    Inexpressible {
        /// The layer.
        layer: String,
        /// Its key.
        conv: String,
    },
    /// Two runs of different devices.
    #[error("the runs are of different devices, {one} and {other}: a comparison is about one")]
    Devices {
        /// Device of the first run.
        one: String,
        /// Device of another.
        other: String,
    },
}

fn of_column(column: &str) -> String {
    if column.is_empty() { String::new() } else { format!(", column {column}") }
}
