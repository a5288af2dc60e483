//! What a worker does with a case: load the plan, verify the result, measure, fill in the rows.

use super::{Execute, Execution, Hello, Phase, Prediction, Task, predict};
use crate::algorithm;
use crate::conv::Conv;
use crate::device::{Account, Clock, DeviceError, Gpu, Loaded};
use crate::ledger::Ledger;
use crate::measure::{Measured, Sampler, Session};
use crate::plan::{DeviceClass, Plan, Unsupported};
use crate::record::{Cache, Measurement, SampleRow, Status, StepRow};
use crate::stats::{Samples, StoppingRule, Summary};
use crate::units::{Bytes, Nanoseconds};
use crate::verify::{Comparison, Expectation, Inputs, tolerance};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Tensors are copied until a rotation through the copies passes this: more than any last-level cache in use.
const COLD_BYTES: u64 = 256 << 20;
/// Most copies of small tensors.
const COLD_SETS: u64 = 64;
/// Half width of the median's interval at which sampling stops.
const PRECISION: f64 = 0.01;
const MIN_SAMPLES: usize = 10;
const MAX_SAMPLES: usize = 1000;
/// Share of a case's budget that timing its steps one by one may take, and how often it is repeated at most.
const STEPS_SHARE: f64 = 0.25;
const STEPS_REPEATS: usize = 9;

/// Runs cases on an open device.
pub struct DeviceExecutor {
    gpu: Gpu,
    /// Inputs and expected output of the last convolution: cases of a layer follow each other.
    problem: Option<Problem>,
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
        Self { gpu, problem: None }
    }

    fn problem(&mut self, conv: &Conv, seed: u64) -> &Problem {
        let fresh = match self.problem.take() {
            Some(known) if known.conv == *conv && known.seed == seed => known,
            _ => {
                let inputs = Inputs::random(conv, seed);
                let expectation = Expectation::new(conv, &inputs, seed);
                Problem { conv: *conv, seed, inputs, expectation }
            }
        };
        self.problem.insert(fresh)
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

    fn attempt(
        &mut self,
        task: &Task,
        row: &mut Measurement,
        rows: &mut Extra,
        plan: Plan,
        phase: &mut dyn FnMut(Phase),
    ) -> Result<(), DeviceError> {
        let conv = &task.case.conv;
        let sets = copies(&plan, task.case.cache);
        let tensors: u64 = tensor_bytes(&plan);
        let workspace = plan.bytes(Ledger::Computation).0;
        self.check_host_memory(Bytes(tensors.saturating_mul(sets).saturating_add(workspace)))?;
        self.problem(conv, task.seed);
        let Some(problem) = &self.problem else { return Ok(()) };

        phase(Phase::Compiling);
        let loaded = Loaded::new(&self.gpu, plan, usize::try_from(sets).unwrap_or(1))?;
        rows.accounts = loaded.accounts();
        book(&loaded, &rows.accounts, row);
        loaded.upload(Plan::INPUT, &problem.inputs.input)?;
        loaded.upload(Plan::WEIGHTS, &problem.inputs.weights)?;
        loaded.poison()?;

        phase(Phase::Verifying);
        loaded.execute(1, Clock::Host)?;
        let comparison = problem.expectation.compare(&loaded.download(Plan::OUTPUT)?);
        let amplification = algorithm::find(&task.case.algorithm).map_or(1.0, |a| a.amplification(conv));
        if !judge(&comparison, tolerance(conv, amplification), row) {
            return Ok(());
        }

        phase(Phase::Measuring);
        let (measured, clock, fallback) = self.sample(&loaded, task.budget)?;
        let step_times = step_times(&loaded, clock, task.budget)?;
        summarise(&measured, clock, fallback, row, rows);
        rows.steps = stages(&loaded, &step_times, row);
        Ok(())
    }

    /// Samples on the device's clock, and on the host's where the device's fails; the last part says whether it did.
    fn sample(&self, loaded: &Loaded, budget: Duration) -> Result<(Measured, Clock, bool), DeviceError> {
        let facts = self.gpu.clock();
        let rule = StoppingRule { relative_half_width: PRECISION, min_samples: MIN_SAMPLES, max_samples: MAX_SAMPLES, budget };
        let session = Session { resolution: Nanoseconds(facts.resolution_ns), rule };
        match session.run(&mut OnDevice { loaded, clock: facts.clock }) {
            Err(DeviceError::Clock { .. }) => {
                let session = Session { resolution: Nanoseconds(1.0), rule };
                Ok((session.run(&mut OnDevice { loaded, clock: Clock::Host })?, Clock::Host, true))
            }
            other => Ok((other?, facts.clock, false)),
        }
    }
}

