//! Shader modules without the checks wgpu would add to every access, division and loop, and its experimental features. The one place of the crate's device code that
//! is unsafe.
//!
//! The checks cost instructions in the innermost loops: about ten for a division, a comparison for every load. The kernels of this
//! program clamp their loads and guard their stores themselves, because a tile may stick out of its matrix on every side; that they do
//! is tested with the checks on and off over odd shapes (`tests/kernels/`).
#![allow(unsafe_code, reason = "wgpu offers modules without checks, and experimental features, through unsafe functions only")]

use super::Gpu;

/// Whether wgpu adds its checks to shaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// Accesses are kept in bounds, divisions defined, loops finite, whatever the shader says.
    On,
    /// The shader is taken at its word.
    Off,
}

/// Kernels whose indices are in range by construction: loads are clamped into the windows bound, stores are guarded, divisors are sizes
/// of at least one. The others keep the checks.
const IN_RANGE: [&str; 30] = [
    "col2im",
    "depthwise",
    "direct",
    "direct_data",
    "direct_tiled",
    "direct_weights",
    "fft_forward",
    "fft_inverse",
    "fft_products",
    "fft_products_staged",
    "gemm",
    "gemm_packed",
    "gemm_staged",
    "im2col",
    "im2col_packed",
    "im2col_points",
    "implicit_precomp_points",
    "implicit_precomp_taps",
    "indirect_table",
    "kn2row_shift",
    "layout",
    "peak_copy",
    "peak_fma",
    "peak_workgroup",
    "sum_parts",
    "weight_gradient",
    "winograd_filter",
    "winograd_fused",
    "winograd_input",
    "winograd_output",
];

/// A module from text that [`crate::shader::compose`] has validated and held against its plan.
pub(super) fn module(gpu: &Gpu, shader: &str, source: &str) -> wgpu::ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor { label: Some(shader), source: wgpu::ShaderSource::Wgsl(source.into()) };
    match gpu.checks() {
        Checks::Off if !IN_RANGE.contains(&shader) => gpu.device.create_shader_module(descriptor),
        Checks::On => gpu.device.create_shader_module(descriptor),
        // SAFETY: only the program's own kernels get here, from templates embedded in the binary with plans of its own algorithms. Their
        // indices stay within the windows the plan binds, they divide by sizes of at least one, and their loops end: each counts up to
        // a size of the problem.
        Checks::Off => unsafe { gpu.device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) },
    }
}

/// What stands for the consent to wgpu's experimental features, where one is made use of.
pub(super) fn experimental(wanted: bool) -> wgpu::ExperimentalFeatures {
    if !wanted {
        return wgpu::ExperimentalFeatures::disabled();
    }
    // SAFETY: what is experimental may be used wrongly in ways wgpu does not catch yet. The one feature asked for, cooperative matrices, is
    // used by one kernel, whose matrices lie within workgroup memory of constant size, in uniform control flow, by whole subgroups.
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_listed_exist() {
        let known: Vec<&str> = crate::shader::Library::builtin().shaders().collect();
        for shader in IN_RANGE {
            assert!(known.contains(&shader), "{shader}");
        }
    }
}
