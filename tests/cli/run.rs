//! `run`: the command line as a whole. What the files hold is checked in `files.rs`.

use crate::{CONV, Ended, convledger, run_in};
use convledger::record::{Cache, Measurement, Run, Status};
use std::path::Path;

/// The rows of a run that must succeed, and what it printed.
fn measure(args: &[&str]) -> (Vec<Measurement>, Ended) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let ended = Ended::good(run_in(&path, args));
    (Run::read(&path).expect("a run").measurements, ended)
}

fn titles(rows: &[Measurement]) -> Vec<String> {
    rows.iter().map(|row| row.case.variant.qualify(&row.case.algorithm)).collect()
}

#[test]
fn patterns_choose_algorithms_and_variants() {
    let budget = ["--time-budget", "0s"];
    let chosen = |patterns: &[&str]| titles(&measure(&[&[CONV], patterns, &budget].concat()).0);
    let all = chosen(&[]);
    assert!(all.contains(&"direct".to_owned()) && all.len() > 4, "{all:?}");
    assert_eq!(chosen(&["--algorithm", "!direct"]), all[1..]);
    assert!(chosen(&["--algorithm", "winograd*"]).iter().all(|title| title.starts_with("winograd_")));
    assert_eq!(chosen(&["--algorithm", "im*:batch", "--algorithm", "!w*"]), ["im2col:batch"]);
}

#[test]
fn a_variant_that_is_not_proposed_runs_when_asked_for() {
    let (rows, ended) = measure(&[CONV, "--algorithm", "im2col:strip=3", "--time-budget", "100ms"]);
    assert_eq!(titles(&rows), ["im2col:strip=3"]);
    assert_eq!((rows[0].status, rows[0].computation_bytes), (Status::Ok, Some(4 * 9 * 3 * 8 * 4)));
    assert!(ended.stderr.contains("[1/1] n1c4h8w8_k4r3s3_p1 im2col:strip=3: "), "{}", ended.stderr);
    assert!(ended.stdout.contains("1 case: 1 ok\n"), "{}", ended.stdout);
}

#[test]
fn a_workspace_limit_leaves_out_what_needs_more() {
    let (rows, ended) =
        measure(&[CONV, "--algorithm", "im2col:batch", "--algorithm", "direct", "--workspace-limit", "1KiB", "--time-budget", "100ms"]);
    let ends: Vec<_> = rows.iter().map(|row| (row.status, row.reason.as_str())).collect();
    assert_eq!(ends, [(Status::Ok, ""), (Status::OverBudget, "workspace 9,216 B > workspace limit 1,024 B")]);
    assert!(ended.stdout.contains("2 cases: 1 ok, 1 over_budget\n"), "{}", ended.stdout);
}

#[test]
fn what_a_time_budget_does_not_reach_is_recorded() {
    let (rows, _) = measure(&[CONV, "--time-budget", "0s"]);
    let made_for: Vec<_> = rows.iter().filter(|row| row.status != Status::Unsupported).collect();
    assert!(made_for.iter().all(|row| row.status == Status::Skipped && row.reason == "time budget of 0 s spent"));
    assert!(made_for.len() > 4);
}

#[test]
fn caches_are_rows_of_their_own() {
    let short = ["--algorithm", "direct", "--time-budget", "200ms", "--cache"];
    let caches = |cache| {
        let (rows, ended) = measure(&[&[CONV], &short[..], &[cache]].concat());
        assert!(rows.iter().all(|row| row.status == Status::Ok), "{}", ended.stderr);
        rows.iter().map(|row| row.case.cache).collect::<Vec<_>>()
    };
    assert_eq!(caches("cold"), [Cache::Cold]);
    assert_eq!(caches("both"), [Cache::Hot, Cache::Cold]);
}

#[test]
fn a_batch_of_nothing_is_skipped() {
    let (rows, _) = measure(&["n0c4h8w8_k4r3s3_p1", "--algorithm", "direct"]);
    let ends: Vec<_> = rows.iter().map(|row| (row.status, row.reason.as_str())).collect();
    assert_eq!(ends, [(Status::Skipped, "the batch is 0: the output is empty, there is nothing to compute")]);
}

