//! Which adapters there are, and which one a run takes.

use super::{DeviceError, Identity, Meter};
use crate::plan::{DeviceClass, Limits, TuningFile};

/// The APIs whose adapters count.
const BACKENDS: wgpu::Backends = wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12);

const HINT: &str = "install your GPU's driver, or a software one: `scripts/with-vulkan COMMAND` finds or installs Mesa's \
    (Debian and Ubuntu: mesa-vulkan-drivers; Fedora: mesa-vulkan-drivers; Arch: vulkan-swrast)";

/// An adapter and what it says of itself.
pub struct Adapter {
    /// Its number, as `devices` lists it and `--device` takes it.
    pub index: usize,
    /// Who it is.
    pub identity: Identity,
    /// What plans may ask of it.
    pub limits: Limits,
    /// Optional features it has, by wgpu's names.
    pub features: Vec<String>,
    /// Smallest and largest subgroup.
    pub subgroup: (u32, u32),
    pub(super) handle: wgpu::Adapter,
}

/// The system's graphics libraries, loaded.
pub struct Instance(wgpu::Instance);

impl Default for Instance {
    fn default() -> Self {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = BACKENDS;
        descriptor.flags = wgpu::InstanceFlags::empty();
        Self(wgpu::Instance::new(descriptor))
    }
}

impl Instance {
    /// Every adapter, in the drivers' order.
    pub fn adapters(&self) -> Vec<Adapter> {
        let handles = pollster::block_on(self.0.enumerate_adapters(BACKENDS));
        handles.into_iter().enumerate().map(|(index, handle)| Adapter::new(index, handle)).collect()
    }

    /// The adapter a person names by number or by part of its name; without a name a discrete GPU before an integrated one before
    /// software.
    ///
    /// # Errors
    /// [`DeviceError`] when there is none, or the name fits none or several.
    pub fn choose(&self, selector: Option<&str>) -> Result<Adapter, DeviceError> {
        pick(self.adapters(), selector)
    }
}

/// [`Instance::adapters`] of an instance of its own.
pub fn adapters() -> Vec<Adapter> {
    Instance::default().adapters()
}

/// [`Instance::choose`] of an instance of its own.
///
/// # Errors
/// As there.
pub fn choose(selector: Option<&str>) -> Result<Adapter, DeviceError> {
    Instance::default().choose(selector)
}

fn pick(mut all: Vec<Adapter>, selector: Option<&str>) -> Result<Adapter, DeviceError> {
    if all.is_empty() {
        return Err(DeviceError::NoAdapter { hint: HINT });
    }
    let identities: Vec<&Identity> = all.iter().map(|a| &a.identity).collect();
    let index = select(&identities, selector)?;
    Ok(all.swap_remove(index))
}

/// [`choose`] on identities alone.
fn select(identities: &[&Identity], selector: Option<&str>) -> Result<usize, DeviceError> {
    let list = |chosen: &[usize]| chosen.iter().map(|&i| format!("{i} {}", identities[i].name)).collect::<Vec<_>>().join("; ");
    let all: Vec<usize> = (0..identities.len()).collect();
    let Some(selector) = selector else {
        let best = all.into_iter().min_by_key(|&i| (preference(identities[i].class), i));
        return best.ok_or(DeviceError::NoAdapter { hint: HINT });
    };
    let unknown = || DeviceError::NoSuchDevice { selector: selector.into(), known: list(&all) };
    if let Ok(index) = selector.parse::<usize>() {
        return if index < identities.len() { Ok(index) } else { Err(unknown()) };
    }
    let wanted = selector.to_lowercase();
    let fitting: Vec<usize> =
        all.iter().copied().filter(|&i| !wanted.is_empty() && identities[i].name.to_lowercase().contains(&wanted)).collect();
    match fitting[..] {
        [] => Err(unknown()),
        [index] => Ok(index),
        _ => Err(DeviceError::AmbiguousDevice { selector: selector.into(), known: list(&fitting) }),
    }
}

fn preference(class: DeviceClass) -> u8 {
    match class {
        DeviceClass::Discrete => 0,
        DeviceClass::Integrated => 1,
        DeviceClass::Virtual => 2,
        DeviceClass::Other => 3,
        DeviceClass::Software => 4,
    }
}

impl Adapter {
    /// The same with the choices of a tuning file before those built in.
    #[must_use]
    pub fn tuned(mut self, file: &TuningFile) -> Self {
        let Identity { name, driver, driver_info, class, .. } = &self.identity;
        let own = file.select_for(*class, name, &format!("{driver} {driver_info}"));
        self.limits.tuning = own.before(&self.limits.tuning);
        self
    }

    /// What reads what this process holds of the adapter's memory.
    pub fn meter(&self) -> Meter {
        Meter::of_adapter(&self.identity, &self.handle)
    }

