//! `convledger report`, and the report that `run` makes.

#[path = "../common/report_run.rs"]
mod report_run;

use crate::{CONV, Ended, convledger, errors, run_in, without_driver};
use convledger::record::{Run, Status};
use report_run::{HOSTILE, doctored, kept};
use std::fs;
use std::path::Path;

/// A copy of the kept run, without what is too large to be kept.
fn copy(to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for file in ["environment.json", "measurements.csv", "ledger.csv"] {
        fs::copy(kept().join(file), to.join(file)).expect("copied");
    }
}

fn page(folder: &Path) -> String {
    fs::read_to_string(folder.join("report.html")).expect("a page")
}

#[test]
fn a_report_needs_no_device_no_stages_and_nothing_from_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    copy(&run);
    let told = Ended::good(without_driver(&["report", &run.display().to_string()])).stdout;
    assert_eq!(told, format!("{}\n", run.join("report.html").display()));
    let page = page(&run);
    let rows = Run::read(&run).expect("a run").measurements;
    for row in &rows {
        assert!(page.contains(&row.case.conv.to_string()) && page.contains(&row.case.layer));
    }
    assert_eq!(page.matches("<tr data-a=").count(), rows.len(), "every row is in the table");
    for from_elsewhere in ["http://", "https://", "url(", "@import", "src="] {
        assert!(!page.contains(from_elsewhere), "{from_elsewhere}");
    }
    assert!(page.contains("<h2>Roofline</h2>") && page.contains("<h2>Accuracy</h2>") && page.contains("whole column matrix takes"));
    assert!(!page.contains("Time per stage:") && !page.contains("<h2>Claims</h2>"), "no steps.csv, no claims.csv");
    assert_eq!(fs::read_dir(&run).expect("readable").count(), 4, "nothing else is left behind");

    let out = folder.path().join("other.html");
    Ended::good(convledger(&["report", &run.display().to_string(), "--out", &out.display().to_string()]));
    assert_eq!(fs::read_to_string(out).expect("written"), page, "the same run, the same page");
}

#[test]
fn hostile_names_are_text_and_failures_are_told_with_their_reasons() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let rows = doctored(&run, 1).measurements;
    Ended::good(convledger(&["report", &run.display().to_string()]));
    let page = page(&run);
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<img") && page.contains("&lt;script&gt;"));
    for name in HOSTILE.iter().filter(|name| name.contains('<')) {
        assert!(!page.contains(name), "{name}");
    }
    assert!(page.contains("{{ 7*7 }}"), "a template in a name stays what it is");
    for status in [Status::Wrong, Status::Crashed, Status::OverLimit, Status::Skipped, Status::Unsupported] {
        let count = rows.iter().filter(|row| row.status == status).count();
        assert!(page.contains(&format!("<code>{}</code> {count}: ", status.name())), "{}", status.name());
    }
    assert!(page.contains("<h2>Claims</h2>") && page.contains("holds_in_mib") && page.contains("115,605,504 B"));
    assert!(page.contains("cases failed"), "the headline says so");
}

#[test]
fn charts_become_files_in_both_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    let (run, charts) = (folder.path().join("run"), folder.path().join("a/b"));
    doctored(&run, 1);
    let (run, into) = (run.display().to_string(), charts.display().to_string());
    let told = Ended::good(convledger(&["report", &run, "--charts", &into, "--format", "svg", "--format", "png"])).stdout;
    let files: Vec<String> =
        fs::read_dir(&charts).expect("made").map(|entry| entry.expect("readable").file_name().into_string().expect("plain")).collect();
    assert!(told.ends_with(&format!("{} charts: {into}\n", files.len() / 2)), "{told}");
    assert!(files.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))), "{files:?}");
    for name in ["roofline", "accuracy", "im2col-blow-up"] {
        let file = |extension: &str| fs::read(charts.join(format!("{name}.{extension}"))).expect(name);
        assert!(file("svg").starts_with(b"<svg ") && file("png").starts_with(b"\x89PNG"));
    }
    for what in ["time-against-workspace", "ledgers", "stages"] {
        assert!(files.iter().any(|name| name.starts_with("layer-001-") && name.ends_with(&format!("-{what}.svg"))), "{files:?}");
    }
}

