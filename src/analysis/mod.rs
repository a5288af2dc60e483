//! Answers computed from records alone.

mod layers;

pub use layers::{LayerSummary, layers};
