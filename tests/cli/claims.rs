//! `convledger claims`: the audit from closed forms, from a run, and measured; the kept audit and its page are what the program says.

use crate::{Ended, convledger, errors};
use convledger::claims::{Row, Source, Verdict, read};
use convledger::plan::DeviceClass;
use convledger::record::{Run, Status};
use std::fs;
use std::path::{Path, PathBuf};

/// Two claims: one by closed form, one that needs a run of two cases of a small layer.
const OWN: &str = r#"
[[claim]]
id = "X1"
article = "mine"
statement = "The column matrix | over the input"
with = { conv = "n1c4h8w8_k4r3s3_p1" }
figure = [{ claimed = "9", unit = "ratio", ours = "workspace('im2col:batch', conv) / input(conv)" }]

[[claim]]
id = "X2"
statement = "It is handed out, and there is quantum computing"
with = { conv = "n1c4h8w8_k4r3s3_p1" }
figure = [
  { name = "handed out", claimed = ">= 9.2", unit = "KB", ours = "measured_workspace('im2col:batch', conv)" },
  { name = "time", claimed = "> 0", unit = "ns", ours = "measured_time('im2col:batch', conv) + measured_time('implicit_gemm', conv)" },
  { name = "quantum", claimed = "1", ours = "measured_time('quantum', conv)" },
]
"#;

fn own(folder: &Path) -> String {
    let file = folder.join("own.toml");
    fs::write(&file, OWN).expect("written");
    file.display().to_string()
}

fn kept() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/claims.md")).expect("docs/claims.md");
    let name = page.split("](../results/").nth(1).and_then(|rest| rest.split('/').next()).expect("it links the run");
    root.join("results").join(name)
}

#[test]
fn without_a_run_every_claim_with_a_closed_form_is_decided() {
    let ended = Ended::good(convledger(&["claims"]));
    assert_eq!(ended.stderr, "");
    assert!(ended.stdout.ends_with("56 claims: 24 holds, 4 not_measured, 8 off, 20 fails.\n"), "{}", ended.stdout);
    let ended = Ended::good(convledger(&["claims", "--id", "A0[78]", "--id", "B0[67]", "--id", "A31"]));
    insta::assert_snapshot!(ended.stdout, @r"
     id   claim                                                                   claimed      ours        by  verdict
     A07  Output of ResNet-18's first convolution, batch 1                        3.14 MB  3.211 MB    -2.2 %  off
     A08  Output of ResNet-18's first convolution at batch 8, 16…: batch 8        25.1 MB  25.69 MB    -2.3 %  off
            batch 16                                                              50.2 MB  51.38 MB    -2.3 %  off
            batch 32                                                             100.4 MB  102.8 MB    -2.3 %  off
     A31  Two models on one device hold more workspace than twice one: 58…  > 2 times one         -            not_measured
     B06  Column matrix of a 3x3 convolution with padding…: by closed form         115 MB  115.6 MB            holds
            as allocated                                                           115 MB         -            not_measured
     B07  That column matrix over the input feature map: by closed form          30 ratio   9 ratio  +233.3 %  fails
            as allocated                                                         30 ratio         -            not_measured

    5 claims: 1 holds, 1 not_measured, 2 off, 1 fails.
    ");
}

#[test]
fn rows_as_csv_are_those_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new/folder");
    let ended = Ended::good(convledger(&["claims", "--format", "csv", "--out", &out.display().to_string()]));
    assert_eq!(ended.stdout, fs::read_to_string(out.join("claims.csv")).expect("the file"));
    let rows = read(&out.join("claims.csv")).expect("rows");
    assert!(rows.iter().all(|row| row.source == Source::Measured || row.verdict != Verdict::NotMeasured));
    assert!(rows.iter().any(|row| row.ours == Some(3_211_264.0) && row.ours_unit == "B" && row.verdict == Verdict::Off));
}

#[test]
fn claims_of_ones_own_are_measured_where_they_need_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (own(folder.path()), folder.path().join("run"));
    let mut command =
        convledger(&["claims", "--claims", &file, "--measure", "--time-budget", "2s", "--seed", "3", "--format", "csv", "--out"]);
    command.arg(&out).args(crate::device().iter().flat_map(|device| ["--device", device]));
    let ended = Ended::good(command);
    let rows = read(&out.join("claims.csv")).expect("rows");
    let verdicts: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
    let run = Run::read(&out).expect("a run");
    // Times of a software driver decide nothing.
    let timed = if run.environment.device.class == DeviceClass::Software { Verdict::NotTestableHere } else { Verdict::Holds };
    assert_eq!(verdicts, [Verdict::Holds, Verdict::Holds, timed, Verdict::NotTestableHere], "{}", ended.stderr);
    assert_eq!(
        (rows[0].source, rows[1].source, rows[3].reason.as_str()),
        (Source::ClosedForm, Source::Measured, "no algorithm quantum here")
    );
    let cases: Vec<_> = run.measurements.iter().map(|row| (row.case.suite.as_str(), row.status)).collect();
    assert_eq!(cases, [("claims", Status::Ok), ("claims", Status::Ok)], "only what the claims need");
    assert_eq!(run.environment.seed, 3);

    // The same from the run's files, without a device.
    let out = out.display().to_string();
    let again = Ended::good(crate::without_driver(&["claims", "--claims", &file, "--run", &out, "--format", "csv"]));
    assert_eq!(again.stdout, ended.stdout);
    let page = Ended::good(convledger(&["claims", "--claims", &file, "--run", &out, "--format", "markdown", "--id", "X1"])).stdout;
    assert!(page.contains("| X1 | The column matrix \\| over the input | 9 ratio | 9 ratio |  | `holds` |"), "{page}");
}