#[test]
fn runs_that_are_empty_interrupted_or_without_success_have_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    copy(&run);
    let whole = fs::read_to_string(run.join("measurements.csv")).expect("text");
    let header = whole.lines().next().expect("a header").to_owned() + "\n";
    let report = || {
        Ended::good(convledger(&["report", &run.display().to_string()]));
        page(&run)
    };
    fs::write(run.join("measurements.csv"), &header).expect("written");
    assert!(report().contains("The run has no case yet."));
    fs::write(run.join("measurements.csv"), &whole[..whole.len() / 2]).expect("written");
    assert!(report().contains("<h2>Roofline</h2>"), "what is whole counts");
    let failed: String = whole.lines().skip(1).filter(|line| line.contains(",unsupported,")).map(|line| line.to_owned() + "\n").collect();
    fs::write(run.join("measurements.csv"), header + &failed).expect("written");
    let page = report();
    assert!(page.contains("No case was verified and timed, so there are no times to compare.") && page.contains("nothing timed"));
    let environment = fs::read_to_string(run.join("environment.json")).expect("text");
    let mut value: serde_json::Value = serde_json::from_str(&environment).expect("JSON");
    value["expense"] = serde_json::Value::Null;
    value["peaks"] = serde_json::Value::Null;
    fs::write(run.join("environment.json"), value.to_string()).expect("written");
    fs::write(run.join("measurements.csv"), &whole).expect("written");
    let page = report();
    assert!(page.contains("the run did not come to its end") && page.contains("did not measure its device&#x27;s limits"), "no roof");
}

#[test]
fn a_run_makes_its_report_and_survives_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let run = |name: &str, more: &[&str]| {
        let mut args = vec![CONV, "--algorithm", "direct", "--time-budget", "1s"];
        args.extend(more);
        run_in(&path(name), &args)
    };
    let told = Ended::good(run("with", &[])).stdout;
    assert!(told.ends_with(&format!("The same to look at: {}\n", path("with").join("report.html").display())), "{told}");
    assert!(page(&path("with")).contains("data-a=\"direct\" data-s=\"ok\""));
    let told = Ended::good(run("without", &["--no-report"])).stdout;
    assert!(!told.contains("report") && !path("without").join("report.html").exists());
    fs::create_dir_all(path("blocked").join("report.html/in the way")).expect("made");
    let ended = Ended::good(run("blocked", &[]));
    assert!(ended.stderr.contains("no report: cannot write ") && ended.stdout.contains("Every case, buffer"), "{}", ended.stderr);
    assert!(Run::read(&path("blocked")).expect("whole").measurements.iter().all(|row| row.status == Status::Ok));
}

#[test]
fn faults_are_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let claimed = folder.path().join("claimed");
    copy(&claimed);
    fs::write(claimed.join("claims.csv"), "id,what\n1,2\n").expect("written");
    let good = folder.path().join("good");
    copy(&good);
    fs::write(path("file"), "").expect("written");
    let told = errors(&[
        &["report", &path("none")],
        &["report", &path("file")],
        &["report", &path("good"), "--out", &path("none/report.html")],
        &["report", &path("good"), "--out", &path("good")],
        &["report", &path("good"), "--charts", &path("file")],
    ]);
    insta::assert_snapshot!(told.replace(&path(""), "FOLDER/"), @r"
    $ report FOLDER/none
    convledger: FOLDER/none holds no run: it has no measurements.csv
    $ report FOLDER/file
    convledger: FOLDER/file holds no run: it has no measurements.csv
    $ report FOLDER/good --out FOLDER/none/report.html
    convledger: cannot write FOLDER/none/report.html: No such file or directory (os error 2)
    $ report FOLDER/good --out FOLDER/good
    convledger: cannot write FOLDER/good: Is a directory (os error 21)
    $ report FOLDER/good --charts FOLDER/file
    convledger: cannot create FOLDER/file: File exists (os error 17)
    ");
    let claims = Ended::error(convledger(&["report", &path("claimed")]));
    assert!(claims.contains("claims.csv") && claims.contains("columns"), "{claims}");
    let code = Ended::of(convledger(&["report", &path("good"), "--format", "png"]));
    assert!(code.code == Some(2) && code.stderr.contains("--charts"), "{}", code.stderr);
}
