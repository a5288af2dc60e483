//! The rule on synthetic data; matching, memory, surroundings and gates on kept runs.

mod rule;
mod runs;
