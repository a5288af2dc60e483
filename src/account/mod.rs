//! Every byte accounted for: from what the formulas predict to what the system says the process holds.
//!
//! [`live`] takes one case through a process's whole life and reads, at each [`Stage`], what the system says the process holds and what
//! the allocator says it handed out: the runtime ledger. A [`Bridge`] leads from the predicted bytes to the resident ones, one line for
//! each thing that is held, and shows what none of them explains.
//!
//! A life is worth the name only in a process of its own that did nothing before: what an earlier case left in the heap would be in it.

mod bridge;
mod error;
mod life;
mod rows;
#[cfg(test)]
mod tests;

pub use bridge::{Bridge, Line, LineKind};
pub use error::{AccountError, FiledError};
pub use life::{Levels, Life, Reading, Stage, live};
pub use rows::{AccountRow, FILE, Filed, RUNTIME_FILE, RuntimeRow, signed_text};
