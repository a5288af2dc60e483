//! What a worker does with a case: load the plan, verify the result, measure, fill in the rows.

use super::prepared::Prepared;
use super::{Execute, Execution, Hello, Phase, Prediction, Task, Work, predict};
use crate::algorithm;
use crate::conv::Conv;
use crate::device::{DeviceError, Gpu, Loaded, Meter, Source, Watch, trim_heap};
use crate::ledger::Ledger;
use crate::peak::{self, PeakError, Peaks};
use crate::plan::{DeviceClass, Plan, Unsupported};
use crate::record::{Cache, CaseKey, CaseRows, Measurement, Status};
use crate::units::Bytes;
use crate::verify::{Comparison, Expectation, Inputs, on_host, tolerance};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Tensors are copied until a rotation through the copies passes this: more than any last-level cache in use.
const COLD_BYTES: u64 = 256 << 20;
/// Most copies of small tensors; a rotation that stays small says so in its row.
const COLD_SETS: u64 = 256;

/// Runs cases on an open device.
pub struct DeviceExecutor {
    gpu: Gpu,
    /// What this process holds of its memory.
    meter: Meter,
    /// Inputs and expected output of the last convolution: cases of a layer follow each other.
    problem: Option<Problem>,
    /// The device's limits, once measured or told.
    peaks: Option<Peaks>,
    /// Time spent on inputs, references and comparisons since it was last asked for.
    verification: Duration,
}

struct Problem {
    conv: Conv,
    seed: u64,
    inputs: Inputs,
    expectation: Expectation,
}

impl DeviceExecutor {
    /// An executor that owns its device.
    pub fn new(gpu: Gpu) -> Self {
        Self { meter: gpu.meter(), gpu, problem: None, peaks: None, verification: Duration::ZERO }
    }

    /// Measures the device's own limits in about `budget`; cases measured from then on are held against them.
    ///
    /// # Errors
    /// [`PeakError`] when the device fails or computes something wrong.
    pub fn measure_limits(&mut self, budget: Duration) -> Result<Peaks, PeakError> {
        let peaks = peak::measure(&self.gpu, budget)?;
        self.peaks = Some(peaks.clone());
        Ok(peaks)
    }

