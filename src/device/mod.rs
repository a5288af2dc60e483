//! Adapters, memory, pipelines, execution and the device clock: the only module that talks to wgpu.

mod identity;

pub use identity::{Clock, ClockFacts, Identity};
