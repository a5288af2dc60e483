//! `environment.json`: where and how a run was made, so that its numbers can be judged and made again.

use super::{Cache, Expense, RecordError, files};
use crate::device::{ClockFacts, Identity, Source};
use crate::peak::Peaks;
use crate::plan::Limits;
use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::Command;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Version of the files' columns and fields; counts up when a reader of the old ones would misread the new.
pub const SCHEMA_VERSION: u64 = 1;

/// What the user chose for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Measuring time of the whole run, in seconds.
    pub time_budget_s: Option<f64>,
    /// Time after which a case is given up, in seconds.
    pub timeout_s: Option<f64>,
    /// The most workspace a case may have.
    pub workspace_limit_bytes: Option<u64>,
    /// The cache modes measured.
    pub caches: Vec<Cache>,
}

/// One `--resume` of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumption {
    /// When, in whole seconds.
    pub at: Timestamp,
    /// Program and arguments, as typed.
    pub arguments: Vec<String>,
}

fn command_line() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

fn now() -> Timestamp {
    Timestamp::now().round(Unit::Second).unwrap_or_else(|_| Timestamp::now())
}

/// Where and how a run was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u64,
    /// Unique name of the run, sorted by time: `20261129T183800Z-3f9a`.
    pub run_id: String,
    /// Version of convledger.
    pub version: String,
    /// Commit of the convledger checkout the run was started in, `-dirty` where tracked files had changes; nothing elsewhere.
    pub git_commit: Option<String>,
    /// When the run began, in whole seconds.
    pub started: Timestamp,
    /// Program and arguments, as typed.
    pub command_line: Vec<String>,
    /// When and how the run was gone on with, one for each `--resume`.
    #[serde(default)]
    pub resumed: Vec<Resumption>,
    /// Operating system.
    pub os: Option<String>,
    /// Its version.
    pub os_version: Option<String>,
    /// Version of its kernel.
    pub kernel_version: Option<String>,
    /// Brand of the processor.
    pub cpu: Option<String>,
    /// Its physical cores.
    pub cpu_cores: Option<u64>,
    /// Memory of the host.
    pub host_memory_bytes: Option<u64>,
    /// The device.
    pub device: Identity,
    /// What it allows.
    pub limits: Limits,
    /// Names of the features it was opened with.
    pub features: Vec<String>,
    /// Its clock, with resolution and overhead as measured.
    pub clock: ClockFacts,
    /// Seed of inputs and of the order of cases.
    pub seed: u64,
    /// What the user chose.
    pub settings: Settings,
    /// The tuning file named, if one was; `limits.tuning` holds what was taken from it and what is built in.
    #[serde(default)]
    pub tuning_file: Option<String>,
    /// Who tells what is resident; none where nobody does, and in files of earlier versions.
    #[serde(default)]
    pub resident_source: Option<Source>,
    /// The device's own limits, π and β of the roofline among them, as measured; none where no case ran.
    #[serde(default)]
    pub peaks: Option<Peaks>,
    /// Where the time went; none while the run is not at its end.
    #[serde(default)]
    pub expense: Option<Expense>,
    /// A field of files that were written before anything measured it: read, always empty, and not written.
    #[serde(default, skip_serializing)]
    pub(super) peak_gflops: Option<()>,
    /// See above.
    #[serde(default, skip_serializing)]
    pub(super) peak_bytes_per_second: Option<()>,
    /// Columns that stay empty on this platform, each with the reason.
    pub notes: BTreeMap<String, String>,
}

impl Environment {
    pub(super) const FILE: &'static str = "environment.json";

    /// Asks the host for everything that the arguments do not say. A fresh `run_id` and the current time; no measured peaks,
    /// no notes.
    pub fn gather(device: Identity, limits: Limits, features: Vec<String>, clock: ClockFacts, seed: u64, settings: Settings) -> Self {
        let started = now();
        let known = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
        let host = System::new_with_specifics(known).ok();
        Self {
            schema_version: SCHEMA_VERSION,
            run_id: run_id(started),
            version: env!("CARGO_PKG_VERSION").into(),
            git_commit: git_commit(),
            started,
            command_line: command_line(),
            resumed: Vec::new(),
            os: System::name().ok(),
            os_version: System::os_version().ok(),
            kernel_version: System::kernel_version().ok(),
            cpu: host.as_ref().and_then(|host| host.cpus().first()).map(|cpu| cpu.brand().trim().to_owned()),
            cpu_cores: System::physical_core_count().ok().map(|cores| cores as u64),
            host_memory_bytes: host.as_ref().map(System::total_memory),
            device,
            limits,
            features,
            clock,
            seed,
            settings,
            tuning_file: None,
            resident_source: None,
            peaks: None,
            expense: None,
            peak_gflops: None,
            peak_bytes_per_second: None,
            notes: BTreeMap::new(),
        }
    }

    /// Reads the `environment.json` of a run directory.
    ///
    /// # Errors
    /// [`RecordError::Io`] when it is not there, [`RecordError::Schema`] when it is of another version,
    /// [`RecordError::Environment`] with line and column for an unknown, missing or wrong field.
    pub fn read(directory: &Path) -> Result<Self, RecordError> {
        /// The one field that every version has.
        #[derive(Deserialize)]
        struct Version {
            schema_version: u64,
        }
        let path = directory.join(Self::FILE);
        let text = fs::read_to_string(&path).map_err(RecordError::io("read", &path))?;
        let wrong = |source| RecordError::Environment { path: path.clone(), source };
        let Version { schema_version: found } = serde_json::from_str(&text).map_err(wrong)?;
        if found != SCHEMA_VERSION {
            return Err(RecordError::Schema { path, found });
        }
        serde_json::from_str(&text).map_err(wrong)
    }

    /// Notes that the run is gone on with, now and by this command line.
    pub(super) fn note_resumption(&mut self) {
        self.resumed.push(Resumption { at: now(), arguments: command_line() });
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(&self, directory: &Path) -> Result<(), RecordError> {
        let path = directory.join(Self::FILE);
        let mut text = serde_json::to_vec_pretty(self).map_err(|source| RecordError::Environment { path: path.clone(), source })?;
        text.push(b'\n');
        files::replace(&path, &text)
    }
}

/// Time to the second, and four digits that tell runs of the same second apart.
fn run_id(started: Timestamp) -> String {
    // A fresh `RandomState` is seeded by the system; that is all the randomness needed here.
    let random = RandomState::new().hash_one(std::process::id()) & 0xffff;
    format!("{}-{random:04x}", started.strftime("%Y%m%dT%H%M%SZ"))
}

/// Commit of the checkout around the current directory, if it is one of convledger itself.
fn git_commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let manifest = fs::read_to_string(Path::new(&top).join("Cargo.toml")).ok()?;
    let own = format!("name = \"{}\"", env!("CARGO_PKG_NAME"));
    manifest.lines().any(|line| line == own).then(|| git(&["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]))?
}
