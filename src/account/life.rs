//! The life of a process that runs one case, read at each stage.

use super::AccountError;
use crate::algorithm::find;
use crate::device::{Adapter, AllocatorReport, Clock, DeviceError, Gpu, Instance, Loaded, Meter, Source, Watch, trim_heap};
use crate::ledger::{self, Ledger};
use crate::record::CaseKey;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Executions between the first and what is taken for steady.
const EXECUTIONS: u32 = 3;

/// A moment in a process's life, in the order they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The process has started and done nothing with a GPU.
    Process,
    /// The graphics libraries are loaded.
    Instance,
    /// The adapters are listed, one is chosen.
    Adapter,
    /// The device is open.
    Device,
    /// The device's clock is measured: its queries and buffers are there, a first (empty) kernel has run.
    Clock,
    /// The kernel of the case's first step is compiled.
    FirstPipeline,
    /// So are those of all its steps.
    AllPipelines,
    /// The case's buffers are created, nothing is in them.
    Buffers,
    /// The device has written every buffer from end to end.
    Filled,
    /// Inputs are uploaded and the rest filled from the host, piece by piece through staging buffers.
    Staged,
    /// The case has run once.
    FirstDispatch,
    /// It has run several times more.
    Steady,
    /// Its buffers are dropped.
    BuffersDropped,
    /// Device, adapter and instance are dropped as well.
    Dropped,
}

impl Stage {
    /// The stage as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Instance => "instance",
            Self::Adapter => "adapter",
            Self::Device => "device",
            Self::Clock => "clock",
            Self::FirstPipeline => "first_pipeline",
            Self::AllPipelines => "all_pipelines",
            Self::Buffers => "buffers",
            Self::Filled => "filled",
            Self::Staged => "staged",
            Self::FirstDispatch => "first_dispatch",
            Self::Steady => "steady",
            Self::BuffersDropped => "buffers_dropped",
            Self::Dropped => "dropped",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is held at a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// When.
    pub stage: Stage,
    /// What the source of the life says; none where it does not answer, as a driver before there is an adapter.
    pub resident: Option<Bytes>,
    /// Resident set of the process on the host.
    pub host: Option<Bytes>,
    /// What the allocator says; none where it does not, and where there is no device.
    pub allocator: Option<AllocatorReport>,
}

/// Bytes of a case's buffers by level, for one ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    /// Which ledger.
    pub ledger: Ledger,
    /// By closed form; for [`Ledger::Runtime`] by the plan: its uniforms.
    pub predicted: Bytes,
    /// Sizes given to the device.
    pub requested: Bytes,
    /// What the allocator handed out; none where it does not tell.
    pub allocated: Option<Bytes>,
}

/// What a process held through its life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// The case it ran.
    pub case: CaseKey,
    /// Who said what was resident.
    pub source: Source,
    /// Why better sources did not; empty where the best one did.
    pub refusals: String,
    /// One for each stage, in order.
    pub readings: Vec<Reading>,
    /// Parameter, activation, computation, runtime.
    pub levels: Vec<Levels>,
    /// What workspaces take less than their sum for sharing memory.
    pub shared: Bytes,
    /// The most that was resident while the case executed, seen by polling.
    pub peak: Option<Bytes>,
}

impl Life {
    /// What was read at a stage.
    pub fn at(&self, stage: Stage) -> Option<&Reading> {
        self.readings.iter().find(|reading| reading.stage == stage)
    }
}

