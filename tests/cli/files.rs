//! The files of a run: complete, consistent with each other and with what `ledger` predicts.

use crate::{CONV, Ended, convledger, run_in};
use convledger::ledger::Ledger;
use convledger::record::{CaseKey, Measurement, Run, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// With stride 2 Winograd is unsupported; the last is too large for any device.
const PROBLEMS: [&str; 3] = [CONV, "n2c4h9w7_k6r3s3_s2_p1_g2", "n1c1w4294967295_k1s1"];

/// One run for all tests here.
static RUN: LazyLock<(TempDir, Run)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    Ended::good(run_in(folder.path(), &[&PROBLEMS[..], &["--time-budget", "5s", "--seed", "5"]].concat()));
    let run = Run::read(folder.path()).expect("a run");
    (folder, run)
});

fn folder() -> &'static Path {
    RUN.0.path()
}

fn run() -> &'static Run {
    &RUN.1
}

fn of<'a, R>(rows: &'a [R], case: &CaseKey, key: impl Fn(&R) -> &CaseKey) -> Vec<&'a R> {
    rows.iter().filter(|row| key(row) == case).collect()
}

fn measured() -> impl Iterator<Item = &'static Measurement> {
    run().measurements.iter().filter(|row| row.status == Status::Ok)
}

#[test]
fn the_files_of_a_run_and_nothing_else() {
    LazyLock::force(&RUN);
    let names: BTreeSet<PathBuf> = fs::read_dir(folder()).expect("read").map(|entry| entry.expect("entry").file_name().into()).collect();
    let expected = ["environment.json", "ledger.csv", "measurements.csv", "report.html", "samples.csv", "steps.csv"];
    assert_eq!(names, expected.iter().map(PathBuf::from).collect());
}

#[test]
fn every_case_has_a_row_with_its_reason() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &run().measurements {
        *counts.entry(row.status.name()).or_default() += 1;
        assert_eq!(row.reason.is_empty(), row.status == Status::Ok, "{row:?}");
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), ["ok", "over_limit", "unsupported"]);
    assert!(counts["ok"] > 8, "{counts:?}");
}

