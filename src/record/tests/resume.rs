//! Interruption at every byte, and going on after it.

use super::*;

const NAMES: [&str; 4] = ["samples.csv", "steps.csv", "ledger.csv", "measurements.csv"];

#[test]
fn an_interruption_loses_only_the_case_in_flight() {
    let (folder, mut directory) = fresh();
    // Line breaks and quotes inside a cell make the end of a row hard to see.
    let (first, second) = (case_rows("one\n\"1\"", Status::Ok), case_rows("two\n\"\"\n", Status::Ok));
    directory.append(&first).expect("appends");
    let before = contents(folder.path());
    directory.append(&second).expect("appends");
    drop(directory);
    let after = contents(folder.path());
    let total: usize = NAMES.iter().map(|name| after[*name].len() - before[*name].len()).sum();

    for written in 0..total {
        let mut left = written;
        for name in NAMES {
            let kept = left.min(after[name].len() - before[name].len());
            left -= kept;
            fs::write(folder.path().join(name), &after[name][..before[name].len() + kept]).expect("writes");
        }
        let read = Run::read(folder.path()).expect("reads");
        assert_eq!(read.measurements, [first.measurement.clone()], "{written} of {total} bytes");
        assert_eq!(read.samples, first.samples);
        // Going on replaces files durably, which takes its time: not at every byte.
        if written % 9 != 0 {
            continue;
        }
        let mut resumed = RunDirectory::resume(folder.path()).expect("resumes");
        assert_eq!(resumed.done.into_iter().collect::<Vec<_>>(), [first.measurement.case.clone()]);
        assert_eq!(resumed.rows, read.measurements);
        assert_eq!(resumed.environment, read.environment);
        assert!(contents(folder.path()) == before, "{written} of {total} bytes");
        resumed.directory.append(&second).expect("appends");
        assert!(contents(folder.path()) == after, "{written} of {total} bytes");
    }
}

#[test]
fn skipped_cases_run_again_with_all_their_rows() {
    let (folder, mut directory) = fresh();
    let statuses = [("a", Status::Ok), ("b", Status::Skipped), ("c", Status::Timeout), ("d", Status::Skipped)];
    for (name, status) in statuses {
        directory.append(&case_rows(name, status)).expect("appends");
    }
    drop(directory);
    let Resumed { done, rows, .. } = RunDirectory::resume(folder.path()).expect("resumes");
    let names: Vec<_> = rows.iter().map(|row| row.case.layer.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    assert!(done.len() == 2 && rows.iter().all(|row| done.contains(&row.case)));
    let run = Run::read(folder.path()).expect("reads");
    assert_eq!((run.measurements.len(), run.ledger.len(), run.steps.len(), run.samples.len()), (2, 4, 2, 4));
    assert!(run.ledger.iter().all(|row| done.contains(&row.case)));
    let whole = contents(folder.path());
    assert_eq!(whole.len(), 5, "no temporary file stays");
    drop(RunDirectory::resume(folder.path()).expect("resumes"));
    assert!(contents(folder.path()) == whole, "a second time changes nothing");
}

#[test]
fn a_fresh_run_resumes_empty() {
    let (folder, directory) = fresh();
    drop(directory);
    let before = contents(folder.path());
    let resumed = RunDirectory::resume(folder.path()).expect("resumes");
    assert!(resumed.done.is_empty() && resumed.rows.is_empty());
    assert!(contents(folder.path()) == before);
}
