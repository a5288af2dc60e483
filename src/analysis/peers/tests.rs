use super::row::parse_rows;
use super::*;
use crate::record::{Cache, CaseKey, Measurement, Status};
use crate::runner::Prediction;
use crate::suite::Suite;
use std::path::Path;

const HEADER: &str = "peer,version,device,layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype,ms_median,ms_min,gflops";

fn rows(text: &str) -> Vec<PeerRow> {
    parse_rows(&format!("{HEADER}\n{text}"), Path::new("rows.csv")).expect(text)
}

fn fault(text: &str) -> String {
    parse_rows(text, Path::new("rows.csv")).expect_err(text).to_string()
}

fn measurement(layer: &str, key: &str, algorithm: &str, variant: &str, time: Option<f64>) -> Measurement {
    let case = CaseKey {
        suite: "s".into(),
        layer: layer.into(),
        conv: key.parse().expect(key),
        algorithm: algorithm.into(),
        variant: variant.parse().expect(variant),
        cache: Cache::Hot,
    };
    let row = Prediction::of_problem(case).measurement(Status::Ok, "");
    Measurement { time_median_ns: time, time_min_ns: time.map(|t| t / 2.0), algorithm_flops: Some(row.flops / 4), ..row }
}

/// 2·1·2·16·2·9 = 1152 operations.
const KEY: &str = "n1c2h4w4_k2r3s3_p1";

#[test]
fn a_case_becomes_a_row_that_reads_back() {
    let row = |m: &Measurement| PeerRow::of(m, "1.2.3", "llvmpipe (LLVM 15.0.6, 256 bits)");
    let ours = row(&measurement("=a", KEY, "im2col", "strip=2", Some(2000.0))).expect("a row");
    assert_eq!((ours.peer.as_str(), ours.device.as_str(), ours.ours()), ("convledger-im2col:strip=2", "llvmpipe", Some("im2col:strip=2")));
    let text = write_rows(std::slice::from_ref(&ours), false).expect("2-D");
    assert_eq!(text, format!("{HEADER}\nconvledger-im2col:strip=2,1.2.3,llvmpipe,'=a,1,2,4,4,2,3,3,1,1,1,1,f32,0.002000,0.001000,0.576\n"));
    let read = parse_rows(&text, Path::new("rows.csv")).expect("rows");
    assert_eq!(read, [PeerRow { operations: None, ..ours }]);
    let noisy = PeerRow { noise: Some(1.254), ..read[0].clone() };
    let text = write_rows(&[noisy], true).expect("2-D");
    assert_eq!(parse_rows(&text, Path::new("rows.csv")).expect("rows")[0].noise, Some(1.25));
}

#[test]
fn what_does_not_compare_has_no_row() {
    let row = |m: &Measurement| PeerRow::of(m, "1", "d");
    let good = measurement("a", KEY, "direct", "", Some(1.0));
    assert!(row(&good).is_some());
    assert_eq!(row(&measurement("a", KEY, "direct", "", None)), None);
    assert_eq!(row(&measurement("a", "n1c2w8_k2s3", "direct", "", Some(1.0))), None);
    assert_eq!(row(&Measurement { status: Status::Wrong, ..good.clone() }), None);
    assert_eq!(row(&Measurement { case: CaseKey { cache: Cache::Cold, ..good.case.clone() }, ..good }), None);
    let odd = PeerRow { conv: "n1c2w8_k2s3".parse().expect("key"), ..rows("p,1,d,a,1,2,4,4,2,3,3,1,1,1,1,f32,1,1,1")[0].clone() };
    let message = write_rows(&[odd], false).expect_err("1-D").to_string();
    assert!(message.starts_with("layer 'a' (n1c2w8_k2s3): rows for peers are of forward 2-D"), "{message}");
}

#[test]
fn files_of_others_are_read_as_they_are() {
    let text = "gflops,peer,version,device,layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype,ms_median,ms_min,note,noise\r\n\
                9,p,1,d,a,1,2,4,4,2,3,3,1,1,1,1,f32,0.5,0.25,x,1.10\r\n\r\n\
                ,p,1,d,b,1,2,4,4,2,3,3,1,1,1,1,f32,,,x,\r\n\
                -9,p,1,d,b,1,2,4,4,2,3,3,1,1,1,1,f32,-0.5,0.25,x,\r\n";
    let read = parse_rows(text, Path::new("rows.csv")).expect(text);
    assert_eq!(read.len(), 1, "rows without a time are no measurements");
    assert_eq!((read[0].median, read[0].min, read[0].noise), (Nanoseconds(5e5), Nanoseconds(2.5e5), Some(1.1)));
    assert!((read[0].gflops() - 1152.0 / 5e5).abs() < 1e-12, "by the layer, not by what the file says");
}

