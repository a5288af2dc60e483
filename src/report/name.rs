//! How the page and its charts write names and quantities.

use crate::record::{Cache, Measurement};
use crate::units::{Bytes, Grouped, Nanoseconds};
use serde::Serialize;

/// Characters of a name that are shown where there is little room.
const SHORT: usize = 60;
/// Characters of a name that are kept where it is told in full.
const FULL: usize = 10_000;
/// Characters of a name that come with every row of a table.
const TOOLTIP: usize = 300;

/// A name of the user's, of any length and content.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Name {
    /// Cut in the middle where it is long: names of layers often differ at their end.
    pub(super) short: String,
    /// As much as a tooltip takes; empty where `short` is all.
    pub(super) tooltip: String,
}

impl Name {
    pub(super) fn new(text: &str) -> Self {
        let short = shortened(text, SHORT);
        let tooltip = if short == text { String::new() } else { shortened(text, TOOLTIP) };
        Self { short, tooltip }
    }
}

/// A text in full, up to a length past which nobody reads it.
pub(super) fn full(text: &str) -> String {
    shortened(text, FULL)
}

/// At most so many characters, the middle left out.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let (head, tail) = (most.div_ceil(2), most / 2);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

/// Suite, where the run has several, layer, and that times are cold.
pub(super) fn layer_name(suite: &str, layer: &str, cache: Cache, many_suites: bool) -> String {
    let suite = if many_suites { format!("{suite}/") } else { String::new() };
    let cold = if cache == Cache::Cold { " (cold)" } else { "" };
    format!("{suite}{layer}{cold}")
}

/// Algorithm and variant: `im2col:batch`.
pub(super) fn case_name(row: &Measurement) -> String {
    row.case.variant.qualify(&row.case.algorithm)
}

/// `7,225,344 B (6.89 MiB)`.
pub(super) fn exact_bytes(bytes: Bytes) -> String {
    if bytes.0 < 1024 { bytes.to_string() } else { format!("{bytes} ({bytes:#})") }
}

/// `22.8 ms (22,790,432 ns)`.
pub(super) fn exact_time(ns: f64) -> String {
    format!("{} ({} ns)", Nanoseconds(ns), whole(ns))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time is not negative, and the cast saturates")]
fn whole(ns: f64) -> Grouped {
    Grouped(ns.round() as u64)
}

/// `3.2×`, `12×`, `366×`.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        r if r < 9.95 => format!("{r:.2}×"),
        r if r < 99.5 => format!("{r:.1}×"),
        r => format!("{r:.0}×"),
    }
}

/// `1 layer`, `7 layers`.
pub(super) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}
