//! Every buffer of a device is made here, under a name of its own, so that what was asked for and what the allocator handed out can
//! be told for each.

use super::{DeviceError, Gpu};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of this program's allocations begin.
const PREFIX: &str = "convledger ";

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
        let label = format!("{PREFIX}{} {name}", NEXT.fetch_add(1, Ordering::Relaxed));
        let descriptor = wgpu::BufferDescriptor { label: Some(&label), size: requested, usage, mapped_at_creation: false };
        let what = format!("{name} buffer of {}", Bytes(requested));
        let buffer = gpu.guarded(&what, || gpu.device.create_buffer(&descriptor))?;
        Ok(Self { buffer, label, requested })
    }
}

/// What the backend's allocator says it holds: live allocations within blocks of device memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AllocatorReport {
    /// Name and bytes of each allocation, alignment included. Buffers made here have unique names; those of wgpu's own say so.
    pub allocations: Vec<(String, Bytes)>,
    /// Bytes of each block, what is free in it included.
    pub blocks: Vec<Bytes>,
}

impl AllocatorReport {
    /// Bytes of all allocations.
    pub fn allocated(&self) -> Bytes {
        Bytes(self.allocations.iter().map(|(_, bytes)| bytes.0).sum())
    }

    /// Bytes of all blocks.
    pub fn reserved(&self) -> Bytes {
        Bytes(self.blocks.iter().map(|bytes| bytes.0).sum())
    }

    /// Bytes of the allocations of this program: buffers of plans and those of the clock.
    pub fn own(&self) -> Bytes {
        Bytes(self.allocations.iter().filter(|(name, _)| name.starts_with(PREFIX)).map(|(_, bytes)| bytes.0).sum())
    }
}

impl Gpu {
    /// What the allocator holds now; none where the backend does not tell.
    pub fn allocator_report(&self) -> Option<AllocatorReport> {
        let report = self.device.generate_allocator_report()?;
        Some(AllocatorReport {
            allocations: report.allocations.into_iter().map(|a| (a.name, Bytes(a.size))).collect(),
            blocks: report.blocks.into_iter().map(|block| Bytes(block.size)).collect(),
        })
    }
}

/// What each of `allocations` takes by a look at the allocator.
pub(super) fn accounts<'a>(report: Option<&AllocatorReport>, allocations: impl Iterator<Item = &'a Allocation>) -> Vec<Account> {
    let allocated = |label: &str| report?.allocations.iter().find(|(name, _)| name == label).map(|(_, bytes)| *bytes);
    allocations.map(|a| Account { requested: Bytes(a.requested), allocated: allocated(&a.label) }).collect()
}
