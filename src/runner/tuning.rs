//! Tuning with a worker process between the search and the device.
//!
//! The search runs here, each of its trials in the worker. One that crashes or hangs costs its candidate; the next trial runs in a fresh
//! worker, which loads and verifies again what it is asked to time.

use super::error::same_device;
use super::executor::hello;
use super::process::{Death, WorkerProcess};
use super::protocol::{Hello, Phase, Task};
use super::run::spawn_patiently;
use super::{Execute, Execution, Prediction, RunnerError, SinkError};
use crate::device::Gpu;
use crate::plan::{Limits, TiledKernel};
use crate::record::Status;
use crate::tune::{Action, Bench, Choice, Decision, Knob, Measure, Problem, Rules, Stage, Target, Trial, TrialFailure, search, targets};
use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// A knob gets at least this much of the time, so that a short budget tunes a few knobs and not all of them badly.
const LEAST_SHARE: Duration = Duration::from_secs(4);

/// How tuning is done.
#[derive(Debug, Clone)]
pub struct TuneSettings {
    /// The kernels whose tiles are tuned.
    pub kernels: Vec<TiledKernel>,
    /// All of the time.
    pub budget: Duration,
    /// The most one trial may take, compiling included.
    pub timeout: Duration,
    /// The most a worker may take to open its device.
    pub start_timeout: Duration,
    /// Seed of inputs, and of the order in which candidates are tried.
    pub seed: u64,
}

/// Something that happened in tuning.
#[derive(Debug, Clone, Copy)]
pub enum TuneEvent<'a> {
    /// The device is open and the knobs are known.
    Started {
        /// The device.
        hello: &'a Hello,
        /// The knobs.
        targets: &'a [Target],
    },
    /// A knob's turn begins.
    Target {
        /// Its position, from 0.
        index: usize,
        /// The knob.
        target: &'a Target,
        /// How many other choices there are.
        candidates: usize,
    },
    /// A generation of candidates is through.
    Progress {
        /// Candidates verified so far.
        verified: usize,
        /// The best so far.
        best: &'a Choice,
    },
    /// A worker died.
    WorkerDied {
        /// How.
        death: &'a Death,
    },
    /// A knob is decided.
    Decided {
        /// All that are decided so far, this one last.
        decisions: &'a [Decision],
    },
}

/// What tuning came to.
#[derive(Debug, Clone)]
pub struct Tuned {
    /// The device.
    pub hello: Hello,
    /// What was decided.
    pub decisions: Vec<Decision>,
    /// The knobs that the time did not reach.
    pub unreached: Vec<Knob>,
}

/// Watches tuning; an error ends it.
pub type TuneWatch<'a> = dyn FnMut(&TuneEvent<'_>) -> Result<(), SinkError> + 'a;

/// Tunes a device. `worker` makes the command of a process that ends up serving a [`TuningExecutor`].
///
/// # Errors
/// [`RunnerError`] for a device that cannot be opened or changes, workers that do not start, and what the watch fails with.
pub fn tune(settings: &TuneSettings, worker: &dyn Fn() -> Command, watch: &mut TuneWatch<'_>) -> Result<Tuned, RunnerError> {
    let current = spawn_patiently(worker, settings.start_timeout, |error| matches!(error, RunnerError::StartUp(_)), &mut |death| {
        let _ = watch(&TuneEvent::WorkerDied { death });
    })?;
    let hello = current.hello().clone();
    let mut limits = hello.limits.clone();
    let all = targets(&settings.kernels, &limits);
    watch(&TuneEvent::Started { hello: &hello, targets: &all }).map_err(RunnerError::Sink)?;
    let started = Instant::now();
    let mut tuner = Tuner::new(settings, worker, watch, current);
    let mut decisions: Vec<Decision> = Vec::new();
    let mut unreached = Vec::new();
    let total = all.len();
    for (index, mut target) in all.into_iter().enumerate() {
        let left = settings.budget.saturating_sub(started.elapsed());
        if left.is_zero() {
            unreached.push(target.knob);
            continue;
        }
        let parts = u32::try_from(total - index).unwrap_or(u32::MAX);
        let budget = (left / parts).max(LEAST_SHARE.min(left));
        let incumbent = target.knob.current(&limits);
        let candidates = target.candidates(&limits, settings.seed);
        tuner.tell(&TuneEvent::Target { index, target: &target, candidates: candidates.len() })?;
        tuner.begin(&target, &limits);
        let found = search(&incumbent, candidates, &mut tuner, Rules { budget })?;
        if let Some(winner) = found.winner.filter(|winner| *winner != incumbent) {
            limits.tuning = target.knob.turn(limits.tuning, winner);
        }
        decisions.push(Decision { knob: target.knob, problems: target.problems.iter().map(Problem::title).collect(), found });
        tuner.tell(&TuneEvent::Decided { decisions: &decisions })?;
    }
    Ok(Tuned { hello, decisions, unreached })
}

/// The search's measurer: trials in a worker.
struct Tuner<'a, 'w> {
    settings: &'a TuneSettings,
    command: &'a dyn Fn() -> Command,
    watch: &'a mut TuneWatch<'w>,
    hello: Hello,
    current: WorkerProcess,
    knob: Knob,
    problems: Vec<Problem>,
    limits: Limits,
    began: Instant,
    ids: HashMap<(Choice, usize), u64>,
    next_id: u64,
}