    /// Loads a case and verifies its result; what comes back is ready to be timed.
    ///
    /// # Errors
    /// The case's rows where it cannot run here, fails, or is wrong.
    pub fn prepare(&mut self, case: &CaseKey, seed: u64, phase: &mut dyn FnMut(Phase)) -> Result<Prepared<'_>, Box<Execution>> {
        let ended = |rows| Err(Box::new(Execution { rows, device_lost: false }));
        let Some(algorithm) = algorithm::find(&case.algorithm) else {
            let reason = format!("'{}' is no algorithm of this version", case.algorithm);
            return ended(Prediction::of_problem(case.clone()).rows(Status::Unsupported, reason));
        };
        let (prediction, plan) = predict(case, algorithm, &self.gpu.limits);
        let plan = match plan {
            Ok(plan) => plan,
            Err(why @ Unsupported::Limit { .. }) => return ended(prediction.rows(Status::OverLimit, why.to_string())),
            Err(why) => return ended(prediction.rows(Status::Unsupported, why.to_string())),
        };
        let mut rows = prediction.rows(Status::Ok, algorithm.warning(&case.conv));
        let tolerance = tolerance(&case.conv, algorithm.amplification(&case.conv));
        // Copied beforehand: what is loaded borrows the executor.
        let peaks = self.peaks.clone();
        match self.verify(case, seed, plan, tolerance, &mut rows, phase) {
            Ok(loaded) if rows.measurement.status == Status::Ok => Ok(Prepared::new(loaded, rows, peaks)),
            Ok(_) => ended(rows),
            Err(error) => Err(Box::new(failed(rows, &error))),
        }
    }

    /// Runs the plan once from poisoned buffers and judges the result.
    fn verify(
        &mut self,
        case: &CaseKey,
        seed: u64,
        plan: Plan,
        tolerance: f64,
        rows: &mut CaseRows,
        phase: &mut dyn FnMut(Phase),
    ) -> Result<Loaded<'_>, DeviceError> {
        let sets = copies(&plan, case.cache);
        let workspace = plan.arena_bytes().0;
        self.check_host_memory(Bytes(tensor_bytes(&plan).saturating_mul(sets).saturating_add(workspace)))?;
        let rotation = tensor_bytes(&plan).saturating_mul(sets);
        if case.cache == Cache::Cold && rotation < COLD_BYTES {
            rows.measurement.noise = format!("cold_rotation={rotation}B");
        }
        let start = Instant::now();
        let problem = Self::problem(&mut self.problem, &case.conv, seed);
        self.verification += start.elapsed();

        phase(Phase::Compiling);
        // What the cases before have freed is not this one's.
        trim_heap();
        let before = Held::now(&self.gpu, &self.meter);
        let loaded = Loaded::new(&self.gpu, plan, usize::try_from(sets).unwrap_or(1))?;
        book(&loaded, rows);
        for (tensor, values) in problem.inputs.on_device(&case.conv) {
            loaded.upload(Plan::of(tensor), &values)?;
        }
        loaded.poison()?;

        phase(Phase::Verifying);
        rows.measurement.peak_accounted_bytes = before.with(&self.gpu).map(|bytes| bytes.0);
        let watch = Watch::begin(&self.meter);
        loaded.execute_poisoned()?;
        rows.measurement.peak_resident_bytes = watch.finish().map(|bytes| bytes.0);
        let output = on_host(&case.conv, loaded.download(loaded.plan().result)?);
        let start = Instant::now();
        judge(&problem.expectation.compare(&output), tolerance, &mut rows.measurement);
        self.verification += start.elapsed();
        Ok(loaded)
    }

    fn problem<'p>(last: &'p mut Option<Problem>, conv: &Conv, seed: u64) -> &'p Problem {
        let fresh = match last.take() {
            Some(known) if known.conv == *conv && known.seed == seed => known,
            _ => {
                let inputs = Inputs::random(conv, seed);
                let expectation = Expectation::new(conv, &inputs, seed);
                Problem { conv: *conv, seed, inputs, expectation }
            }
        };
        last.insert(fresh)
    }

    /// On a software driver device memory is host memory, which the system promises more readily than it has it: a plan that
    /// cannot fit would have the system kill this process, or another.
    fn check_host_memory(&self, needed: Bytes) -> Result<(), DeviceError> {
        if self.gpu.identity.class != DeviceClass::Software {
            return Ok(());
        }
        let known = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        match System::new_with_specifics(known).map(|system| Bytes(system.available_memory())) {
            Ok(available) if needed > available => Err(DeviceError::OutOfMemory {
                what: format!("the plan's buffers take {needed}, the host has {available} left for its software driver"),
            }),
            // A host that does not tell its memory is left to refuse by itself.
            _ => Ok(()),
        }
    }
}

impl Execute for DeviceExecutor {
    fn hello(&self) -> Hello {
        hello(&self.gpu)
    }

    fn measure_peaks(&mut self, budget: Duration) -> Result<Peaks, String> {
        self.measure_limits(budget).map_err(|error| error.to_string())
    }

    fn take_work(&mut self) -> Work {
        let spent = self.gpu.take_spent();
        Work { device: spent.device, compiler: spent.compiler, verification: std::mem::take(&mut self.verification) }
    }

    fn execute(&mut self, task: &Task, phase: &mut dyn FnMut(Phase)) -> Execution {
        self.peaks = task.peaks.as_deref().cloned();
        match self.prepare(&task.case, task.seed, phase) {
            Err(ended) => *ended,
            Ok(prepared) => {
                phase(Phase::Measuring);
                prepared.measure(task.budget)
            }
        }
    }
}

/// What the process and the allocator held before a case was loaded.
struct Held {
    resident: Option<Bytes>,
    pool: Option<Bytes>,
    /// Whether memory counts when it is touched, not when it is reserved.
    touched: bool,
}

impl Held {
    fn now(gpu: &Gpu, meter: &Meter) -> Self {
        let touched = meter.source().is_some_and(Source::is_process);
        Self { resident: meter.read(), pool: Self::pool(gpu, touched), touched }
    }