    fn new(index: usize, handle: wgpu::Adapter) -> Self {
        let info = handle.get_info();
        let class = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => DeviceClass::Discrete,
            wgpu::DeviceType::IntegratedGpu => DeviceClass::Integrated,
            wgpu::DeviceType::VirtualGpu => DeviceClass::Virtual,
            wgpu::DeviceType::Cpu => DeviceClass::Software,
            wgpu::DeviceType::Other => DeviceClass::Other,
        };
        let limits = handle.limits();
        let features = handle.features();
        let subgroup = (info.subgroup_min_size, info.subgroup_max_size);
        let tuning = TuningFile::builtin().select_for(class, &info.name, &format!("{} {}", info.driver, info.driver_info));
        Self {
            index,
            identity: Identity {
                name: info.name,
                backend: info.backend.to_str().to_owned(),
                driver: info.driver,
                driver_info: info.driver_info,
                class,
                vendor: info.vendor,
                device: info.device,
                pci: info.device_pci_bus_id,
            },
            limits: Limits {
                class,
                max_buffer_bytes: limits.max_buffer_size,
                max_storage_binding_bytes: limits.max_storage_buffer_binding_size,
                max_storage_buffers: limits.max_storage_buffers_per_shader_stage,
                max_workgroups: limits.max_compute_workgroups_per_dimension,
                max_workgroup_invocations: limits.max_compute_invocations_per_workgroup,
                max_workgroup_size: [
                    limits.max_compute_workgroup_size_x,
                    limits.max_compute_workgroup_size_y,
                    limits.max_compute_workgroup_size_z,
                ],
                max_workgroup_bytes: limits.max_compute_workgroup_storage_size,
                storage_alignment: limits.min_storage_buffer_offset_alignment,
                uniform_alignment: limits.min_uniform_buffer_offset_alignment,
                f16: features.contains(wgpu::Features::SHADER_F16),
                packed_dot: info.backend != wgpu::Backend::Dx12,
                coop: cooperative_edge(features, subgroup, &handle.cooperative_matrix_properties()),
                min_subgroup: if features.contains(wgpu::Features::SUBGROUP) { subgroup.0 } else { 0 },
                tuning,
            },
            features: features.iter_names().map(|(name, _)| name.to_owned()).collect(),
            subgroup,
            handle,
        }
    }
}

/// Edge of the largest matrices of f16 that kernels here can multiply cooperatively; 0 for none. A workgroup of theirs is one subgroup, so
/// it must be known how large that is.
fn cooperative_edge(features: wgpu::Features, subgroup: (u32, u32), sizes: &[wgpu::CooperativeMatrixProperties]) -> u32 {
    use wgpu::CooperativeScalarType::{F16, F32};
    use wgpu::Features;
    let needed = Features::EXPERIMENTAL_COOPERATIVE_MATRIX | Features::SHADER_F16 | Features::SUBGROUP;
    if !features.contains(needed) || subgroup.0 != subgroup.1 {
        return 0;
    }
    let offered = |edge: &u32| {
        sizes.iter().any(|size| [size.m_size, size.n_size, size.k_size] == [*edge; 3] && (size.ab_type, size.cr_type) == (F16, F32))
    };
    [16, 8].into_iter().find(offered).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, class: DeviceClass) -> Identity {
        let text = String::new;
        Identity {
            name: name.into(),
            backend: "vulkan".into(),
            driver: text(),
            driver_info: text(),
            class,
            vendor: 0,
            device: 0,
            pci: text(),
        }
    }

    #[test]
    fn cooperative_matrices_are_halves_with_sums_in_f32() {
        use wgpu::CooperativeScalarType::{F16, F32};
        let all = wgpu::Features::all();
        let size = |edge, k_size, ab_type, cr_type| wgpu::CooperativeMatrixProperties {
            m_size: edge,
            n_size: edge,
            k_size,
            ab_type,
            cr_type,
            saturating_accumulation: false,
        };
        let (large, small) = (size(16, 16, F16, F32), size(8, 8, F16, F32));
        assert_eq!(cooperative_edge(all, (32, 32), &[small, large]), 16);
        assert_eq!(cooperative_edge(all, (32, 32), &[small]), 8);
        assert_eq!(cooperative_edge(all, (32, 32), &[size(16, 16, F16, F16), size(8, 8, F32, F32), size(16, 8, F16, F32)]), 0);
        assert_eq!(cooperative_edge(all, (32, 64), &[large]), 0);
        assert_eq!(cooperative_edge(all - wgpu::Features::SHADER_F16, (32, 32), &[large]), 0);
    }

    #[test]
    fn choice_prefers_gpus_and_names_what_there_is() {
        let (soft, big, small) = (
            named("llvmpipe", DeviceClass::Software),
            named("Radeon RX", DeviceClass::Discrete),
            named("Radeon Graphics", DeviceClass::Integrated),
        );
        let all = [&soft, &small, &big];
        assert_eq!(select(&all, None).expect("some"), 2);
        assert_eq!(select(&[&soft, &small], None).expect("some"), 1);
        assert_eq!(select(&all, Some("LLVM")).expect("by name"), 0);
        assert_eq!(select(&all, Some("1")).expect("by number"), 1);
        let error = |selector| select(&all, Some(selector)).expect_err(selector).to_string();
        assert_eq!(error("7"), "--device '7' is none of the adapters: 0 llvmpipe; 1 Radeon Graphics; 2 Radeon RX");
        assert_eq!(error("-1"), "--device '-1' is none of the adapters: 0 llvmpipe; 1 Radeon Graphics; 2 Radeon RX");
        assert_eq!(error("radeon"), "--device 'radeon' fits several adapters, name one by its number: 1 Radeon Graphics; 2 Radeon RX");
    }
}