#[test]
fn what_is_too_large_for_the_device_is_told_with_its_numbers() {
    let (rows, ended) = measure(&["n1c1w4294967295_k1s1", "--algorithm", "direct"]);
    assert_eq!(rows[0].status, Status::OverLimit, "{}", ended.stderr);
    assert!(rows[0].reason.starts_with("input buffer 17,179,869,180 B > buffer size limit "), "{}", rows[0].reason);
}

#[test]
fn device_and_seed_are_told_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let ended = Ended::good(run_in(&path, &[CONV, "--algorithm", "direct", "--time-budget", "0s", "--seed", "42"]));
    let environment = Run::read(&path).expect("a run").environment;
    let mut lines = ended.stderr.lines();
    let device = lines.next().expect("a line");
    assert!(device.starts_with(&format!("device   {} ({}, ", environment.device.name, environment.device.backend)), "{device}");
    assert_eq!(lines.next(), Some("seed     42"));
    assert_eq!(environment.seed, 42);
    let last = format!(
        "\nEvery case, buffer, stage and sample: {0}\nThe same to look at: {1}\n",
        path.display(),
        path.join("report.html").display()
    );
    assert!(ended.stdout.ends_with(&last), "{}", ended.stdout);
}

#[test]
fn without_a_seed_a_fresh_one_is_told_and_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let seed = |name: &str| {
        let path = folder.path().join(name);
        let ended = Ended::good(run_in(&path, &[CONV, "--algorithm", "direct", "--time-budget", "0s"]));
        let seed = Run::read(&path).expect("a run").environment.seed;
        assert!(ended.stderr.contains(&format!("seed     {seed}\n")), "{}", ended.stderr);
        seed
    };
    assert_ne!(seed("a"), seed("b"));
}

/// Without `--out` each run gets a new folder, named by date and device.
#[test]
fn folders_are_named_by_date_and_device() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in ["", "-2"] {
        let mut command = convledger(&["run", CONV, "--algorithm", "direct", "--time-budget", "0s"]);
        command.current_dir(folder.path()).args(crate::device().iter().flat_map(|device| ["--device", device]));
        let ended = Ended::good(command);
        let path =
            ended.stdout.lines().find_map(|line| line.strip_prefix("Every case, buffer, stage and sample: ")).expect("a line names it");
        let (date, device) = path.strip_prefix("results/").expect(path).split_at("2026-11-29".len());
        assert!(date.chars().all(|c| c.is_ascii_digit() || c == '-') && device.len() > 2, "{path}");
        assert!(device.ends_with(number), "{path}");
        assert!(Run::read(&folder.path().join(path)).is_ok());
    }
}

/// The folder of another run is not overwritten.
#[test]
fn a_folder_that_holds_a_run_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |path: &Path| run_in(path, &[CONV, "--algorithm", "direct", "--time-budget", "0s"]);
    Ended::good(run(folder.path()));
    let before = std::fs::read(folder.path().join("measurements.csv")).expect("the file");
    let line = Ended::error(run(folder.path()));
    assert_eq!(
        line.replace(&folder.path().display().to_string(), "FOLDER"),
        "convledger: FOLDER already holds a run (measurements.csv): continue it with --resume, or name another folder with --out"
    );
    assert_eq!(std::fs::read(folder.path().join("measurements.csv")).expect("the file"), before);
}

/// Nobody reads on: the run goes on all the same.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_standard_error_does_not_end_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let device = crate::device();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_convledger"))
        .args(["run", CONV, "--algorithm", "direct", "--time-budget", "0s", "--out"])
        .arg(&path)
        .args(device.iter().flat_map(|device| ["--device", device]))
        .stderr(std::fs::File::create("/dev/full").expect("it opens"))
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(Run::read(&path).expect("a run").measurements.len(), 1);
}
