//! The device's own limits in a run: measured once, kept, and no reason for a run to fail.

use crate::worker::peaks;
use crate::{Memory, Outcome, run_in, settings};
use convledger::record::Status;
use convledger::runner::Settings;
use std::time::Duration;

fn with_limits(modes: &[&str], layers: &[&str], sink: Memory) -> Outcome {
    let settings = Settings { peak_budget: Some(Duration::from_secs(1)), ..settings() };
    run_in(layers, modes, &settings, sink)
}

/// What each case was told of the device, as the fake worker gives it back.
fn told(outcome: &Outcome) -> Vec<Option<f64>> {
    outcome.rows.iter().map(|rows| rows.measurement.utilisation).collect()
}

#[test]
fn limits_are_measured_once_and_every_case_is_told() {
    // The second worker would panic if it were asked again.
    let outcome = with_limits(&["measures", "serves"], &["good1", "loses", "good2"], Memory::default());
    assert_eq!(outcome.log[..2], ["started 3+0 on Fake", "limits 84.5 GFLOP/s"]);
    assert_eq!(told(&outcome), [Some(84.5); 3]);
    assert_eq!(outcome.peaks, Some(peaks()));
}

#[test]
fn limits_of_an_earlier_run_are_taken_over() {
    let sink = Memory { peaks: Some(peaks()), ..Memory::default() };
    let outcome = with_limits(&["serves"], &["good1"], sink);
    assert_eq!(outcome.log[1], "limits 84.5 GFLOP/s");
    assert_eq!(told(&outcome), [Some(84.5)]);
}

#[test]
fn limits_that_cannot_be_measured_cost_no_case() {
    for (mode, reason) in [("miscounts", "the device cannot count"), ("breaks", "5 while measuring the device's limits")] {
        let outcome = with_limits(&[mode, "serves"], &["good1", "good2"], Memory::default());
        let ends: Vec<_> = outcome.ends().iter().map(|end| end.0).collect();
        assert_eq!(ends, [Status::Ok, Status::Ok], "{mode}: {:?}", outcome.result);
        assert_eq!(told(&outcome), [None, None]);
        assert!(outcome.log.iter().any(|line| line.starts_with("no limits: ") && line.ends_with(reason)), "{:?}", outcome.log);
    }
}

/// A run that needs no device asks it nothing, and neither does one whose time is spent before it begins.
#[test]
fn without_a_case_to_run_nothing_is_measured() {
    let settings = Settings { peak_budget: Some(Duration::from_secs(1)), time_budget: Some(Duration::ZERO), ..settings() };
    let outcome = run_in(&["good1"], &["serves"], &settings, Memory::default());
    assert_eq!(outcome.ends()[0].0, Status::Skipped);
    assert_eq!(outcome.peaks, None);
}

#[test]
fn the_expense_is_that_of_every_order() {
    let outcome = with_limits(&["measures"], &["good1", "good2"], Memory::default());
    let expense = outcome.expense.expect("an expense");
    let expected = [(expense.device_s, 0.009), (expense.compiler_s, 0.003), (expense.verification_s, 0.006)];
    assert!(expected.iter().all(|(found, expected)| (found - expected).abs() < 1e-9), "{expense:?}");
    assert!(expense.wall_s > 0.0);
}
