//! Why a suite cannot be had.

use super::file::MAX_BYTES;
use crate::conv::{ConvError, KeyError};
use std::fmt;

/// A place in a suite file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: String,
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
}

impl Place {
    /// Where a byte of `text`, the content of `file`, is.
    pub fn of(file: &str, text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self { file: file.to_owned(), line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

/// The text with its control characters escaped: one line, and harmless on a terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A suite that does not exist, cannot be read, or does not say what a suite says. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Neither a built-in suite nor a file.
    #[error("no built-in suite and no file '{name}'{}; built in: {known}", did_you_mean(*.suggestion))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in suite of the most similar name, if one is similar.
        suggestion: Option<&'static str>,
        /// All built-in suites.
        known: String,
    },
    /// The file cannot be opened or read.
    #[error("{file}: cannot read the suite: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The path names a directory.
    #[error("{file}: is a directory, not a suite file")]
    Directory {
        /// The path.
        file: String,
    },
    /// The file is larger than any suite.
    #[error("{file}: larger than {MAX_BYTES} bytes, too large for a suite file")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// The file is not text.
    #[error("{place}: byte 0x{byte:02x} is not UTF-8 text")]
    NotUtf8 {
        /// Where the text ends.
        place: Place,
        /// The first byte that is not text.
        byte: u8,
    },
    /// Not TOML, or not the fields of a suite.
    #[error("{place}: {problem}")]
    Toml {
        /// Where.
        place: Place,
        /// What the TOML reader says.
        problem: String,
    },
    /// Not the rows or columns of a layers file.
    #[error("{place}: {problem}")]
    Table {
        /// Where.
        place: Place,
        /// What is wrong there.
        problem: String,
    },
    /// A row of a layers file is no possible convolution.
    #[error("{place}: layer '{name}': {source}")]
    Impossible {
        /// Where the row begins.
        place: Place,
        /// The layer.
        name: String,
        /// Why.
        source: ConvError,
    },
    /// A convolution's key cannot be read or is impossible.
    #[error("{place}: {source}")]
    Key {
        /// Where the key begins.
        place: Place,
        /// What is wrong with it.
        source: KeyError,
    },
    /// There is no layer.
    #[error("{place}: the suite has no layers; one is written [[layer]] with name and conv")]
    Empty {
        /// Where the file begins.
        place: Place,
    },
    /// Two layers share a name.
    #[error("{place}: a second layer '{name}', the first is on line {first}")]
    Duplicate {
        /// Where the second name is.
        place: Place,
        /// The name.
        name: String,
        /// Line of the first.
        first: usize,
    },
    /// A repeat count of 0.
    #[error("{place}: count of layer '{name}' is 0, must be at least 1")]
    ZeroCount {
        /// Where the count is.
        place: Place,
        /// The layer.
        name: String,
    },
    /// A text that should say something is empty.
    #[error("{place}: {field} is empty")]
    NoText {
        /// Where it is.
        place: Place,
        /// Which field.
        field: &'static str,
    },
    /// A text with line breaks or other control characters, which would break tables and terminals.
    #[error("{place}: {field} '{text}' has a control character")]
    Control {
        /// Where it is.
        place: Place,
        /// Which field.
        field: &'static str,
        /// The text, control characters escaped.
        text: String,
    },
    /// A name or key longer than anything a person writes.
    #[error("{place}: {field} has {length} characters, more than {limit}")]
    TooLong {
        /// Where it is.
        place: Place,
        /// Which field.
        field: &'static str,
        /// Its length in characters.
        length: usize,
        /// The greatest length.
        limit: usize,
    },
    /// A layer is impossible with another batch.
    #[error("layer '{layer}' with batch {batch}: {source}")]
    Batch {
        /// The layer.
        layer: String,
        /// The batch.
        batch: u64,
        /// Why.
        source: ConvError,
    },
    /// A network of more steps than closed forms go through.
    #[error("'{suite}' as a network has {steps} layers, more than {limit}")]
    TooManySteps {
        /// The suite or model.
        suite: String,
        /// Its steps.
        steps: u64,
        /// The most there can be.
        limit: usize,
    },
    /// More weights than 64 bits count.
    #[error("'{suite}' as a network: its weights overflow 64 bits with those of layer '{layer}'")]
    TooManyWeights {
        /// The suite or model.
        suite: String,
        /// The layer at which they do.
        layer: String,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}
