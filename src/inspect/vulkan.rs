//! Vulkan itself, through `ash`: which devices there are, and what a device's compiler makes of SPIR-V.
//!
//! wgpu neither opens a device that cannot run anything nor hands out a pipeline's properties, so this module calls the API. All of
//! its `unsafe` is here; what it hands out is plain data.

#![allow(unsafe_code, reason = "every call of the Vulkan API is unsafe; objects live as long as the structs that own them")]

use super::{InspectError, Statistic, Value};
use crate::plan::{DeviceClass, Limits};
use crate::shader::Access;
use crate::units::Nanoseconds;
use ash::{ext, khr, vk};
use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::time::Instant;

const EXTENSION: &CStr = khr::pipeline_executable_properties::NAME;

/// The Vulkan loader, with an instance.
pub struct Vulkan {
    instance: ash::Instance,
    // After the instance, which calls into the library it keeps loaded.
    _entry: ash::Entry,
}

/// A device and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// What plans may ask of it.
    pub limits: Limits,
    handle: vk::PhysicalDevice,
}

/// A device opened for compiling.
pub struct Device<'v> {
    /// What it says of itself.
    pub facts: Facts,
    device: ash::Device,
    properties: khr::pipeline_executable_properties::Device,
    /// The device is gone once its instance is.
    _vulkan: &'v Vulkan,
}

/// What a driver told of a compiled kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// How long the driver took to make the pipeline, what it tells included.
    pub time: Nanoseconds,
    /// Invocations that run in lockstep; 0 where the driver does not say.
    pub subgroup_size: u32,
    /// Its figures, in its order.
    pub statistics: Vec<Statistic>,
    /// Its intermediate and final texts, by name: the last is the nearest to the machine.
    pub texts: Vec<(String, String)>,
}

