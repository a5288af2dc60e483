//! Who a device is and how it tells time, as plain data that files and the worker's protocol carry.

use crate::plan::DeviceClass;
use serde::{Deserialize, Serialize};

/// Who a device is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The adapter's name, as the driver gives it.
    pub name: String,
    /// `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// The driver's name.
    pub driver: String,
    /// The driver's version and build, as it gives them.
    pub driver_info: String,
    /// Broad kind.
    pub class: DeviceClass,
    /// PCI vendor id; 0 where there is none.
    pub vendor: u32,
    /// PCI device id; 0 where there is none.
    pub device: u32,
    /// PCI address, such as `0000:01:00.0`, by which the system's own tools know it; empty where the driver does not tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pci: String,
}

/// Which clock a time was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Timestamps the device writes before the first and after the last dispatch.
    GpuTimestamp,
    /// The host's clock around submission and completion.
    Host,
}

/// A clock and how well it tells time, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Which clock.
    pub clock: Clock,
    /// Smallest difference it shows, in nanoseconds.
    pub resolution_ns: f64,
    /// Median time of an empty dispatch on it, in nanoseconds.
    pub dispatch_overhead_ns: f64,
    /// Median of what it shows around nothing at all, in nanoseconds: what reading the time adds to a sample. Files of earlier versions
    /// have none.
    #[serde(default)]
    pub timer_overhead_ns: Option<f64>,
}
