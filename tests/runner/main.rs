//! Runs with real worker processes that misbehave in every way a driver can. The worker is this very test program, started
//! again with [`worker::MODE`] set; what it does with a case is the name of the case's layer.

mod faults;
mod limits;
mod runs;
mod tuning;
mod worker;

use convledger::conv::Conv;
use convledger::peak::Peaks;
use convledger::record::{CaseKey, CaseRows, Expense, Status};
use convledger::runner::{Counts, Event, Hello, Job, Observer, RunnerError, Settings, Sink, SinkError, run};
use convledger::suite::{Layer, Suite};
use std::cell::Cell;
use std::collections::HashSet;
use std::time::Duration;
use worker::{ALGORITHMS, command};

/// Keeps rows in memory.
#[derive(Default)]
struct Memory {
    recorded: HashSet<CaseKey>,
    rows: Vec<CaseRows>,
    /// The device's limits, from an earlier run or this one.
    peaks: Option<Peaks>,
    expense: Option<Expense>,
    /// Fails when it holds so many.
    full: Option<usize>,
}

impl Sink for Memory {
    fn open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError> {
        assert_eq!(hello.identity.name, "Fake");
        Ok(self.recorded.clone())
    }

    fn append(&mut self, rows: &CaseRows) -> Result<(), SinkError> {
        if self.full == Some(self.rows.len()) {
            return Err("the disk is full".into());
        }
        self.rows.push(rows.clone());
        Ok(())
    }

    fn peaks(&self) -> Option<Peaks> {
        self.peaks.clone()
    }

    fn note_peaks(&mut self, peaks: Result<&Peaks, &str>) -> Result<(), SinkError> {
        self.peaks = peaks.ok().cloned();
        Ok(())
    }

    fn close(&mut self, expense: &Expense) -> Result<(), SinkError> {
        self.expense = Some(expense.clone());
        Ok(())
    }
}

/// Notes what it is told.
#[derive(Default)]
struct Log(Vec<String>);

impl Observer for Log {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(match event {
            Event::Started { total, recorded, hello } => format!("started {total}+{recorded} on {}", hello.identity.name),
            Event::CaseStarted { index, total, case } => format!("case {index}/{total} {}", case.layer),
            Event::Phase { phase, .. } => phase.to_string(),
            Event::WorkerDied { case, .. } => format!("death of {}", case.map_or("nobody", |c| &c.layer)),
            Event::CaseEnded { index, rows, .. } => format!("ended {index} {:?}", rows.measurement.status),
            Event::Limits { peaks } => match peaks {
                Ok(peaks) => format!("limits {} GFLOP/s", peaks.multiply_add_f32.gflops),
                Err(reason) => format!("no limits: {reason}"),
            },
            Event::Finished { counts, .. } => format!("finished {}, {} bad", counts.total(), counts.failures()),
        });
    }
}

struct Outcome {
    result: Result<Counts, RunnerError>,
    rows: Vec<CaseRows>,
    peaks: Option<Peaks>,
    expense: Option<Expense>,
    log: Vec<String>,
}

impl Outcome {
    /// Status and reason of each row.
    fn ends(&self) -> Vec<(Status, &str)> {
        self.rows.iter().map(|r| (r.measurement.status, r.measurement.reason.as_str())).collect()
    }
}

fn suite(layers: &[&str]) -> Suite {
    let conv: Conv = "n1c2h4w4_k2r3s3_p1".parse().expect("key");
    let layers = layers.iter().map(|&name| Layer { name: name.into(), conv, count: 1 }).collect();
    Suite { name: "fake".into(), description: String::new(), layers }
}

/// Without the device's limits: a fake device has none, and most tests are about something else.
fn settings() -> Settings {
    Settings { timeout: Duration::from_secs(20), peak_budget: None, ..Settings::default() }
}

/// Runs layers with workers of the given modes, one after the other; the last mode stays.
fn run_in(layers: &[&str], modes: &[&str], settings: &Settings, mut sink: Memory) -> Outcome {
    let started = Cell::new(0);
    let next = || {
        let mode = modes[started.get().min(modes.len() - 1)];
        started.set(started.get() + 1);
        command(mode)
    };
    let suites = [suite(layers)];
    let job = Job { suites: &suites, algorithms: ALGORITHMS, settings, worker: &next };
    let mut log = Log::default();
    let result = run(&job, &mut sink, &mut [&mut log]);
    Outcome { result, rows: sink.rows, peaks: sink.peaks, expense: sink.expense, log: log.0 }
}

fn run_layers(layers: &[&str]) -> Outcome {
    let outcome = run_in(layers, &["serves"], &settings(), Memory::default());
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    outcome
}
