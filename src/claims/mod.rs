//! The figures that people repeat, each held against ours.

mod error;
mod row;

pub use error::ClaimError;
pub use row::{COLUMNS, FILE, Row, Source, Verdict, read, to_csv};

/// The text with its control characters escaped: one line, and harmless on a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