/// Lives through a case: opens the adapter that `choose` takes, loads, executes, drops. The allocator's reports pass through `reported`
/// before anything is made of them, so that a test can have them lie.
///
/// # Errors
/// [`AccountError`] where the case cannot run here, the device fails, or nothing tells what is resident.
pub fn live(
    case: &CaseKey,
    choose: impl FnOnce(&Instance) -> Result<Adapter, DeviceError>,
    reported: &dyn Fn(AllocatorReport) -> AllocatorReport,
) -> Result<Life, AccountError> {
    let host = Meter::of_process();
    let mut life = Diary { host, meter: None, readings: Vec::new(), reported };
    life.note(Stage::Process, None);
    let instance = Instance::default();
    life.note(Stage::Instance, None);
    let adapter = choose(&instance)?;
    let meter = adapter.meter();
    let source = meter.source().ok_or_else(|| AccountError::NotTold(meter.refusals()))?;
    let refusals = if meter.refused() { meter.refusals() } else { String::new() };
    life.meter = Some(meter.clone());
    life.note(Stage::Adapter, None);
    let mut gpu = Gpu::open_without_clock(adapter)?;
    life.note(Stage::Device, Some(&gpu));
    gpu.measure_clock()?;
    life.note(Stage::Clock, Some(&gpu));
    let algorithm = find(&case.algorithm).ok_or_else(|| AccountError::Algorithm(case.algorithm.clone()))?;
    let unsupported =
        |reason| AccountError::Unsupported { case: format!("{} of {}", case.variant.qualify(&case.algorithm), case.conv), reason };
    let workspace = algorithm.workspace(&case.conv, &case.variant).map_err(unsupported)?;
    let plan = algorithm.plan(&case.conv, &case.variant, &gpu.limits).map_err(unsupported)?;
    for (index, step) in plan.steps.iter().enumerate() {
        gpu.compile(step)?;
        if index == 0 {
            life.note(Stage::FirstPipeline, Some(&gpu));
        }
    }
    life.note(Stage::AllPipelines, Some(&gpu));
    let (uniforms, shared) = (plan.bytes(Ledger::Runtime), plan.shared_bytes());
    let loaded = Loaded::new(&gpu, plan, 1)?;
    life.note(Stage::Buffers, Some(&gpu));
    // Whatever a system hands out at the first touch is there then.
    loaded.clear()?;
    life.note(Stage::Filled, Some(&gpu));
    loaded.write_all()?;
    life.note(Stage::Staged, Some(&gpu));
    let watch = Watch::begin(&meter);
    loaded.execute(1, Clock::Host)?;
    life.note(Stage::FirstDispatch, Some(&gpu));
    for _ in 0..EXECUTIONS {
        loaded.execute(1, Clock::Host)?;
    }
    let peak = watch.finish();
    life.note(Stage::Steady, Some(&gpu));
    let predicted = [
        (Ledger::Parameter, ledger::parameters(&case.conv)),
        (Ledger::Activation, ledger::activations(&case.conv)),
        (Ledger::Computation, workspace),
        (Ledger::Runtime, uniforms),
    ];
    let report = life.readings.last().and_then(|reading| reading.allocator.as_ref());
    let levels = predicted.map(|(ledger, predicted)| levels(&loaded, report, ledger, predicted)).to_vec();
    drop(loaded);
    life.note(Stage::BuffersDropped, Some(&gpu));
    drop(gpu);
    drop(instance);
    life.note(Stage::Dropped, None);
    Ok(Life { case: case.clone(), source, refusals, readings: life.readings, levels, shared, peak })
}

/// What is read at each stage.
struct Diary<'a> {
    host: Meter,
    /// The device's, once there is an adapter to ask.
    meter: Option<Meter>,
    readings: Vec<Reading>,
    reported: &'a dyn Fn(AllocatorReport) -> AllocatorReport,
}

impl Diary<'_> {
    fn note(&mut self, stage: Stage, gpu: Option<&Gpu>) {
        trim_heap();
        let host = self.host.read();
        let resident = self.meter.as_ref().and_then(Meter::read);
        let allocator = gpu.and_then(Gpu::allocator_report).map(self.reported);
        self.readings.push(Reading { stage, resident, host, allocator });
        // Which source a device has is known with the adapter: what was read of the process before is the same figure.
        if self.meter.as_ref().is_some_and(|meter| meter.source() == Some(Source::ProcessRss)) {
            for reading in &mut self.readings {
                reading.resident = reading.host;
            }
        }
    }
}

/// What the buffers of a ledger take.
fn levels(loaded: &Loaded, report: Option<&AllocatorReport>, ledger: Ledger, predicted: Bytes) -> Levels {
    let accounts = loaded.accounts_by(report);
    let own = || loaded.plan().buffers.iter().zip(&accounts).filter(|(buffer, _)| buffer.role.ledger() == ledger);
    Levels {
        ledger,
        predicted,
        requested: Bytes(own().map(|(_, account)| account.requested.0).sum()),
        allocated: own().map(|(_, account)| account.allocated.map(|bytes| bytes.0)).sum::<Option<u64>>().map(Bytes),
    }
}
