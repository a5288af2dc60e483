//! `convledger demo`, each on the device with next to no time: files, sentences, verified rows.

use crate::{CONV, Ended, convledger, errors};
use convledger::record::{Run, Status};
use std::fs;

/// What a demo with some arguments prints, and the folder it wrote.
fn demo(args: &[&str]) -> (Ended, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = convledger(&[&["demo"], args, &["--seed", "4", "--out"]].concat());
    command.arg(folder.path().join("run")).args(crate::device().iter().flat_map(|device| ["--device", device]));
    (Ended::good(command), folder)
}

#[test]
fn every_demo_writes_a_run_a_sweep_a_chart_and_its_sentences() {
    for (name, own, charts) in
        [("blowup", 28, &["", "-time"][..]), ("tradeoff", 8, &[""]), ("resolution", 12, &["", "-time"]), ("precision", 16, &[""])]
    {
        let (ended, folder) = demo(&[name, "--time-budget", "1s"]);
        let path = |file: &str| folder.path().join("run").join(file);
        let run = Run::read(&path("")).expect("a run");
        assert!(
            run.measurements.iter().all(|row| matches!(row.status, Status::Ok | Status::Skipped | Status::Unsupported)),
            "{}",
            ended.stderr
        );
        assert!(run.measurements.iter().any(|row| row.status == Status::Ok && row.error_rel_l2 <= row.tolerance), "{name}");
        assert!(run.measurements.iter().all(|row| row.case.suite == format!("demo-{name}")));
        let sweep = fs::read_to_string(path(&format!("demo-{name}.csv"))).expect("the sweep");
        assert_eq!(sweep.lines().count(), run.measurements.len() + 1);
        assert!(run.measurements.len() >= own, "{name}: {}", run.measurements.len());
        for suffix in charts {
            let chart = fs::read_to_string(path(&format!("demo-{name}{suffix}.svg"))).expect("the chart");
            assert!(chart.starts_with("<svg") && chart.ends_with("</svg>\n"), "{name}{suffix}");
        }
        let sentences = fs::read_to_string(path(&format!("demo-{name}.txt"))).expect("the sentences");
        assert_eq!(sentences.lines().count(), 2);
        assert!(ended.stdout.contains(&sentences), "{}", ended.stdout);
        let last = format!("demo-{name}.txt in {}\n", folder.path().join("run").display());
        assert!(ended.stdout.ends_with(&last), "{}", ended.stdout);
    }
}

/// What the closed forms say needs no time at all.
#[test]
fn bytes_are_told_where_no_time_is_left() {
    let (ended, _folder) = demo(&["blowup", "--time-budget", "0s"]);
    assert!(
        ended.stdout.contains(
            "The workspace of im2col:batch, as a multiple of the input, goes from 1.00 to 49.0 over kernel size 1 to 7, \
             stays at 9.00 over channels 8 to 64, stays at 9.00 over resolution 14 to 56, stays at 9.00 over batch 1 to 4"
        ),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("nothing can be said of time"), "{}", ended.stdout);
}

#[test]
fn tradeoff_looks_at_a_layer_of_ones_own() {
    let (ended, folder) = demo(&["tradeoff", CONV, "--time-budget", "1s"]);
    let run = Run::read(&folder.path().join("run")).expect("a run");
    assert!(run.measurements.iter().all(|row| row.case.conv.to_string() == CONV));
    assert!(ended.stdout.contains("The fastest, "), "{}", ended.stdout);
}

#[test]
fn faults_are_one_line() {
    let told = errors(&[&["demo", "blowup", CONV], &["demo", "tradeoff", CONV, "--device", "no such device"]]);
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told[1], format!("convledger: demo blowup has convolutions of its own: {CONV} is for demo tradeoff"));
    assert!(told[3].starts_with("convledger: ") && told[3].contains("no such device"), "{}", told[3]);
    for wrong in [&["demo", "dance"][..], &["demo", "tradeoff", "n1"]] {
        let ended = Ended::of(convledger(wrong));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert!(ended.stderr.contains(&format!("'{}'", wrong[wrong.len() - 1])) && ended.stderr.lines().count() < 8, "{}", ended.stderr);
    }
}
