//! A run from the first worker to the last row.

use super::auto::narrow;
use super::budget::Budget;
use super::error::same_device;
use super::observer::{Counts, Event, Observer};
use super::process::{Death, WorkerProcess};
use super::protocol::{Hello, Phase, Task, Work};
use super::schedule::{Planned, Request, schedule};
use super::{Prediction, RunnerError, Selection, SinkError};
use crate::algorithm::Algorithm;
use crate::cost::{Costs, Model};
use crate::peak::Peaks;
use crate::record::{Cache, CaseKey, CaseRows, Expense, Status};
use crate::suite::Suite;
use crate::units::Bytes;
use std::collections::HashSet;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Workers in a row that may fail to start.
const START_ATTEMPTS: u32 = 3;
/// How long a device that was lost is left alone before it is opened again.
const START_PAUSE: Duration = Duration::from_millis(500);

/// How cases are run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Algorithms and variants wanted.
    pub selection: Selection,
    /// Whether executions find their inputs in the caches: one or both.
    pub caches: Vec<Cache>,
    /// Seed of the inputs.
    pub seed: u64,
    /// The most computation bytes a case may need; none is no limit.
    pub workspace_limit: Option<Bytes>,
    /// Measuring time of the whole run; none is no limit.
    pub time_budget: Option<Duration>,
    /// The most measuring time of one case.
    pub case_budget: Duration,
    /// The most one case may take from start to row, all phases together.
    pub timeout: Duration,
    /// The most a worker may take to open its device.
    pub start_timeout: Duration,
    /// What kernels reach of the device's limits: what the automatic choice goes by.
    pub costs: Costs,
    /// About how long the device's own limits are measured; none leaves them, and with them every utilisation, unmeasured.
    pub peak_budget: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            selection: Selection::all(),
            caches: vec![Cache::Hot],
            seed: 0,
            workspace_limit: None,
            time_budget: None,
            case_budget: Duration::from_secs(1),
            timeout: Duration::from_mins(5),
            start_timeout: Duration::from_mins(1),
            costs: Costs::builtin().clone(),
            peak_budget: Some(Duration::from_secs(1)),
        }
    }
}

/// What is run, and by whom.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The problems.
    pub suites: &'a [Suite],
    /// The algorithms there are.
    pub algorithms: &'a [&'a dyn Algorithm],
    /// How.
    pub settings: &'a Settings,
    /// Makes the command of a worker: a process that ends up in [`super::serve_stdio`].
    pub worker: &'a dyn Fn() -> Command,
}

/// Where rows go. An error ends the run; what was written before stays.
pub trait Sink {
    /// Called once, when the device is known and the schedule is made. Returns the cases that an earlier run has recorded:
    /// they are not run again.
    ///
    /// # Errors
    /// When there is no place to write to.
    fn open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError>;

    /// The device's limits that an earlier run has recorded.
    fn peaks(&self) -> Option<Peaks> {
        None
    }

    /// Takes the device's limits, or a line that says why there are none. Called once, before the first case that needs the device.
    ///
    /// # Errors
    /// When they cannot be written.
    fn note_peaks(&mut self, peaks: Result<&Peaks, &str>) -> Result<(), SinkError> {
        let _ = peaks;
        Ok(())
    }

    /// Takes where the time went, after the last case, where there was one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn close(&mut self, expense: &Expense) -> Result<(), SinkError> {
        let _ = expense;
        Ok(())
    }

    /// Takes the rows of a case that has ended.
    ///
    /// # Errors
    /// When they cannot be written.
    fn append(&mut self, rows: &CaseRows) -> Result<(), SinkError>;
}

