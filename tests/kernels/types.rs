//! Element types beside f32: halves and bytes.

use crate::cases::verify;
use crate::{device, verify_all};
use convledger::algorithm::{Variant, find};
use convledger::conv::{Conv, ElementType};
use convledger::device::{Checks, Clock, Loaded};
use convledger::plan::{Limits, Plan};
use convledger::verify::{Expectation, Inputs, tolerance};

/// A convolution in another element type.
pub(crate) fn in_type(key: &str, element: ElementType) -> Conv {
    key.parse::<Conv>().expect(key).with_element(element).expect("fits")
}

/// Shapes for other element types: tensors and windows of an odd number of elements, groups, strides, every rank, an image per window.
const TYPED_SHAPES: [&str; 10] = [
    "n1c1h1w1_k1r1s1",
    "n3c5h7w9_k7r3s3_p2:0x0:1",
    "n1c3h31w29_k16r7s7_s2_p3",
    "n2c8h9w9_k8r3s3_p1_g8",
    "n1c6h10w11_k4r3s3_p1_g2",
    "n1c7h13w13_k33r1s1",
    "n2c16w50_k24s5_s2_p2",
    "n1c4d5h6w7_k6t3r3s3_p1",
    "n2c16h12w12_k32r3s3_p1",
    "n2c6h13w15_k12r3s3_p2_d2_g6",
];

#[test]
fn halves_are_right() {
    let gpu = device::open();
    assert!(gpu.limits.f16, "the device has no 16-bit floats");
    let mut verified = 0;
    for shape in &TYPED_SHAPES[1..] {
        verified += verify_all(&gpu, &in_type(shape, ElementType::F16), &gpu.limits, 17).unwrap_or_else(|error| panic!("{error}"));
    }
    let small = Limits { max_storage_binding_bytes: 10_000, max_workgroups: 13, ..gpu.limits.clone() };
    for shape in ["n5c3h17w19_k5r3s3_p1", "n3c8h9w9_k8r3s3_p1_g8", "n4c6w101_k5s3_s2"] {
        verified += verify_all(&gpu, &in_type(shape, ElementType::F16), &small, 17).unwrap_or_else(|error| panic!("{error}"));
    }
    for (id, shape) in [("implicit_gemm", "n3c15h7w9_k10r3s3_p1"), ("gemm_1x1", "n3c33h9w9_k11r1s1")] {
        let ran = verify(&gpu, &in_type(shape, ElementType::F16), find(id).expect(id), &Variant::knob("split", 5), &gpu.limits, 17);
        assert!(ran.unwrap_or_else(|error| panic!("{error}")), "{id} of {shape} did not run");
    }
    assert!(verified >= 60, "only {verified} cases ran");
}

#[test]
fn bytes_are_exact() {
    let gpu = device::open();
    let mut verified = 0;
    let more = ["n1c5h8w8_k3r5s2_s2x3_p2x1_d1x2", "n1c768w64_k96s16_p8_g16", "n1c3h17w19_k40r3s3", "n2c2w17_k3s2_s2"];
    for checks in [Checks::Off, Checks::On] {
        gpu.set_checks(checks);
        for shape in TYPED_SHAPES.iter().chain(&more) {
            let limits = Limits { packed_dot: checks == Checks::Off, ..gpu.limits.clone() };
            let ran = verify_all(&gpu, &in_type(shape, ElementType::I8), &limits, 23).unwrap_or_else(|error| panic!("{error}"));
            assert!(ran >= 3, "{shape}: only {ran} cases ran");
            verified += ran;
        }
    }
    let small = Limits { max_storage_binding_bytes: 5_000, max_workgroups: 13, ..gpu.limits.clone() };
    for shape in ["n5c3h7w9_k5r3s3_p1", "n3c9h9w9_k8r3s3_p1", "n4c6w101_k5s3_s2"] {
        verified += verify_all(&gpu, &in_type(shape, ElementType::I8), &small, 23).unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(verified >= 100, "only {verified} cases ran");
}

/// Sums of the largest products, where f32 no longer holds each integer.
#[test]
fn bytes_add_up_past_what_a_float_holds() {
    let gpu = device::open();
    let conv = in_type("n1c1025h1w1_k3r1s1", ElementType::I8);
    let inputs = Inputs { input: vec![-128.0; 1025], weights: [vec![-128.0; 2050], vec![127.0; 1025]].concat(), output: Vec::new() };
    for id in ["direct", "im2col", "implicit_gemm"] {
        let algorithm = find(id).expect(id);
        let variant = algorithm.variants(&conv, &gpu.limits).remove(0);
        let loaded = Loaded::new(&gpu, algorithm.plan(&conv, &variant, &gpu.limits).expect("supported"), 1).expect("loads");
        loaded.upload(Plan::INPUT, &inputs.input).expect("upload");
        loaded.upload(Plan::WEIGHTS, &inputs.weights).expect("upload");
        loaded.poison().expect("poison");
        loaded.execute(1, Clock::Host).expect("execute");
        let found = loaded.download(Plan::OUTPUT).expect("download");
        assert_eq!(found, vec![1025 * 16384, 1025 * 16384, -1025 * 16256].into(), "{id}");
        assert_eq!(Expectation::new(&conv, &inputs, 0).compare(&found).verdict(0.0), Ok(()), "{id}");
    }
}

/// Sums past the largest half come out infinite, and the verdict says so.
#[test]
fn halves_that_overflow_are_wrong() {
    let gpu = device::open();
    let conv = in_type("n1c64h6w6_k8r3s3_p1", ElementType::F16);
    let mut inputs = Inputs::random(&conv, 19);
    inputs.input.iter_mut().for_each(|x| *x = half::f16::from_f32(*x * 5000.0).to_f32());
    let plan = find("implicit_gemm").expect("id").plan(&conv, &Variant::none(), &gpu.limits).expect("supported");
    let loaded = Loaded::new(&gpu, plan, 1).expect("loads");
    loaded.upload(Plan::INPUT, &inputs.input).expect("upload");
    loaded.upload(Plan::WEIGHTS, &inputs.weights).expect("upload");
    loaded.execute(1, Clock::Host).expect("execute");
    let comparison = Expectation::new(&conv, &inputs, 19).compare(&loaded.download(Plan::OUTPUT).expect("download"));
    let wrong = comparison.verdict(tolerance(&conv, 1.0)).expect_err("infinite").to_string();
    assert!(wrong.contains("of 288 outputs are infinite, first at n0 k"), "{wrong}");
}
