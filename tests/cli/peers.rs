//! Layers files, rows for comparison with other programs, and the table made from them.

use crate::{Ended, convledger, errors, run_in};
use convledger::analysis::peers::{PeerRow, read_rows};
use convledger::record::{Run, Status};
use std::fs;
use std::path::Path;

const LAYERS: &str = "layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype\n\
                      first,1,4,8,8,4,3,3,1,1,1,1,f32\n\
                      \"second, strided\",2,4,9,7,6,3,3,2,1,1,2,f32\n";
const HEADER: &str = "peer,version,device,layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype,ms_median,ms_min,gflops";

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

/// One run serves the tests of rows and table.
#[test]
fn a_run_prints_its_rows_and_they_make_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let layers = written(folder.path(), "mine.csv", LAYERS);
    let out = folder.path().join("run");
    let args =
        ["--layers", &layers, "--format", "peers", "--algorithm", "direct", "--algorithm", "winograd_f2:batch", "--time-budget", "1s"];
    let ended = Ended::good(run_in(&out, &args));
    let run = Run::read(&out).expect("a run");
    assert_eq!(run.measurements.len(), 4);
    assert!(run.measurements.iter().all(|row| row.case.suite == "mine"));

    // Standard output is rows and nothing else; the rest is told beside it.
    assert_eq!(ended.stdout.lines().next(), Some(HEADER));
    assert!(ended.stderr.contains("\n4 cases: 3 ok, 1 unsupported\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("Every case, buffer, stage and sample: "), "{}", ended.stderr);
    let rows = read_rows(Path::new(&written(folder.path(), "rows.csv", &ended.stdout))).expect("rows");
    let named: Vec<_> = rows.iter().map(|row| (row.peer.as_str(), row.layer.as_str())).collect();
    assert_eq!(
        named,
        [("convledger-direct", "first"), ("convledger-winograd_f2:batch", "first"), ("convledger-direct", "second, strided")]
    );
    for (row, measured) in rows.iter().zip(run.measurements.iter().filter(|row| row.status == Status::Ok)) {
        assert_eq!(row.conv, measured.case.conv);
        let median = measured.time_median_ns.expect("a time");
        assert!((row.median.0 - median).abs() < 1.0, "{} ns for {median}", row.median.0);
        let device = &run.environment.device.name;
        assert!(device.starts_with(&row.device) && !row.device.contains(','), "{} for {device}", row.device);
    }

    // A peer that takes an hour for the first layer, and one of the CPU that is no GPU peer.
    let row = |peer: &str, device: &str, time: &str| format!("{peer},1,{device},first,1,4,8,8,4,3,3,1,1,1,1,f32,{time},{time},1\n");
    let theirs = [HEADER, "\n", &row("slow|gpu", &rows[0].device, "3600000"), &row("fast", "cpu-2t", "0.000001")].concat();
    let theirs = written(folder.path(), "theirs.csv", &theirs);
    let table = Ended::good(convledger(&["peers", &out.display().to_string(), "--against", &theirs, "--peak", "1000"]));
    assert_eq!(table.stderr, "");
    let lines: Vec<&str> = table.stdout.lines().collect();
    assert!(lines[2].starts_with("| first | `") && lines[2].contains(r"| slow\|gpu | 0.00 | - | "), "{}", table.stdout);
    assert!(lines[3].starts_with("| second, strided | `direct` | ") && lines[3].ends_with(" | - | - | - | - |"), "{}", table.stdout);
    assert!(table.stdout.contains("\nAhead on 1 of 1 layers; geometric mean of the ratios "), "{}", table.stdout);
    assert!(table.stdout.ends_with(" Best of 1 run here, of 1 row of theirs. π is 1000 GFLOP/s.\n"), "{}", table.stdout);

    let merged = Ended::good(convledger(&["peers", &out.display().to_string(), "--against", &theirs, "--format", "peers"]));
    let merged = read_rows(Path::new(&written(folder.path(), "merged.csv", &merged.stdout))).expect("rows");
    assert_eq!(
        merged.iter().map(|row| &row.peer).collect::<Vec<_>>(),
        ["convledger-direct", "convledger-winograd_f2:batch", "convledger-direct", "slow|gpu", "fast"]
    );
    assert_eq!(merged[..3], rows.iter().map(|row| PeerRow { operations: None, ..row.clone() }).collect::<Vec<_>>());
}

#[test]
fn another_device_is_pointed_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    Ended::good(run_in(&out, &["n1c4h8w8_k4r3s3_p1", "--algorithm", "direct", "--time-budget", "1s"]));
    let theirs = written(folder.path(), "theirs.csv", &format!("{HEADER}\np,1,Abacus 9,x,1,4,8,8,4,3,3,1,1,1,1,f32,1,1,1\n"));
    let ended = Ended::good(convledger(&["peers", &out.display().to_string(), "--against", &theirs]));
    assert!(ended.stderr.starts_with("caution: p ran on 'Abacus 9', this program on '"), "{}", ended.stderr);
    assert!(ended.stdout.contains("\nNo layer has a time on both sides."), "{}", ended.stdout);
}

