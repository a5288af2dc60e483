//! A case that is loaded and verified: sampling it, timing its stages, filling in its rows.

use super::Execution;
use super::executor::failed;
use crate::device::{Clock, ClockFacts, DeviceError, Loaded};
use crate::measure::{MOST_EXECUTIONS, Measured, Sampler, Session};
use crate::peak::{Least, Peaks, Residence, utilisation};
use crate::plan::{Plan, Role};
use crate::record::{Cache, CaseRows, Measurement, SampleRow, Status, StepRow};
use crate::stats::{Samples, StoppingRule, Summary};
use crate::units::Nanoseconds;
use std::time::{Duration, Instant};

/// Half width of the median's interval at which sampling stops.
const PRECISION: f64 = 0.01;
const MIN_SAMPLES: usize = 10;
const MAX_SAMPLES: usize = 1000;
/// Share of a case's budget that timing its steps one by one may take, and how often it is repeated at most.
const STEPS_SHARE: f64 = 0.2;
const STEPS_REPEATS: usize = 9;

/// A case that has been verified and waits to be timed.
pub struct Prepared<'g> {
    loaded: Loaded<'g>,
    rows: CaseRows,
    clock: Clock,
    /// The device's limits, where they are known.
    peaks: Option<Peaks>,
}

impl<'g> Prepared<'g> {
    pub(super) fn new(loaded: Loaded<'g>, rows: CaseRows, peaks: Option<Peaks>) -> Self {
        let clock = loaded.clock().clock;
        Self { loaded, rows, clock, peaks }
    }

    /// Warms up, samples until the stopping rule decides or `budget` is spent, times the stages.
    pub fn measure(mut self, budget: Duration) -> Execution {
        match self.session(budget) {
            Ok(measured) => self.finish(&measured, budget),
            Err(error) => failed(self.rows, &error),
        }
    }

    /// The rows of the case with what was measured, by [`Prepared::measure`] or by someone who sampled by himself; the stages are timed
    /// within a share of `budget`.
    pub fn finish(mut self, measured: &Measured, budget: Duration) -> Execution {
        summarise(measured, self.clock, &mut self.rows);
        flag_timer(measured, &self.loaded.clock(), &mut self.rows.measurement);
        match step_times(&self.loaded, self.clock, budget) {
            Ok(times) => {
                self.rows.steps = stages(&self.loaded, &times, &self.rows.measurement);
                let once = || self.loaded.plan().steps.iter().zip(&times).filter(|(step, _)| step.once);
                self.rows.measurement.time_preparation_ns = once().next().map(|_| once().map(|(_, time)| time).sum());
                if let Some(peaks) = &self.peaks {
                    hold_against(peaks, self.loaded.plan(), &mut self.rows);
                }
                Execution { rows: self.rows, device_lost: false }
            }
            Err(error) => failed(self.rows, &error),
        }
    }

    /// Samples on the device's clock, or on the host's where the device's fails.
    fn session(&mut self, budget: Duration) -> Result<Measured, DeviceError> {
        let rule = StoppingRule { relative_half_width: PRECISION, min_samples: MIN_SAMPLES, max_samples: MAX_SAMPLES, budget };
        // A sample so long that neither the clock's grain nor what reading it takes is more than a hundredth of it.
        let facts = self.loaded.clock();
        let grain = (TIMER_HEADROOM * facts.timer_overhead_ns.unwrap_or(0.0)).max(facts.resolution_ns);
        let session = Session { resolution: Nanoseconds(grain), rule };
        match session.run(self) {
            Err(DeviceError::Clock { .. }) => {
                self.clock = Clock::Host;
                note(&mut self.rows.measurement.noise, "device_clock_failed");
                Session { resolution: Nanoseconds(1.0), rule }.run(self)
            }
            other => other,
        }
    }
}

impl Sampler for Prepared<'_> {
    type Error = DeviceError;

    fn sample(&mut self, executions: u32) -> Result<Nanoseconds, DeviceError> {
        // A submission of very many commands would cost the host more than it tells.
        let mut total = 0.0;
        let mut left = executions;
        while left > 0 {
            let part = left.min(MOST_EXECUTIONS);
            total += self.loaded.execute(part, self.clock)?.0;
            left -= part;
        }
        Ok(Nanoseconds(total))
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
    let steps = &loaded.plan().steps;
    let total: f64 = times.iter().zip(steps).filter(|(_, step)| !step.once).map(|(time, _)| time).sum();
    for (index, step) in steps.iter().enumerate() {
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
            // What runs once has no share of an execution.
            (stage.time_median_ns, stage.time_share) = (Some(sum), (!step.once).then(|| sum / total));
        }
    }
    stages
}

/// Fills in what bounds each stage by the device's limits and how near to them the case came.
fn hold_against(peaks: &Peaks, plan: &Plan, rows: &mut CaseRows) {
    let row = &mut rows.measurement;
    let element = row.case.dtype();
    // In a cold rotation tensors come from memory; a workspace was written by the step before and may still be in a cache.
    let no_workspace = plan.buffers.iter().all(|buffer| buffer.role != Role::Workspace);
    let residence = if row.case.cache == Cache::Cold && no_workspace { Residence::Memory } else { Residence::Anywhere };
    for stage in &mut rows.steps {
        let least = plan.steps.iter().filter(|step| step.stage == stage.stage).map(|step| peaks.least(step, element, residence));
        let (compute, transfer) = least.fold((0.0, 0.0), |(c, t), least| (c + least.compute.0, t + least.transfer.0));
        stage.limit = Some(Least { compute: Nanoseconds(compute), transfer: Nanoseconds(transfer) }.limit());
    }
    let least = peaks.least_of_plan(plan, element, residence);
    row.utilisation = row.time_median_ns.and_then(|median| utilisation(least, Nanoseconds(median)));
    if let Some(share) = row.utilisation.filter(|&share| share > 1.0) {
        note(&mut row.noise, &format!("utilisation_above_1={share:.2}"));
    }
}

/// Samples are this much longer than reading the time asks for, since the shortest of them may be shorter than those of the warm-up.
const TIMER_HEADROOM: f64 = 2.0;

/// Most of a sample that reading the time may make up without a word.
const TIMER_SHARE: f64 = 0.01;

/// Says so where reading the time makes up more than a hundredth of the shortest sample.
fn flag_timer(measured: &Measured, clock: &ClockFacts, row: &mut Measurement) {
    let shortest = measured.samples.iter().copied().fold(f64::INFINITY, f64::min) * f64::from(measured.executions);
    if let Some(overhead) = clock.timer_overhead_ns.filter(|overhead| *overhead > TIMER_SHARE * shortest) {
        note(&mut row.noise, &format!("timer_overhead={:.1}%", 100.0 * overhead / shortest));
    }
}

/// Adds to what is to be said against the samples.
fn note(noise: &mut String, text: &str) {
    if !noise.is_empty() && !text.is_empty() {
        noise.push(';');
    }
    noise.push_str(text);
}

/// Fills in what the samples say.
fn summarise(measured: &Measured, clock: Clock, rows: &mut CaseRows) {
    let row = &mut rows.measurement;
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
    note(&mut row.noise, &summary.noise());
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
