//! What a driver's compiler makes of a kernel: registers, spills, memory, occupancy, and the instructions themselves.
//!
//! A plan's kernels are composed, translated to SPIR-V with wgpu's own settings and compiled by the Vulkan driver
//! ([`Vulkan`]), which is asked for its statistics through `VK_KHR_pipeline_executable_properties`. Nothing is run, so a driver that
//! only compiles will do: Mesa's RADV does so for any of its GPUs without one being there. Where the driver tells its instructions in
//! AMD's notation, [`isa`] finds the loop that does the work and what share of it are multiply-adds.

mod error;
pub mod isa;
mod report;
mod spirv;
mod statistics;
mod vulkan;

pub use error::InspectError;
pub use report::{Inspected, KernelUse, inspect, kernels};
pub use spirv::Checks;
pub use statistics::{Statistic, Summary, Value};
pub use vulkan::{Compiled, Device, Facts, Vulkan};
