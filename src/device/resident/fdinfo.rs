//! What the Linux kernel tells of a process's open GPU files (`drm-usage-stats`): AMD and Intel.

use super::{Read, kernel};
use crate::device::Identity;
use crate::units::Bytes;
use std::collections::BTreeMap;

const FOLDER: &str = "/proc/self/fdinfo";

/// The clients of this process on the GPU of a PCI address.
pub(super) struct Fdinfo {
    pci: String,
}

impl Fdinfo {
    pub(super) fn of(identity: &Identity) -> Self {
        Self { pci: identity.pci.clone() }
    }
}

impl Read for Fdinfo {
    fn read(&self) -> Result<Bytes, String> {
        if self.pci.is_empty() {
            return Err("the driver does not tell the GPU's PCI address".into());
        }
        let entries = std::fs::read_dir(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
        // A file closed in the meantime is no client any more.
        let texts: Vec<String> = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok()).collect();
        usage(&texts, &self.pci)
    }
}

/// Bytes of the clients on the GPU at `pci`. Several files of one client tell the same figures; where a driver tells what is resident
/// that is taken, else all its memory (`drm-memory-*` of amdgpu, and `drm-total-*`).
fn usage(texts: &[String], pci: &str) -> Result<Bytes, String> {
    let mut clients: BTreeMap<&str, u64> = BTreeMap::new();
    for text in texts {
        let fields: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(':')).map(|(k, v)| (k.trim(), v.trim())).collect();
        let value = |key| fields.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let Some(client) = value("drm-client-id") else { continue };
        if value("drm-pdev").is_none_or(|device| !device.eq_ignore_ascii_case(pci)) {
            continue;
        }
        let sum = |prefix: &str| {
            let sizes = fields.iter().filter(|(name, _)| name.starts_with(prefix));
            let sizes: Vec<u64> = sizes.filter_map(|(_, value)| kernel::bytes(value)).map(|bytes| bytes.0).collect();
            (!sizes.is_empty()).then(|| sizes.iter().fold(0_u64, |a, &b| a.saturating_add(b)))
        };
        if let Some(bytes) = ["drm-resident-", "drm-memory-", "drm-total-"].into_iter().find_map(sum) {
            clients.insert(client, bytes);
        }
    }
    if clients.is_empty() {
        return Err(format!("no file of this process tells memory of the GPU at {pci}"));
    }
    Ok(Bytes(clients.values().fold(0, |a, &b| a.saturating_add(b))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel's documentation of `drm-usage-stats` lays the files out.
    fn file(client: u32, pci: &str, sizes: &str) -> String {
        format!(
            "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-pdev:\t{pci}\n{sizes}drm-engine-gfx:\t8 ns\n"
        )
    }

    #[test]
    fn clients_of_the_gpu_are_counted_once() {
        let old = "drm-memory-vram:\t100 KiB\ndrm-memory-gtt: \t20 KiB\n";
        let new = "drm-total-vram0:\t9 MiB\ndrm-resident-vram0:\t1 MiB\ndrm-resident-system0:\t0\n";
        let texts = [
            "pos:\t0\n".to_owned(),
            file(1, "0000:03:00.0", old),
            file(1, "0000:03:00.0", old),
            file(2, "0000:03:00.0", new),
            file(3, "0000:0b:00.0", old),
        ];
        assert_eq!(usage(&texts, "0000:03:00.0"), Ok(Bytes((120 << 10) + (1 << 20))));
        assert_eq!(usage(&texts, "0000:0B:00.0"), Ok(Bytes(120 << 10)));
        assert!(usage(&texts, "0000:05:00.0").expect_err("another GPU").contains("0000:05:00.0"));
        assert!(usage(&[file(1, "0000:03:00.0", "")], "0000:03:00.0").is_err(), "no sizes are no figure of 0");
    }
}
