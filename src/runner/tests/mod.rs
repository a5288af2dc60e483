//! The pure parts, and the worker's side over in-memory pipes. Real processes are in `tests/runner.rs`.

mod fakes;
mod schedule;
mod selection;
mod serving;
