//! The cost model: what a plan would take on a device, without running it, and which plan to take.
//!
//! ```text
//! t = Σ over steps of max(operations / (compute · π), bytes / (bandwidth · β)) · max(1, fill / workgroups) + dispatch
//! ```
//!
//! π, β and the cost of a dispatch are the device's, as [`crate::peak`] measures them; β is that of the caches where the step's traffic
//! fits them. How much of each a kernel reaches, and how many workgroups it takes to fill the device, is data ([`Costs`]): fitted to the
//! stages of measured runs ([`fit`]), kept per kind of device in `builtin.toml`.

mod choose;
mod costs;
mod error;
mod fit;

pub use choose::{Choice, NoChoice, choose};
pub use costs::{Costs, DeviceCosts, KernelCost, kernel_words};
pub use error::CostError;
pub use fit::{Observation, Portion, fit};

use crate::conv::ElementType;
use crate::peak::{ArithmeticRate, ByteRate, DispatchCost, Peaks, Residence};
use crate::plan::{DeviceClass, Plan, Step};
use crate::units::{Bytes, Nanoseconds};
use std::borrow::Cow;

/// What plans take on one device.
#[derive(Debug, Clone)]
pub struct Model<'a> {
    peaks: Cow<'a, Peaks>,
    costs: &'a Costs,
    class: DeviceClass,
}

impl<'a> Model<'a> {
    /// The model of a device of a class. Without measured limits those of a usual device of the class are taken: orders between plans
    /// depend on their ratios alone. Of a class that the costs say nothing of, what is built in is taken.
    pub fn new(costs: &'a Costs, class: DeviceClass, peaks: Option<&'a Peaks>) -> Self {
        let costs = if costs.knows(class) { costs } else { Costs::builtin() };
        Self { peaks: peaks.map_or_else(|| Cow::Owned(usual(class)), Cow::Borrowed), costs, class }
    }

    /// What a step of a problem with elements of a type takes.
    pub fn step(&self, step: &Step, element: ElementType) -> Nanoseconds {
        self.costs.of(self.class, &kernel_words(step)).time(&self.portion(step, element), self.peaks.dispatch.ns)
    }

    /// What an execution of a plan takes: its steps one after the other, without those that need not be done again.
    pub fn plan(&self, plan: &Plan, element: ElementType) -> Nanoseconds {
        Nanoseconds(plan.steps.iter().filter(|step| !step.once).map(|step| self.step(step, element).0).sum())
    }

    /// A step as the formula sees it.
    pub fn portion(&self, step: &Step, element: ElementType) -> Portion {
        let least = self.peaks.least(step, element, Residence::Anywhere);
        let workgroups = step.workgroups.iter().map(|&n| u64::from(n)).product();
        Portion { compute: least.compute, transfer: least.transfer, workgroups }
    }

    /// What a dispatch costs when there is nothing to do.
    pub fn dispatch(&self) -> Nanoseconds {
        Nanoseconds(self.peaks.dispatch.ns)
    }
}

/// Limits of a usual device of a class, where none were measured.
fn usual(class: DeviceClass) -> Peaks {
    let (gflops, gigabytes, ns) = match class {
        DeviceClass::Software => (80.0, 8.0, 5e3),
        DeviceClass::Integrated => (1e3, 40.0, 5e3),
        DeviceClass::Discrete | DeviceClass::Virtual | DeviceClass::Other => (10e3, 400.0, 3e3),
    };
    let how = || "assumed".to_owned();
    let copy = ByteRate { bytes_per_second: gigabytes * 1e9, working_set_bytes: crate::peak::MEMORY.0, how: how() };
    Peaks {
        multiply_add_f32: ArithmeticRate { gflops, how: how() },
        multiply_add_f16: None,
        memory_copy: copy.clone(),
        copies: vec![copy],
        workgroup_read: None,
        dispatch: DispatchCost { ns, how: how() },
        notes: Vec::new(),
        measured_in_s: 0.0,
    }
}

/// The most bytes of workspace, where there is a limit.
type WorkspaceLimit = Option<Bytes>;

#[cfg(test)]
mod tests;
