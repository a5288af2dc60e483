//! What a worker's death costs: the row of its case, and nothing else.

use crate::worker::{ALGORITHMS, command};
use crate::{Memory, run_in, run_layers, settings, suite};
use convledger::algorithm::Variant;
use convledger::record::{Cache, CaseKey, Status};
use convledger::runner::{Job, Order, RunnerError, Settings, Task, run};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A good case, one of `layer`, a good case: the good ones must not notice. Returns the bad one's row, and whether it cost a
/// worker.
fn between_good_ones(layer: &str, settings: &Settings) -> (Status, String, bool) {
    let outcome = run_in(&["good1", layer, "good2"], &["serves"], settings, Memory::default());
    let [before, bad, after] = outcome.ends()[..] else { panic!("{layer}: {:?}, {:?}", outcome.ends(), outcome.result) };
    assert_eq!((before.0, after.0), (Status::Ok, Status::Ok), "{layer}");
    (bad.0, bad.1.to_owned(), before.1 != after.1)
}

#[test]
fn a_crash_costs_its_row() {
    let (status, reason, fresh) = between_good_ones("exits", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true));
    assert!(reason.starts_with("the worker ended with exit ") && reason.contains(": 3 while verifying"), "{reason}");

    let (status, reason, fresh) = between_good_ones("aborts", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true));
    assert!(reason.ends_with("while compiling; its last line: driver: assertion failed"), "{reason}");
    #[cfg(unix)]
    assert!(reason.contains("SIGABRT"), "{reason}");

    let (status, reason, fresh) = between_good_ones("panics", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true));
    assert_eq!(reason, "panic while measuring: device says no");
}

#[test]
fn a_hang_costs_its_row() {
    let settings = Settings { timeout: Duration::from_millis(1500), ..settings() };
    let (status, reason, fresh) = between_good_ones("hangs", &settings);
    assert_eq!((status, fresh), (Status::Timeout, true));
    assert_eq!(reason, "no answer within 1.5 s while compiling");
}

#[test]
fn a_lost_device_costs_its_worker() {
    let (status, _, fresh) = between_good_ones("loses", &settings());
    assert_eq!((status, fresh), (Status::DeviceLost, true));
}

#[test]
fn noise_costs_nothing() {
    let (status, _, fresh) = between_good_ones("chatters", &settings());
    assert_eq!((status, fresh), (Status::Ok, false));
}

#[test]
fn nonsense_in_the_protocol_costs_its_row() {
    for (layer, beginning) in [
        ("garbles", "the worker broke the protocol (invalid type"),
        ("mistakes", "the worker broke the protocol (rows of direct in another of fake)"),
    ] {
        let (status, reason, fresh) = between_good_ones(layer, &settings());
        assert_eq!((status, fresh), (Status::Crashed, true), "{layer}");
        assert!(reason.starts_with(beginning), "{layer}: {reason}");
    }
    let (status, reason, fresh) = between_good_ones("closes", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true), "a reply cut short: {reason}");
}

#[test]
fn a_case_does_not_pay_for_the_one_before_it() {
    let outcome = run_layers(&["fades", "waits", "good"]);
    // The first worker dies idle or with the second case in hand; what is certain is that the third does not notice.
    assert_eq!((outcome.ends()[0].0, outcome.ends()[2].0), (Status::Ok, Status::Ok), "{:?}", outcome.ends());
}

#[test]
fn a_case_that_no_worker_began_with_gets_a_second_one() {
    let outcome = run_in(&["good1", "good2"], &["once", "serves"], &settings(), Memory::default());
    assert_eq!(outcome.ends().iter().map(|e| e.0).collect::<Vec<_>>(), [Status::Ok, Status::Ok]);
    assert!(outcome.log.contains(&"death of nobody".to_owned()), "{:?}", outcome.log);

    let outcome = run_in(&["good1", "good2"], &["never", "never", "serves"], &settings(), Memory::default());
    let ends = outcome.ends();
    assert_eq!((ends[0].0, ends[1].0), (Status::Crashed, Status::Ok), "{ends:?}");
    assert!(ends[0].1.contains(": 9 before it began with a case"), "{ends:?}");
}

