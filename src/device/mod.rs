//! Adapters, memory, pipelines, execution and the device clock: the only module that talks to wgpu.

mod adapter;
mod clock;
mod encoding;
mod error;
mod executor;
mod gpu;
mod identity;
mod memory;
mod pipeline;
mod resident;
mod trusted;

pub use adapter::{Adapter, Instance, adapters, choose};
pub use clock::probe_plan;
pub use error::DeviceError;
pub use executor::Loaded;
pub use gpu::{Gpu, Spent};
pub use identity::{Clock, ClockFacts, Identity};
pub use memory::{Account, AllocatorReport};
pub use resident::{Meter, Source, Watch, trim_heap};
pub use trusted::Checks;
