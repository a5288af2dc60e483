//! `convledger account`, and the account that a run makes.

use crate::{CONV, Ended, convledger, device};
use assert_cmd::Command;
use convledger::account::{Filed, LineKind, Stage};
use convledger::record::Run;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn account(args: &[&str]) -> Ended {
    let mut command = convledger(&["account"]);
    command.args(args).args(device().iter().flat_map(|device| ["--device", device]));
    Ended::of(command)
}

/// A run that leaves nothing out.
fn run_in(folder: &Path, args: &[&str]) -> Command {
    let mut command = convledger(&["run", "--out"]);
    command.arg(folder).args(args).args(device().iter().flat_map(|device| ["--device", device]));
    command
}

/// The layer of the documentation: 154 MB that the formulas predict.
#[test]
fn the_bridge_of_a_large_layer_closes() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new/account");
    let ended = account(&["n1c64h224w224_k128r3s3_p1", "--format", "json", "--out", out.to_str().expect("UTF-8")]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(told["closes"], true);
    let filed = Filed::read(&out).expect("as written").expect("there");
    let bridge = filed.bridge();
    let line =
        |name: &str| bridge.lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("{name}: {:#?}", bridge.lines)).bytes;
    assert_eq!((line("parameters"), line("activations"), line("computation")), (294_912, 38_535_168, 115_605_504));
    assert_eq!(line("predicted"), 154_435_584);
    let held: i64 = bridge.lines.iter().filter(|line| line.kind == LineKind::Held).map(|line| line.bytes).sum();
    assert_eq!(held, line("explained"));
    assert_eq!(line("resident") - line("explained"), line("unexplained"));
    assert!(bridge.unexplained_share().abs() < 0.01 || bridge.unexplained().abs() < 1 << 20, "{:#?}", bridge.lines);
    assert_eq!(filed.runtime.len(), 14);
    assert_eq!(filed.runtime.last().expect("stages").stage, Stage::Dropped);
}

#[test]
fn a_run_accounts_for_its_largest_case() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let small = "n1c2h4w4_k2r1s1";
    let ended = Ended::good(run_in(&path, &[CONV, small, "--algorithm", "direct", "--algorithm", "im2col:batch", "--time-budget", "1s"]));
    assert!(ended.stdout.contains(&format!("\nMemory of im2col:batch of {CONV}, closed: of ")), "{}", ended.stdout);
    let filed = Filed::read(&path).expect("as written").expect("there");
    assert_eq!(filed.case(), format!("im2col:batch of {CONV}"));
    let run = Run::read(&path).expect("a run");
    assert!(run.environment.resident_source.is_some());
    for row in &run.measurements {
        let (peak, accounted) = (row.peak_resident_bytes.expect("polled"), row.peak_accounted_bytes.expect("accounted"));
        let tensors = row.parameter_bytes + row.activation_bytes;
        assert!(peak > tensors && accounted > tensors, "{peak} and {accounted}");
        assert!(peak.abs_diff(accounted) < accounted / 4, "{peak} polled, {accounted} accounted");
    }
    let page = fs::read_to_string(path.join("report.html")).expect("the report");
    assert!(page.contains("<h2>Memory, from predicted to resident</h2>") && page.contains("pool slack"));
    let mut show = convledger(&["show", "--section", "account"]);
    show.arg(&path);
    let shown = Ended::good(show).stdout;
    assert!(shown.contains(&filed.verdict()) && shown.contains("first_dispatch"), "{shown}");
}

#[test]
fn a_run_that_is_asked_not_to_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = Ended::good(run_in(folder.path(), &[CONV, "--algorithm", "direct", "--time-budget", "0s", "--no-account"]));
    assert!(!ended.stdout.contains("Memory of"), "{}", ended.stdout);
    assert!(!folder.path().join("account.csv").exists());
    let show = || {
        let mut show = convledger(&["show", "--section", "account"]);
        show.arg(folder.path());
        show
    };
    let ended = Ended::good(show());
    assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 1), "{}", ended.stderr);
    assert!(ended.stderr.contains("no account in this folder"), "{}", ended.stderr);
    // One that is damaged is told, and costs no other section and no report.
    fs::write(folder.path().join("account.csv"), "").expect("written");
    fs::write(folder.path().join("runtime.csv"), "").expect("written");
    assert!(Ended::error(show()).contains("account.csv: no bridge from predicted to resident"));
    for command in ["show", "report"] {
        let mut command = convledger(&[command]);
        command.arg(folder.path());
        let ended = Ended::good(command);
        assert!(ended.stderr.contains("no account: "), "{}", ended.stderr);
    }
}

/// Whoever ends the program does not leave a process behind that holds a device.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_lost_its_parent_ends() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    let program = env!("CARGO_BIN_EXE_convledger");
    let mut parent = std::process::Command::new(program);
    parent.args(["experiment", "soak", "--executions", "100000000", "--timeout", "1h"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut parent = parent.spawn().expect("it starts");
    let children = || {
        let list = fs::read_to_string(format!("/proc/{0}/task/{0}/children", parent.id())).unwrap_or_default();
        list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let patience = Instant::now();
    while children().is_empty() && patience.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let worker = children().pop().expect("a worker");
    parent.kill().expect("it runs");
    parent.wait().expect("it ends");
    let there = || Path::new(&format!("/proc/{worker}")).exists();
    let patience = Instant::now();
    while there() && patience.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!there(), "worker {worker} lives on");
}

#[test]
fn what_cannot_be_accounted_for_is_told() {
    let told = |args: &[&str], part: &str| {
        let error = Ended::error(convledger(&[&["account"], args].concat()));
        assert!(error.contains(part), "{error}");
    };
    told(&["n1c4h8"], "n1c4h8");
    told(&["n0c4h8w8_k4r3s3_p1"], "n0c4h8w8_k4r3s3_p1: the output is empty");
    told(&[CONV, "--algorithm", "nonsense"], "--algorithm 'nonsense' is no algorithm");
    told(&[CONV, "--algorithm", "im2col:strips=0"], "strips=0");
    told(&[CONV, "--algorithm", "depthwise"], "depthwise");
    told(&[CONV, "--device", "no such device"], "no such device");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("measurements.csv"), "x").expect("written");
    told(&[CONV, "--out", folder.path().to_str().expect("UTF-8")], "holds a run");
}
