//! What is held at a moment, and the convolutions and bare buffers that hold it.

use super::{Column, ExperimentError};
use crate::algorithm::{find, plain_variant};
use crate::conv::Conv;
use crate::conv::ElementType;
use crate::device::{Clock, DeviceError, Gpu, Loaded, Meter};
use crate::plan::{Buffer, Lifetime, Limits, Plan, Role};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What is held at a moment; none where nobody tells. Allocator and blocks are summed over the devices that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    /// What the system says the process holds.
    pub resident_bytes: Option<u64>,
    /// Allocations the allocator has handed out, those of wgpu's own included.
    pub allocations: Option<u64>,
    /// Their bytes.
    pub allocated_bytes: Option<u64>,
    /// Blocks of device memory the allocator holds.
    pub blocks: Option<u64>,
    /// Their bytes.
    pub reserved_bytes: Option<u64>,
}

/// The columns of [`Held`].
pub(super) const HELD: [Column; 5] = [
    Column { name: "resident_bytes", meaning: "what the system says the process holds" },
    Column { name: "allocations", meaning: "allocations the allocator has handed out, wgpu's own included" },
    Column { name: "allocated_bytes", meaning: "bytes of the allocations, alignment included" },
    Column { name: "blocks", meaning: "blocks of device memory the allocator holds" },
    Column { name: "reserved_bytes", meaning: "bytes of the blocks" },
];

impl Held {
    /// Reads the meter, then the allocators: their reports take memory themselves.
    pub(super) fn now(meter: &Meter, gpus: &[&Gpu]) -> Self {
        let resident_bytes = meter.read().map(|bytes| bytes.0);
        let reports: Option<Vec<_>> = gpus.iter().map(|gpu| gpu.allocator_report()).collect();
        let Some(reports) = reports.filter(|reports| !reports.is_empty()) else { return Self { resident_bytes, ..Self::default() } };
        Self {
            resident_bytes,
            allocations: Some(reports.iter().map(|report| report.allocations.len() as u64).sum()),
            allocated_bytes: Some(reports.iter().map(|report| report.allocated().0).sum()),
            blocks: Some(reports.iter().map(|report| report.blocks.len() as u64).sum()),
            reserved_bytes: Some(reports.iter().map(|report| report.reserved().0).sum()),
        }
    }
}

/// Has a device that was just opened finish what opening it began: wgpu holds an allocation until its first submission is done, and
/// what is read before that is not what stays.
pub(super) fn settle(gpu: &Gpu) -> Result<(), DeviceError> {
    bare(gpu, Vec::new())?.clear()
}

/// A bare buffer with nothing in it.
pub(super) fn buffer(gpu: &Gpu, size: Bytes) -> Result<Loaded<'_>, DeviceError> {
    let element = ElementType::U32;
    let elements = size.0.div_ceil(element.bytes());
    bare(gpu, vec![Buffer { name: "experiment".into(), role: Role::Workspace, element, elements, lifetime: Lifetime::Call }])
}

/// A plan of buffers and no steps.
fn bare(gpu: &Gpu, buffers: Vec<Buffer>) -> Result<Loaded<'_>, DeviceError> {
    Loaded::new(gpu, Plan::of_buffers(buffers), 1)
}

/// The plan of an algorithm in its plain form.
pub(super) fn plan(algorithm: &str, conv: &Conv, limits: &Limits) -> Result<Plan, ExperimentError> {
    let unsupported = |reason| ExperimentError::Unsupported { case: format!("{algorithm} of {conv}"), reason };
    let Some(found) = find(algorithm) else {
        return Err(unsupported(crate::plan::Unsupported::Problem(format!("'{algorithm}' is no algorithm of this version"))));
    };
    found.plan(conv, &plain_variant(found, conv, limits), limits).map_err(unsupported)
}

/// The plan on the device, every buffer written from end to end (a system may hand out memory at the first touch), run once.
pub(super) fn run(gpu: &Gpu, plan: Plan) -> Result<Loaded<'_>, DeviceError> {
    let loaded = Loaded::new(gpu, plan, 1)?;
    loaded.write_all()?;
    loaded.execute(1, Clock::Host)?;
    Ok(loaded)
}

/// `now` less `before`, where both were read.
pub(super) fn growth(before: Option<u64>, now: Option<u64>) -> Option<i64> {
    Some(Bytes(now?).signed() - Bytes(before?).signed())
}

/// Bytes with their sign, rounded: `-1.50 MiB`; a dash where there are none.
pub(super) fn told(bytes: Option<i64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| {
        let sign = if bytes < 0 { "-" } else { "" };
        format!("{sign}{:#}", Bytes(bytes.unsigned_abs()))
    })
}

/// The same of what has no sign.
pub(super) fn size(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| format!("{:#}", Bytes(bytes)))
}