impl<'a, 'w> Tuner<'a, 'w> {
    fn new(settings: &'a TuneSettings, command: &'a dyn Fn() -> Command, watch: &'a mut TuneWatch<'w>, current: WorkerProcess) -> Self {
        let hello = current.hello().clone();
        let limits = hello.limits.clone();
        let (problems, ids, began) = (Vec::new(), HashMap::new(), Instant::now());
        Self { settings, command, watch, hello, current, knob: Knob::Lanes, problems, limits, began, ids, next_id: 0 }
    }

    fn begin(&mut self, target: &Target, limits: &Limits) {
        (self.knob, self.problems, self.limits) = (target.knob, target.problems.clone(), limits.clone());
        (self.began, self.ids) = (Instant::now(), HashMap::new());
    }

    fn tell(&mut self, event: &TuneEvent<'_>) -> Result<(), RunnerError> {
        (self.watch)(event).map_err(RunnerError::Sink)
    }

    /// Carries out a trial on each problem, up to the first that fails.
    fn each_problem(&mut self, candidate: Choice, action: Action) -> Result<Result<Vec<f64>, String>, RunnerError> {
        let tuning = self.knob.turn(self.limits.tuning.clone(), candidate);
        let mut times = Vec::with_capacity(self.problems.len());
        for (index, problem) in self.problems.clone().into_iter().enumerate() {
            let id = *self.ids.entry((candidate, index)).or_insert_with(|| {
                self.next_id += 1;
                self.next_id
            });
            let title = problem.title();
            let Problem { conv, algorithm, variant, steps } = problem;
            let (algorithm, tuning, seed) = (algorithm.to_owned(), tuning.clone(), self.settings.seed);
            match self.carry_out(&Trial { id, conv, algorithm, variant, steps, tuning, seed, action })? {
                Ok(time) => times.push(time),
                Err(reason) => return Ok(Err(format!("{title}: {reason}"))),
            }
        }
        Ok(Ok(times))
    }

    fn carry_out(&mut self, trial: &Trial) -> Result<Result<f64, String>, RunnerError> {
        let mut second_try = false;
        loop {
            if !self.current.is_running() {
                self.replace()?;
            }
            match self.current.try_out(trial, self.settings.timeout) {
                Ok(outcome) => return Ok(outcome.map_err(|failure| failure.reason)),
                Err(death) => {
                    self.tell(&TuneEvent::WorkerDied { death: &death })?;
                    // It died of an earlier trial, after that one's reply: not this one's fault. Twice is no coincidence.
                    if death.phase.is_some() || second_try {
                        return Ok(Err(death.to_string()));
                    }
                    second_try = true;
                }
            }
        }
    }

    fn replace(&mut self) -> Result<(), RunnerError> {
        let passing = |error: &RunnerError| matches!(error, RunnerError::StartUp(_) | RunnerError::Refused(_));
        let watch = &mut self.watch;
        let fresh = spawn_patiently(self.command, self.settings.start_timeout, passing, &mut |death| {
            let _ = watch(&TuneEvent::WorkerDied { death });
        })?;
        same_device((&self.hello.identity, &self.hello.limits), fresh.hello())?;
        self.current = fresh;
        Ok(())
    }
}

impl Measure<Choice> for Tuner<'_, '_> {
    type Error = RunnerError;

    fn verify(&mut self, candidate: &Choice) -> Result<Result<(), String>, RunnerError> {
        Ok(self.each_problem(*candidate, Action::Verify)?.map(|_| ()))
    }

    fn time(&mut self, candidate: &Choice) -> Result<Result<Vec<f64>, String>, RunnerError> {
        self.each_problem(*candidate, Action::Time)
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn progress(&mut self, verified: usize, best: &Choice) {
        let _ = (self.watch)(&TuneEvent::Progress { verified, best });
    }
}

/// The worker's side: carries out trials on an open device.
pub struct TuningExecutor<'g> {
    gpu: &'g Gpu,
    bench: Bench<'g>,
}

impl<'g> TuningExecutor<'g> {
    /// An executor on an open device.
    pub fn new(gpu: &'g Gpu) -> Self {
        Self { gpu, bench: Bench::new(gpu) }
    }
}

impl Execute for TuningExecutor<'_> {
    fn hello(&self) -> Hello {
        hello(self.gpu)
    }

    fn execute(&mut self, task: &Task, _: &mut dyn FnMut(Phase)) -> Execution {
        let rows = Prediction::of_problem(task.case.clone()).rows(Status::Crashed, "this worker tunes, it runs no cases");
        Execution { rows, device_lost: false }
    }

    fn try_out(&mut self, trial: &Trial, phase: &mut dyn FnMut(Phase)) -> Result<f64, TrialFailure> {
        self.bench.carry_out(trial, &mut |stage| {
            phase(match stage {
                Stage::Compiling => Phase::Compiling,
                Stage::Verifying => Phase::Verifying,
                Stage::Measuring => Phase::Measuring,
            });
        })
    }
}