/// What a case has beside its measurement row.
#[derive(Default)]
struct Extra {
    accounts: Vec<Account>,
    steps: Vec<StepRow>,
    samples: Vec<SampleRow>,
}

struct OnDevice<'a> {
    loaded: &'a Loaded<'a>,
    clock: Clock,
}

impl Sampler for OnDevice<'_> {
    type Error = DeviceError;

    fn sample(&mut self, executions: u32) -> Result<Nanoseconds, DeviceError> {
        self.loaded.execute(executions, self.clock)
    }
}

impl Execute for DeviceExecutor {
    fn hello(&self) -> Hello {
        let empty = |reason: &str| reason.to_owned();
        let mut notes = BTreeMap::from([
            ("peak_resident_bytes".to_owned(), empty("not measured by this version")),
            ("utilisation".to_owned(), empty("needs the device's measured peak rates, which this version does not measure")),
            ("limit".to_owned(), empty("needs the device's measured peak rates, which this version does not measure")),
        ]);
        if !self.gpu.tells_allocations() {
            notes.insert("allocated_bytes".to_owned(), empty("this backend's allocator gives no report"));
        }
        let Gpu { identity, limits, features, .. } = &self.gpu;
        Hello { identity: identity.clone(), limits: limits.clone(), features: features.clone(), clock: self.gpu.clock(), notes }
    }