#[test]
fn nothing_to_measure_is_told() {
    let ended = Ended::good(crate::without_driver(&["claims", "--id", "C01", "--measure"]));
    assert_eq!(ended.stderr, "nothing to measure: these claims are decided by closed forms\n");
}

/// The page and the file kept in the repository are what the program says of the kept run today.
#[test]
fn the_kept_audit_is_current() {
    let run = kept();
    let of = |format: &str| Ended::good(convledger(&["claims", "--run", &run.display().to_string(), "--format", format])).stdout;
    let file = fs::read_to_string(run.join("claims.csv")).expect("claims.csv");
    assert_eq!(file, of("csv"), "make it again: convledger claims --run {0} --out {0}", run.display());
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/claims.md")).expect("docs/claims.md");
    assert!(
        page.contains(&of("markdown")),
        "put the output of `convledger claims --run {} --format markdown` into docs/claims.md",
        run.display()
    );
    let rows: Vec<Row> = read(&run.join("claims.csv")).expect("rows");
    let undecided = rows.iter().filter(|row| row.verdict == Verdict::NotMeasured).map(|row| &row.id).collect::<Vec<_>>();
    assert!(undecided.is_empty(), "not measured in the kept run: {undecided:?}");
}

#[test]
fn faults_are_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let claim = |ours: &str| format!("[[claim]]\nid = 'X'\nstatement = 's'\nfigure = [{{ claimed = '1', ours = \"{ours}\" }}]\n");
    let files = [
        ("loop.toml", claim("'a' * 90000000")),
        ("typo.toml", claim("parametres('n1c1w1_k1s1')")),
        ("conv.toml", claim("output('n1c1w1_k2s2')")),
        ("binary.toml", "\u{0}".into()),
        ("large.toml", "#".repeat((1 << 20) + 1)),
    ];
    for (name, text) in &files {
        fs::write(path(name), text).expect("written");
    }
    fs::write(path("latin.toml"), [0x23, 0xe9, 0x0a]).expect("written");
    let told = errors(&[
        &["claims", "--id", "Z9"],
        &["claims", "--id", "A[", "--format", "csv"],
        &["claims", "--claims", &path("none.toml")],
        &["claims", "--claims", &path("loop.toml")],
        &["claims", "--claims", &path("typo.toml")],
        &["claims", "--claims", &path("conv.toml")],
        &["claims", "--claims", &path("binary.toml")],
        &["claims", "--claims", &path("large.toml")],
        &["claims", "--claims", &path("latin.toml")],
        &["claims", "--run", &path("none")],
        &["claims", "--id", "C01", "--out", &path("typo.toml")],
    ]);
    insta::assert_snapshot!(told.replace(&path(""), "FOLDER/"), @r"
    $ claims --id Z9
    convledger: --id 'Z9' matches none of the claims: A01, A02, A03, A04, A05, A06, A07, A08, A09, A10, A11, A12, A13, A14, A15, A16, A17, A18, A19, A20, A21, A22, A23, A24, A25, A26, A27, A28, A29, A30, A31, A32, A33, A34, B01, B02, B03, B04, B05, B06, B07, B08, B09, B10, B11, B12, B13, B14, B15, B16, C01, C02, C03, C04, C05, C06
    $ claims --id A[ --format csv
    convledger: --id 'A[': unclosed character class; missing ']'
    $ claims --claims FOLDER/none.toml
    convledger: cannot read FOLDER/none.toml: No such file or directory (os error 2)
    $ claims --claims FOLDER/loop.toml
    convledger: FOLDER/loop.toml:4:35: engine ran out of fuel
    $ claims --claims FOLDER/typo.toml
    convledger: FOLDER/typo.toml:4:36: unknown function: parametres is unknown
    $ claims --claims FOLDER/conv.toml
    convledger: FOLDER/conv.toml:4:36: 'n1c1w1_k2s2': kernel s spans 2 elements but w has only 1 with its padding
    $ claims --claims FOLDER/binary.toml
    convledger: FOLDER/binary.toml:1:2: key with no value, expected `=`
    $ claims --claims FOLDER/large.toml
    convledger: FOLDER/large.toml: larger than 1048576 bytes, too large for a file of claims
    $ claims --claims FOLDER/latin.toml
    convledger: cannot read FOLDER/latin.toml: stream did not contain valid UTF-8
    $ claims --run FOLDER/none
    convledger: FOLDER/none holds no run: it has no measurements.csv
    $ claims --id C01 --out FOLDER/typo.toml
    convledger: cannot create FOLDER/typo.toml: File exists (os error 17)
    ");
}
