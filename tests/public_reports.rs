//! Convolutions that people reported trouble with in public, each with the status a user should see.
//!
//! `data/public-reports.csv` names the report of each and says what becomes of it here: `whole` ones run on the device with every algorithm
//! that takes them and are compared whole, `closed_form` ones are too large for a test and are held at their shapes and bytes, `empty` ones
//! have nothing to compute, `refused` ones are no convolution.

#[path = "common/cases.rs"]
mod cases;
#[path = "common/device.rs"]
mod device;

use convledger::algorithm::{ALGORITHMS, find};
use convledger::conv::{Conv, ElementType, Pass, Tensor};
use convledger::plan::{Limits, Unsupported};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Report {
    id: String,
    conv: String,
    dtype: String,
    passes: String,
    output: String,
    column_elements: u64,
    expect: String,
    source: String,
}

impl Report {
    fn all() -> Vec<Self> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/public-reports.csv");
        csv::Reader::from_path(path).expect(path).deserialize().map(|row| row.expect("a row")).collect()
    }

    fn expecting(expect: &str) -> Vec<Self> {
        let some: Vec<Self> = Self::all().into_iter().filter(|report| report.expect == expect).collect();
        assert!(!some.is_empty(), "no report is {expect}");
        some
    }

    /// The convolution in each of its passes. Types there are no kernels of are counted in one of their size, or in f32.
    fn convs(&self) -> Vec<Conv> {
        let element = match self.dtype.as_str() {
            "bf16" => ElementType::F16,
            other => other.parse().unwrap_or(ElementType::F32),
        };
        let conv: Conv = self.conv.parse().unwrap_or_else(|error| panic!("{}: {error}", self.id));
        let conv = conv.with_element(element).expect("fits");
        self.passes.split('+').map(|pass| conv.with_pass(pass.parse::<Pass>().expect("a pass"))).collect()
    }
}

/// The output's extents as a person names them, outermost first.
fn output(conv: &Conv) -> String {
    let shape = conv.shape(conv.named(Tensor::Output));
    shape[2..].iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

#[test]
fn every_report_is_read() {
    let all = Report::all();
    assert_eq!(all.len(), 46);
    for report in &all {
        assert!(["whole", "closed_form", "empty", "refused"].contains(&report.expect.as_str()), "{report:?}");
        assert!(!report.source.is_empty(), "{report:?}");
        if !["f32", "f16"].contains(&report.dtype.as_str()) {
            let refused = report.dtype.parse::<ElementType>().expect_err(&report.dtype).to_string();
            assert_eq!(refused, format!("'{}' is not an element type: known are f32, f16, i8", report.dtype), "{}", report.id);
        }
    }
}

#[test]
fn impossible_ones_are_refused_with_the_number() {
    let told: Vec<String> =
        Report::expecting("refused").iter().map(|r| format!("{} {}", r.id, r.conv.parse::<Conv>().expect_err(&r.conv))).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    r21 'n1c1w8_k1s3_s3_p2147483647': padded extent of w is 4294967302, past the largest extent 4294967295
    r27 'n1c4294967311w1_k1s1': C is 4294967311, past the largest extent 4294967295
    r73 'n1c1h2w2_k1r3s3': kernel r spans 3 elements but h has only 2 with its padding
    ");
}

#[test]
fn empty_ones_have_nothing_to_compute() {
    for report in Report::expecting("empty") {
        for conv in report.convs() {
            assert!(conv.is_empty(), "{}", report.id);
            // Gradients of what there is are zero everywhere; the command line's tests write them.
            assert!(conv.result_elements() == 0 || conv.pass() != Pass::Forward, "{} {}", report.id, conv.pass());
        }
    }
}

#[test]
fn shapes_and_bytes_are_the_reported_ones() {
    for report in Report::all().iter().filter(|report| report.expect != "refused") {
        for conv in report.convs() {
            assert_eq!(output(&conv), report.output, "{}", report.id);
            // The column matrix of all images, unfolded or folded back.
            let bytes = find("im2col").expect("im2col").workspace(&conv.with_pass(Pass::Forward), &"batch".parse().expect("a variant"));
            assert_eq!(bytes.expect(&report.id).0, report.column_elements * conv.element().bytes(), "{}", report.id);
        }
    }
    let by_id = |id: &str| Report::all().into_iter().find(|report| report.id == id).expect("there").convs().remove(0);
    let columns = |id: &str| find("im2col").expect("im2col").workspace(&by_id(id), &"batch".parse().expect("a variant")).expect("fits").0;
    // The log says: required 21547008.
    assert_eq!(columns("r09"), 21_547_008);
    // More than 4 GB in f32, more than what 32 bits index.
    assert_eq!(columns("r13"), 16_562_257_920);
    assert_eq!(columns("r53"), 138_169_810_944);
}

/// Every algorithm answers for every report, on the least device there is and on one without limits: with a plan that keeps within its limits, or
/// with a reason that has numbers in it. What WebGPU guarantees is too little for these column matrices.
#[test]
fn large_ones_are_planned_or_refused_with_the_limit() {
    let mut over = 0;
    for report in Report::expecting("closed_form") {
        for conv in report.convs() {
            for (limits, name) in [(Limits::WEBGPU, "WebGPU"), (Limits::UNLIMITED, "no limit")] {
                for algorithm in ALGORITHMS {
                    for variant in algorithm.variants(&conv, &limits) {
                        let case = format!("{}: {} {} of {conv}, {name}", report.id, conv.pass(), variant.qualify(algorithm.id()));
                        match algorithm.plan(&conv, &variant, &limits) {
                            Ok(plan) => {
                                assert_eq!(
                                    Ok(plan.bytes(convledger::ledger::Ledger::Computation)),
                                    algorithm.workspace(&conv, &variant),
                                    "{case}"
                                );
                            }
                            Err(Unsupported::Variant(why)) => panic!("{case}: {why}"),
                            Err(why @ Unsupported::Limit { .. }) => {
                                over += 1;
                                assert!(why.to_string().chars().any(|c| c.is_ascii_digit()), "{case}: {why}");
                            }
                            // Of the algorithm itself, or of a device without 16-bit floats.
                            Err(Unsupported::Problem(why)) => {
                                assert!(why.starts_with(algorithm.id()) || why.contains("16-bit floats"), "{case}: {why}");
                            }
                        }
                    }
                }
            }
            let direct = find("direct").expect("direct").plan(&conv, &"".parse().expect("none"), &Limits::UNLIMITED);
            assert!(matches!(direct, Ok(_) | Err(Unsupported::Limit { .. })), "{}: {direct:?}", report.id);
        }
    }
    assert!(over > 100, "{over}");
}

#[test]
fn small_ones_are_right_with_every_algorithm() {
    let gpu = device::open();
    for report in Report::expecting("whole") {
        for conv in report.convs() {
            let mut verified = 0;
            for algorithm in ALGORITHMS {
                let variants = algorithm.variants(&conv, &gpu.limits);
                // The ends of its curve.
                let ends = [variants.first(), variants.last().filter(|_| variants.len() > 1)];
                for variant in ends.into_iter().flatten() {
                    let ran = cases::verify(&gpu, &conv, *algorithm, variant, &gpu.limits, 31);
                    verified += usize::from(ran.unwrap_or_else(|error| panic!("{}: {error}", report.id)));
                }
            }
            assert!(verified >= 3, "{} {}: only {verified} cases ran", report.id, conv.pass());
        }
    }
}
