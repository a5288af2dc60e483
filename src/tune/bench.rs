//! Trials on a device: verify a candidate on a problem, or take a sample of it.

use crate::algorithm;
use crate::algorithm::Variant;
use crate::conv::Conv;
use crate::device::{DeviceError, Gpu, Loaded};
use crate::measure::TICKS;
use crate::plan::{Limits, Plan, Tuning};
use crate::verify::{Expectation, Inputs, on_host, tolerance};
use serde::{Deserialize, Serialize};

/// Trials kept loaded: more than a generation has, times the problems of a knob.
const MOST_LOADED: usize = 40;
/// Bytes of the buffers of all of them; as much may be spent on inputs and references.
const MOST_BYTES: u64 = 1 << 30;
/// A sample lasts at least this long on the device's clock, as long as that takes no more than [`MOST_REPEATS`] executions.
const LEAST_SAMPLE_NS: f64 = 2e5;
const MOST_REPEATS: u32 = 64;
/// Where an execution takes less, one goes before each sample that does not count: other candidates were there in between.
const WARM_BELOW_NS: f64 = 5e6;

/// A candidate on a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Tells it from other trials of the same session.
    pub id: u64,
    /// The problem.
    pub conv: Conv,
    /// The algorithm's id.
    pub algorithm: String,
    /// Its variant.
    pub variant: Variant,
    /// The steps that count, by index in the plan; empty for all.
    pub steps: Vec<usize>,
    /// What the candidate is: a whole tuning.
    pub tuning: Tuning,
    /// Seed of the inputs.
    pub seed: u64,
    /// What to do with it.
    pub action: Action,
}

/// What to do with a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Compute it from poisoned buffers and hold the result against the reference.
    Verify,
    /// Take a sample; verifies first what is not loaded.
    Time,
}

/// Why a trial failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialFailure {
    /// One line.
    pub reason: String,
    /// Whether the device can no longer be trusted.
    pub device_lost: bool,
}

impl From<DeviceError> for TrialFailure {
    fn from(error: DeviceError) -> Self {
        let harmless = matches!(error, DeviceError::OutOfMemory { .. } | DeviceError::Shader(_) | DeviceError::Clock { .. });
        Self { reason: error.to_string(), device_lost: !harmless }
    }
}

/// What is known of a problem.
struct Truth {
    conv: Conv,
    seed: u64,
    inputs: Inputs,
    expectation: Expectation,
}

/// A trial on the device.
struct Ready<'g> {
    id: u64,
    loaded: Loaded<'g>,
    bytes: u64,
    /// Nanoseconds of one execution of the steps that count, as of the last sample.
    usual: f64,
}

/// Carries out trials on a device. Used trials stay loaded, the longest unused go first.
pub struct Bench<'g> {
    gpu: &'g Gpu,
    /// The last one is the last used.
    ready: Vec<Ready<'g>>,
    truths: Vec<Truth>,
}

impl<'g> Bench<'g> {
    /// A bench on an open device.
    pub fn new(gpu: &'g Gpu) -> Self {
        Self { gpu, ready: Vec::new(), truths: Vec::new() }
    }

    /// Carries out a trial; nanoseconds of one execution of the steps that count, one sample of it. `compiling` is called before what
    /// may have the driver compile, `running` before what runs.
    ///
    /// # Errors
    /// [`TrialFailure`] when the plan cannot be made or run, or its result is wrong.
    pub fn carry_out(&mut self, trial: &Trial, phase: &mut dyn FnMut(Stage)) -> Result<f64, TrialFailure> {
        let known = self.ready.iter().position(|ready| ready.id == trial.id);
        let mut ready = match known {
            Some(index) => self.ready.remove(index),
            None => self.load(trial, phase)?,
        };
        if known.is_none() || trial.action == Action::Verify {
            phase(Stage::Verifying);
            self.verify(trial, &ready.loaded)?;
        }
        if trial.action == Action::Time {
            phase(Stage::Measuring);
            ready.usual = sample(&ready, &trial.steps, self.gpu.clock().resolution_ns)?;
        }
        let usual = ready.usual;
        self.keep(ready);
        Ok(usual)
    }

