//! Answers computed from records alone.

mod layers;
pub mod peers;

pub use layers::{LayerSummary, layers};
