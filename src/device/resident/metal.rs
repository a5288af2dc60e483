//! Metal: what a device has allocated for this process.
#![allow(unsafe_code, reason = "wgpu hands out its Metal handles through an unsafe function")]

use super::Read;
use crate::units::Bytes;
use objc2_metal::MTLDevice as _;

/// A device.
pub(super) struct AllocatedSize(wgpu::Adapter);

impl AllocatedSize {
    pub(super) fn of(adapter: &wgpu::Adapter) -> Self {
        Self(adapter.clone())
    }
}

impl Read for AllocatedSize {
    fn read(&self) -> Result<Bytes, String> {
        // SAFETY: nothing is destroyed through the handle, and it is not kept past the guard.
        let guard = unsafe { self.0.as_hal::<wgpu::hal::api::Metal>() };
        let adapter = guard.ok_or_else(|| "the adapter is none of Metal's".to_owned())?;
        Ok(Bytes(adapter.raw_device().currentAllocatedSize() as u64))
    }
}
