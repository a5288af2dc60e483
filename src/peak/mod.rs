//! The device's own limits, measured with kernels of ours: π, the multiply-adds it computes, and β, the bytes it moves.
//!
//! [`measure`] tries several shapes of each kernel (`shaders/peak_*.wgsl`), holds every result against the closed form of what the
//! kernel computes, and keeps the best sample of the best shape: a limit is what nothing passes, not what is usual. [`Roofline`] turns
//! the limits into the least time of a piece of work.
//!
//! Work that finds its data in the caches is not bound by memory. So copies are measured over a range of working sets, and what bounds
//! a step is the best rate of any working set at least as large as the step's traffic ([`Peaks::bandwidth`]); only work known to come
//! from memory is held against β itself.

mod error;
mod kernels;
mod measure;
mod roofline;

pub use error::PeakError;
pub use kernels::plans;
pub use measure::measure;
pub use roofline::{Least, Limit, Roofline, utilisation};

use crate::conv::ElementType;
use crate::plan::{Plan, Step};
use crate::units::{Bytes, Nanoseconds};
use serde::{Deserialize, Serialize};

/// More than any last-level cache in use: copies of working sets from here on come from memory.
pub const MEMORY: Bytes = Bytes(256 << 20);

/// A rate of arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArithmeticRate {
    /// 10⁹ operations a second; a multiply-add counts two.
    pub gflops: f64,
    /// The kernel's shape and how many samples this is the best of.
    pub how: String,
}

/// A rate of moving bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByteRate {
    /// Bytes a second, those read and those written added up.
    pub bytes_per_second: f64,
    /// Bytes of the buffers gone through: source and destination of a copy, the tile of a workgroup.
    pub working_set_bytes: u64,
    /// The kernel's shape and how many samples this is the best of.
    pub how: String,
}

/// What a dispatch costs when there is nothing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatchCost {
    /// Nanoseconds of one more dispatch behind others of a pass.
    pub ns: f64,
    /// How it was measured.
    pub how: String,
}

/// The limits of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peaks {
    /// π of f32.
    pub multiply_add_f32: ArithmeticRate,
    /// The same in f16 arithmetic; none where shaders have no f16.
    pub multiply_add_f16: Option<ArithmeticRate>,
    /// β: the best copy of a working set that no cache holds.
    pub memory_copy: ByteRate,
    /// Every copy measured, by vector type and working set.
    pub copies: Vec<ByteRate>,
    /// Reads of workgroup memory, over all workgroups at once; none where there is too little of it.
    pub workgroup_read: Option<ByteRate>,
    /// An empty dispatch.
    pub dispatch: DispatchCost,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    /// How long measuring all this took, in seconds.
    pub measured_in_s: f64,
}

/// Where a step finds its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residence {
    /// Perhaps in the caches, as far as it fits.
    Anywhere,
    /// In memory: the executions before have displaced it.
    Memory,
}

impl Peaks {
    /// π, in operations a nanosecond (GFLOP/s), for a case whose elements are of a type. A case in f16 may compute in f16 or widen to
    /// f32, so the higher of the two bounds it.
    pub fn gflops(&self, element: ElementType) -> f64 {
        let half = self.multiply_add_f16.as_ref().filter(|_| element == ElementType::F16);
        half.map_or(self.multiply_add_f32.gflops, |half| half.gflops.max(self.multiply_add_f32.gflops))
    }

    /// β, in bytes a nanosecond (GB/s): what memory gives.
    pub fn memory_bandwidth(&self) -> f64 {
        self.memory_copy.bytes_per_second / 1e9
    }

    /// The most bytes a nanosecond for a working set that the caches may hold: the best copy of any working set at least as large, or
    /// β. A small copy shows what a dispatch costs more than what a cache gives, hence the larger ones count too.
    pub fn bandwidth(&self, working_set: Bytes) -> f64 {
        let at_least = self.copies.iter().filter(|copy| copy.working_set_bytes >= working_set.0);
        at_least.map(|copy| copy.bytes_per_second / 1e9).fold(self.memory_bandwidth(), f64::max)
    }

    /// The limits that hold for work on elements of a type that moves `traffic` bytes.
    pub fn roofline(&self, element: ElementType, traffic: Bytes, residence: Residence) -> Roofline {
        let bytes_per_ns = match residence {
            Residence::Memory => self.memory_bandwidth(),
            Residence::Anywhere => self.bandwidth(traffic),
        };
        Roofline { gflops: self.gflops(element), bytes_per_ns }
    }

    /// The least time of a step of a problem with elements of a type.
    pub fn least(&self, step: &Step, element: ElementType, residence: Residence) -> Least {
        self.roofline(element, step.traffic, residence).least(step.operations, step.traffic)
    }

    /// The least time of an execution of a plan: that of its steps one after the other, without those that run once for all executions.
    pub fn least_of_plan(&self, plan: &Plan, element: ElementType, residence: Residence) -> Nanoseconds {
        Nanoseconds(plan.steps.iter().filter(|step| !step.once).map(|step| self.least(step, element, residence).time().0).sum())
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::made_up;
