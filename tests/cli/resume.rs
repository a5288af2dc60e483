//! `--resume`: an interrupted run is completed, and what it has is not run again.

use crate::{CONV, Ended, run_in};
use convledger::record::{Run, Status};
use std::fs;
use std::path::Path;

const SHORT: [&str; 9] =
    [CONV, "--algorithm", "direct", "--algorithm", "im2col:batch", "--algorithm", "winograd_f2:batch", "--time-budget", "300ms"];

fn begin(path: &Path) -> Run {
    Ended::good(run_in(path, &[&SHORT[..], &["--seed", "11"]].concat()));
    let run = Run::read(path).expect("a run");
    assert!(run.measurements.len() == 3 && run.measurements.iter().all(|row| row.status == Status::Ok));
    run
}

fn resume(path: &Path) -> (Run, Ended) {
    let ended = Ended::good(run_in(path, &[&SHORT[..], &["--resume"]].concat()));
    (Run::read(path).expect("a run"), ended)
}

/// Cuts bytes off the end of a file.
fn truncate(path: &Path, bytes: usize) {
    let text = fs::read(path).expect("the file");
    fs::write(path, &text[..text.len() - bytes]).expect("written");
}

/// Takes the last lines off a file.
fn drop_lines(path: &Path, lines: usize) {
    let text = fs::read_to_string(path).expect("the file");
    let kept = text.lines().count() - lines;
    fs::write(path, text.lines().take(kept).fold(String::new(), |all, line| all + line + "\n")).expect("written");
}

#[test]
fn a_complete_run_has_nothing_left_to_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut before = begin(folder.path());
    let (after, ended) = resume(folder.path());
    let [resumption] = &after.environment.resumed[..] else { panic!("{:?}", after.environment.resumed) };
    assert!(resumption.arguments.contains(&"--resume".to_owned()), "{resumption:?}");
    before.environment.resumed.clone_from(&after.environment.resumed);
    assert!(after == before, "nothing else has changed");
    assert!(ended.stderr.contains("seed     11\nresumed; cases recorded already: 3\n"), "{}", ended.stderr);
    assert!(ended.stdout.contains("3 cases: 3 ok\n"), "the summary has the earlier cases too: {}", ended.stdout);
}

#[test]
fn a_run_cut_off_within_its_lines_is_completed() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = begin(folder.path());
    for (file, bytes) in [("measurements.csv", 40), ("ledger.csv", 3), ("steps.csv", 1), ("samples.csv", 17)] {
        truncate(&folder.path().join(file), bytes);
    }
    let (after, ended) = resume(folder.path());
    assert_eq!(after.measurements[..2], before.measurements[..2], "not run again");
    assert_eq!(after.measurements[2].case, before.measurements[2].case);
    assert_eq!((after.ledger.len(), after.steps.len()), (before.ledger.len(), before.steps.len()));
    assert!(ended.stderr.contains("resumed; cases recorded already: 2\nlimits   "), "{}", ended.stderr);
    assert!(ended.stderr.contains(" from memory, as measured\n[1/1] "), "{}", ended.stderr);
    let (first, both) = (&before.environment, &after.environment);
    assert!(first.peaks.is_some() && first.peaks == both.peaks, "the device's limits are measured once");
    let wall = |environment: &convledger::record::Environment| environment.expense.as_ref().expect("an expense").wall_s;
    assert!(wall(both) > wall(first), "the time of both parts");
}

#[test]
fn rows_that_are_gone_are_measured_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = begin(folder.path());
    drop_lines(&folder.path().join("measurements.csv"), 2);
    let (after, _) = resume(folder.path());
    assert_eq!(after.measurements[0], before.measurements[0], "not run again");
    let cases = |run: &Run| run.measurements.iter().map(|row| row.case.clone()).collect::<Vec<_>>();
    assert_eq!(cases(&after), cases(&before));
    assert_eq!(after.ledger.len(), before.ledger.len(), "no buffer twice");
}

#[test]
fn skipped_cases_get_another_chance() {
    let folder = tempfile::tempdir().expect("a folder");
    Ended::good(run_in(folder.path(), &[CONV, "--algorithm", "direct", "--time-budget", "0s"]));
    let ended = Ended::good(run_in(folder.path(), &[CONV, "--algorithm", "direct", "--time-budget", "100ms", "--resume"]));
    let statuses: Vec<Status> = Run::read(folder.path()).expect("a run").measurements.iter().map(|row| row.status).collect();
    assert_eq!(statuses, [Status::Ok], "{}", ended.stderr);
}

#[test]
fn a_folder_without_a_run_is_begun() {
    let folder = tempfile::tempdir().expect("a folder");
    Ended::good(run_in(&folder.path().join("new"), &[CONV, "--algorithm", "direct", "--time-budget", "0s", "--resume"]));
    assert_eq!(Run::read(&folder.path().join("new")).expect("a run").measurements.len(), 1);
}

#[test]
fn what_does_not_go_with_the_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = begin(folder.path());
    let told = |args: &[&str]| Ended::error(run_in(folder.path(), args)).replace(&folder.path().display().to_string(), "FOLDER");
    let seed = told(&[&SHORT[..], &["--resume", "--seed", "12"]].concat());
    assert_eq!(seed, "convledger: --seed 12, but the run in FOLDER began with --seed 11");
    let unnamed = told(&["--resume"]);
    let expected = "convledger: --resume: name the convolutions of the run in FOLDER again; it was begun as: ";
    assert!(unnamed.starts_with(expected) && unnamed.contains(CONV), "{unnamed}");
    assert_eq!(Run::read(folder.path()).expect("a run"), before);
}

#[test]
fn files_that_are_not_a_run_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    begin(folder.path());
    let path = folder.path().join("measurements.csv");
    let text = fs::read_to_string(&path).expect("the file");
    fs::write(&path, text.replacen(",ok,", ",splendid,", 1)).expect("written");
    let line = Ended::error(run_in(folder.path(), &[&SHORT[..], &["--resume"]].concat()));
    let expected = "convledger: FOLDER/measurements.csv, line 2, column status: \"splendid\" is not known, must be ";
    assert!(line.replace(&folder.path().display().to_string(), "FOLDER").starts_with(expected), "{line}");
}
