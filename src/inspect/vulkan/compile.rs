//! One compilation, and what the driver tells of it.

use super::{Device, InspectError, refused, text};
use crate::inspect::{Statistic, Value};
use crate::shader::Access;
use crate::units::Nanoseconds;
use ash::vk;
use std::time::Instant;

/// What a driver told of a compiled kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// How long the driver took to make the pipeline, the texts it tells included.
    pub time: Nanoseconds,
    /// Invocations that run in lockstep; 0 where the driver does not say.
    pub subgroup_size: u32,
    /// Its figures, in its order.
    pub statistics: Vec<Statistic>,
    /// Its texts by name, from its own form of the shader down to the machine's instructions.
    pub texts: Vec<(String, String)>,
}

impl Compiled {
    /// The name and the text that is nearest to the machine.
    pub fn instructions(&self) -> Option<&(String, String)> {
        let names_them = |name: &str| ["assembly", "isa"].iter().any(|word| name.to_lowercase().contains(word));
        self.texts.iter().rfind(|(name, _)| names_them(name)).or(self.texts.last())
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
            device: &self.handle,
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
                .handle
                .create_shader_module(&vk::ShaderModuleCreateInfo::default().code(spirv), None)
                .map_err(fault("loading SPIR-V"))?;
            objects.bindings = self
                .handle
                .create_descriptor_set_layout(&vk::DescriptorSetLayoutCreateInfo::default().bindings(&declared), None)
                .map_err(fault("laying out bindings"))?;
            let sets = [objects.bindings];
            objects.layout = self
                .handle
                .create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&sets), None)
                .map_err(fault("laying out the pipeline"))?;
        }
        let varying = vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE;
        let flags = if self.facts.subgroup.is_some() { varying } else { vk::PipelineShaderStageCreateFlags::empty() };
        let stage = vk::PipelineShaderStageCreateInfo::default().flags(flags).stage(vk::ShaderStageFlags::COMPUTE);
        let stage = stage.module(objects.module).name(c"main");
        let capture = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
        let info = vk::ComputePipelineCreateInfo::default().flags(capture).stage(stage).layout(objects.layout);
        let start = Instant::now();
        // SAFETY: as above.
        let pipelines = unsafe { self.handle.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
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
        unsafe { call(self.handle.handle(), info, &raw mut count, told.as_mut_ptr()) }.result()?;
        let readable = told.iter().zip(contents).filter(|(one, _)| one.is_text == vk::TRUE);
        Ok(readable
            .map(|(one, mut content)| {
                content.truncate(content.iter().position(|&byte| byte == 0).unwrap_or(content.len()));
                (text(&one.name), String::from_utf8_lossy(&content).into_owned())
            })
            .collect())
    }
}
