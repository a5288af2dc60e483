//! The README says what the program says.

use convledger::algorithm::ALGORITHMS;
use convledger::record::Status;
use convledger::suite::Suite;

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("README.md")
}

#[test]
fn its_table_has_every_algorithm_as_it_is() {
    for algorithm in ALGORITHMS {
        let knobs: Vec<String> = algorithm.knobs().iter().map(|knob| format!("`{knob}`")).collect();
        let row = format!("| `{}` | {}", algorithm.id(), knobs.join(", "));
        let line = readme().lines().find(|line| line.starts_with(row.trim_end())).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("README.md has no line that begins {row:?}"));
        assert!(line.contains(&format!("`{}`", algorithm.workspace_formula())), "{line}");
        assert!(line.ends_with(&format!("| {} |", algorithm.summary())), "{line}");
    }
}

#[test]
fn it_names_every_suite_and_every_status() {
    let readme = readme();
    let statuses = [
        Status::Ok,
        Status::Wrong,
        Status::Unsupported,
        Status::OverLimit,
        Status::OverBudget,
        Status::OutOfMemory,
        Status::Timeout,
        Status::DeviceLost,
        Status::Crashed,
        Status::Skipped,
    ];
    for name in Suite::names().chain(statuses.iter().map(|s| s.name())) {
        assert!(readme.contains(&format!("`{name}`")), "README.md does not name `{name}`");
    }
}

/// Every run kept in the repository can still be read, has a README of its own, and holds nothing that failed.
#[test]
fn kept_results_are_whole() {
    let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let folders: Vec<_> = std::fs::read_dir(results).expect("results").map(|e| e.expect("entry").path()).filter(|p| p.is_dir()).collect();
    assert!(!folders.is_empty(), "results/ holds no run");
    for folder in folders.iter().filter(|f| f.join("README.md").exists()) {
        let run = convledger::record::Run::read(folder).unwrap_or_else(|error| panic!("{error}"));
        assert!(run.measurements.iter().any(|row| row.status == Status::Ok), "{}", folder.display());
        assert!(run.measurements.iter().all(|row| !row.status.is_failure()), "{}", folder.display());
    }
    assert!(folders.iter().any(|f| f.join("README.md").exists()), "no run of results/ has a README");
}
