//! Kernels as compiled pipelines; equal kernels share one.

use super::{DeviceError, Gpu, trusted};
use crate::plan::{Kernel, Step};
use crate::shader;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A compiled kernel and the layout of its bindings.
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

/// The pipelines compiled so far.
#[derive(Default)]
pub(super) struct Pipelines(RefCell<BTreeMap<Kernel, Rc<Pipeline>>>);

impl Pipelines {
    /// Forgets them all, so that they are compiled anew.
    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// The pipeline of a step, compiled at its first use.
    pub(super) fn of(&self, gpu: &Gpu, step: &Step) -> Result<Rc<Pipeline>, DeviceError> {
        if let Some(pipeline) = self.0.borrow().get(&step.kernel) {
            return Ok(Rc::clone(pipeline));
        }
        let pipeline = Rc::new(compile(gpu, step)?);
        self.0.borrow_mut().insert(step.kernel.clone(), Rc::clone(&pipeline));
        Ok(pipeline)
    }
}

fn compile(gpu: &Gpu, step: &Step) -> Result<Pipeline, DeviceError> {
    let kernel = &step.kernel;
    let composed = shader::compose(kernel)?;
    shader::check(&composed, step)?;
    let entry = |binding: usize, ty| wgpu::BindGroupLayoutEntry {
        binding: u32::try_from(binding).unwrap_or(u32::MAX),
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
    for (i, binding) in step.bindings.iter().enumerate() {
        entries.push(entry(i + 1, wgpu::BufferBindingType::Storage { read_only: !binding.writes }));
    }
    let constants = composed.override_values(kernel);
    let label = Some(kernel.shader.as_str());
    let make = || {
        let module = trusted::module(gpu, &kernel.shader, &composed.source);
        let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let bind_group_layouts = &[Some(&layout)];
        let pipeline_layout =
            gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor { label, bind_group_layouts, immediate_size: 0 });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            // Every kernel writes its workgroup memory before it reads it.
            compilation_options: wgpu::PipelineCompilationOptions { constants: &constants, zero_initialize_workgroup_memory: false },
            cache: None,
        });
        Pipeline { pipeline, layout }
    };
    gpu.compiling(|| gpu.guarded(&format!("compiling shaders/{}.wgsl", kernel.shader), make))
}
