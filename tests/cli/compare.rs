//! `convledger compare`: kept runs against themselves, against doctored copies, and against each other. No device.

use crate::{Ended, convledger};
use convledger::record::{Run, Status};
use csv::StringRecord;
use std::fs;
use std::path::{Path, PathBuf};

/// With samples.
pub(crate) const KEPT: &str = "tests/data/runs/default";
const PASSES: [&str; 2] = ["tests/data/runs/pass-1", "tests/data/runs/pass-2"];

pub(crate) fn kept(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name).display().to_string()
}

/// A run's folder copied, for changes.
pub(crate) fn copy(from: &str, to: &Path, files: &[&str]) {
    fs::create_dir_all(to).expect("a folder");
    for file in files {
        fs::copy(Path::new(from).join(file), to.join(file)).expect("copied");
    }
}

pub(crate) const ALL_FILES: [&str; 5] = ["environment.json", "measurements.csv", "ledger.csv", "steps.csv", "samples.csv"];

/// Rewrites the cells of a CSV file: `edit` is given the header and a row.
pub(crate) fn edit(file: &Path, mut edit: impl FnMut(&Cells<'_>, &mut Vec<String>)) {
    let mut reader = csv::Reader::from_path(file).expect("a CSV file");
    let header = reader.headers().expect("a header").clone();
    let rows: Vec<StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let mut writer = csv::WriterBuilder::new().from_path(file).expect("a file");
    writer.write_record(&header).expect("written");
    for row in rows {
        let mut cells: Vec<String> = row.iter().map(str::to_owned).collect();
        edit(&Cells(&header), &mut cells);
        writer.write_record(&cells).expect("written");
    }
    writer.flush().expect("written");
}

pub(crate) struct Cells<'a>(&'a StringRecord);

impl Cells<'_> {
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter()
    }

    pub(crate) fn at(&self, column: &str) -> usize {
        self.0.iter().position(|name| name == column).unwrap_or_else(|| panic!("no column {column}"))
    }
}

/// Makes every time of a case `factor` times as long, in a file of measurements or samples.
fn slow_down(file: &Path, layer: &str, algorithm: &str, factor: f64) {
    edit(file, |columns, row| {
        if row[columns.at("layer")] == layer && row[columns.at("algorithm")] == algorithm {
            for (name, cell) in columns.0.iter().zip(row) {
                if name.starts_with("time_") && !cell.is_empty() {
                    *cell = format!("{:?}", cell.parse::<f64>().expect("a time") * factor);
                }
            }
        }
    });
}

/// A copy of the kept run whose `resnet18.conv1`, computed by `direct_tiled`, is 1.5 times as slow, holds a MiB more, and whose smallest layer
/// has a case that came out wrong.
fn doctored(folder: &Path, files: &[&str]) -> String {
    copy(&kept(KEPT), folder, files);
    for file in files.iter().filter(|file| ["measurements.csv", "samples.csv"].contains(file)) {
        slow_down(&folder.join(file), "resnet18.conv1", "direct_tiled", 1.5);
    }
    edit(&folder.join("measurements.csv"), |columns, row| {
        let is = |column: &str, value: &str| row[columns.at(column)] == value;
        if is("layer", "resnet18.conv1") && is("algorithm", "direct_tiled") {
            row[columns.at("computation_allocated_bytes")] = "1048576".into();
        } else if is("layer", "wav2vec2.conv0") && is("algorithm", "implicit_gemm") && is("variant", "") {
            row[columns.at("status")] = "wrong".into();
            row[columns.at("reason")] = "rel_l2 0.5".into();
        }
    });
    folder.display().to_string()
}

/// Lines of a table that hold all these texts.
fn lines_with<'a>(text: &'a str, parts: &[&str]) -> Vec<&'a str> {
    text.lines().filter(|line| parts.iter().all(|part| line.contains(part))).collect()
}

