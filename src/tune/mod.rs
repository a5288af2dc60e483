//! Tuning to a device: which of the choices that change only a plan's speed are the fastest here.
//!
//! ```text
//! targets (knob + problems) ─▶ candidates ─▶ search ─▶ Measure: verify, time ─▶ Found ─▶ tuning file
//! ```
//!
//! A [`Knob`] is one choice of [`Tuning`](crate::plan::Tuning): the tile of a kernel for a class of shapes, the invocations of a
//! workgroup, whether shapes are folded into the text. [`targets`] finds for each knob convolutions whose plans it changes, by planning
//! them with different choices, so a kernel that is new to the program needs no line here. [`search`] is pure: it decides what to try, and
//! is fed by whatever implements [`Measure`]. [`Bench`] is that on a device; the runner puts a process between the two, so that a
//! candidate on which the driver crashes or hangs costs itself and nothing else.

mod bench;
mod file;
mod knob;
mod search;
mod targets;
#[cfg(test)]
mod tests;

pub use bench::{Action, Bench, Stage, Trial, TrialFailure};
pub use file::{Decision, MergeError, Provenance, block, merge};
pub use knob::{Choice, Knob};
pub use search::{CLEAR, Candidates, Dropped, End, Found, Measure, Rules, Timed, search};
pub use targets::{Problem, Target, targets};
