//! The claims that come with the program, and what is answered to files of claims that say something else.

use super::*;
use crate::algorithm::Variant;
use crate::conv::Conv;
use crate::plan::DeviceClass;
use crate::record::{Cache, CaseKey, Measurement, Status};
use crate::runner::Prediction;
use std::collections::BTreeMap;
use std::sync::LazyLock;

fn audited(rows: Option<&[Measurement]>) -> Vec<Row> {
    audit(&builtin().expect("they are read"), rows.map(|rows| evidence(rows, DeviceClass::Discrete))).expect("they are audited")
}

/// Rows of a run with nothing beside them.
fn evidence(rows: &[Measurement], class: DeviceClass) -> Evidence<'_> {
    static NONE: LazyLock<Contexts> = LazyLock::new(Contexts::default);
    Evidence { rows, class, contexts: &NONE }
}

fn verdict_of(rows: &[Row], id: &str) -> Verdict {
    rows.iter().find(|row| row.id == id).unwrap_or_else(|| panic!("{id}")).claim_verdict
}

#[test]
fn all_56_claims_are_there_and_each_with_a_closed_form_is_decided() {
    let rows = audited(None);
    let mut claims: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        claims.entry(&row.id).or_default().push(row);
    }
    let expected =
        (1..=34).map(|n| format!("A{n:02}")).chain((1..=16).map(|n| format!("B{n:02}"))).chain((1..=6).map(|n| format!("C{n:02}")));
    assert_eq!(claims.keys().map(|id| (*id).to_owned()).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    for row in &rows {
        assert!(row.source == Source::Measured || row.verdict != Verdict::NotMeasured, "{row:?}");
        assert_eq!(row.ours.is_some(), row.verdict.is_decided(), "{row:?}");
        assert!(row.verdict.is_decided() || !row.reason.is_empty(), "{row:?}");
    }
    let undecided: Vec<&str> = claims.iter().filter(|(_, rows)| !rows[0].claim_verdict.is_decided()).map(|(id, _)| *id).collect();
    // Measured alone the first three, two contexts.
    assert_eq!(undecided, ["A28", "A29", "A30", "A31"]);
}

/// A few whose verdict anyone can check with pencil and paper.
#[test]
fn verdicts_of_the_closed_forms() {
    use Verdict::{Fails, Holds, Off};
    let rows = audited(None);
    let expected = [
        ("A01", Holds), // 32 * 3 * 9 * 4 = 3456
        ("A02", Holds), // 64 * 147 * 4 = 37632 = 294 * 128
        ("A03", Holds), // 37044, rounded up to 290 * 128
        ("A04", Fails), // nothing: 37632 and the multiples of 16384 are multiples of 128
        ("A06", Fails), // 16 B a parameter: 19.2 MB
        ("A07", Off),   // 64 * 112 * 112 * 4 = 3.211 MB = 3.0625 MiB
        ("A08", Off),   // the same, times 8, 16, 32
        ("A09", Fails), // linear
        ("A13", Fails), // 128 * 256 * 9 * 4 = 1180 KB
        ("A21", Fails), // growth falls with the size
        ("A32", Fails), // activations halve as well
        ("B07", Fails), // 9
        ("B08", Fails), // 347 MB
        ("B13", Holds), // 12, without gradients
        ("B16", Fails), // the tensor in between is added
        ("C04", Fails), // 4
        ("C05", Fails), // 800 MB
    ];
    for (id, verdict) in expected {
        assert_eq!(verdict_of(&rows, id), verdict, "{id}");
    }
}

fn measured(conv: Conv, case: &str, time: f64, workspace: u64) -> Measurement {
    let (algorithm, variant) = case.split_once(':').unwrap_or((case, ""));
    let variant: Variant = variant.parse().expect(case);
    let key = CaseKey { suite: "s".into(), layer: "l".into(), conv, algorithm: algorithm.into(), variant, cache: Cache::Hot };
    let row = Prediction::of_problem(key).measurement(Status::Ok, "");
    Measurement {
        time_median_ns: Some(time),
        computation_requested_bytes: Some(workspace),
        activation_requested_bytes: Some(row.activation_bytes),
        parameter_requested_bytes: Some(row.parameter_bytes),
        parameter_allocated_bytes: Some(row.parameter_bytes + 4),
        ..row
    }
}