#[test]
fn a_run_and_itself_are_the_same() {
    let run = kept(KEPT);
    let ended = Ended::good(convledger(&["compare", &run, &run, "--fail-on", "slower:0%,mean:0%,memory,status,missing,unsure"]));
    assert!(ended.stdout.contains("\nThe surroundings are the same.\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("66 cases: 0 SLOWER, 0 FASTER, 0 UNSURE, 49 SAME; 17 without two times\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Geometric mean of 49 ratios: 1.000 (95 % interval 1.000 to 1.000)\n"), "{}", ended.stdout);
    assert_eq!(ended.stderr, format!("note: {run} is the baseline's own folder: every measurement is compared with itself\n"));
    let all = Ended::good(convledger(&["compare", &run, &run, "--all"])).stdout;
    assert_eq!(lines_with(&all, &["identical", "SAME"]).len(), 49);
}

/// Every run that the repository keeps, whatever was measured.
#[test]
fn kept_results_are_the_same_as_themselves() {
    let folders = fs::read_dir(kept("results")).expect("results/").map(|entry| entry.expect("an entry").path());
    let runs: Vec<PathBuf> = folders.filter(|path| path.join("measurements.csv").exists()).collect();
    assert!(!runs.is_empty());
    for path in runs {
        let rows = Run::read(&path).expect("a run").measurements;
        let timed = rows.iter().filter(|row| row.status == Status::Ok).count();
        let path = path.display().to_string();
        let ended = Ended::good(convledger(&["compare", &path, &path, "--fail-on", "slower,mean,memory,status,missing,unsure"]));
        let tally = format!("cases: 0 SLOWER, 0 FASTER, 0 UNSURE, {timed} SAME");
        assert!(ended.stdout.contains(&tally), "{tally}:\n{}", ended.stdout);
    }
}

#[test]
fn a_doctored_copy_is_found_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = kept(KEPT);
    for (name, files, from) in [("with samples", &ALL_FILES[..], "samples"), ("without", &ALL_FILES[..3], "intervals")] {
        let bare = folder.path().join(format!("baseline {name}"));
        copy(&run, &bare, files);
        let bare = bare.display().to_string();
        let copy = doctored(&folder.path().join(name), files);
        let ended = Ended::of(convledger(&["compare", &bare, &copy, "--fail-on", "slower:5%,memory:512KiB,status,missing"]));
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stdout.contains("66 cases: 1 SLOWER, 0 FASTER, 0 UNSURE, 47 SAME; 18 without two times\n"), "{}", ended.stdout);
        let [line] = lines_with(&ended.stdout, &["  SLOWER"])[..] else { panic!("one line: {}", ended.stdout) };
        assert!(["resnet18.conv1", "direct_tiled", "  1.500  ", from].iter().all(|part| line.contains(part)), "{line}");
        let told: Vec<&str> = ended.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
        assert_eq!(told.len(), 3, "{}", ended.stderr);
        assert!(
            told[0].starts_with("convledger: --fail-on slower:5%: resnet18.conv1 direct_tiled takes 1.500 times as long (1."),
            "{}",
            told[0]
        );
        assert_eq!(
            told[1..],
            [
                "convledger: --fail-on memory:524288B: resnet18.conv1 direct_tiled has 1,048,576 B more in the computation ledger, allocated",
                "convledger: --fail-on status: wav2vec2.conv0 implicit_gemm was ok, is wrong: rel_l2 0.5",
            ]
        );
        assert_eq!(lines_with(&ended.stdout, &["direct_tiled", "computation  allocated", "+1,048,576 B"]).len(), 1, "{}", ended.stdout);
        // The other way round it is faster, and a rule that looks for slower cases holds.
        let back = Ended::good(convledger(&["compare", &copy, &bare, "--fail-on", "slower,memory,mean"]));
        assert!(back.stdout.contains("66 cases: 0 SLOWER, 1 FASTER, 0 UNSURE, 47 SAME"), "{}", back.stdout);
        // A threshold past the change makes it none.
        let wide = Ended::good(convledger(&["compare", &bare, &copy, "--threshold", "60%", "--fail-on", "slower"]));
        assert!(wide.stdout.contains("66 cases: 0 SLOWER, 0 FASTER, 0 UNSURE, 48 SAME"), "{}", wide.stdout);
    }
}