impl Vulkan {
    /// Loads the Vulkan loader.
    ///
    /// # Errors
    /// [`InspectError::NoLoader`] where there is none, [`InspectError::Refused`] where it gives no instance.
    pub fn load() -> Result<Self, InspectError> {
        // SAFETY: the loader's initialisation has no precondition; the library stays loaded as long as `entry`.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| InspectError::NoLoader { reason: error.to_string() })?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        // SAFETY: `entry` lives longer than the instance, by the order of the fields.
        let instance = unsafe { entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&application), None) };
        match instance {
            Ok(instance) => Ok(Self { instance, _entry: entry }),
            Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => {
                Err(InspectError::NoLoader { reason: "the loader finds no driver".to_owned() })
            }
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
        // SAFETY: as above, for handles it just gave.
        let modern = |&handle: &vk::PhysicalDevice| {
            unsafe { self.instance.get_physical_device_properties(handle) }.api_version >= vk::API_VERSION_1_1
        };
        handles.into_iter().filter(modern).map(|handle| self.facts(handle)).collect()
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

    fn facts(&self, handle: vk::PhysicalDevice) -> Result<Facts, InspectError> {
        // SAFETY: the instance and its handle are alive, here and below; the chains hold structs that the version or an extension of
        // the device defines, each once.
        let extensions = unsafe { self.instance.enumerate_device_extension_properties(handle) };
        let extensions = extensions.map_err(|error| refused("the Vulkan loader", "listing a device's extensions", error))?;
        let has = |name: &CStr| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));

        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut maintenance3 = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut maintenance3);
        if has(khr::driver_properties::NAME) {
            properties = properties.push_next(&mut driver);
        }
        unsafe { self.instance.get_physical_device_properties2(handle, &mut properties) };
        let properties = properties.properties;

        let mut tells = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
        let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
        let mut zeroing = vk::PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures::default();
        let mut dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default();
        let mut small = vk::PhysicalDeviceShaderFloat16Int8Features::default();
        let mut storage = vk::PhysicalDevice16BitStorageFeatures::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut storage);
        if has(EXTENSION) {
            features = features.push_next(&mut tells);
        }
        if has(ext::robustness2::NAME) {
            features = features.push_next(&mut robustness);
        }
        if has(khr::zero_initialize_workgroup_memory::NAME) {
            features = features.push_next(&mut zeroing);
        }
        if has(khr::shader_integer_dot_product::NAME) {
            features = features.push_next(&mut dot);
        }
        if has(khr::shader_float16_int8::NAME) {
            features = features.push_next(&mut small);
        }
        unsafe { self.instance.get_physical_device_features2(handle, &mut features) };

        let f16 = small.shader_float16 == vk::TRUE
            && storage.storage_buffer16_bit_access == vk::TRUE
            && storage.uniform_and_storage_buffer16_bit_access == vk::TRUE;
        let [driver_name, driver_info] = [&driver.driver_name[..], &driver.driver_info].map(text);
        Ok(Facts {
            name: text(&properties.device_name),
            driver: format!("{driver_name} {driver_info}").trim().to_owned(),
            radv: driver.driver_id == vk::DriverId::MESA_RADV,
            ids: (properties.vendor_id, properties.device_id),
            api_version: (vk::api_version_major(properties.api_version), vk::api_version_minor(properties.api_version)),
            tells: tells.pipeline_executable_info == vk::TRUE,
            robust_buffer_access2: robustness.robust_buffer_access2 == vk::TRUE,
            zero_initialize_workgroup_memory: zeroing.shader_zero_initialize_workgroup_memory == vk::TRUE,
            integer_dot_product: dot.shader_integer_dot_product == vk::TRUE,
            int8: small.shader_int8 == vk::TRUE,
            limits: limits(&properties, maintenance3.max_memory_allocation_size, f16),
            handle,
        })
    }

    /// Opens a device for compiling.
    ///
    /// # Errors
    /// [`InspectError::NoExtension`] where the driver tells nothing, [`InspectError::Refused`] where it gives no device.
    pub fn open(&self, facts: Facts) -> Result<Device<'_>, InspectError> {
        if !facts.tells {
            let extension = "VK_KHR_pipeline_executable_properties";
            return Err(InspectError::NoExtension { device: facts.name, driver: facts.driver, extension });
        }
        // What wgpu turns on that compilers look at.
        // SAFETY: the instance and its handle are alive.
        let core = unsafe { self.instance.get_physical_device_features(facts.handle) };
        let core = vk::PhysicalDeviceFeatures { robust_buffer_access: core.robust_buffer_access, ..Default::default() };
        let mut tells = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
        let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
        let mut zeroing =
            vk::PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures::default().shader_zero_initialize_workgroup_memory(true);
        let mut dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default().shader_integer_dot_product(true);
        let mut small =
            vk::PhysicalDeviceShaderFloat16Int8Features::default().shader_float16(facts.limits.f16).shader_int8(facts.int8);
        let mut storage = vk::PhysicalDevice16BitStorageFeatures::default()
            .storage_buffer16_bit_access(true)
            .uniform_and_storage_buffer16_bit_access(true);
        let mut extensions = vec![EXTENSION.as_ptr()];
        let priority = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&priority)];
        let mut info = vk::DeviceCreateInfo::default().enabled_features(&core).queue_create_infos(&queues).push_next(&mut tells);
        if facts.robust_buffer_access2 {
            extensions.push(ext::robustness2::NAME.as_ptr());
            info = info.push_next(&mut robustness);
        }
        if facts.zero_initialize_workgroup_memory {
            extensions.push(khr::zero_initialize_workgroup_memory::NAME.as_ptr());
            info = info.push_next(&mut zeroing);
        }
        if facts.integer_dot_product {
            extensions.push(khr::shader_integer_dot_product::NAME.as_ptr());
            info = info.push_next(&mut dot);
        }
        if facts.limits.f16 || facts.int8 {
            extensions.push(khr::shader_float16_int8::NAME.as_ptr());
            info = info.push_next(&mut small);
        }
        if facts.limits.f16 {
            info = info.push_next(&mut storage);
        }
        let info = info.enabled_extension_names(&extensions);
        // SAFETY: every feature asked for is one the device says it has; all that `info` points to is alive.
        let device = unsafe { self.instance.create_device(facts.handle, &info, None) };
        let device = device.map_err(|error| refused(&facts.name, "opening the device", error))?;
        let properties = khr::pipeline_executable_properties::Device::new(&self.instance, &device);
        Ok(Device { facts, device, properties, _vulkan: self })
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: devices borrow this, so none is left.
        unsafe { self.instance.destroy_instance(None) };
    }
}