#[test]
fn faults_name_line_column_and_value() {
    for (text, message) in [
        ("", "rows.csv, line 1, column peer: is missing"),
        ("peer,version\n", "rows.csv, line 1, column device: is missing"),
        (&format!("{HEADER}\np,1\n"), "rows.csv, line 2: 2 cells, the header has 19"),
        (&format!("{HEADER}\np,1,d,a,x,2,4,4,2,3,3,1,1,1,1,f32,1,1,1\n"), "rows.csv, line 2, column n: 'x' is not a whole number"),
        (&format!("{HEADER}\np,1,d,a,1,2,4,4,2,3,3,1,1,1,1,f64,1,1,1\n"), "rows.csv, line 2, column dtype: 'f64' is not an element type"),
        (&format!("{HEADER}\np,1,d,a,1,2,4,4,2,3,3,1,1,1,1,f32,fast,1,1\n"), "rows.csv, line 2, column ms_median: 'fast' is not a number"),
        (
            &format!("{HEADER}\n\np,1,d,a,1,2,4,4,2,3,3,1,1,1,3,f32,1,1,1\n"),
            "rows.csv, line 3, column layer: is impossible: 3 groups do not divide C = 2 channels",
        ),
        (
            &format!("{HEADER}\n\"p\u{1b}[2J\",1,d,a,1,2,4,4,2,3,3,1,1,1,1,f32,1,1,1\n"),
            "rows.csv, line 2, column peer: 'p\\u{1b}[2J' has a control character",
        ),
    ] {
        assert_eq!(fault(text), message);
    }
}

/// `p`, a GPU, takes 4 and 3 ms; `q`, a CPU, 1 ms; this program 2 and 2.5 ms with one algorithm and 9 ms with another.
const PASSES: &str = "\
p,1,gpu,a,1,2,4,4,2,3,3,1,1,1,1,f32,4,4,1\n\
convledger-x,1,gpu,a,1,2,4,4,2,3,3,1,1,1,1,f32,2,2,1\n\
q,1,cpu-2t,a,1,2,4,4,2,3,3,1,1,1,1,f32,1,1,1\n\
convledger-y,1,gpu,a,1,2,4,4,2,3,3,1,1,1,1,f32,9,9,1\n\
p,1,gpu,a,1,2,4,4,2,3,3,1,1,1,1,f32,3,3,1\n\
convledger-x,1,gpu,a,1,2,4,4,2,3,3,1,1,1,1,f32,2.5,2.5,1\n\
p,1,gpu,only_theirs,1,2,4,4,2,3,3,1,1,1,1,f32,3,3,1\n\
convledger-y,1,gpu,only_ours,1,2,4,4,2,3,3,1,1,1,1,f32,3,3,1\n";

#[test]
fn the_fastest_of_both_sides_meet() {
    let merged = |statistic| merge(&rows(PASSES), statistic).expect("rows");
    let best = compare(&merged(Statistic::Best), None);
    let names: Vec<_> = best.layers.iter().map(|l| (l.layer.as_str(), l.ratio())).collect();
    assert_eq!(names, [("a", Some(1.5)), ("only_theirs", None), ("only_ours", None)]);
    let ours = best.layers[0].ours.as_ref().expect("ours");
    assert_eq!((ours.row.ours(), ours.passes, ours.spread), (Some("x"), 2, Some(1.25)));
    assert_eq!(best.layers[0].theirs.as_ref().map(|t| (t.row.peer.as_str(), t.spread)), Some(("p", Some(4.0 / 3.0))));
    assert!((best.geometric_mean().expect("a layer") - 1.5).abs() < 1e-12);
    // Of two passes the slower one is the middle.
    assert_eq!(compare(&merged(Statistic::Median), None).layers[0].ratio(), Some(4.0 / 2.5));
}

#[test]
fn one_name_for_two_problems_is_an_error() {
    let text = "p,1,d,a,1,2,4,4,2,3,3,1,1,1,1,f32,1,1,1\nq,1,d,a,1,2,5,4,2,3,3,1,1,1,1,f32,1,1,1";
    let message = merge(&rows(text), Statistic::Best).expect_err(text).to_string();
    assert_eq!(message, "layer 'a' is n1c2h4w4_k2r3s3_p1 in f32 in one place and n1c2h5w4_k2r3s3_p1 in f32 in another");
}

#[test]
fn the_share_of_the_peak_counts_the_operations_of_the_method() {
    let fast = measurement("a", KEY, "winograd_f4", "batch", Some(10.0));
    let rows = [PeerRow::of(&fast, "1", "d").expect("a row")];
    let comparison = compare(&merge(&rows, Statistic::Best).expect("rows"), Some(57.6));
    assert_eq!(comparison.layers[0].share_of_peak(57.6), Some(288.0 / 10.0 / 57.6));
    assert_eq!(comparison.geometric_mean(), None, "nobody to compare with");
}

/// The rows that the repository keeps: each of its layers has been run by GPU peers, and the fastest of them is known.
#[test]
fn kept_rows_cover_the_kept_layers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
    let layers = Suite::read_layers(&folder.join("layers.csv")).expect("layers").layers;
    let rows = read_rows(&folder.join("lavapipe.csv")).expect("rows");
    let comparison = compare(&merge(&rows, Statistic::Best).expect("rows"), None);
    assert_eq!(layers.len(), 13);
    for layer in &layers {
        let found = comparison.layers.iter().find(|l| l.layer == layer.name).unwrap_or_else(|| panic!("{}", layer.name));
        assert_eq!(found.conv, layer.conv, "{}", layer.name);
        let fastest = found.theirs.as_ref().expect("a GPU peer");
        assert!(fastest.row.device == "llvmpipe" && fastest.spread.is_some(), "{}", layer.name);
    }
    let fastest = |name: &str| {
        let layer = comparison.layers.iter().find(|l| l.layer == name).expect(name);
        layer.theirs.as_ref().map(|t| format!("{} {:.2}", t.row.peer, t.row.gflops())).expect(name)
    };
    assert_eq!(fastest("resnet_c2_3x3"), "ncnn-vulkan 9.98");
    assert_eq!(fastest("mobilenet_dw"), "tfjs-webgpu 1.04");
}
