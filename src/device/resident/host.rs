//! The resident set of this process.

use super::Read;
#[cfg(target_os = "linux")]
use super::kernel;
use crate::units::Bytes;

/// The resident set of this process.
pub(super) struct Rss;

/// The figure the kernel sums over the page tables. The counters of `statm` and `status` lag behind by up to 64 pages a thread.
#[cfg(target_os = "linux")]
const ROLLUP: &str = "/proc/self/smaps_rollup";

impl Read for Rss {
    #[cfg(target_os = "linux")]
    fn read(&self) -> Result<Bytes, String> {
        let text = std::fs::read_to_string(ROLLUP).map_err(|error| format!("{ROLLUP}: {error}"))?;
        kernel::field(&text, "Rss").unwrap_or_else(|| Err(format!("{ROLLUP} has no Rss")))
    }

    #[cfg(not(target_os = "linux"))]
    fn read(&self) -> Result<Bytes, String> {
        use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
        let id = sysinfo::get_current_pid().map_err(|error| error.to_string())?;
        let mut system = System::new().map_err(|error| error.to_string())?;
        let known = ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), false, known);
        let process = system.process(id).ok_or_else(|| format!("the system does not know process {id}"))?;
        Ok(Bytes(process.memory()))
    }
}
