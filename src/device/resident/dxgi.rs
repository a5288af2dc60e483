//! DXGI: what Windows says this process uses of the GPU's memory.
#![allow(unsafe_code, reason = "wgpu hands out its DX12 handles through an unsafe function")]

use super::Read;
use crate::units::Bytes;
use windows::Win32::Graphics::Dxgi::{DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL};

/// The segments of an adapter.
pub(super) struct VideoMemory(wgpu::Adapter);

impl VideoMemory {
    pub(super) fn of(adapter: &wgpu::Adapter) -> Self {
        Self(adapter.clone())
    }
}

impl Read for VideoMemory {
    fn read(&self) -> Result<Bytes, String> {
        // SAFETY: nothing is destroyed through the handle, and it is not kept past the guard.
        let guard = unsafe { self.0.as_hal::<wgpu::hal::api::Dx12>() };
        let adapter = guard.ok_or_else(|| "the adapter is none of DX12's".to_owned())?;
        let used = |group| adapter.raw_adapter().query_video_memory_info(group).map(|info| info.CurrentUsage);
        let segments = [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL];
        let bytes = segments.into_iter().map(used).sum::<Result<u64, _>>();
        bytes.map(Bytes).map_err(|error| error.to_string())
    }
}
