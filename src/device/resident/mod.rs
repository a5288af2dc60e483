//! What the system says this process holds, and where that figure is from: the level `resident` of the ledgers.
//!
//! Platforms tell it in different ways, and none tells it in all. A [`Meter`] tries each [`Source`] that fits its device, reads the first
//! that answers, and keeps the reasons of the others, so that an empty cell can be explained. The memory of a software driver is that of
//! its process: there the resident set is the figure, and it counts everything else the process holds as well.

#[cfg(windows)]
mod dxgi;
#[cfg(target_os = "linux")]
mod fdinfo;
mod heap;
mod host;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_vendor = "apple")]
mod metal;
#[cfg(not(target_vendor = "apple"))]
mod nvml;
#[cfg(not(target_vendor = "apple"))]
mod vulkan;
mod watch;

pub use heap::trim_heap;
pub use watch::Watch;

use super::Identity;
use crate::plan::DeviceClass;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Who tells a resident figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The system: resident set of this process (Linux: `Rss` of `/proc/self/smaps_rollup`).
    ProcessRss,
    /// The Vulkan driver: `heapUsage` of `VK_EXT_memory_budget`, over all heaps.
    VulkanMemoryBudget,
    /// NVIDIA's management library: memory of this process on this GPU.
    Nvml,
    /// The Linux kernel's DRM: `drm-resident-*`, or `drm-memory-*`, of `/proc/self/fdinfo`, over the clients of this GPU.
    DrmFdinfo,
    /// DXGI: `CurrentUsage` of `QueryVideoMemoryInfo`, local and non-local.
    DxgiVideoMemory,
    /// Metal: `currentAllocatedSize` of the device.
    MetalAllocatedSize,
}

impl Source {
    /// The source as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProcessRss => "process_rss",
            Self::VulkanMemoryBudget => "vulkan_memory_budget",
            Self::Nvml => "nvml",
            Self::DrmFdinfo => "drm_fdinfo",
            Self::DxgiVideoMemory => "dxgi_video_memory",
            Self::MetalAllocatedSize => "metal_allocated_size",
        }
    }

    /// Whether the figure is that of the process: then all else it holds counts as well, and what was reserved may not, until it is written.
    pub const fn is_process(self) -> bool {
        matches!(self, Self::ProcessRss)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads one source; the text of an error says why it has nothing to tell.
trait Read: Send + Sync {
    fn read(&self) -> Result<Bytes, String>;
}

/// Reads what this process holds of a device's memory. It needs the adapter alone, and outlives the device.
#[derive(Clone)]
pub struct Meter {
    source: Option<(Source, Arc<dyn Read>)>,
    refusals: Vec<(Source, String)>,
}

impl Meter {
    /// The resident set of this process, for which no device is needed.
    pub fn of_process() -> Self {
        Self::first([(Source::ProcessRss, Arc::new(host::Rss) as Arc<dyn Read>)])
    }

    /// What tells best of a device: for a software driver the process, for others the driver before the tools beside it.
    pub(super) fn of_adapter(identity: &Identity, adapter: &wgpu::Adapter) -> Self {
        if identity.class == DeviceClass::Software {
            return Self::of_process();
        }
        let candidates: Vec<(Source, Arc<dyn Read>)> = match identity.backend.as_str() {
            #[cfg(not(target_vendor = "apple"))]
            "vulkan" => vec![
                (Source::VulkanMemoryBudget, Arc::new(vulkan::MemoryBudget::of(adapter))),
                (Source::Nvml, Arc::new(nvml::Nvml::of(identity))),
                #[cfg(target_os = "linux")]
                (Source::DrmFdinfo, Arc::new(fdinfo::Fdinfo::of(identity))),
            ],
            #[cfg(windows)]
            "dx12" => vec![(Source::DxgiVideoMemory, Arc::new(dxgi::VideoMemory::of(adapter)))],
            #[cfg(target_vendor = "apple")]
            "metal" => vec![(Source::MetalAllocatedSize, Arc::new(metal::AllocatedSize::of(adapter)))],
            _ => Vec::new(),
        };
        Self::first(candidates)
    }

    /// The first of `candidates` that answers now.
    fn first(candidates: impl IntoIterator<Item = (Source, Arc<dyn Read>)>) -> Self {
        let mut refusals = Vec::new();
        for (source, read) in candidates {
            match read.read() {
                Ok(_) => return Self { source: Some((source, read)), refusals },
                Err(reason) => refusals.push((source, reason)),
            }
        }
        Self { source: None, refusals }
    }

    /// Who tells the figure; none on a platform where nobody does.
    pub fn source(&self) -> Option<Source> {
        self.source.as_ref().map(|(source, _)| *source)
    }

    /// What the process holds now, by [`Meter::source`]; none where it does not answer.
    pub fn read(&self) -> Option<Bytes> {
        self.source.as_ref().and_then(|(_, read)| read.read().ok())
    }

    /// Whether a source that would have been preferred does not answer.
    pub fn refused(&self) -> bool {
        !self.refusals.is_empty()
    }

    /// Why there is no figure, or none from a source that would have been preferred; empty where nothing was refused.
    pub fn refusals(&self) -> String {
        let told: Vec<String> = self.refusals.iter().map(|(source, reason)| format!("{source}: {reason}")).collect();
        if told.is_empty() && self.source.is_none() { "no source is known for this platform".into() } else { told.join("; ") }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("source", &self.source()).field("refusals", &self.refusals).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(Result<u64, &'static str>);

    impl Read for Told {
        fn read(&self) -> Result<Bytes, String> {
            self.0.map(Bytes).map_err(str::to_owned)
        }
    }

    fn of(told: Result<u64, &'static str>) -> Arc<dyn Read> {
        Arc::new(Told(told))
    }

    #[test]
    fn the_first_source_that_answers_is_read_and_the_others_are_explained() {
        let meter = Meter::first([(Source::VulkanMemoryBudget, of(Err("no extension"))), (Source::Nvml, of(Ok(7)))]);
        assert_eq!((meter.source(), meter.read()), (Some(Source::Nvml), Some(Bytes(7))));
        assert_eq!(meter.refusals(), "vulkan_memory_budget: no extension");
        let none = Meter::first([(Source::Nvml, of(Err("no library"))), (Source::DrmFdinfo, of(Err("no client")))]);
        assert_eq!((none.source(), none.read()), (None, None));
        assert_eq!(none.refusals(), "nvml: no library; drm_fdinfo: no client");
        assert_eq!(Meter::first([]).refusals(), "no source is known for this platform");
    }

    #[test]
    fn this_process_holds_what_it_touches() {
        let meter = Meter::of_process();
        let before = meter.read().expect("a figure");
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = meter.read().expect("a figure");
        // Other tests of this process take and give back at the same time.
        assert!(after.0 > before.0 + (32 << 20), "{before} to {after} with {} B more", held.len());
    }
}
