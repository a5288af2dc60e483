//! What the files promise: every row survives, whatever a name holds and wherever a write is interrupted.

mod create;
mod faults;
mod format;
mod resume;
mod rows;

use super::*;
use crate::device::{Clock, ClockFacts, Identity};
use crate::plan::{DeviceClass, Limits};
use rows::case_rows;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A device that does not exist, with a name that a spreadsheet would run.
fn environment() -> Environment {
    let device = Identity {
        name: "=cmd|' /C calc'!A0, \"GPU\"".into(),
        backend: "vulkan".into(),
        driver: "made up".into(),
        driver_info: "1.2.3".into(),
        class: DeviceClass::Discrete,
        vendor: 1,
        device: 2,
        pci: String::new(),
    };
    let clock =
        ClockFacts { clock: Clock::GpuTimestamp, resolution_ns: 0.1 + 0.2, dispatch_overhead_ns: 1e-300, timer_overhead_ns: Some(0.25) };
    let settings = Settings {
        time_budget_s: Some(600.0),
        timeout_s: None,
        workspace_limit_bytes: Some(u64::MAX),
        caches: vec![Cache::Hot, Cache::Cold],
    };
    Environment {
        run_id: "20261129T183800Z-3f9a".into(),
        ..Environment::gather(device, Limits::UNLIMITED, vec!["timestamp_query".into()], clock, u64::MAX, settings)
    }
}

/// A fresh run in a folder that is removed with the first value.
fn fresh() -> (TempDir, RunDirectory) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let directory = RunDirectory::create(folder.path(), &environment()).expect("creates");
    (folder, directory)
}

/// Every file of a folder with its content.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("lists").map(|entry| entry.expect("entry").path());
    let files = entries.filter(|path| !path.ends_with(".lock"));
    files.map(|path| (path.file_name().expect("name").to_string_lossy().into_owned(), fs::read(&path).expect("reads"))).collect()
}

/// The text of an error, which is one line, without the folder.
fn message<T>(result: Result<T, RecordError>, folder: &Path) -> String {
    let text = result.err().expect("an error").to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text.replace(&folder.display().to_string(), "RUN")
}