/// Runs every case of a job that the sink does not have yet; returns how they ended. A case that fails is a row, not an error.
///
/// # Errors
/// [`RunnerError`] for what concerns the run as a whole: a selection without cases, a device that cannot be opened or
/// changes, workers that do not start, a sink that fails.
pub fn run(job: &Job<'_>, sink: &mut dyn Sink, observers: &mut [&mut dyn Observer]) -> Result<Counts, RunnerError> {
    let started = Instant::now();
    let mut watch = Watch(observers);
    let mut workers = Workers::start(job, &mut watch)?;
    let settings = job.settings;
    let mut planned = schedule(&Request {
        suites: job.suites,
        algorithms: job.algorithms,
        selection: &settings.selection,
        limits: &workers.hello.limits,
        caches: &settings.caches,
        workspace_limit: settings.workspace_limit,
    })?;
    let recorded = sink.open(&workers.hello).map_err(RunnerError::Sink)?;
    let mut expense = Expense::default();
    let mut early = None;
    if settings.selection.is_auto() {
        if settings.time_budget != Some(Duration::ZERO) {
            // Told only when the run has begun, as in a run without a choice.
            early = limits(job, &mut workers, sink, &mut expense, &mut Watch(&mut []))?;
        }
        let hello = &workers.hello;
        let model = Model::new(&settings.costs, hello.limits.class, early.as_deref());
        planned = narrow(planned, &settings.selection, job.algorithms, &hello.limits, &model);
    }
    let known = planned.len();
    let planned: Vec<Planned> = planned.into_iter().filter(|p| !recorded.contains(p.case())).collect();
    let total = planned.len();
    watch.tell(&Event::Started { total, recorded: known - total, hello: &workers.hello });

    let mut counts = Counts::default();
    let mut budget = Budget::new(settings.time_budget, settings.case_budget);
    let mut to_run = planned.iter().filter(|p| matches!(p, Planned::Run(_))).count();
    let peaks = if early.is_some() {
        watch.tell(&Event::Limits { peaks: early.as_deref().ok_or("") });
        early
    } else if to_run > 0 && budget.share(to_run).is_ok() {
        limits(job, &mut workers, sink, &mut expense, &mut watch)?
    } else {
        None
    };
    for (index, planned) in planned.into_iter().enumerate() {
        let rows = match planned {
            Planned::Row(rows) => *rows,
            Planned::Run(prediction) => {
                let share = budget.share(to_run);
                to_run -= 1;
                match share {
                    Err(total) => prediction.rows(Status::Skipped, format!("time budget of {} s spent", total.as_secs_f64())),
                    Ok(share) => {
                        watch.tell(&Event::CaseStarted { index, total, case: &prediction.case });
                        let task = Task { case: prediction.case.clone(), seed: settings.seed, budget: share, peaks: peaks.clone() };
                        let (rows, measuring) = workers.run(&task, &prediction, &mut expense, &mut watch)?;
                        budget.spend(measuring);
                        rows
                    }
                }
            }
        };
        sink.append(&rows).map_err(RunnerError::Sink)?;
        counts.add(rows.measurement.status);
        note_samples(&rows, workers.hello.clock.timer_overhead_ns, &mut expense);
        watch.tell(&Event::CaseEnded { index, total, rows: &rows });
    }
    expense.wall_s = started.elapsed().as_secs_f64();
    if total > 0 {
        sink.close(&expense).map_err(RunnerError::Sink)?;
    }
    watch.tell(&Event::Finished { counts: &counts, expense: &expense });
    Ok(counts)
}

/// The device's limits: those the sink has from an earlier part of the run, or measured now. That they cannot be measured costs the
/// run its utilisations, nothing else.
fn limits(
    job: &Job<'_>,
    workers: &mut Workers<'_>,
    sink: &mut dyn Sink,
    expense: &mut Expense,
    watch: &mut Watch<'_, '_>,
) -> Result<Option<Box<Peaks>>, RunnerError> {
    let Some(budget) = job.settings.peak_budget else { return Ok(None) };
    if let Some(known) = sink.peaks() {
        watch.tell(&Event::Limits { peaks: Ok(&known) });
        return Ok(Some(Box::new(known)));
    }
    // A run in a hurry does not spend more on the limits than on its cases.
    let budget = job.settings.time_budget.map_or(budget, |whole| budget.min(whole));
    let measured = match workers.current.measure_peaks(budget, job.settings.timeout) {
        Ok((measured, work)) => {
            add_work(expense, work);
            measured
        }
        Err(death) => {
            watch.tell(&Event::WorkerDied { case: None, death: &death });
            Err(death.to_string())
        }
    };
    let told = measured.as_ref().map_err(String::as_str);
    sink.note_peaks(told).map_err(RunnerError::Sink)?;
    watch.tell(&Event::Limits { peaks: told });
    Ok(measured.ok().map(Box::new))
}

fn add_work(expense: &mut Expense, work: Work) {
    expense.device_s += work.device.as_secs_f64();
    expense.compiler_s += work.compiler.as_secs_f64();
    expense.verification_s += work.verification.as_secs_f64();
}

