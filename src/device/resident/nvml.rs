//! NVIDIA's management library, loaded where it is installed: the memory of this process on a GPU, as `nvidia-smi` shows it.

use super::Read;
use crate::device::Identity;
use crate::units::Bytes;
use nvml_wrapper::Nvml as Library;
use nvml_wrapper::enums::device::UsedGpuMemory;

/// PCI vendor id of NVIDIA.
const NVIDIA: u32 = 0x10DE;

/// This process on the GPU of a PCI address.
pub(super) struct Nvml {
    library: Result<Library, String>,
    pci: String,
}

impl Nvml {
    pub(super) fn of(identity: &Identity) -> Self {
        let library = if identity.vendor == NVIDIA {
            Library::init().map_err(|error| error.to_string())
        } else {
            Err(format!("vendor {:#06x} is not NVIDIA", identity.vendor))
        };
        Self { library, pci: identity.pci.clone() }
    }
}

impl Read for Nvml {
    fn read(&self) -> Result<Bytes, String> {
        let library = self.library.as_ref().map_err(Clone::clone)?;
        if self.pci.is_empty() {
            return Err("the driver does not tell the GPU's PCI address".into());
        }
        let text = |error: nvml_wrapper::error::NvmlError| error.to_string();
        let gpu = library.device_by_pci_bus_id(self.pci.as_str()).map_err(text)?;
        // A process that computes through Vulkan is listed with those that draw.
        let drawing = gpu.running_graphics_processes().map_err(text)?;
        let computing = gpu.running_compute_processes().map_err(text)?;
        let own = std::process::id();
        let process = drawing.iter().chain(&computing).find(|process| process.pid == own);
        match process.ok_or_else(|| format!("process {own} is not listed; in a container the library sees other ids"))?.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Ok(Bytes(bytes)),
            UsedGpuMemory::Unavailable => Err("the driver model does not tell the memory of a process".into()),
        }
    }
}