#[test]
fn programs_read_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = doctored(&folder.path().join("copy"), &ALL_FILES);
    let text = Ended::good(convledger(&["compare", &kept(KEPT), &copy, "--format", "csv"])).stdout;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let columns = Cells(&header);
    let rows: Vec<StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 66);
    let slower: Vec<_> = rows.iter().filter(|row| &row[columns.at("verdict")] == "SLOWER").collect();
    let [row] = slower[..] else { panic!("one: {slower:?}") };
    let number = |name: &str| row[columns.at(name)].parse::<f64>().expect(name);
    let (low, high) = (number("ratio_ci95_low"), number("ratio_ci95_high"));
    assert!((number("ratio") - 1.5).abs() < 1e-9 && low > 1.05 && low <= 1.5 && high >= 1.5, "{row:?}");
    assert_eq!((&row[columns.at("evidence")], &row[columns.at("computation_allocated_bytes_b")]), ("samples", "1048576"));

    let text = Ended::good(convledger(&["compare", &kept(KEPT), &copy, "--format", "json"])).stdout;
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let comparison = &json["comparisons"][0];
    assert_eq!(comparison["verdicts"], serde_json::json!({ "SLOWER": 1, "FASTER": 0, "UNSURE": 0, "SAME": 47 }));
    assert_eq!(comparison["cases"].as_array().map(Vec::len), Some(66));
    assert_eq!(json["threshold"], 0.05);
    let mean = &comparison["geometric_mean"];
    let expected = 1.5_f64.powf(1.0 / 48.0);
    assert!((mean["value"].as_f64().expect("a number") - expected).abs() < 1e-9, "{mean}");
}

/// Runs under other suite and layer names match by problem; what is in one only is listed; three runs make two comparisons.
#[test]
fn runs_of_other_suites_meet_where_their_problems_do() {
    let [one, two] = PASSES.map(kept);
    let main = kept(KEPT);
    let ended = Ended::good(convledger(&["compare", &one, &main, &two, "--repeat", &two]));
    let sections: Vec<&str> = ended.stdout.split("\ncompared: ").collect();
    assert_eq!(sections.len(), 3, "a baseline and two");
    assert!(sections[1].contains("there default/resnet18.layer1.0.conv1"), "{}", sections[1]);
    assert!(
        sections[1].contains("Only in the baseline, 24 cases:\n") && sections[1].contains("Only in the run compared, 50 cases:\n"),
        "{}",
        sections[1]
    );
    assert!(sections[1].contains("\n convledger commit ") && !sections[1].contains("driver"), "{}", sections[1]);
    // A repeat says of itself that all its differences are such as the baseline has by itself: nothing is beyond them.
    assert!(sections[2].contains("40 cases: 0 SLOWER, 0 FASTER, "), "{}", sections[2]);
    assert!(sections[2].contains("Caution: on the same device π, multiply-adds in f32 came to 0.657 of what it was."), "{}", sections[2]);
    assert!(sections[2].contains("repeats differ 82.0 %"), "{}", sections[2]);
    let without = Ended::good(convledger(&["compare", &one, &two])).stdout;
    assert!(without.contains("40 cases: 7 SLOWER, 3 FASTER, 14 UNSURE, 1 SAME; 15 without two times\n"), "{without}");
}

const HOSTILE: [&str; 4] =
    ["<script>alert(1)</script> | `x` \\| @someone #1 [a](http://b.c)", "\u{1b}[2Jgone\u{202e}", "=HYPERLINK(\"x\")", "long"];

