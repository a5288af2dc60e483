//! What a device says of itself, as far as plans and compilers look at it.

use super::{InspectError, Vulkan, refused, text};
use crate::plan::{DeviceClass, Limits, Tuning, TuningFile};
use ash::{ext, khr, vk};
use std::ffi::CStr;

/// What all of this is about.
pub(super) const EXTENSION: &CStr = khr::pipeline_executable_properties::NAME;
/// The extensions that are turned on where the device lists them.
const EXTENSIONS: [&CStr; 6] = [
    EXTENSION,
    ext::robustness2::NAME,
    ext::subgroup_size_control::NAME,
    khr::zero_initialize_workgroup_memory::NAME,
    khr::shader_integer_dot_product::NAME,
    khr::shader_float16_int8::NAME,
];
/// NVIDIA's PCI vendor id.
const NVIDIA: u32 = 0x10DE;

/// A device and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "Vulkan's features are switches, each of its own")]
pub struct Facts {
    /// The device's name.
    pub name: String,
    /// The driver's name and version.
    pub driver: String,
    /// Whether the driver is Mesa's for AMD GPUs.
    pub radv: bool,
    /// PCI vendor and device id.
    pub ids: (u32, u32),
    /// Major and minor version of the API.
    pub api_version: (u32, u32),
    /// Whether the driver tells what its compiler makes.
    pub tells: bool,
    /// Whether the device itself keeps storage accesses in bounds.
    pub robust_buffer_access2: bool,
    /// Whether the device clears workgroup memory when asked to.
    pub zero_initialize_workgroup_memory: bool,
    /// Whether it multiplies packed integers.
    pub integer_dot_product: bool,
    /// Whether shaders can use 8-bit integers.
    pub int8: bool,
    /// Smallest and largest subgroup; none where shaders cannot use subgroups.
    pub subgroup: Option<(u32, u32)>,
    /// What plans may ask of it.
    pub limits: Limits,
    pub(super) extensions: Vec<&'static CStr>,
    pub(super) handle: vk::PhysicalDevice,
}

impl Vulkan {
    /// None for a device older than Vulkan 1.1.
    pub(super) fn facts(&self, handle: vk::PhysicalDevice) -> Result<Option<Facts>, InspectError> {
        // SAFETY: the instance and its handle are alive, here and below; each chain holds structs that the device's version or one of
        // its extensions defines, each once.
        let version = unsafe { self.instance.get_physical_device_properties(handle) }.api_version;
        let version = (vk::api_version_major(version), vk::api_version_minor(version));
        if version < (1, 1) {
            return Ok(None);
        }
        let listed = unsafe { self.instance.enumerate_device_extension_properties(handle) };
        let listed = listed.map_err(|error| refused("the Vulkan loader", "listing a device's extensions", error))?;
        let lists = |name: &CStr| listed.iter().any(|one| one.extension_name_as_c_str() == Ok(name));
        let has = |name: &CStr, core: (u32, u32)| version >= core || lists(name);
        let never = (u32::MAX, 0);

        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut maintenance3 = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut maintenance3).push_next(&mut subgroup);
        if has(khr::driver_properties::NAME, (1, 2)) {
            properties = properties.push_next(&mut driver);
        }
        if has(ext::subgroup_size_control::NAME, (1, 3)) {
            properties = properties.push_next(&mut sizes);
        }
        unsafe { self.instance.get_physical_device_properties2(handle, &mut properties) };
        let properties = properties.properties;

