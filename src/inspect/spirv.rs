//! From a kernel to the SPIR-V that wgpu would hand to the driver.
//!
//! The settings are those of wgpu-hal 30 (`src/vulkan/adapter.rs`, `naga_options`; `src/vulkan/device.rs`, `compile_stage`): version,
//! capabilities and bounds checks follow from what the device has.

use super::{Facts, InspectError};
use crate::plan::Kernel;
use crate::shader::Composed;
use naga::ShaderStage;
use naga::back::spv::{self, Capability, ZeroInitializeWorkgroupMemoryMode};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};

/// Whether a kernel is compiled with the checks that WGSL promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Checks {
    /// Indices are kept in bounds, divisors from 0, loops from running forever, and workgroup memory is cleared first.
    Checked,
    /// None of these.
    Unchecked,
}

impl Checks {
    /// What files call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Unchecked => "unchecked",
        }
    }
}

/// The SPIR-V of a composed kernel as wgpu makes it for a device of these facts.
///
/// # Errors
/// [`InspectError`] when the overrides lack values or naga has no translation.
pub(super) fn translate(composed: &Composed, kernel: &Kernel, checks: Checks, facts: &Facts) -> Result<Vec<u32>, InspectError> {
    let (module, info) = composed.fold(kernel)?;
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: "main".into() };
    spv::write_vec(&module, &info, &options(checks, facts), Some(&pipeline))
        .map_err(|error| InspectError::Translation { shader: kernel.shader.clone(), reason: error.to_string() })
}

fn options(checks: Checks, facts: &Facts) -> spv::Options<'static> {
    let checked = checks == Checks::Checked;
    let policy = |needed: bool| if checked && needed { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
    spv::Options {
        lang_version: match facts.api_version {
            (1, 0) => (1, 0),
            (1, 1) => (1, 3),
            (1, 2) => (1, 5),
            _ => (1, 6),
        },
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        capabilities: Some(capabilities(facts).into_iter().collect()),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy(true),
            // The driver itself keeps storage accesses in bounds where it can.
            buffer: policy(!facts.robust_buffer_access2),
            image_load: policy(true),
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: match (checked, facts.zero_initialize_workgroup_memory) {
            (false, _) => ZeroInitializeWorkgroupMemoryMode::None,
            (true, true) => ZeroInitializeWorkgroupMemoryMode::Native,
            (true, false) => ZeroInitializeWorkgroupMemoryMode::Polyfill,
        },
        force_loop_bounding: checked,
        emit_int_div_checks: checked,
        use_storage_input_output_16: false,
        debug_info: None,
        ..Default::default()
    }
}

fn capabilities(facts: &Facts) -> Vec<Capability> {
    let mut capabilities = vec![Capability::Shader, Capability::Matrix];
    if facts.subgroup.is_some() {
        capabilities.extend([
            Capability::GroupNonUniform,
            Capability::GroupNonUniformVote,
            Capability::GroupNonUniformArithmetic,
            Capability::GroupNonUniformBallot,
            Capability::GroupNonUniformShuffle,
            Capability::GroupNonUniformShuffleRelative,
            Capability::GroupNonUniformQuad,
        ]);
    }
    if facts.limits.f16 {
        capabilities.push(Capability::Float16);
    }
    if facts.integer_dot_product {
        capabilities.extend([
            Capability::DotProductInputAllKHR,
            Capability::DotProductInput4x8BitKHR,
            Capability::DotProductInput4x8BitPackedKHR,
            Capability::DotProductKHR,
        ]);
    }
    if facts.int8 {
        capabilities.push(Capability::Int8);
    }
    capabilities
}