/// Two runs without samples, the second slower, whose first layers bear these names, the last of them 10,000 characters long.
pub(crate) fn hostile(folder: &Path) -> [String; 2] {
    ["a", "b"].map(|name| {
        let to = folder.join(name);
        copy(&kept(KEPT), &to, &ALL_FILES[..3]);
        for file in ["measurements.csv", "ledger.csv"] {
            let mut seen: Vec<String> = Vec::new();
            edit(&to.join(file), |columns, row| {
                let layer = &mut row[columns.at("layer")];
                let at = seen.iter().position(|name| name == layer).unwrap_or_else(|| {
                    seen.push(layer.clone());
                    seen.len() - 1
                });
                match HOSTILE.get(at) {
                    Some(&"long") => *layer = "x".repeat(10_000),
                    Some(&"=HYPERLINK(\"x\")") => *layer = "'=HYPERLINK(\"x\")".into(),
                    Some(name) => (*name).clone_into(layer),
                    None => {}
                }
                let time = columns.0.iter().position(|name| name == "time_median_ns");
                if let Some(time) = time.filter(|_| name == "b") {
                    for cell in &mut row[time..time + 7] {
                        *cell = cell.parse::<f64>().map_or(String::new(), |t| format!("{:?}", 2.0 * t));
                    }
                }
            });
        }
        to.display().to_string()
    })
}

#[test]
fn names_do_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let [a, b] = hostile(folder.path());
    let text = Ended::good(convledger(&["compare", &a, &b, "--all"])).stdout;
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    assert!(text.lines().all(|line| line.chars().count() < 250), "the numbers stay on the screen");

    let markdown = Ended::good(convledger(&["compare", &a, &b, "--all", "--format", "markdown"])).stdout;
    assert!(lines_with(&markdown, &["SLOWER"]).len() > 20, "{markdown}");
    let mut columns = 0;
    for line in markdown.lines() {
        assert!(!line.contains('\u{1b}') && !line.contains("<script") && !line.contains("@someone") && !line.contains("](http"), "{line}");
        if line.starts_with('|') {
            let pipes = line.matches('|').count();
            assert!(columns == 0 || pipes == columns, "{columns} columns: {line}");
            columns = pipes;
        } else {
            columns = 0;
        }
    }
    assert!(markdown.contains("<code>&#60;script&#62;alert(1)&#60;/script&#62; &#124; &#96;x&#96; &#92;&#124; &#64;someone"), "{markdown}");
    assert_eq!(markdown.matches("<details").count(), markdown.matches("</details>").count());

    let csv = Ended::good(convledger(&["compare", &a, &b, "--format", "csv"])).stdout;
    assert!(csv.contains("\"'=HYPERLINK(\"\"x\"\")\""), "guarded as in all files");
    let ended = Ended::of(convledger(&["compare", &a, &b, "--fail-on", "slower"]));
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 2), "a note and a line: {}", ended.stderr);
    assert!(!ended.stderr.contains('\u{1b}') && ended.stderr.len() < 1000);
}

#[test]
fn faults_are_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = kept(KEPT);
    fs::create_dir(path("empty")).expect("a folder");
    copy(&run, Path::new(&path("newer")), &ALL_FILES[..3]);
    let file = path("newer/environment.json");
    fs::write(&file, fs::read_to_string(&file).expect("read").replace("\"schema_version\": 1", "\"schema_version\": 7")).expect("written");
    copy(&run, Path::new(&path("broken")), &ALL_FILES[..3]);
    slow_down(Path::new(&path("broken/measurements.csv")), "resnet18.conv1", "direct_tiled", f64::INFINITY);
    copy(&run, Path::new(&path("other")), &ALL_FILES[..3]);
    for file in ["measurements.csv", "ledger.csv"] {
        edit(Path::new(&path(&format!("other/{file}"))), |columns, row| row[columns.at("algorithm")].push('2'));
    }
    copy(&run, Path::new(&path("headless")), &["measurements.csv", "ledger.csv"]);
    let mut told = String::new();
    for args in [
        &["/nonexistent"][..],
        &[&path("empty")],
        &[&path("newer")],
        &[&path("broken")],
        &[&path("headless")],
        &[&path("other")],
        &[&run, "--repeat", &path("other")],
    ] {
        let args = [&["compare", &run], args].concat();
        told += &(Ended::error(convledger(&args)) + "\n");
    }
    let told = told.replace(&folder.path().display().to_string(), "TMP").replace(&run, "RUN");
    insta::assert_snapshot!(told, @r#"
    convledger: /nonexistent holds no run: it has no measurements.csv
    convledger: TMP/empty holds no run: it has no measurements.csv
    convledger: TMP/newer/environment.json: schema_version is 7, this version reads 1
    convledger: TMP/broken/measurements.csv, line 24, column time_median_ns: "inf" is not a finite number
    convledger: cannot read TMP/headless/environment.json: No such file or directory (os error 2)
    convledger: RUN and TMP/other have no case in common: the one has 66 cases of default, the other 66 cases of default
    convledger: --repeat TMP/other: no timed case in common with RUN
    "#);
}