    fn execute(&mut self, task: &Task, phase: &mut dyn FnMut(Phase)) -> Execution {
        let done = |rows| Execution { rows, device_lost: false };
        let Some(algorithm) = algorithm::find(&task.case.algorithm) else {
            let reason = format!("'{}' is no algorithm of this version", task.case.algorithm);
            return done(Prediction::of_problem(task.case.clone()).rows(Status::Unsupported, reason));
        };
        let (prediction, plan) = predict(&task.case, algorithm, &self.gpu.limits);
        let plan = match plan {
            Ok(plan) => plan,
            Err(why @ Unsupported::Limit { .. }) => return done(prediction.rows(Status::OverLimit, why.to_string())),
            Err(why) => return done(prediction.rows(Status::Unsupported, why.to_string())),
        };
        let mut row = prediction.measurement(Status::Ok, "");
        let mut extra = Extra::default();
        let outcome = self.attempt(task, &mut row, &mut extra, plan, phase);
        let mut rows = prediction.rows(Status::Ok, "");
        for (ledger, account) in rows.ledger.iter_mut().zip(&extra.accounts) {
            ledger.requested_bytes = Some(account.requested.0);
            ledger.allocated_bytes = account.allocated.map(|b| b.0);
        }
        let mut device_lost = false;
        if let Err(error) = outcome {
            row.reason = error.to_string();
            row.status = match error {
                DeviceError::OutOfMemory { .. } => Status::OutOfMemory,
                DeviceError::Lost { .. } => {
                    device_lost = true;
                    Status::DeviceLost
                }
                _ => {
                    // What the driver refused or a shader that does not compile is a fault, and what it left behind unknown.
                    device_lost = true;
                    Status::Crashed
                }
            };
        }
        rows.measurement = row;
        (rows.steps, rows.samples) = (extra.steps, extra.samples);
        Execution { rows, device_lost }
    }
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

/// Books what the buffers take to the row's ledgers.
fn book(loaded: &Loaded, accounts: &[Account], row: &mut Measurement) {
    let of = |ledger: Ledger| loaded.plan().buffers.iter().zip(accounts).filter(move |(b, _)| b.role.ledger() == ledger).map(|(_, a)| a);
    let requested = |ledger| Some(of(ledger).map(|a| a.requested.0).sum());
    let allocated = |ledger| of(ledger).map(|a| a.allocated.map(|b| b.0)).sum::<Option<u64>>();
    (row.parameter_requested_bytes, row.parameter_allocated_bytes) = (requested(Ledger::Parameter), allocated(Ledger::Parameter));
    (row.activation_requested_bytes, row.activation_allocated_bytes) = (requested(Ledger::Activation), allocated(Ledger::Activation));
    (row.computation_requested_bytes, row.computation_allocated_bytes) = (requested(Ledger::Computation), allocated(Ledger::Computation));
}

/// Notes how right the result is; whether it is right enough to be timed.
fn judge(comparison: &Comparison, tolerance: f64, row: &mut Measurement) -> bool {
    let finite = |x: f64| x.is_finite().then_some(x);
    (row.error_rel_l2, row.error_max_abs) = (finite(comparison.rel_l2), finite(comparison.max_abs));
    (row.tolerance, row.verified_points) = (Some(tolerance), Some(comparison.points));
    match comparison.verdict(tolerance) {
        Ok(()) => true,
        Err(wrong) => {
            (row.status, row.reason) = (Status::Wrong, wrong.to_string());
            false
        }
    }
}

/// Median time of each step.
fn step_times(loaded: &Loaded, clock: Clock, budget: Duration) -> Result<Vec<f64>, DeviceError> {
    let start = Instant::now();
    let mut runs = Vec::new();
    while runs.is_empty() || (runs.len() < STEPS_REPEATS && start.elapsed() < budget.mul_f64(STEPS_SHARE)) {
        match loaded.execute_steps(clock) {
            Ok(times) => runs.push(times),
            // A clock that tells the whole but not a step leaves the steps' times empty.
            Err(DeviceError::Clock { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
    let median = |step: usize| {
        let mut times: Vec<f64> = runs.iter().map(|run| run[step]).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok((0..loaded.plan().steps.len()).map(median).collect())
}

/// A row for each stage, in the order they first run.
fn stages(loaded: &Loaded, times: &[f64], row: &Measurement) -> Vec<StepRow> {
    let mut stages: Vec<StepRow> = Vec::new();
    let total: f64 = times.iter().sum();
    for (index, step) in loaded.plan().steps.iter().enumerate() {
        let at = stages.iter().position(|s| s.stage == step.stage).unwrap_or_else(|| {
            stages.push(StepRow {
                case: row.case.clone(),
                stage: step.stage.clone(),
                dispatches: 0,
                workgroups: 0,
                time_median_ns: None,
                time_share: None,
                flops: 0,
                bytes: 0,
                limit: None,
            });
            stages.len() - 1
        });
        let stage = &mut stages[at];
        stage.dispatches += 1;
        stage.workgroups += step.workgroups.iter().map(|&n| u64::from(n)).product::<u64>();
        stage.flops += step.operations.0;
        stage.bytes += step.traffic.0;
        if let Some(time) = times.get(index) {
            let sum = stage.time_median_ns.unwrap_or(0.0) + time;
            (stage.time_median_ns, stage.time_share) = (Some(sum), Some(sum / total));
        }
    }
    stages
}

fn summarise(measured: &Measured, clock: Clock, fallback: bool, row: &mut Measurement, rows: &mut Extra) {
    let samples = match Samples::new(measured.samples.clone()) {
        Ok(samples) => samples,
        Err(error) => {
            (row.status, row.reason) = (Status::Crashed, format!("the clock gave no usable times: {error}"));
            return;
        }
    };
    let summary = Summary::of(&samples, measured.executions.into(), measured.decision);
    row.clock = Some(clock);
    row.samples = Some(measured.samples.len() as u64);
    row.executions_per_sample = Some(measured.executions.into());
    row.time_median_ns = Some(summary.median);
    row.time_min_ns = Some(summary.min);
    row.time_mean_ns = Some(summary.mean);
    row.time_p05_ns = Some(summary.p05);
    row.time_p95_ns = Some(summary.p95);
    (row.time_ci95_low_ns, row.time_ci95_high_ns) = summary.ci95.unzip();
    row.noise = summary.noise();
    if fallback {
        row.noise = ["device_clock_failed", &row.noise].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(";");
    }
    row.effective_gflops = Some(row.flops as f64 / summary.median);
    rows.samples = (0_u64..)
        .zip(samples.taken().iter().zip(samples.outliers()))
        .map(|(sample, (&time_ns, outlier))| SampleRow {
            case: row.case.clone(),
            clock,
            sample,
            executions: measured.executions.into(),
            time_ns,
            outlier,
        })
        .collect();
}