fn limits(properties: &vk::PhysicalDeviceProperties, max_allocation: u64, f16: bool) -> Limits {
    let limits = &properties.limits;
    // As wgpu caps them, on Linux, for any but NVIDIA's driver.
    let cap = i32::MAX as u64;
    let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Limits {
        class: match properties.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => DeviceClass::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceClass::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceClass::Virtual,
            vk::PhysicalDeviceType::CPU => DeviceClass::Software,
            _ => DeviceClass::Other,
        },
        max_buffer_bytes: max_allocation.min(cap),
        max_storage_binding_bytes: u64::from(limits.max_storage_buffer_range).min(cap),
        max_storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
        max_workgroups: limits.max_compute_work_group_count.into_iter().min().unwrap_or(0),
        max_workgroup_invocations: limits.max_compute_work_group_invocations,
        max_workgroup_size: limits.max_compute_work_group_size,
        max_workgroup_bytes: limits.max_compute_shared_memory_size,
        storage_alignment: word(limits.min_storage_buffer_offset_alignment),
        uniform_alignment: word(limits.min_uniform_buffer_offset_alignment),
        f16,
        ..Limits::WEBGPU
    }
}

/// The objects of one compilation, destroyed at its end however it ends. Null handles are none.
struct Objects<'d> {
    device: &'d ash::Device,
    module: vk::ShaderModule,
    bindings: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

impl Drop for Objects<'_> {
    fn drop(&mut self) {
        // SAFETY: each is this device's or null, and nothing runs.
        unsafe {
            self.device.destroy_pipeline(self.pipeline, None);
            self.device.destroy_pipeline_layout(self.layout, None);
            self.device.destroy_descriptor_set_layout(self.bindings, None);
            self.device.destroy_shader_module(self.module, None);
        }
    }
}