/// A mistyped flag gets clap's lines, of which the first names the part.
#[test]
fn malformed_options_name_the_part() {
    let run = kept(KEPT);
    let mut told = String::new();
    for args in [
        &["--fail-on", "slower:5%,fast"][..],
        &["--fail-on", "slower:5%,,status"],
        &["--fail-on", "memory:1 potato"],
        &["--fail-on", "slower:-5%"],
        &["--fail-on", ""],
        &["--threshold", "0.05"],
        &["--threshold", "-5%"],
    ] {
        let ended = Ended::of(convledger(&[&["compare", &run, &run], args].concat()));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        told += &(ended.stderr.lines().next().unwrap_or_default().to_owned() + "\n");
    }
    let ended = Ended::of(convledger(&["compare", &run]));
    assert_eq!(ended.code, Some(2));
    told += ended.stderr.lines().next().unwrap_or_default();
    insta::assert_snapshot!(told, @r"
    error: invalid value 'fast' for '--fail-on <RULES>': a rule is slower[:PERCENT], mean[:PERCENT], memory[:BYTES], status, missing or unsure
    error: invalid value '' for '--fail-on <RULES>': a rule is slower[:PERCENT], mean[:PERCENT], memory[:BYTES], status, missing or unsure
    error: invalid value 'memory:1 potato' for '--fail-on <RULES>': '1 potato' is not a size in bytes: write a whole number, alone or followed by B, kB, MB, GB, KiB, MiB or GiB
    error: invalid value 'slower:-5%' for '--fail-on <RULES>': '-5%' is not a percentage of 0% to 1000%, such as 5%
    error: invalid value '' for '--fail-on <RULES>': a rule is slower[:PERCENT], mean[:PERCENT], memory[:BYTES], status, missing or unsure
    error: invalid value '0.05' for '--threshold <PERCENT>': '0.05' is not a percentage of 0% to 1000%, such as 5%
    error: invalid value '-5%' for '--threshold <PERCENT>': '-5%' is not a percentage of 0% to 1000%, such as 5%
    error: 2 values required by '<DIR> <DIR>...'; only 1 was provided
    ");
}

/// The paths of runs are told as they were typed.
#[test]
fn a_copy_is_told_to_be_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let to: PathBuf = folder.path().join("copy");
    copy(&kept(KEPT), &to, &ALL_FILES);
    let ended = Ended::good(convledger(&["compare", &kept(KEPT), &to.display().to_string(), "--fail-on", "unsure,slower"]));
    assert_eq!(ended.stderr, format!("note: {} is a copy of the baseline's run 20261129T235913Z-0a9d\n", to.display()));
}

#[test]
fn a_gate_of_times_without_any_time_is_no_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let bare = kept(KEPT);
    copy(&bare, folder.path(), &["environment.json", "measurements.csv", "ledger.csv"]);
    edit(&folder.path().join("measurements.csv"), |columns, row| {
        if row[columns.at("status")] == "ok" {
            row[columns.at("status")] = "timeout".into();
            for name in columns.names().map(str::to_owned).collect::<Vec<_>>() {
                if name.starts_with("time_") {
                    row[columns.at(&name)] = String::new();
                }
            }
        }
    });
    let other = folder.path().display().to_string();
    let ended = Ended::of(convledger(&["compare", &bare, &other, "--fail-on", "slower"]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("--fail-on slower: there is nothing to judge: none of "), "{}", ended.stderr);
}