/// What a run says decides what closed forms leave open: the fastest case, its workspace, and what a limit costs.
#[test]
fn measured_figures_come_from_the_rows_of_a_run() {
    let mut rows = Vec::new();
    for layer in crate::suite::Suite::builtin("resnet18").expect("built in").layers {
        rows.push(measured(layer.conv, "implicit_gemm", 100.0, 0));
        rows.push(measured(layer.conv, "winograd_f4:batch", 73.0, 210_000_000));
        rows.push(measured(layer.conv, "winograd_f4:tiles=64", 73.0 * 1.08, 26_000_000));
        // Wrong and cold ones do not count.
        rows.push(Measurement { status: Status::Wrong, ..measured(layer.conv, "winograd_f2:batch", 1.0, 1) });
        let mut cold = measured(layer.conv, "winograd_f6:batch", 1.0, 1);
        cold.case.cache = Cache::Cold;
        rows.push(cold);
    }
    let audited = audited(Some(&rows));
    let figure = |id: &str, at: usize| audited.iter().filter(|row| row.id == id).nth(at).expect(id);
    assert_eq!((figure("A29", 0).ours, figure("A29", 0).verdict), (Some(0.0), Verdict::Fails));
    assert_eq!((figure("A29", 1).ours, figure("A29", 1).verdict), (Some(210e6), Verdict::Holds));
    assert_eq!(figure("A29", 2).verdict, Verdict::Holds, "{:?}", figure("A29", 2));
    assert_eq!((figure("A30", 0).verdict, figure("A30", 0).source), (Verdict::Holds, Source::Measured));
    // Times of a CPU decide nothing about GPUs; bytes do.
    let software = super::audit(&builtin().expect("read"), Some(evidence(&rows, DeviceClass::Software))).expect("audited");
    let of = |at: usize| software.iter().filter(|row| row.id == "A29").nth(at).expect("A29");
    assert_eq!((of(0).verdict, of(1).verdict, of(2).verdict), (Verdict::Fails, Verdict::NotTestableHere, Verdict::NotTestableHere));
    assert_eq!(of(2).reason, "the run is of a software driver, whose times are those of a CPU");
    // What the run has not is told, with what became of it where it was tried.
    assert_eq!(figure("A28", 0).verdict, Verdict::NotMeasured);
    assert_eq!(figure("A28", 0).reason, "the run has no such case: implicit_gemm of n32c64h56w56_k128r3s3_p1");
    assert_eq!(figure("A28", 1).reason, "the run has no such case: winograd_f4 of n32c64h56w56_k128r3s3_p1");
    let conv: Conv = "n32c64h56w56_k128r3s3_p1".parse().expect("a key");
    let skipped = Measurement { status: Status::Skipped, reason: "time is up".into(), ..measured(conv, "implicit_gemm", 1.0, 0) };
    let told = super::audit(&builtin().expect("read"), Some(evidence(&[skipped], DeviceClass::Discrete))).expect("audited");
    let row = told.iter().find(|row| row.id == "A28").expect("A28");
    assert_eq!(row.reason, "implicit_gemm of n32c64h56w56_k128r3s3_p1: time is up");
}

/// A run for the claims needs each case once, and no case that the claims do not ask for.
#[test]
fn what_must_be_measured_follows_from_the_expressions() {
    let of = |text: &str| -> Vec<(Vec<String>, Vec<String>)> {
        let claims = parse(text, "f").expect("claims");
        let names = |suite: crate::suite::Suite| suite.layers.into_iter().map(|layer| layer.name).collect();
        needed(&claims).into_iter().map(|(suite, patterns)| (names(suite), patterns)).collect()
    };
    let claim =
        |id: &str, ours: &str| format!("[[claim]]\nid = '{id}'\nstatement = 's'\nfigure = [{{ claimed = '1', ours = \"{ours}\" }}]\n");
    let strings = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    assert_eq!(of(&claim("a", "1 + 1")), []);
    let text = claim("a", "measured_time('im2col:batch', 'n1c1h9w9_k1r3s3') / measured_time('direct', 'n1c1h9w9_k1r3s3')")
        + &claim("b", "measured_time('fft', 'n1c1h8w8_k1r3s3')")
        + &claim("c", "total(fastest('n1c1h7w7_k1r3s3'), 'n1c1h7w7_k1r3s3')")
        + &claim("d", "measured_workspace('direct', 'n1c1h7w7_k1r3s3')");
    assert_eq!(
        of(&text),
        [(strings(&["n1c1h9w9_k1r3s3"]), strings(&["direct", "im2col:batch"])), (strings(&["n1c1h7w7_k1r3s3"]), strings(&["!direct"])),]
    );
}

#[test]
fn patterns_select_claims() {
    let ids = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        select(builtin().expect("read"), &patterns).map(|claims| claims.into_iter().map(|claim| claim.id).collect::<Vec<_>>())
    };
    assert_eq!(ids(&["C0[12]", "A01"]).expect("ids"), ["A01", "C01", "C02"]);
    assert_eq!(ids(&[]).expect("ids").len(), 56);
    assert!(ids(&["A01", "Z*"]).expect_err("none").to_string().starts_with("--id 'Z*' matches none of the claims: A01, A02"));
    assert!(ids(&["["]).expect_err("no glob").to_string().starts_with("--id '[': "));
}