        let mut tells = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
        let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
        let mut zeroing = vk::PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures::default();
        let mut dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default();
        let mut control = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
        let mut small = vk::PhysicalDeviceShaderFloat16Int8Features::default();
        let mut storage = vk::PhysicalDevice16BitStorageFeatures::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut storage);
        if has(EXTENSION, never) {
            features = features.push_next(&mut tells);
        }
        if has(ext::robustness2::NAME, never) {
            features = features.push_next(&mut robustness);
        }
        if has(khr::zero_initialize_workgroup_memory::NAME, (1, 3)) {
            features = features.push_next(&mut zeroing);
        }
        if has(khr::shader_integer_dot_product::NAME, (1, 3)) {
            features = features.push_next(&mut dot);
        }
        if has(ext::subgroup_size_control::NAME, (1, 3)) {
            features = features.push_next(&mut control);
        }
        if has(khr::shader_float16_int8::NAME, (1, 2)) {
            features = features.push_next(&mut small);
        }
        unsafe { self.instance.get_physical_device_features2(handle, &mut features) };

        let f16 = small.shader_float16 == vk::TRUE
            && storage.storage_buffer16_bit_access == vk::TRUE
            && storage.uniform_and_storage_buffer16_bit_access == vk::TRUE;
        let subgroup = (control.subgroup_size_control == vk::TRUE && takes_subgroups(&subgroup))
            .then_some((sizes.min_subgroup_size, sizes.max_subgroup_size));
        let [driver_name, driver_info] = [&driver.driver_name[..], &driver.driver_info].map(text);
        let name = text(&properties.device_name);
        let driver_text = format!("{driver_name} {driver_info}").trim().to_owned();
        Ok(Some(Facts {
            radv: driver.driver_id == vk::DriverId::MESA_RADV,
            ids: (properties.vendor_id, properties.device_id),
            api_version: version,
            tells: tells.pipeline_executable_info == vk::TRUE,
            robust_buffer_access2: robustness.robust_buffer_access2 == vk::TRUE,
            zero_initialize_workgroup_memory: zeroing.shader_zero_initialize_workgroup_memory == vk::TRUE,
            integer_dot_product: dot.shader_integer_dot_product == vk::TRUE,
            int8: small.shader_int8 == vk::TRUE,
            subgroup,
            limits: Limits {
                f16,
                min_subgroup: subgroup.map_or(0, |(least, _)| least),
                tuning: TuningFile::builtin().select_for(class(&properties), &name, &driver_text),
                ..limits(&properties, &maintenance3)
            },
            name,
            driver: driver_text,
            extensions: EXTENSIONS.into_iter().filter(|name| lists(name)).collect(),
            handle,
        }))
    }
}

/// What wgpu asks for before shaders may use subgroups.
fn takes_subgroups(properties: &vk::PhysicalDeviceSubgroupProperties<'_>) -> bool {
    type Can = vk::SubgroupFeatureFlags;
    let operations = Can::BASIC | Can::VOTE | Can::ARITHMETIC | Can::BALLOT | Can::SHUFFLE | Can::SHUFFLE_RELATIVE | Can::QUAD;
    let stages = vk::ShaderStageFlags::COMPUTE | vk::ShaderStageFlags::FRAGMENT;
    properties.supported_operations.contains(operations) && properties.supported_stages.contains(stages)
}

fn class(properties: &vk::PhysicalDeviceProperties) -> DeviceClass {
    match properties.device_type {
        vk::PhysicalDeviceType::DISCRETE_GPU => DeviceClass::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceClass::Integrated,
        vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceClass::Virtual,
        vk::PhysicalDeviceType::CPU => DeviceClass::Software,
        _ => DeviceClass::Other,
    }
}

/// The limits that wgpu would show, with its caps; neither features nor tuning.
fn limits(properties: &vk::PhysicalDeviceProperties, maintenance3: &vk::PhysicalDeviceMaintenance3Properties<'_>) -> Limits {
    let limits = &properties.limits;
    let signed = i32::MAX as u64;
    let capped = cfg!(target_os = "linux") && properties.vendor_id != NVIDIA;
    let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Limits {
        class: class(properties),
        max_buffer_bytes: maintenance3.max_memory_allocation_size.min(if capped { signed } else { 1 << 52 }),
        max_storage_binding_bytes: u64::from(limits.max_storage_buffer_range).min(signed),
        max_storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
        max_workgroups: limits.max_compute_work_group_count.into_iter().min().unwrap_or(0),
        max_workgroup_invocations: limits.max_compute_work_group_invocations,
        max_workgroup_size: limits.max_compute_work_group_size,
        max_workgroup_bytes: limits.max_compute_shared_memory_size,
        storage_alignment: word(limits.min_storage_buffer_offset_alignment),
        uniform_alignment: word(limits.min_uniform_buffer_offset_alignment),
        f16: false,
        packed_dot: true,
        coop: 0,
        min_subgroup: 0,
        tuning: Tuning::NONE,
    }
}
