//! Vulkan itself, through `ash`: which devices there are, and what a device's compiler makes of SPIR-V.
//!
//! wgpu neither opens a device that cannot run anything nor hands out a pipeline's properties, so this module calls the API. All of
//! its `unsafe` is here; what it hands out is plain data.

#![allow(unsafe_code, reason = "every call of the Vulkan API is unsafe; objects live as long as the structs that own them")]

mod compile;
mod facts;

pub use compile::Compiled;
pub use facts::Facts;

use super::InspectError;
use ash::{khr, vk};
use std::fmt::Display;

/// The Vulkan loader, with an instance.
pub struct Vulkan {
    instance: ash::Instance,
    // After the instance, which calls into the library it keeps loaded.
    _entry: ash::Entry,
}

/// A device opened for compiling.
pub struct Device<'v> {
    /// What it says of itself.
    pub facts: Facts,
    handle: ash::Device,
    properties: khr::pipeline_executable_properties::Device,
    /// The device is gone once its instance is.
    _vulkan: &'v Vulkan,
}

impl Vulkan {
    /// Loads the Vulkan loader.
    ///
    /// # Errors
    /// [`InspectError::NoLoader`] where there is none, [`InspectError::NoDriver`] where it finds none, [`InspectError::Refused`] where
    /// it gives no instance.
    pub fn load() -> Result<Self, InspectError> {
        // SAFETY: the loader's initialisation has no precondition; the library stays loaded as long as `entry`.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| InspectError::NoLoader { reason: error.to_string() })?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        // SAFETY: `entry` lives longer than the instance, by the order of the fields.
        let instance = unsafe { entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&application), None) };
        match instance {
            Ok(instance) => Ok(Self { instance, _entry: entry }),
            Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => Err(InspectError::NoDriver),
            Err(error) => Err(refused("the Vulkan loader", "making an instance", error)),
        }
    }

    /// Every device of Vulkan 1.1 or newer, in the loader's order.
    ///
    /// # Errors
    /// [`InspectError::Refused`] where the loader does not list them.
    pub fn devices(&self) -> Result<Vec<Facts>, InspectError> {
        // SAFETY: the instance is alive.
        let handles = unsafe { self.instance.enumerate_physical_devices() };
        let handles = handles.map_err(|error| refused("the Vulkan loader", "listing devices", error))?;
        handles.into_iter().filter_map(|handle| self.facts(handle).transpose()).collect()
    }

    /// The first device of a name and PCI ids.
    ///
    /// # Errors
    /// [`InspectError::NoDevice`] where there is none; as [`Vulkan::devices`].
    pub fn find(&self, name: &str, ids: (u32, u32)) -> Result<Facts, InspectError> {
        let all = self.devices()?;
        let known = all.iter().map(|facts| facts.name.as_str()).collect::<Vec<_>>().join("; ");
        let fits = |facts: &Facts| facts.name == name && facts.ids == ids;
        all.into_iter().find(fits).ok_or(InspectError::NoDevice { wanted: name.to_owned(), known })
    }

    /// Opens a device for compiling, with what wgpu turns on of it as far as compilers look at it.
    ///
    /// # Errors
    /// [`InspectError::NoExtension`] where the driver tells nothing, [`InspectError::Refused`] where it gives no device.
    pub fn open(&self, facts: Facts) -> Result<Device<'_>, InspectError> {
        if !facts.tells {
            let extension = "VK_KHR_pipeline_executable_properties";
            return Err(InspectError::NoExtension { device: facts.name, driver: facts.driver, extension });
        }
        // SAFETY: the instance and its handle are alive.
        let core = unsafe { self.instance.get_physical_device_features(facts.handle) };
        let core = vk::PhysicalDeviceFeatures { robust_buffer_access: core.robust_buffer_access, ..Default::default() };
        let mut tells = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
        let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
        let mut zeroing = vk::PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures::default().shader_zero_initialize_workgroup_memory(true);
        let mut dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default().shader_integer_dot_product(true);
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlFeatures::default().subgroup_size_control(true);
        let mut small = vk::PhysicalDeviceShaderFloat16Int8Features::default().shader_float16(facts.limits.f16).shader_int8(facts.int8);
        let mut storage = vk::PhysicalDevice16BitStorageFeatures::default()
            .storage_buffer16_bit_access(true)
            .uniform_and_storage_buffer16_bit_access(true);
        let priority = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&priority)];
        let mut info = vk::DeviceCreateInfo::default().enabled_features(&core).queue_create_infos(&queues).push_next(&mut tells);
        if facts.robust_buffer_access2 {
            info = info.push_next(&mut robustness);
        }
        if facts.zero_initialize_workgroup_memory {
            info = info.push_next(&mut zeroing);
        }
        if facts.integer_dot_product {
            info = info.push_next(&mut dot);
        }
        if facts.subgroup.is_some() {
            info = info.push_next(&mut sizes);
        }
        if facts.limits.f16 || facts.int8 {
            info = info.push_next(&mut small);
        }
        if facts.limits.f16 {
            info = info.push_next(&mut storage);
        }
        let extensions: Vec<_> = facts.extensions.iter().map(|name| name.as_ptr()).collect();
        let info = info.enabled_extension_names(&extensions);
        // SAFETY: every feature and extension asked for is one the device says it has; all that `info` points to is alive.
        let handle = unsafe { self.instance.create_device(facts.handle, &info, None) };
        let handle = handle.map_err(|error| refused(&facts.name, "opening the device", error))?;
        let properties = khr::pipeline_executable_properties::Device::new(&self.instance, &handle);
        Ok(Device { facts, handle, properties, _vulkan: self })
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: devices borrow this, so none is left.
        unsafe { self.instance.destroy_instance(None) };
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        // SAFETY: its objects live within `compile` only.
        unsafe { self.handle.destroy_device(None) };
    }
}

/// A C string in an array of fixed length; without its end all of the array.
fn text(characters: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().map(|&c| c.to_ne_bytes()[0]).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn refused(device: &str, what: &str, reason: impl Display) -> InspectError {
    InspectError::Refused { device: device.to_owned(), what: what.to_owned(), reason: reason.to_string() }
}
