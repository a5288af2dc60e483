//! Why the device's limits could not be measured.

use crate::device::DeviceError;
use crate::plan::Unsupported;

/// What keeps a limit from being measured.
#[derive(Debug, thiserror::Error)]
pub enum PeakError {
    /// The device failed.
    #[error("measuring the device's limits: {0}")]
    Device(#[from] DeviceError),
    /// The device allows less than the kernel needs.
    #[error("measuring the device's limits: {0}")]
    Limits(#[from] Unsupported),
    /// The device computed something else than the kernel says: its rate would be that of another program.
    #[error("measuring the device's limits: {kernel} gave {found} at {at}, must be {expected}")]
    Wrong {
        /// The kernel's shape.
        kernel: String,
        /// Index of the first wrong element.
        at: usize,
        /// What the device computed.
        found: f32,
        /// The closed form.
        expected: f32,
    },
}

impl PeakError {
    /// Whether the device can no longer be trusted.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self, Self::Device(error) if !matches!(error, DeviceError::OutOfMemory { .. }))
    }
}