impl Device<'_> {
    /// Compiles SPIR-V with the entry point `main` and bindings `0..` of set 0.
    ///
    /// # Errors
    /// [`InspectError::Refused`] names the call that failed.
    pub fn compile(&self, spirv: &[u32], bindings: &[Access]) -> Result<Compiled, InspectError> {
        let fault = |what: &'static str| move |error: vk::Result| refused(&self.facts.name, what, error);
        let mut objects = Objects {
            device: &self.device,
            module: vk::ShaderModule::null(),
            bindings: vk::DescriptorSetLayout::null(),
            layout: vk::PipelineLayout::null(),
            pipeline: vk::Pipeline::null(),
        };
        let declared: Vec<vk::DescriptorSetLayoutBinding<'_>> = (0_u32..)
            .zip(bindings)
            .map(|(number, access)| {
                let uniform = *access == Access::Uniform;
                let kind = if uniform { vk::DescriptorType::UNIFORM_BUFFER } else { vk::DescriptorType::STORAGE_BUFFER };
                let binding = vk::DescriptorSetLayoutBinding::default().binding(number).descriptor_type(kind);
                binding.descriptor_count(1).stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        // SAFETY: the device is alive, all that the infos point to as well, and naga validated the module the words come from.
        unsafe {
            objects.module = self
                .device
                .create_shader_module(&vk::ShaderModuleCreateInfo::default().code(spirv), None)
                .map_err(fault("loading SPIR-V"))?;
            objects.bindings = self
                .device
                .create_descriptor_set_layout(&vk::DescriptorSetLayoutCreateInfo::default().bindings(&declared), None)
                .map_err(fault("laying out bindings"))?;
            let sets = [objects.bindings];
            objects.layout = self
                .device
                .create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&sets), None)
                .map_err(fault("laying out the pipeline"))?;
        }
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(objects.module).name(c"main");
        let capture = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
        let info = vk::ComputePipelineCreateInfo::default().flags(capture).stage(stage).layout(objects.layout);
        let start = Instant::now();
        // SAFETY: as above.
        let pipelines = unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
        let elapsed = start.elapsed();
        objects.pipeline = match pipelines {
            Ok(pipelines) => pipelines[0],
            Err((_, error)) => return Err(fault("compiling")(error)),
        };
        let time = Nanoseconds(elapsed.as_secs_f64() * 1e9);
        self.told(objects.pipeline, time).map_err(fault("telling what it compiled"))
    }

    /// What the driver tells of a pipeline.
    fn told(&self, pipeline: vk::Pipeline, time: Nanoseconds) -> Result<Compiled, vk::Result> {
        let mut compiled = Compiled { time, subgroup_size: 0, statistics: Vec::new(), texts: Vec::new() };
        // SAFETY: the pipeline is alive and was made with both capture flags; the union's member is the one its format names.
        unsafe {
            let executables = self.properties.get_pipeline_executable_properties(&vk::PipelineInfoKHR::default().pipeline(pipeline))?;
            for (index, executable) in (0_u32..).zip(&executables) {
                compiled.subgroup_size = compiled.subgroup_size.max(executable.subgroup_size);
                let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(index);
                for statistic in self.properties.get_pipeline_executable_statistics(&info)? {
                    let value = match statistic.format {
                        vk::PipelineExecutableStatisticFormatKHR::BOOL32 => Value::Flag(statistic.value.b32 == vk::TRUE),
                        vk::PipelineExecutableStatisticFormatKHR::INT64 => Value::Signed(statistic.value.i64),
                        vk::PipelineExecutableStatisticFormatKHR::UINT64 => Value::Unsigned(statistic.value.u64),
                        _ => Value::Real(statistic.value.f64),
                    };
                    compiled.statistics.push(Statistic { name: text(&statistic.name), description: text(&statistic.description), value });
                }
                compiled.texts.extend(self.texts(&info)?);
            }
        }
        Ok(compiled)
    }

    /// The texts of an executable: the driver is asked for their lengths first, then for themselves.
    ///
    /// # Safety
    /// The pipeline of `info` is alive and was made with the flag that captures them.
    unsafe fn texts(&self, info: &vk::PipelineExecutableInfoKHR<'_>) -> Result<Vec<(String, String)>, vk::Result> {
        // SAFETY: the caller's word.
        let mut told = unsafe { self.properties.get_pipeline_executable_internal_representations(info) }?;
        let mut contents: Vec<Vec<u8>> = told.iter().map(|one| vec![0; one.data_size]).collect();
        for (one, content) in told.iter_mut().zip(&mut contents) {
            one.p_data = content.as_mut_ptr().cast();
        }
        let mut count = u32::try_from(told.len()).unwrap_or(u32::MAX);
        let call = self.properties.fp().get_pipeline_executable_internal_representations_khr;
        // SAFETY: the caller's word; each content is as long as its `data_size` says.
        unsafe { call(self.device.handle(), info, &raw mut count, told.as_mut_ptr()) }.result()?;
        let readable = told.iter().zip(contents).filter(|(one, _)| one.is_text == vk::TRUE);
        Ok(readable
            .map(|(one, mut content)| {
                content.truncate(content.iter().position(|&byte| byte == 0).unwrap_or(content.len()));
                (text(&one.name), String::from_utf8_lossy(&content).into_owned())
            })
            .collect())
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        // SAFETY: its objects live within `compile` only.
        unsafe { self.device.destroy_device(None) };
    }
}

/// A C string in an array of fixed length; without its end all of the array.
fn text(characters: &[c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().map(|&c| c.to_ne_bytes()[0]).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn refused(device: &str, what: &str, reason: impl Display) -> InspectError {
    InspectError::Refused { device: device.to_owned(), what: what.to_owned(), reason: reason.to_string() }
}
