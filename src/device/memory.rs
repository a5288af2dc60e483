//! Every buffer of a device is made here, under a name of its own, so that what was asked for and what the allocator handed out can
//! be told for each.

use super::{DeviceError, Gpu};
use crate::units::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};

/// A device buffer with its unique name and the size that was asked for.
pub(super) struct Allocation {
    pub(super) buffer: wgpu::Buffer,
    label: String,
    requested: u64,
}

/// What a buffer takes, by two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Size given to the device.
    pub requested: Bytes,
    /// What the allocator handed out, alignment included; `None` where the platform does not tell.
    pub allocated: Option<Bytes>,
}

impl Allocation {
    /// A buffer of `bytes`, rounded up to whole words as copies need.
    pub(super) fn new(gpu: &Gpu, name: &str, bytes: u64, usage: wgpu::BufferUsages) -> Result<Self, DeviceError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let requested = bytes.next_multiple_of(4);
        let label = format!("convledger {} {name}", NEXT.fetch_add(1, Ordering::Relaxed));
        let descriptor = wgpu::BufferDescriptor { label: Some(&label), size: requested, usage, mapped_at_creation: false };
        let what = format!("{name} buffer of {}", Bytes(requested));
        let buffer = gpu.guarded(&what, || gpu.device.create_buffer(&descriptor))?;
        Ok(Self { buffer, label, requested })
    }
}

/// What each of `allocations` takes, in one look at the allocator.
pub(super) fn accounts<'a>(gpu: &Gpu, allocations: impl Iterator<Item = &'a Allocation>) -> Vec<Account> {
    let report = gpu.device.generate_allocator_report();
    let allocated = |label: &str| {
        let report = report.as_ref()?;
        report.allocations.iter().find(|a| a.name == label).map(|a| Bytes(a.size))
    };
    allocations.map(|a| Account { requested: Bytes(a.requested), allocated: allocated(&a.label) }).collect()
}
