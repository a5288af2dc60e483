//! Answers computed from records alone.

pub mod auto;
mod layers;
pub mod peers;

pub use layers::{LayerSummary, layers};