#[test]
fn predictions_are_those_of_the_ledger_command() {
    let text = Ended::good(convledger(&[&["ledger", "--format", "csv"], &PROBLEMS[..]].concat())).stdout;
    let mut predicted = csv::Reader::from_reader(text.as_bytes());
    let mut measured = csv::Reader::from_path(folder().join("measurements.csv")).expect("the file");
    let columns = measured.headers().expect("a header").clone();
    // Its columns are some of the file's, in the file's order, and two of what workspaces share; status and reason are about this device.
    let mut header: Vec<String> = predicted.headers().expect("a header").iter().map(str::to_owned).collect();
    assert_eq!(header.split_off(header.len() - 2), ["workspace_sum_bytes", "shares"]);
    let positions: Vec<usize> = header.iter().map(|name| columns.iter().position(|c| c == name).expect(name)).collect();
    assert!(positions.is_sorted(), "{header:?}");
    let rows: Vec<csv::StringRecord> = measured.records().map(|row| row.expect("a row")).collect();
    let mut compared = 0;
    for (row, expected) in rows.iter().zip(predicted.records()) {
        let expected = expected.expect("a row");
        for ((name, &at), cell) in header.iter().zip(&positions).zip(&expected) {
            if !["status", "reason"].contains(&name.as_str()) {
                assert_eq!(&row[at], cell, "{name} of {row:?}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, rows.len() * (header.len() - 2), "as many rows here as there");
}

#[test]
fn buffers_add_up_to_the_ledgers() {
    for row in &run().measurements {
        let buffers = of(&run().ledger, &row.case, |b| &b.case);
        let sum = |ledger: Ledger, bytes: fn(&convledger::record::LedgerRow) -> Option<u64>| {
            buffers.iter().filter(|b| b.ledger == ledger).map(|b| bytes(b)).sum::<Option<u64>>()
        };
        if row.status == Status::Unsupported {
            assert!(buffers.is_empty() && row.computation_bytes.is_none(), "{row:?}");
            continue;
        }
        // What no device's 32-bit indices reach has closed forms, and no buffers.
        if row.status == Status::OverLimit && buffers.is_empty() {
            assert!(row.reason.contains("32-bit") || row.reason.contains("64-bit"), "{row:?}");
            continue;
        }
        let predicted = |ledger| sum(ledger, |b| Some(b.predicted_bytes));
        assert_eq!(predicted(Ledger::Parameter), Some(row.parameter_bytes));
        assert_eq!(predicted(Ledger::Activation), Some(row.activation_bytes));
        // Memory that buffers share is as large as the largest of them, and asked for once.
        let smaller = |b: &convledger::record::LedgerRow| {
            b.slot.is_some() && buffers.iter().any(|other| other.slot == b.slot && other.predicted_bytes > b.predicted_bytes)
        };
        let arena = buffers.iter().filter(|b| b.ledger == Ledger::Computation && !smaller(b)).map(|b| b.predicted_bytes).sum();
        assert_eq!(Some(arena), row.computation_bytes);
        if row.status == Status::Ok {
            assert_eq!(sum(Ledger::Parameter, |b| b.requested_bytes), row.parameter_requested_bytes);
            assert_eq!(sum(Ledger::Activation, |b| b.requested_bytes), row.activation_requested_bytes);
            assert_eq!(sum(Ledger::Computation, |b| b.requested_bytes), row.computation_requested_bytes);
            assert_eq!(row.computation_requested_bytes, row.computation_bytes, "what is predicted is asked for");
            assert_eq!(sum(Ledger::Computation, |b| b.allocated_bytes), row.computation_allocated_bytes);
            assert!(row.computation_allocated_bytes >= row.computation_requested_bytes);
        }
    }
}

#[test]
fn samples_are_those_of_the_statistics() {
    for row in measured() {
        let samples = of(&run().samples, &row.case, |s| &s.case);
        assert_eq!(row.samples, Some(samples.len() as u64));
        assert!(samples.iter().enumerate().all(|(i, s)| s.sample == i as u64 && Some(s.clock) == row.clock));
        assert!(samples.iter().all(|s| Some(s.executions) == row.executions_per_sample));
        let mut times: Vec<f64> = samples.iter().map(|s| s.time_ns).collect();
        times.sort_by(f64::total_cmp);
        assert_eq!(row.time_min_ns, times.first().copied());
        let (low, high) = (times[(times.len() - 1) / 2], times[times.len() / 2]);
        let median = row.time_median_ns.expect("a median");
        assert!((median - f64::midpoint(low, high)).abs() <= 1e-9 * median, "{median} is not between {low} and {high}");
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((row.time_mean_ns.expect("a mean") - mean).abs() <= 1e-9 * mean);
        assert!(row.time_p05_ns <= row.time_median_ns && row.time_median_ns <= row.time_p95_ns);
        let rate = row.flops as f64 / median;
        assert!((row.effective_gflops.expect("a rate") - rate).abs() <= 1e-9 * rate);
        let outliers = samples.iter().filter(|s| s.outlier).count();
        assert_eq!(row.noise.contains(&format!("outliers={outliers}")), outliers > 0, "{} {outliers}", row.noise);
    }
}

#[test]
fn shares_of_the_stages_add_up_to_one() {
    for row in measured() {
        let steps = of(&run().steps, &row.case, |s| &s.case);
        assert!(!steps.is_empty());
        assert_eq!(steps.iter().map(|s| s.flops).sum::<u64>(), row.algorithm_flops.expect("operations"));
        // Where the device has no clock of its own the stages are not timed.
        if let Some(shares) = steps.iter().map(|s| s.time_share).collect::<Option<Vec<f64>>>() {
            let sum: f64 = shares.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            assert!(steps.iter().all(|s| s.time_median_ns > Some(0.0)));
        }
    }
}

/// What the device can do stands in the environment; every case and every stage is held against it.
#[test]
fn cases_are_held_against_the_devices_limits() {
    let peaks = run().environment.peaks.as_ref().expect("measured, since cases ran");
    assert!(peaks.multiply_add_f32.gflops > 0.0 && peaks.memory_copy.bytes_per_second > 0.0 && peaks.dispatch.ns >= 0.0);
    for row in measured() {
        let steps = of(&run().steps, &row.case, |s| &s.case);
        assert!(steps.iter().all(|step| step.limit.is_some()), "{steps:?}");
        let share = row.utilisation.expect("a share");
        // No stage takes less than its arithmetic at the peak, nor can all of them together.
        let flops: u64 = steps.iter().filter(|step| step.time_share.is_some()).map(|step| step.flops).sum();
        let least = flops as f64 / peaks.gflops(row.case.dtype()) / row.time_median_ns.expect("a median");
        assert!(share >= least * (1.0 - 1e-9) && share > 0.0, "{share} < {least}");
        assert_eq!(row.noise.contains("utilisation_above_1="), share > 1.0, "{share} {}", row.noise);
    }
    assert!(run().measurements.iter().filter(|row| row.status != Status::Ok).all(|row| row.utilisation.is_none()));
}

#[test]
fn the_time_is_accounted_for() {
    let environment = &run().environment;
    let expense = environment.expense.as_ref().expect("the run has ended");
    let spent = expense.device_s + expense.compiler_s + expense.verification_s;
    assert!(expense.device_s > 0.0 && expense.verification_s > 0.0 && spent <= expense.wall_s, "{expense:?}");
    let executions = |row: &Measurement| row.executions_per_sample.expect("executions") as f64;
    let shortest = measured().map(|row| row.time_min_ns.expect("a time") * executions(row)).fold(f64::INFINITY, f64::min);
    assert_eq!(expense.shortest_sample_ns, Some(shortest));
    let timer = environment.clock.timer_overhead_ns.expect("measured");
    assert_eq!(expense.timer_share, Some(timer / shortest));
    for row in measured() {
        let share = timer / (row.time_min_ns.expect("a time") * executions(row));
        assert_eq!(row.noise.contains("timer_overhead="), share > 0.01, "{share} {}", row.noise);
    }
}

#[test]
fn every_result_was_verified() {
    for row in measured() {
        assert_eq!(row.verified_points, Some(row.case.conv.output_elements()), "small outputs are compared whole");
        assert!(row.error_rel_l2 <= row.tolerance && row.error_rel_l2.is_some(), "{row:?}");
    }
}

#[test]
fn the_environment_says_how_it_was_made() {
    let environment = &run().environment;
    assert_eq!(environment.seed, 5);
    assert_eq!(environment.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(environment.settings.time_budget_s, Some(5.0));
    assert!(environment.command_line.iter().any(|word| word == CONV), "{:?}", environment.command_line);
    assert!(environment.clock.resolution_ns > 0.0);
}
