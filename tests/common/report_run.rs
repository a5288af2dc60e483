//! A run for reports to be made of: one that is kept in `results/`, and rows nobody would want to meet.

use convledger::claims;
use convledger::record::{CaseRows, Measurement, Run, RunDirectory, Status};
use std::fs;
use std::path::{Path, PathBuf};

/// Names of layers that must neither run nor break a page.
pub(crate) const HOSTILE: [&str; 9] = [
    "<script>window.pwned=1;alert(1)</script>",
    "\"><img src=x onerror=\"window.pwned=1\">",
    "' onfocus='window.pwned=1' autofocus='",
    "=cmd|' /C calc'!A0",
    "\u{202e}txet desrever",
    "two\nlines\tand a tab",
    "{{ 7*7 }}{% for x in y %}",
    "</title></svg></details><script>window.pwned=1</script>",
    "&lt;b&gt; & \u{0}\u{7}",
];

/// The first run of `results/`, by name.
pub(crate) fn kept() -> PathBuf {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let folders = fs::read_dir(&results).expect("results/ is there").map(|entry| entry.expect("readable").path());
    let mut runs: Vec<PathBuf> = folders.filter(|path| path.join("measurements.csv").is_file()).collect();
    runs.sort();
    runs.into_iter().next().expect("a run is kept in results/")
}

/// Writes the kept run with hostile rows into `folder`, in as many copies of each layer as asked for; returns what was written.
pub(crate) fn doctored(folder: &Path, copies: usize) -> Run {
    let kept = Run::read(&kept()).expect("a run");
    let mut directory = RunDirectory::create(folder, &kept.environment).expect("a fresh folder");
    let mut append = |measurement: &Measurement, layer: Option<&str>| {
        let mut rows = CaseRows {
            measurement: measurement.clone(),
            ledger: kept.ledger.iter().filter(|row| row.case == measurement.case).cloned().collect(),
            steps: kept.steps.iter().filter(|row| row.case == measurement.case).cloned().collect(),
            samples: Vec::new(),
        };
        if let Some(layer) = layer {
            rows.measurement.case.layer = layer.into();
            rows.ledger.iter_mut().for_each(|row| row.case.layer = layer.into());
            rows.steps.iter_mut().for_each(|row| row.case.layer = layer.into());
        }
        directory.append(&rows).expect("appended");
    };
    for copy in 0..copies {
        for row in &kept.measurements {
            let name = format!("{}.{copy}", row.case.layer);
            append(row, (copy > 0).then_some(name.as_str()));
        }
    }
    let timed: Vec<&Measurement> = kept.measurements.iter().filter(|row| row.status == Status::Ok).take(3).collect();
    let long = "long".repeat(2500);
    for (i, name) in HOSTILE.iter().copied().chain([long.as_str()]).enumerate() {
        for row in &timed {
            append(row, Some(name));
        }
        let status = [Status::Wrong, Status::Crashed, Status::OverLimit, Status::Skipped][i % 4];
        let mut failed = timed[0].clone();
        failed.case.algorithm = name.chars().take(200).collect();
        (failed.status, failed.reason, failed.time_median_ns) = (status, name.into(), None);
        append(&failed, Some(name));
    }
    let claim = claims::Row {
        id: "hostile".into(),
        article: HOSTILE[0].into(),
        statement: HOSTILE[1].into(),
        figure: String::new(),
        source: claims::Source::ClosedForm,
        claimed: "110".into(),
        unit: "MB".into(),
        ours: Some(115_605_504.0),
        ours_unit: "B".into(),
        reading: "MiB".into(),
        ours_in_reading: Some(110.25),
        deviation_percent: None,
        verdict: claims::Verdict::HoldsInMib,
        claim_verdict: claims::Verdict::HoldsInMib,
        how: HOSTILE[2].into(),
        reason: String::new(),
    };
    fs::write(folder.join(claims::FILE), claims::to_csv(&[claim]).expect("a table")).expect("written");
    drop(directory);
    Run::read(folder).expect("what was written")
}
