//! Measuring for commands that are not `run`: the same worker, runner and files, several jobs into one directory.

use super::progress::{Bar, Heading, Lines};
use super::run::{begin, duration, fresh_seed, time_to_run};
use super::tuning::{TuningArgument, TuningNote};
use crate::algorithm::ALGORITHMS;
use crate::peak::Peaks;
use crate::plan::DeviceClass;
use crate::record::{CaseKey, CaseRows, Expense, Measurement};
use crate::runner::{self, Event, Files, Hello, Job, Observer, Selection, Sink, SinkError};
use crate::suite::Suite;
use anyhow::Context;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The options of a command that measures, as `run` has them.
#[derive(clap::Args)]
#[command(next_help_heading = "Measuring")]
pub(super) struct Measuring {
    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    #[command(flatten)]
    tuning: TuningArgument,

    /// Measuring time of the whole, such as 60s or 5m; what it does not reach is recorded as skipped
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true, default_value = "60s")]
    time_budget: Duration,

    /// Time one case may take, verification included, before it is given up
    #[arg(long, value_name = "DURATION", value_parser = time_to_run, allow_hyphen_values = true, default_value = "5m")]
    timeout: Duration,

    /// Seed of the random inputs; without it a fresh one, which is printed and recorded
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
}

/// What was measured.
pub(super) struct Measured {
    /// Where the files of the run are.
    pub(super) path: PathBuf,
    /// Every case.
    pub(super) rows: Vec<Measurement>,
    /// Which kind of device they are of.
    pub(super) class: DeviceClass,
}

impl Measured {
    /// Whether a case failed.
    pub(super) fn failed(&self) -> bool {
        self.rows.iter().any(|row| row.status.is_failure())
    }
}

impl Measuring {
    /// Measures suites, each with the patterns of its algorithms, into the new run directory `out`, or one in `results/`. The time left is
    /// shared among the jobs in order.
    pub(super) fn run(&self, out: Option<&PathBuf>, jobs: &[(Suite, Vec<String>)]) -> anyhow::Result<Measured> {
        let seed = self.seed.unwrap_or_else(fresh_seed);
        let settings = runner::Settings { seed, time_budget: Some(self.time_budget), timeout: self.timeout, ..runner::Settings::default() };
        let mut tuning = TuningNote { path: self.tuning.path(), file: self.tuning.read()? };
        let program = std::env::current_exe().context("where this program is")?;
        let worker = || {
            let mut command = Command::new(&program);
            command.arg("worker").args(self.device.iter().map(|device| format!("--device={device}")));
            self.tuning.pass_on(&mut command);
            command
        };
        let files = Files::create(|hello| begin(out.map(PathBuf::as_path), self.tuning.path(), &settings, hello));
        let mut sink = Several { files, done: None };
        let (mut bar, mut plain, mut rows) = (Bar::default(), Lines::default(), Rows::default());
        for (index, (suite, patterns)) in jobs.iter().enumerate() {
            let left = self.time_budget.saturating_sub(rows.measuring);
            let selection = Selection::parse(patterns, ALGORITHMS)?;
            let job_settings = runner::Settings { selection, time_budget: Some(left), ..settings.clone() };
            let suites = std::slice::from_ref(suite);
            let job = Job { suites, algorithms: ALGORITHMS, settings: &job_settings, worker: &worker };
            let mut heading = Heading { seed };
            let progress: &mut dyn Observer = if std::io::stderr().is_terminal() { &mut bar } else { &mut plain };
            if index == 0 {
                runner::run(&job, &mut sink, &mut [&mut heading, &mut tuning, progress, &mut rows])?;
            } else {
                runner::run(&job, &mut sink, &mut [progress, &mut rows])?;
            }
        }
        let path = sink.files.path().map(std::path::Path::to_owned).unwrap_or_default();
        Ok(Measured { path, rows: rows.measurements, class: rows.class.unwrap_or(DeviceClass::Other) })
    }
}

/// The rows of all jobs, and how long they have used the device.
#[derive(Default)]
struct Rows {
    measurements: Vec<Measurement>,
    measuring: Duration,
    class: Option<DeviceClass>,
}

impl Observer for Rows {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { hello, .. } => self.class = Some(hello.identity.class),
            Event::CaseEnded { rows, .. } => self.measurements.push(rows.measurement.clone()),
            Event::Finished { expense, .. } => self.measuring += Duration::try_from_secs_f64(expense.device_s).unwrap_or_default(),
            _ => {}
        }
    }
}

/// One run directory for several jobs: opened by the first, gone on with by the others.
struct Several<'a> {
    files: Files<'a>,
    done: Option<HashSet<CaseKey>>,
}

impl Sink for Several<'_> {
    fn open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError> {
        if let Some(done) = &self.done {
            return Ok(done.clone());
        }
        self.done = Some(self.files.open(hello)?);
        Ok(HashSet::new())
    }

    fn peaks(&self) -> Option<Peaks> {
        self.files.peaks()
    }

    fn note_peaks(&mut self, peaks: Result<&Peaks, &str>) -> Result<(), SinkError> {
        self.files.note_peaks(peaks)
    }

    fn close(&mut self, expense: &Expense) -> Result<(), SinkError> {
        self.files.close(expense)
    }

    fn append(&mut self, rows: &CaseRows) -> Result<(), SinkError> {
        if let Some(done) = &mut self.done {
            done.insert(rows.measurement.case.clone());
        }
        self.files.append(rows)
    }
}
