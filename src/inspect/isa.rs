//! AMD's instructions as text: the loop that does the work, and what it spends its instructions on.

/// The loop that does the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotLoop {
    /// Its first block.
    pub label: String,
}

/// Finds it.
pub fn hot_loop(_text: &str) -> Option<HotLoop> {
    None
}