#[test]
fn workers_leave_nothing_behind() {
    let settings = Settings { timeout: Duration::from_millis(1500), ..settings() };
    let outcome = run_in(&["good1", "hangs", "good2"], &["serves"], &settings, Memory::default());
    for pid in [outcome.ends()[0].1, outcome.ends()[2].1] {
        assert!(pid.parse::<u32>().is_ok(), "{pid}");
        #[cfg(target_os = "linux")]
        assert!(!std::path::Path::new("/proc").join(pid).exists(), "{pid} is still there, if only as a zombie");
    }
}

#[test]
fn a_worker_without_its_parent_ends_even_in_a_hang() {
    let mut child = command("serves").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a worker");
    let layer = &suite(&["hangs"]).layers[0];
    let case = CaseKey {
        suite: "fake".into(),
        layer: layer.name.clone(),
        conv: layer.conv,
        algorithm: "direct".into(),
        variant: Variant::none(),
        cache: Cache::Hot,
    };
    let task = serde_json::to_string(&Order::Case(Box::new(Task { case, seed: 0, budget: Duration::ZERO, peaks: None }))).expect("JSON");
    let mut stdin = child.stdin.take().expect("piped");
    writeln!(stdin, "{task}").expect("written");
    drop(stdin);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut status = None;
    while status.is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        status = child.try_wait().expect("a child");
    }
    // In case it has not: nothing is to outlive this test.
    let _ = child.kill();
    child.wait().expect("reaped");
    assert_eq!(status.and_then(|s| s.code()), Some(1));
}

#[test]
fn a_device_that_cannot_be_opened_ends_the_run() {
    let outcome = run_in(&["good"], &["refuses"], &settings(), Memory::default());
    assert!(matches!(&outcome.result, Err(RunnerError::Refused(reason)) if reason == "no adapter named 'Fake'"), "{:?}", outcome.result);
    let job = Job { suites: &[], algorithms: ALGORITHMS, settings: &settings(), worker: &|| Command::new("/no/such/worker") };
    let error = run(&job, &mut Memory::default(), &mut []).expect_err("no program");
    assert!(error.to_string().starts_with("cannot start the worker '/no/such/worker': "), "{error}");
}

#[test]
fn workers_that_do_not_start_are_given_up() {
    let outcome = run_in(&["good"], &["dies"], &settings(), Memory::default());
    let message = outcome.result.expect_err("no worker").to_string();
    assert!(message.starts_with("gave up after 3 workers in a row did not start: the worker ended with exit "), "{message}");
    assert!(message.ends_with(": 7 before it began with a case; its last line: driver: cannot load"), "{message}");
    assert_eq!(outcome.log, ["death of nobody"; 3]);

    let settings = Settings { start_timeout: Duration::from_millis(200), ..settings() };
    let outcome = run_in(&["good"], &["sleeps"], &settings, Memory::default());
    let message = outcome.result.expect_err("no worker").to_string();
    assert!(message.contains("no answer within 0.2 s before it began with a case"), "{message}");
}

#[test]
fn a_device_may_take_a_moment_to_come_back() {
    let outcome = run_in(&["loses", "good"], &["serves", "refuses", "dies", "serves"], &settings(), Memory::default());
    assert_eq!(outcome.ends()[1].0, Status::Ok);
    let outcome = run_in(&["loses", "good"], &["serves", "refuses"], &settings(), Memory::default());
    assert_eq!(outcome.rows.len(), 1, "what was measured is kept");
    assert!(matches!(outcome.result, Err(RunnerError::StartUps { attempts: 3, .. })), "{:?}", outcome.result);
}

#[test]
fn a_run_stays_on_its_device() {
    let outcome = run_in(&["good1", "loses", "good2"], &["serves", "other"], &settings(), Memory::default());
    assert_eq!(outcome.rows.len(), 2);
    let message = outcome.result.expect_err("another device").to_string();
    assert!(message.contains("began on Fake (vulkan, fake 1.0), but the device is now Other (vulkan, fake 1.0)"), "{message}");
}
