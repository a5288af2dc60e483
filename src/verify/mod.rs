//! Is a result right? Filling inputs, choosing what to compare, tolerances, the verdict.
//!
//! ```text
//! Inputs::random ─▶ Expectation::new (f64 reference) ─▶ compare(output) ─▶ Comparison::verdict(tolerance)
//! ```
//!
//! Three things must hold for a result to pass: no element of the *whole* output is NaN (outputs are filled with NaN
//! before the run) or infinite; the relative L2 error of the compared points is within [`tolerance`]; and no single compared
//! point is further off than [`ELEMENT_FACTOR`] tolerances, so that one wrong element does not drown in a large output.

mod comparison;
mod expectation;
mod inputs;
mod order;
mod points;
#[cfg(test)]
mod tests;
mod tolerance;

pub use comparison::{Comparison, Mismatch, Place, WrongResult};
pub use expectation::{Expectation, WHOLE_MULTIPLY_ADDS};
pub use inputs::Inputs;
pub use order::{on_device, on_host};
pub use points::{MAX_POINTS, RANDOM_POINTS};
pub use tolerance::{ELEMENT_FACTOR, tolerance};
