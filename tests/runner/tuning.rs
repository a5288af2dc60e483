//! Tuning with worker processes on which candidates crash, hang, lose the device and compute wrong results.

use crate::worker::MODE;
use convledger::device::{Clock, ClockFacts, Identity};
use convledger::plan::{DeviceClass, Limits, ShapeClass, Sharing, Tile, TiledKernel};
use convledger::runner::{Execute, Execution, Hello, Phase, RunnerError, Task, TuneEvent, TuneSettings, Tuned, serve_stdio, tune};
use convledger::tune::{Action, Choice, Knob, Trial, TrialFailure};
use std::collections::{BTreeMap, HashSet};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// A device on which a tile does what its rows say.
struct Fake {
    verified: HashSet<u64>,
}

fn tile_of(trial: &Trial) -> Tile {
    trial.tuning.tiles[0].tile
}

fn hello(driver: &str) -> Hello {
    Hello {
        identity: Identity {
            name: "Fake".into(),
            backend: "vulkan".into(),
            driver: driver.into(),
            driver_info: "1.0".into(),
            class: DeviceClass::Software,
            vendor: 0,
            device: 0,
            pci: String::new(),
        },
        limits: Limits { class: DeviceClass::Software, min_subgroup: 8, ..Limits::WEBGPU },
        features: Vec::new(),
        clock: ClockFacts { clock: Clock::Host, resolution_ns: 1.0, dispatch_overhead_ns: 1.0, timer_overhead_ns: None },
        resident_source: None,
        notes: BTreeMap::new(),
    }
}

impl Execute for Fake {
    fn hello(&self) -> Hello {
        // A driver that is updated between two workers.
        let changed = std::env::var(MODE).is_ok_and(|mode| mode == "changed");
        hello(if changed { "another" } else { "fake" })
    }

    fn execute(&mut self, _: &Task, _: &mut dyn FnMut(Phase)) -> Execution {
        panic!("tuning runs no cases")
    }

    fn try_out(&mut self, trial: &Trial, phase: &mut dyn FnMut(Phase)) -> Result<f64, TrialFailure> {
        phase(Phase::Compiling);
        if trial.tuning.tiles.first().is_none_or(|rule| rule.kernel != TiledKernel::ImplicitGemm) {
            return Ok(1e6);
        }
        let tile = tile_of(trial);
        match tile.rows {
            8 => {
                eprintln!("driver: assertion failed");
                std::process::abort();
            }
            1 if tile.lanes_m == 4 => loop {
                thread::sleep(Duration::from_secs(1));
            },
            2 => return Err(TrialFailure { reason: "wrong result: 7 of 9 outputs are NaN".into(), device_lost: false }),
            4 if tile.sharing == Sharing::Workgroup => return Err(TrialFailure { reason: "device lost".into(), device_lost: true }),
            _ => {}
        }
        // A worker in the place of one that died verifies what it is asked to time, as a bench does.
        self.verified.insert(trial.id);
        assert!(trial.action == Action::Verify || self.verified.contains(&trial.id));
        Ok(if tile.rows == 16 { 1e6 } else { 3e6 })
    }
}

#[test]
#[ignore = "the worker process of the other tests"]
fn worker() {
    if std::env::var(MODE).is_ok() {
        serve_stdio(&mut Fake { verified: HashSet::new() }).expect("served");
    }
}

fn command(mode: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--ignored", "--exact", "tuning::worker", "--nocapture"]).env(MODE, mode);
    command
}

fn settings(budget: Duration) -> TuneSettings {
    TuneSettings {
        kernels: vec![TiledKernel::ImplicitGemm],
        budget,
        timeout: Duration::from_secs(1),
        start_timeout: Duration::from_secs(20),
        seed: 1,
    }
}

