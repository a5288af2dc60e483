//! The README says what the program says.

use convledger::account::Filed;
use convledger::experiment::EXPERIMENTS;
use convledger::record::Status;
use convledger::suite::Suite;
use convledger::units::Grouped;

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("README.md")
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
    for folder in folders.iter().filter(|f| f.join("README.md").exists() && f.join("measurements.csv").exists()) {
        let run = convledger::record::Run::read(folder).unwrap_or_else(|error| panic!("{error}"));
        assert!(run.measurements.iter().any(|row| row.status == Status::Ok), "{}", folder.display());
        assert!(run.measurements.iter().all(|row| !row.status.is_failure()), "{}", folder.display());
    }
    assert!(folders.iter().any(|f| f.join("README.md").exists()), "no run of results/ has a README");
}

/// Experiments are kept whole: each with the columns that this version documents, and with what it showed.
#[test]
fn kept_experiments_are_as_this_version_writes_them() {
    let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let folders = std::fs::read_dir(results).expect("results").map(|entry| entry.expect("entry").path());
    let folders: Vec<_> = folders.filter(|folder| folder.to_string_lossy().ends_with("-memory")).collect();
    assert!(!folders.is_empty(), "results/ holds no experiments");
    for folder in folders {
        assert!(folder.join("README.md").exists(), "{}", folder.display());
        for experiment in EXPERIMENTS {
            let read = |extension: &str| {
                let path = folder.join(format!("{}.{extension}", experiment.name));
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            };
            let columns: Vec<&str> = experiment.columns().map(|column| column.name).collect();
            let csv = read("csv");
            assert_eq!(csv.lines().next(), Some(columns.join(",").as_str()), "{}", experiment.name);
            let told: serde_json::Value = serde_json::from_str(&read("json")).expect("JSON");
            assert_eq!((&told["experiment"], &told["grows"]), (&experiment.name.into(), &false.into()));
            assert!(told["sentences"].as_array().is_some_and(|sentences| !sentences.is_empty()), "{}", experiment.name);
        }
    }
}

#[test]
fn it_names_every_experiment() {
    for experiment in EXPERIMENTS {
        assert!(readme().contains(&format!("`{}`", experiment.name)), "README.md does not name `{}`", experiment.name);
    }
}

/// The worked example of the documentation is the account that is kept, which closes.
#[test]
fn the_documented_account_is_the_kept_one() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/memory.md")).expect("docs/memory.md");
    let path = text.split("../").find_map(|rest| Some(rest.split_once("/account.csv)")?.0)).expect("a link to the account");
    let filed = Filed::read(&root.join(path)).expect("as this version writes it").expect("there");
    for line in filed.bridge().lines {
        let documented = text.lines().any(|row| row.contains(&line.name) && row.contains(&line.amount()) && row.ends_with(&line.how));
        assert!(documented, "{} {} {}", line.name, line.amount(), line.how);
    }
    for row in &filed.runtime {
        let resident = Grouped(row.resident_bytes.expect("told")).to_string();
        assert!(
            text.lines().any(|line| line.starts_with(&format!(" {}", row.stage)) && line.contains(&resident)),
            "{} {resident}",
            row.stage
        );
    }
    assert!(text.contains(&filed.verdict()) && filed.verdict().starts_with("closed"), "{}", filed.verdict());
}
