//! What a device allows, as plain data.

use super::Tuning;
use serde::{Deserialize, Serialize};

/// Broad kind of a device: what tuning defaults are keyed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceClass {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU behind a virtual machine.
    Virtual,
    /// A driver that runs on the CPU.
    Software,
    /// The driver does not say.
    Other,
}

/// A plain copy of the device limits and features that plans depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Broad kind of the device.
    pub class: DeviceClass,
    /// Largest buffer.
    pub max_buffer_bytes: u64,
    /// Largest window of a buffer that a step can bind.
    pub max_storage_binding_bytes: u64,
    /// Storage buffers a step can bind.
    pub max_storage_buffers: u32,
    /// Workgroups of one dispatch along each dimension.
    pub max_workgroups: u32,
    /// Invocations of one workgroup.
    pub max_workgroup_invocations: u32,
    /// Invocations of one workgroup along each dimension.
    pub max_workgroup_size: [u32; 3],
    /// Workgroup memory.
    pub max_workgroup_bytes: u32,
    /// A storage window begins at a multiple of this.
    pub storage_alignment: u32,
    /// A step's uniforms begin at a multiple of this.
    pub uniform_alignment: u32,
    /// Whether shaders can use 16-bit floats.
    pub f16: bool,
    /// Whether kernels may leave the sum of four products of bytes to the driver's compiler (`dot4I8Packed`). Shaders for DX12 may not:
    /// DXC gives the intrinsic that naga writes for it the type of its literal 0 (microsoft/DirectXShaderCompiler issue 7400).
    #[serde(default)]
    pub packed_dot: bool,
    /// Edge of the matrices of f16 that a subgroup multiplies cooperatively with sums in f32, 16 or 8, where all subgroups have the same
    /// size; 0 where there are none.
    #[serde(default)]
    pub coop: u32,
    /// Invocations of the device's smallest subgroup; 0 where shaders cannot use subgroups.
    #[serde(default)]
    pub min_subgroup: u32,
    /// The choices plans take from the device.
    #[serde(default)]
    pub tuning: Tuning,
}

impl Limits {
    /// No limit but the types': for closed forms without a device.
    pub const UNLIMITED: Self = Self {
        class: DeviceClass::Other,
        max_buffer_bytes: u64::MAX,
        max_storage_binding_bytes: u64::MAX,
        max_storage_buffers: u32::MAX,
        max_workgroups: u32::MAX,
        max_workgroup_invocations: u32::MAX,
        max_workgroup_size: [u32::MAX; 3],
        max_workgroup_bytes: u32::MAX,
        storage_alignment: 256,
        uniform_alignment: 256,
        f16: true,
        packed_dot: true,
        coop: 16,
        min_subgroup: 32,
        tuning: Tuning::NONE,
    };

    /// What WebGPU guarantees on every device.
    pub const WEBGPU: Self = Self {
        class: DeviceClass::Other,
        max_buffer_bytes: 256 << 20,
        max_storage_binding_bytes: 128 << 20,
        max_storage_buffers: 8,
        max_workgroups: 65_535,
        max_workgroup_invocations: 256,
        max_workgroup_size: [256, 256, 64],
        max_workgroup_bytes: 16 << 10,
        storage_alignment: 256,
        uniform_alignment: 256,
        f16: false,
        packed_dot: false,
        coop: 0,
        min_subgroup: 0,
        tuning: Tuning::NONE,
    };
}