#[test]
fn a_wrong_file_is_told_with_line_column_and_value() {
    let claim = |figure: &str| format!("[[claim]]\nid = 'X'\nstatement = 's'\nfigure = [{figure}]");
    let faults = [
        ("", "f:1:1: it has no claim; one is written [[claim]] with id, statement and figure"),
        ("[[claim]]\nid = 1", "f:2:6: invalid type: integer `1`, expected a string"),
        ("[[claim]]\nid = 'X'\nmood = 'x'", "f:3:1: unknown field `mood`"),
        (&claim(""), "f:4:10: claim 'X' has no figure"),
        (&claim("{ claimed = '1' }"), "f:4:23: a figure has one of ours (an expression) and not_testable (a reason)"),
        (&claim("{ claimed = 'much', ours = '1' }"), "f:4:23: claimed 'much': 'much' is not a number"),
        (&claim("{ claimed = '1', ours = '1 + unknown(2)' }"), "f:4:40: unknown function: unknown is unknown"),
        (&claim("{ claimed = '1', ours = \"parameters('n0')\" }"), "f:4:36: "),
        (&claim("{ claimed = '1', ours = '1 +' }"), "f:4:"),
        (&claim("{ claimed = '1', ours = '' }"), "f:4:37: unexpected end of input, expected expression"),
        (&claim("{ claimed = '', ours = '1' }"), "f:4:23: claimed is empty"),
        (&claim("{ claimed = '1', unit = \"\\u0007\", ours = '1' }"), "f:4:35: unit '\\u{7}' has a control character"),
        (
            "[[claim]]\nid = 'X'\nstatement = 's'\nwith = { a = [1] }\nfigure = [{ claimed = '1', ours = '1' }]",
            "f:4:14: a in `with` is array",
        ),
        (
            &(claim("{ claimed = '1', ours = '1' }") + "\n" + &claim("{ claimed = '1', ours = '1' }")),
            "f:6:6: a second claim 'X', the first is on line 2",
        ),
    ];
    for (text, message) in faults {
        let error = parse(text, "f").expect_err(text).to_string();
        assert!(error.starts_with(message) && !error.contains('\n'), "{text}\n{error}");
    }
    let long = claim(&format!("{{ claimed = '1', name = '{}', ours = '1' }}", "x".repeat(1001)));
    assert_eq!(parse(&long, "f").expect_err("long").to_string(), "f:4:35: name has 1001 characters, more than 1000");
}

/// What goes wrong only with the numbers of a run is told with the place of the expression.
#[test]
fn an_expression_that_a_run_breaks_is_told_with_its_place() {
    let text =
        "[[claim]]\nid = 'X'\nstatement = 's'\nfigure = [{ claimed = '1', ours = \"1 / measured_workspace('direct', 'n1c1w9_k1s3')\" }]";
    let claims = parse(text, "f").expect("nothing wrong with 1");
    let rows = [measured("n1c1w9_k1s3".parse().expect("a key"), "direct", 1.0, 0)];
    let error = audit(&claims, Some(evidence(&rows, DeviceClass::Other))).expect_err("a division by 0").to_string();
    assert!(error.starts_with("f:4:35: unable to calculate 1 / 0"), "{error}");
}

#[test]
fn several_models_at_once_are_told_by_the_experiment_in_the_runs_folder() {
    let claims = super::select(builtin().expect("read"), &["A31".into()]).expect("there");
    let folder = tempfile::tempdir().expect("a folder");
    let none = Contexts::read(folder.path()).expect("none is no fault");
    let told = |contexts: &Contexts| audit(&claims, Some(Evidence { rows: &[], class: DeviceClass::Software, contexts })).expect("audited");
    let row = &told(&none)[0];
    assert_eq!((row.verdict, row.source), (Verdict::NotMeasured, Source::Measured));
    assert!(row.reason.contains("convledger experiment contexts --out FOLDER"), "{}", row.reason);

    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/results/2026-11-30-llvmpipe-llvm-15-0-6-256-bits-memory/contexts.csv");
    let text = std::fs::read_to_string(kept).expect("kept");
    let path = folder.path().join("contexts.csv");
    std::fs::write(&path, &text).expect("written");
    let row = &told(&Contexts::read(folder.path()).expect("as written"))[0];
    assert_eq!((row.verdict, row.ours), (Verdict::Off, Some(2.0)), "twice is not more than twice");
    // Another allocator, whose second model takes more.
    std::fs::write(&path, text.replacen("two_processes,2,1,1,7225344", "two_processes,2,1,1,17225344", 1)).expect("written");
    assert_eq!(told(&Contexts::read(folder.path()).expect("as written"))[0].verdict, Verdict::Holds);
    for (wrong, why) in [
        (text.replacen("7225344", "much", 1), "line 2: column workspace_bytes: \"much\" is not a number"),
        ("a,b\n".into(), "line 1: its columns"),
    ] {
        std::fs::write(&path, wrong).expect("written");
        let error = Contexts::read(folder.path()).expect_err("not as written").to_string();
        assert!(error.contains(why), "{error}");
    }
}