/// What tuning came to with workers of these modes, the last one for all further ones, and what was told.
fn tuned(modes: &[&str], budget: Duration) -> (Result<Tuned, RunnerError>, Vec<String>) {
    let mut log = Vec::new();
    let started = std::cell::Cell::new(0);
    let next = || {
        let mode = modes[started.get().min(modes.len() - 1)];
        started.set(started.get() + 1);
        command(mode)
    };
    let result = tune(&settings(budget), &next, &mut |event| {
        log.push(match event {
            TuneEvent::Started { targets, .. } => format!("{} targets", targets.len()),
            TuneEvent::Target { target, .. } => format!("target {}", target.knob),
            TuneEvent::Progress { .. } => "progress".into(),
            TuneEvent::WorkerDied { death } => format!("died: {death}"),
            TuneEvent::Decided { decisions } => format!("decided {}", decisions.len()),
        });
        Ok(())
    });
    (result, log)
}

#[test]
fn a_candidate_that_breaks_its_worker_costs_itself_and_nothing_else() {
    let (result, log) = tuned(&["good"], Duration::from_mins(1));
    let tuned = result.expect("tuned");
    let large = Knob::Tile(TiledKernel::ImplicitGemm, ShapeClass::Large);
    let decision = tuned.decisions.iter().find(|decision| decision.knob == large).expect("decided");
    let Some(Choice::Tile(winner)) = decision.found.winner else { panic!("{decision:?}") };
    assert_eq!(winner.rows, 16, "{winner}");
    assert!(decision.found.speedup.is_some_and(|speedup| (speedup - 3.0).abs() < 1e-9));
    let dropped = tuned.decisions.iter().flat_map(|decision| &decision.found.dropped);
    let mut reasons: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for dropped in dropped {
        let Choice::Tile(tile) = dropped.candidate else { panic!("{}", dropped.candidate) };
        reasons.entry(tile.rows).or_default().push(dropped.reason.clone());
    }
    assert!(reasons.keys().all(|rows| [1, 2, 4, 8].contains(rows)), "{reasons:?}");
    // Each reason begins with the problem it befell.
    let ends = |rows: u32, end: &str| {
        assert!(reasons[&rows].iter().all(|reason| reason.starts_with("implicit_gemm n1") && reason.contains(end)), "{:?}", reasons[&rows]);
    };
    ends(8, "while compiling; its last line: driver: assertion failed");
    ends(1, ": no answer within 1 s while compiling");
    ends(2, ": wrong result: 7 of 9 outputs are NaN");
    assert!(log.iter().any(|line| line.starts_with("died: ")), "{log:?}");
    assert_eq!(log.iter().filter(|line| line.starts_with("decided")).count(), tuned.decisions.len());
    // What was found for one class of shapes is known to the next.
    assert!(tuned.decisions.iter().filter(|d| matches!(d.knob, Knob::Tile(..))).all(|d| matches!(d.found.winner, Some(Choice::Tile(_)))));
}

#[test]
fn what_the_time_does_not_reach_is_listed() {
    let (result, log) = tuned(&["good"], Duration::ZERO);
    let tuned = result.expect("tuned");
    assert!(tuned.decisions.is_empty());
    assert_eq!(format!("{} targets", tuned.unreached.len()), log[0]);
    assert!(tuned.unreached.contains(&Knob::Tile(TiledKernel::ImplicitGemm, ShapeClass::Large)));
    // What all kernels share is left alone where some are named.
    assert!(!tuned.unreached.contains(&Knob::Lanes));
}

#[test]
fn a_device_that_changes_ends_tuning() {
    let (result, _) = tuned(&["good", "changed"], Duration::from_mins(1));
    let error = result.expect_err("another driver").to_string();
    assert!(error.starts_with("the run began on Fake (vulkan, fake 1.0), but the device is now Fake (vulkan, another 1.0)"), "{error}");
}

#[test]
fn a_watch_that_fails_ends_tuning() {
    let result = tune(&settings(Duration::from_mins(1)), &|| command("good"), &mut |_| Err("the disk is full".into()));
    assert_eq!(result.expect_err("an error").to_string(), "the disk is full");
}
