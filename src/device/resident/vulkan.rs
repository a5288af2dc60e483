//! `VK_EXT_memory_budget`: what the Vulkan driver says this process uses of each heap.
#![allow(unsafe_code, reason = "wgpu hands out its Vulkan handles through an unsafe function, and Vulkan is called through them")]

use super::Read;
use crate::units::Bytes;
use ash::vk;

/// The budget of the physical device behind a wgpu adapter.
pub(super) struct MemoryBudget {
    adapter: wgpu::Adapter,
    /// Why it cannot be asked.
    refusal: Option<String>,
}

impl MemoryBudget {
    pub(super) fn of(adapter: &wgpu::Adapter) -> Self {
        let refusal = with_handles(adapter, |instance, physical| {
            // SAFETY: the handles live as long as `adapter`, which `with_handles` holds.
            let listed = unsafe { instance.enumerate_device_extension_properties(physical) };
            let listed = listed.map_err(|error| format!("extensions are not told: {error}"))?;
            let has = listed.iter().any(|extension| extension.extension_name_as_c_str() == Ok(ash::ext::memory_budget::NAME));
            if has { Ok(()) } else { Err("the driver has no VK_EXT_memory_budget".to_owned()) }
        });
        Self { adapter: adapter.clone(), refusal: refusal.err() }
    }
}

impl Read for MemoryBudget {
    fn read(&self) -> Result<Bytes, String> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        with_handles(&self.adapter, |instance, physical| Ok(usage(instance, physical)))
    }
}

/// Calls `ask` with wgpu's own instance and physical device.
fn with_handles<T>(
    adapter: &wgpu::Adapter,
    ask: impl FnOnce(&ash::Instance, vk::PhysicalDevice) -> Result<T, String>,
) -> Result<T, String> {
    // SAFETY: nothing is destroyed through the handles, and they are not kept past the guard.
    let guard = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() };
    let raw = guard.ok_or_else(|| "the adapter is none of Vulkan's".to_owned())?;
    ask(raw.shared_instance().raw_instance(), raw.raw_physical_device())
}

/// Bytes in use by this process, over all heaps. The extension needs not be enabled for a query of the physical device.
pub(super) fn usage(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Bytes {
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
    // SAFETY: the caller's handles are alive; wgpu asks for Vulkan 1.1 or later where a device has it, and the function is of 1.1.
    unsafe { instance.get_physical_device_memory_properties2(physical, &mut properties) };
    let heaps = usize::try_from(properties.memory_properties.memory_heap_count).unwrap_or(0);
    Bytes(budget.heap_usage.iter().take(heaps).sum())
}
