//! Runs as a whole: order of events, resuming, time budget, files.

use crate::worker::{ALGORITHMS, command};
use crate::{Log, Memory, run_in, run_layers, settings, suite};
use convledger::record::{Cache, Environment, Run, RunDirectory, Status};
use convledger::runner::{Files, Hello, Job, Settings, run};
use convledger::suite::Suite;
use std::time::Duration;

#[test]
fn a_healthy_worker_runs_every_case() {
    let outcome = run_layers(&["good1", "good2"]);
    let ends = outcome.ends();
    assert_eq!(ends[0], ends[1], "one process, both ok");
    let expected = [
        "started 2+0 on Fake",
        "case 0/2 good1",
        "preparing",
        "compiling",
        "ended 0 Ok",
        "case 1/2 good2",
        "preparing",
        "compiling",
        "ended 1 Ok",
        "finished 2, 0 bad",
    ];
    assert_eq!(outcome.log, expected);
}

#[test]
fn recorded_cases_are_not_run_again() {
    let first = run_layers(&["good1", "exits"]);
    let recorded = first.rows.iter().map(|r| r.measurement.case.clone()).collect();
    let sink = Memory { recorded, ..Memory::default() };
    let second = run_in(&["good1", "exits", "good2"], &["serves"], &settings(), sink);
    assert_eq!(second.rows.iter().map(|r| r.measurement.case.layer.as_str()).collect::<Vec<_>>(), ["good2"]);
    assert_eq!(second.log[..2], ["started 1+2 on Fake", "case 0/1 good2"]);
    assert_eq!(second.result.expect("a run").total(), 1);
}

#[test]
fn measuring_time_is_shared_out_until_it_is_spent() {
    let settings = Settings { time_budget: Some(Duration::from_millis(500)), ..settings() };
    // Layers of one name make one case; so each is a suite of its own.
    let layers = ["good", "waits", "measures", "measures", "measures"];
    let suites: Vec<Suite> = layers.iter().enumerate().map(|(i, l)| Suite { name: i.to_string(), ..suite(&[l]) }).collect();
    let job = Job { suites: &suites, algorithms: ALGORITHMS, settings: &settings, worker: &|| command("serves") };
    let mut sink = Memory::default();
    let counts = run(&job, &mut sink, &mut []).expect("a run");
    let rows: Vec<_> = sink.rows.iter().map(|r| &r.measurement).collect();
    assert_eq!(rows[2].tuning, "166", "500 ms for three: only measuring is paid for");
    let second: u64 = rows[3].tuning.parse().expect("milliseconds");
    assert!(second <= 100, "at most 200 ms for two: {second}");
    assert_eq!((rows[4].status, rows[4].reason.as_str()), (Status::Skipped, "time budget of 0.5 s spent"));
    assert!(!sink.rows[4].ledger.is_empty(), "predicted all the same");
    assert_eq!((counts.of(Status::Ok), counts.of(Status::Skipped), counts.failures()), (4, 1, 0));
}

#[test]
fn a_sink_that_fails_ends_the_run_and_keeps_its_rows() {
    let sink = Memory { full: Some(1), ..Memory::default() };
    let outcome = run_in(&["good1", "good2", "good3"], &["serves"], &settings(), sink);
    assert_eq!(outcome.result.expect_err("a full disk").to_string(), "the disk is full");
    assert_eq!(outcome.rows.len(), 1);
}

/// The environment of a device, as the command line makes it.
fn environment(hello: &Hello) -> Environment {
    let settings =
        convledger::record::Settings { time_budget_s: None, timeout_s: None, workspace_limit_bytes: None, caches: vec![Cache::Hot] };
    let (device, limits, features) = (hello.identity.clone(), hello.limits.clone(), hello.features.clone());
    Environment::gather(device, limits, features, hello.clock, 0, settings)
}

#[test]
fn a_run_directory_is_begun_and_gone_on_with() {
    let base = tempfile::tempdir().expect("a folder");
    let path = base.path().join("run");
    let run_with = |layers: &[&str], mode: &str, files: &mut Files<'_>| {
        let job = Job { suites: &[suite(layers)], algorithms: ALGORITHMS, settings: &settings(), worker: &|| command(mode) };
        let mut log = Log::default();
        (run(&job, files, &mut [&mut log]), log.0)
    };

    let mut files = Files::create(|hello| (path.clone(), environment(hello)));
    let (result, _) = run_with(&["good1", "exits"], "serves", &mut files);
    assert_eq!(result.expect("a run").failures(), 1);
    assert_eq!(files.path(), Some(path.as_path()));
    drop(files);

    let mut files = Files::resume(RunDirectory::resume(&path).expect("a run"));
    let (result, log) = run_with(&["good1", "exits", "good2"], "serves", &mut files);
    assert_eq!((result.expect("a run").total(), log[0].as_str()), (1, "started 1+2 on Fake"));
    drop(files);
    let rows = Run::read(&path).expect("a run").measurements;
    assert_eq!(rows.iter().map(|m| m.status).collect::<Vec<_>>(), [Status::Ok, Status::Crashed, Status::Ok]);

    let mut files = Files::resume(RunDirectory::resume(&path).expect("a run"));
    let (result, _) = run_with(&["good3"], "other", &mut files);
    let message = result.expect_err("another device").to_string();
    assert!(message.contains("the device is now Other"), "{message}");
}