    fn pool(gpu: &Gpu, touched: bool) -> Option<Bytes> {
        gpu.allocator_report().map(|report| if touched { report.allocated() } else { report.reserved() })
    }

    /// The same with what the allocator has handed out since; none where either is not told.
    fn with(&self, gpu: &Gpu) -> Option<Bytes> {
        let pool = Self::pool(gpu, self.touched)?;
        self.resident?.checked_add(Bytes(pool.0.saturating_sub(self.pool?.0)))
    }
}

/// Who a device is.
pub(super) fn hello(gpu: &Gpu) -> Hello {
    let empty = |reason: &str| reason.to_owned();
    let too_few = "fewer than 6 samples give no 95 % interval of the median";
    let mut notes = BTreeMap::from([("time_ci95_low_ns, time_ci95_high_ns".to_owned(), empty(too_few))]);
    let meter = gpu.meter();
    if meter.source().is_none() {
        notes.insert("peak_resident_bytes, peak_accounted_bytes".to_owned(), meter.refusals());
    }
    if !gpu.tells_allocations() {
        notes.insert("allocated_bytes".to_owned(), empty("this backend's allocator gives no report"));
    }
    let Gpu { identity, limits, features, .. } = gpu;
    Hello {
        identity: identity.clone(),
        limits: limits.clone(),
        features: features.clone(),
        clock: gpu.clock(),
        resident_source: meter.source(),
        notes,
    }
}

/// The rows of a case that the device failed.
pub(super) fn failed(mut rows: CaseRows, error: &DeviceError) -> Execution {
    rows.measurement.reason = error.to_string();
    // What the driver refused, or a shader that does not compile, is a fault, and what it left behind unknown: only running out
    // of memory leaves the device as it was.
    let (status, device_lost) = match error {
        DeviceError::OutOfMemory { .. } => (Status::OutOfMemory, false),
        DeviceError::Lost { .. } => (Status::DeviceLost, true),
        _ => (Status::Crashed, true),
    };
    rows.measurement.status = status;
    Execution { rows, device_lost }
}

fn tensor_bytes(plan: &Plan) -> u64 {
    plan.bytes(Ledger::Parameter).0 + plan.bytes(Ledger::Activation).0
}

/// How many copies of the tensors executions rotate through.
fn copies(plan: &Plan, cache: Cache) -> u64 {
    match cache {
        Cache::Hot => 1,
        Cache::Cold => COLD_BYTES.div_ceil(tensor_bytes(plan).max(1)).clamp(2, COLD_SETS),
    }
}

/// Books what the buffers take to the case's ledgers.
fn book(loaded: &Loaded, rows: &mut CaseRows) {
    for (row, account) in rows.ledger.iter_mut().zip(loaded.accounts()) {
        row.requested_bytes = Some(account.requested.0);
        row.allocated_bytes = account.allocated.map(|b| b.0);
    }
    let of = |ledger: Ledger| rows.ledger.iter().filter(move |row| row.ledger == ledger);
    let requested = |ledger| of(ledger).map(|row| row.requested_bytes).sum::<Option<u64>>();
    let allocated = |ledger| of(ledger).map(|row| row.allocated_bytes).sum::<Option<u64>>();
    let row = &mut rows.measurement;
    (row.parameter_requested_bytes, row.parameter_allocated_bytes) = (requested(Ledger::Parameter), allocated(Ledger::Parameter));
    (row.activation_requested_bytes, row.activation_allocated_bytes) = (requested(Ledger::Activation), allocated(Ledger::Activation));
    (row.computation_requested_bytes, row.computation_allocated_bytes) = (requested(Ledger::Computation), allocated(Ledger::Computation));
}

/// Notes how right the result is.
fn judge(comparison: &Comparison, tolerance: f64, row: &mut Measurement) {
    let finite = |x: f64| x.is_finite().then_some(x);
    (row.error_rel_l2, row.error_max_abs) = (finite(comparison.rel_l2), finite(comparison.max_abs));
    (row.tolerance, row.verified_points) = (Some(tolerance), Some(comparison.points));
    if let Err(wrong) = comparison.verdict(tolerance) {
        (row.status, row.reason) = (Status::Wrong, wrong.to_string());
    }
}