    fn load(&mut self, trial: &Trial, phase: &mut dyn FnMut(Stage)) -> Result<Ready<'g>, TrialFailure> {
        let failure = |reason: String| TrialFailure { reason, device_lost: false };
        let limits = Limits { tuning: trial.tuning.clone(), ..self.gpu.limits.clone() };
        let algorithm = algorithm::find(&trial.algorithm);
        let algorithm = algorithm.ok_or_else(|| failure(format!("'{}' is no algorithm of this version", trial.algorithm)))?;
        let plan = algorithm.plan(&trial.conv, &trial.variant, &limits).map_err(|why| failure(why.to_string()))?;
        if let Some(step) = trial.steps.iter().find(|&&step| step >= plan.steps.len()) {
            return Err(failure(format!("step {step} of a plan of {}", plan.steps.len())));
        }
        let bytes = plan.requested_bytes().0;
        self.make_room(bytes);
        phase(Stage::Compiling);
        let loaded = Loaded::new(self.gpu, plan, 1)?;
        Ok(Ready { id: trial.id, loaded, bytes, usual: 0.0 })
    }

    fn verify(&mut self, trial: &Trial, loaded: &Loaded) -> Result<(), TrialFailure> {
        let amplification = algorithm::find(&trial.algorithm).map_or(1.0, |algorithm| algorithm.amplification(&trial.conv));
        let truth = self.truth(&trial.conv, trial.seed);
        for (tensor, values) in truth.inputs.on_device(&trial.conv) {
            loaded.upload(Plan::of(tensor), &values)?;
        }
        loaded.poison()?;
        loaded.execute_poisoned()?;
        let output = on_host(&trial.conv, loaded.download(loaded.plan().result)?);
        let verdict = truth.expectation.compare(&output).verdict(tolerance(&trial.conv, amplification));
        verdict.map_err(|wrong| TrialFailure { reason: format!("wrong result: {wrong}"), device_lost: false })
    }

    fn truth(&mut self, conv: &Conv, seed: u64) -> &Truth {
        if let Some(index) = self.truths.iter().position(|truth| truth.conv == *conv && truth.seed == seed) {
            return &self.truths[index];
        }
        let bytes = |conv: &Conv| 4 * (conv.input_elements() + conv.weight_elements() + 2 * conv.output_elements());
        while !self.truths.is_empty() && self.truths.iter().map(|truth| bytes(&truth.conv)).sum::<u64>() + bytes(conv) > MOST_BYTES {
            self.truths.remove(0);
        }
        let inputs = Inputs::random(conv, seed);
        let expectation = Expectation::new(conv, &inputs, seed);
        self.truths.push(Truth { conv: *conv, seed, inputs, expectation });
        &self.truths[self.truths.len() - 1]
    }

    fn make_room(&mut self, bytes: u64) {
        let taken = |ready: &[Ready<'_>]| ready.iter().map(|ready| ready.bytes).sum::<u64>();
        while !self.ready.is_empty() && (self.ready.len() >= MOST_LOADED || taken(&self.ready).saturating_add(bytes) > MOST_BYTES) {
            self.ready.remove(0);
        }
    }

    fn keep(&mut self, ready: Ready<'g>) {
        self.ready.push(ready);
    }
}

/// What a trial is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Creating buffers and pipelines.
    Compiling,
    /// Computing and comparing.
    Verifying,
    /// Taking a sample.
    Measuring,
}

/// Nanoseconds of one execution of the steps that count.
fn sample(ready: &Ready<'_>, steps: &[usize], resolution_ns: f64) -> Result<f64, DeviceError> {
    let Ready { loaded, usual, .. } = ready;
    let clock = loaded.clock().clock;
    let whole = steps.is_empty() || steps.len() == loaded.plan().steps.len();
    let once = |repeats: u32| -> Result<f64, DeviceError> {
        if whole {
            return Ok(loaded.execute(repeats, clock)?.0 / f64::from(repeats));
        }
        let mut sum = 0.0;
        for _ in 0..repeats {
            let times = loaded.execute_steps(clock)?;
            sum += steps.iter().map(|&step| times[step]).sum::<f64>();
        }
        Ok(sum / f64::from(repeats))
    };
    if *usual < WARM_BELOW_NS {
        once(1)?;
    }
    // The first sample is of one execution: only then is it known how many it takes.
    let first = if *usual == 0.0 { once(1)? } else { *usual };
    let wanted = (LEAST_SAMPLE_NS.max(TICKS * resolution_ns) / first).ceil().clamp(1.0, f64::from(MOST_REPEATS));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small positive number")]
    let repeats = wanted as u32;
    once(repeats)
}
