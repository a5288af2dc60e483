//! Answers computed from records alone.

pub mod auto;
pub mod budget;
pub mod compare;
mod group;
mod layers;
mod ledgers;
pub mod pareto;
pub mod peers;
mod roofline;

pub use group::{LayerId, LayerRows, TimedRow, by_layer};
pub use layers::{LayerSummary, layers};
pub use ledgers::{LedgerTotals, Levels, ledger_totals};
pub use roofline::{RooflinePoint, roofline_points};