/// The element type is the file's, unless the command line says another.
#[test]
fn layers_bring_their_element_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let layers = written(folder.path(), "half.csv", &LAYERS.replace("f32", "f16"));
    let types = |args: &[&str]| {
        let text =
            Ended::good(convledger(&[&["ledger", "--layers", &layers, "--format", "csv", "--algorithm", "direct"], args].concat())).stdout;
        text.lines().skip(1).map(|line| line.contains(",f16,")).collect::<Vec<_>>()
    };
    assert_eq!(types(&[]), [true, true]);
    assert_eq!(types(&["--dtype", "f32"]), [false, false]);
}

#[test]
fn faults_are_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let good = written(folder.path(), "good.csv", LAYERS);
    written(folder.path(), "again.csv", LAYERS);
    written(folder.path(), "cell.csv", &LAYERS.replace("2,4,9", "2,four,9"));
    written(folder.path(), "column.csv", "layer,n\nx,1\n");
    written(folder.path(), "rows.csv", &format!("{HEADER}\np,1,d,x,1,4\n"));
    let out = path("out");
    written(folder.path(), "fine.csv", &format!("{HEADER}\n"));
    let told = errors(&[
        &["run", "--layers", &path("none.csv")],
        &["ledger", "--layers", &path("")],
        &["run", "--layers", &path("cell.csv")],
        &["run", "--layers", &path("column.csv")],
        &["run", "n1c4w8_k4s3", "--format", "peers", "--out", &out],
        &["run", "--layers", &good, "--layers", &path("again.csv"), "--format", "peers", "--out", &out],
        &["run", "--layers", &good, "--format", "peers", "--cache", "both", "--out", &out],
        &["peers", &path("none"), "--against", &path("fine.csv")],
        &["peers", &path("none"), "--against", &path("rows.csv")],
        &["peers", &path("none"), "--against", &path("none.csv")],
    ]);
    let told = told.replace(&path(""), "FOLDER/");
    insta::assert_snapshot!(told, @r"
    $ run --layers FOLDER/none.csv
    convledger: FOLDER/none.csv: cannot read the suite: No such file or directory (os error 2)
    $ ledger --layers FOLDER/
    convledger: FOLDER/: is a directory, not a suite file
    $ run --layers FOLDER/cell.csv
    convledger: FOLDER/cell.csv:3:21: c of layer 'second, strided' is 'four', not a whole number
    $ run --layers FOLDER/column.csv
    convledger: FOLDER/column.csv:1:8: column 'c' is missing
    $ run n1c4w8_k4s3 --format peers --out FOLDER/out
    convledger: --format peers: layer 'n1c4w8_k4s3' (n1c4w8_k4s3): rows for peers are of forward 2-D convolutions with one stride, padding and dilation for all sides
    $ run --layers FOLDER/good.csv --layers FOLDER/again.csv --format peers --out FOLDER/out
    convledger: --format peers: layer 'first' comes up in two suites, which its rows do not tell apart
    $ run --layers FOLDER/good.csv --format peers --cache both --out FOLDER/out
    convledger: --format peers: its rows do not tell hot caches from cold ones; leave --cache at hot
    $ peers FOLDER/none --against FOLDER/fine.csv
    convledger: FOLDER/none holds no run: it has no measurements.csv
    $ peers FOLDER/none --against FOLDER/rows.csv
    convledger: FOLDER/rows.csv, line 2: 6 cells, the header has 19
    $ peers FOLDER/none --against FOLDER/none.csv
    convledger: FOLDER/none.csv: cannot read the rows: No such file or directory (os error 2)
    ");
    assert!(!Path::new(&out).exists(), "nothing was begun");
}