/// Notes how long the shortest sample of a case that was timed took, all executions together.
fn note_samples(rows: &CaseRows, timer_overhead_ns: Option<f64>, expense: &mut Expense) {
    let row = &rows.measurement;
    if let (Status::Ok, Some(time), Some(executions)) = (row.status, row.time_min_ns, row.executions_per_sample) {
        expense.note_sample(time * executions as f64, timer_overhead_ns);
    }
}

struct Watch<'a, 'b>(&'a mut [&'b mut dyn Observer]);

impl Watch<'_, '_> {
    fn tell(&mut self, event: &Event<'_>) {
        for observer in self.0.iter_mut() {
            observer.event(event);
        }
    }
}

/// The current worker and the means to get the next one.
struct Workers<'a> {
    job: &'a Job<'a>,
    hello: Hello,
    current: WorkerProcess,
}

impl<'a> Workers<'a> {
    /// The first worker. One that refuses has no device to offer: that is final.
    fn start(job: &'a Job<'a>, watch: &mut Watch<'_, '_>) -> Result<Self, RunnerError> {
        let current = spawn(job, watch, |error| matches!(error, RunnerError::StartUp(_)))?;
        Ok(Self { job, hello: current.hello().clone(), current })
    }

    /// A worker in the place of one that has ended. The device was there before: one that cannot be opened may come back.
    fn replace(&mut self, watch: &mut Watch<'_, '_>) -> Result<(), RunnerError> {
        let fresh = spawn(self.job, watch, |error| matches!(error, RunnerError::StartUp(_) | RunnerError::Refused(_)))?;
        same_device((&self.hello.identity, &self.hello.limits), fresh.hello())?;
        self.current = fresh;
        Ok(())
    }

    /// Runs a case to its rows, and says how long it measured.
    fn run(
        &mut self,
        task: &Task,
        prediction: &Prediction,
        expense: &mut Expense,
        watch: &mut Watch<'_, '_>,
    ) -> Result<(CaseRows, Duration), RunnerError> {
        let case = &task.case;
        let mut second_try = false;
        loop {
            if !self.current.is_running() {
                self.replace(watch)?;
            }
            let mut measuring: Option<Instant> = None;
            let ended = self.current.run(task, self.job.settings.timeout, &mut |phase| {
                if phase == Phase::Measuring {
                    measuring.get_or_insert_with(Instant::now);
                }
                watch.tell(&Event::Phase { case, phase });
            });
            let spent = measuring.map_or(Duration::ZERO, |since| since.elapsed());
            match ended {
                Ok((rows, work)) => {
                    add_work(expense, work);
                    return Ok((rows, spent));
                }
                // It died of an earlier case, after that one's rows: not this case's fault. Twice is no coincidence.
                Err(death @ Death { phase: None, .. }) if !second_try => {
                    watch.tell(&Event::WorkerDied { case: None, death: &death });
                    second_try = true;
                }
                Err(death) => {
                    watch.tell(&Event::WorkerDied { case: Some(case), death: &death });
                    return Ok((prediction.rows(death.status(), death.to_string()), spent));
                }
            }
        }
    }
}

/// A worker for a job.
fn spawn(job: &Job<'_>, watch: &mut Watch<'_, '_>, passing: fn(&RunnerError) -> bool) -> Result<WorkerProcess, RunnerError> {
    spawn_patiently(job.worker, job.settings.start_timeout, passing, &mut |death| watch.tell(&Event::WorkerDied { case: None, death }))
}

/// A worker, after a few attempts if `passing` says of an error that it may pass.
pub(super) fn spawn_patiently(
    command: &dyn Fn() -> Command,
    timeout: Duration,
    passing: fn(&RunnerError) -> bool,
    on_death: &mut dyn FnMut(&Death),
) -> Result<WorkerProcess, RunnerError> {
    let mut attempts = 0;
    loop {
        let error = match WorkerProcess::spawn(command(), timeout) {
            Ok(worker) => return Ok(worker),
            Err(error) if passing(&error) => error,
            Err(error) => return Err(error),
        };
        if let RunnerError::StartUp(death) = &error {
            on_death(death);
        }
        attempts += 1;
        if attempts == START_ATTEMPTS {
            return Err(RunnerError::StartUps { attempts, last: Box::new(error) });
        }
        thread::sleep(START_PAUSE);
    }
}
