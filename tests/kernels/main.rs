//! Every algorithm and variant on a device against the f64 reference: named odd shapes, random ones, a device cut small.

#[path = "../common/cases.rs"]
mod cases;

#[path = "../common/device.rs"]
mod device;

#[path = "../common/onnx_cases.rs"]
mod onnx_cases;

mod tiles;
mod types;

use cases::verify;
use convledger::algorithm::{ALGORITHMS, Variant, add_bias, find};
use convledger::conv::{Axis, Conv, ConvSpec, ElementType, Layout, Pass};
use convledger::device::{Checks, Clock, Gpu, Loaded};
use convledger::plan::{BufferId, Limits, Plan, Role, Unsupported};
use convledger::units::Bytes;
use convledger::verify::Inputs;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use types::in_type;

fn verify_all(gpu: &Gpu, conv: &Conv, limits: &Limits, seed: u64) -> Result<usize, String> {
    let mut verified = 0;
    for algorithm in ALGORITHMS {
        for variant in algorithm.variants(conv, limits) {
            verified += usize::from(verify(gpu, conv, *algorithm, &variant, limits, seed)?);
        }
    }
    Ok(verified)
}

/// Shapes that break kernels: odd sizes, edges, groups, every rank.
const SHAPES: [&str; 29] = [
    "n1c1h1w1_k1r1s1",
    "n1c64h14w14_k64r3s3_p1",
    "n2c3h17w19_k5r3s3_p1",
    "n3c5h7w9_k7r3s3_p2:0x0:1",
    "n1c4h12w12_k8r3s3",
    "n1c3h31w29_k16r7s7_s2_p3",
    "n2c8h9w9_k8r3s3_p1_g8",
    "n1c6h10w11_k4r3s3_p1_g2",
    "n1c4h16w16_k4r3s3_p2_d2",
    "n1c5h8w8_k3r5s2_s2x3_p2x1_d1x2",
    "n2c8h1w1_k8r2s2_p1:15",
    "n1c7h13w13_k33r1s1",
    "n2c16w50_k24s5_s2_p2",
    "n1c768w64_k96s16_p8_g16",
    "n1c4d5h6w7_k6t3r3s3_p1",
    "n1c2d4h9w9_k3t2r4s4_s1x2x2_p0x1x2",
    "n1c8h19w28_k3r19s28",
    "n1c20h5w33_k17r3s3_p1",
    "n4c2h2w2_k2r1s1_s2",
    "n2c6h13w15_k12r3s3_p2_d2_g6",
    "n1c3h40w8_k3r5s5_s2_p2_g3",
    "n1c130h6w6_k70r3s3_p1",
    "n2c5h13w11_k36r5s5_p2",
    "n1c36h9w14_k32r5s5_p3:1x4_d2x1",
    "n1c33h9w11_k20r1s7_p1x3",
    "n2c8h19w9_k64r7s1_p3x0_g2",
    "n3c6w50_k8s3_p1",
    "n2c4h11w12_k32r1s5_p0x4_d3x2",
    "n1c3h12w20_k5r5s1_p2x1_d2x1",
];

#[test]
fn odd_shapes_are_right_with_and_without_checks() {
    let gpu = device::open();
    for checks in [Checks::Off, Checks::On] {
        gpu.set_checks(checks);
        // Every shape without the checks, which kernels run without; some with them.
        let each = if checks == Checks::Off { 1 } else { 4 };
        for shape in SHAPES.into_iter().step_by(each) {
            let conv: Conv = shape.parse().expect(shape);
            let verified = verify_all(&gpu, &conv, &gpu.limits, 7).unwrap_or_else(|error| panic!("checks {checks:?}: {error}"));
            assert!(verified >= 3, "{shape}: only {verified} cases ran");
        }
    }
}

/// A device whose bindings and dispatches are so small that batches are cut into windows and dispatches into two dimensions.
#[test]
fn a_small_device_gets_the_same_results() {
    let gpu = device::open();
    let small = Limits { max_storage_binding_bytes: 20_000, max_workgroups: 13, ..gpu.limits.clone() };
    let mut verified = 0;
    for shape in [
        "n5c3h17w19_k5r3s3_p1",
        "n3c8h9w9_k8r3s3_p1_g8",
        "n4c6w101_k5s3_s2",
        "n3c2d4h5w6_k3t2r3s3_p1",
        "n2c9h16w16_k4r3s3_p1",
        "n3c6h13w14_k5r5s5_p2",
        "n5c7h12w9_k4r1s7_p0x3",
        "n4c6w101_k5s3",
    ] {
        let conv: Conv = shape.parse().expect(shape);
        verified += verify_all(&gpu, &conv, &small, 11).unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(verified >= 15, "only {verified} cases fit the small device");
    // Split sums whose parts are bound image by image, in dispatches of two dimensions.
    for (id, shape) in
        [("implicit_gemm", "n3c8h9w9_k8r3s3_p1"), ("implicit_gemm", "n2c15h7w9_k10r3s3_p1"), ("gemm_1x1", "n3c33h9w9_k11r1s1")]
    {
        let conv: Conv = shape.parse().expect(shape);
        let ran = verify(&gpu, &conv, find(id).expect(id), &Variant::knob("split", 5), &small, 11);
        assert!(ran.unwrap_or_else(|error| panic!("{error}")), "{id} of {shape} did not fit the small device");
    }
}

/// The backward passes, whole and on a device so small that sums are cut into windows; transposed convolutions are one of them.
#[test]
fn backward_passes_are_right() {
    let gpu = device::open();
    let small = Limits { max_storage_binding_bytes: 20_000, max_workgroups: 13, ..gpu.limits.clone() };
    for pass in [Pass::BackwardData, Pass::BackwardWeights] {
        for shape in SHAPES {
            let conv = shape.parse::<Conv>().expect(shape).with_pass(pass);
            let verified = verify_all(&gpu, &conv, &gpu.limits, 17).unwrap_or_else(|error| panic!("{error}"));
            assert!(verified >= 3, "{shape} {pass}: only {verified} cases ran");
        }
        let mut verified = 0;
        for shape in
            ["n5c3h17w19_k5r3s3_p1", "n3c8h9w9_k8r3s3_p1_g8", "n4c6w101_k5s3_s2", "n3c2d4h5w6_k3t2r3s3_p1", "n3c6h9w9_k4r3s3_s2_g2"]
        {
            let conv = shape.parse::<Conv>().expect(shape).with_pass(pass);
            verified += verify_all(&gpu, &conv, &small, 19).unwrap_or_else(|error| panic!("{error}"));
        }
        assert!(verified >= 15, "{pass}: only {verified} cases fit the small device");
    }
    for shape in ["n2c6h5w7_k4r3s3_s2_p1_t1", "n1c4h9w8_k6r4s4_s2x3_p1_g2_t0x2", "n3c5w11_k3s5_d2_t0", "n1c3d3h4w5_k2t2r3s3_s2_t1x0x1"] {
        for pass in Pass::ALL {
            let conv = shape.parse::<Conv>().expect(shape).with_pass(pass);
            let verified = verify_all(&gpu, &conv, &gpu.limits, 23).unwrap_or_else(|error| panic!("{error}"));
            assert!(verified >= 3, "{shape} {pass}: only {verified} cases ran");
        }
    }
}

/// Feature maps whose channels come last: converted for most algorithms, and a bias added to each channel.
#[test]
fn channels_may_come_last() {
    let gpu = device::open();
    let small = Limits { max_storage_binding_bytes: 20_000, max_workgroups: 13, ..gpu.limits.clone() };
    for (shape, limits) in [
        ("n2c6h9w10_k5r3s3_p1", &gpu.limits),
        ("n1c8h9w9_k8r3s3_s2_p1_g8", &gpu.limits),
        ("n3c3d3h5w4_k7t2r3s1_p1", &gpu.limits),
        ("n2c13w21_k5s4_d2", &gpu.limits),
        ("n4c6h9w9_k4r3s3_p1_g2", &small),
        ("n1c3h4w5_k6r2s2_s2_t1", &gpu.limits),
    ] {
        for pass in Pass::ALL {
            let conv = shape.parse::<Conv>().expect(shape).with_pass(pass).with_layout(Layout::Nhwc);
            let verified = verify_all(&gpu, &conv, limits, 29).unwrap_or_else(|error| panic!("nhwc: {error}"));
            assert!(verified >= 3, "{shape} {pass}: only {verified} cases ran");
        }
    }
}

fn conv() -> impl Strategy<Value = Conv> {
    let axis = (1_u64..14, 1_u64..5, 1_u64..3, 0_u64..3, 0_u64..3, 1_u64..3).prop_map(|(size, kernel, stride, before, after, dilation)| {
        Axis::new(size, kernel).stride(stride).pad(before, after).dilation(dilation)
    });
    // Half of them such that Winograd applies, in two dimensions or one.
    let taps = prop::sample::select(vec![(3, 3), (3, 3), (5, 5), (1, 3), (3, 1), (1, 5), (5, 1), (1, 7), (7, 1)]);
    let plain = (1_u64..20, 1_u64..20, 0_u64..3, 1_u64..3, taps)
        .prop_map(|(h, w, p, d, (r, s))| vec![Axis::new(h, r).pad(p, p).dilation(d), Axis::new(w, s).pad(p, p)]);
    let spatial = prop_oneof![prop::collection::vec(axis, 1..=3), plain];
    (1_u64..4, 1_u64..12, 1_u64..20, 1_u64..4, spatial)
        .prop_map(|(batch, cg, kg, groups, axes)| ConvSpec::new(batch, cg * groups, kg * groups, &axes).groups(groups))
        .prop_filter_map("kernel larger than input", |spec| spec.build().ok())
}

/// A convolution in any pass, element type and layout, plain ones more often.
fn problem() -> impl Strategy<Value = Conv> {
    let pass = prop::sample::select(vec![Pass::Forward, Pass::Forward, Pass::BackwardData, Pass::BackwardWeights]);
    let element = prop::sample::select(vec![ElementType::F32, ElementType::F32, ElementType::F16, ElementType::I8]);
    let layout = prop::sample::select(vec![Layout::Nchw, Layout::Nchw, Layout::Nhwc]);
    (conv(), pass, element, layout)
        .prop_map(|(conv, pass, element, layout)| conv.with_element(element).expect("small").with_pass(pass).with_layout(layout))
}

/// Every algorithm with every variant it proposes, in every pass, type and layout it says it computes; what fails is cut down to the smallest
/// convolution that still does.
#[test]
fn random_convolutions_are_right() {
    let gpu = device::open();
    let mut runner = TestRunner::new(Config { cases: 40, ..Config::default() });
    runner
        .run(&(problem(), any::<u64>()), |(conv, seed)| {
            verify_all(&gpu, &conv, &gpu.limits, seed).map_err(TestCaseError::fail)?;
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn bias_is_added_once_to_every_output() {
    let gpu = device::open();
    let conv: Conv = "n2c3h9w7_k5r3s3_p1".parse().expect("key");
    let algorithm = find("im2col").expect("im2col");
    let plan = algorithm.plan(&conv, &Variant::word("image"), &gpu.limits).expect("supported");
    let plan = add_bias(plan, &conv, &gpu.limits).expect("fits");
    let bias_id = BufferId(plan.buffers.iter().position(|b| b.role == Role::Bias).expect("bias"));
    let inputs = Inputs::random(&conv, 5);
    let bias = [1.5_f32, -2.0, 0.25, 100.0, -0.125];
    let loaded = Loaded::new(&gpu, plan, 1).expect("loads");
    loaded.upload(Plan::INPUT, &inputs.input).expect("upload");
    loaded.upload(Plan::WEIGHTS, &inputs.weights).expect("upload");
    loaded.upload(bias_id, &bias).expect("upload");
    for _ in 0..2 {
        loaded.poison().expect("poison");
        loaded.execute(1, Clock::Host).expect("execute");
        let output = loaded.download(Plan::OUTPUT).expect("download").into_floats();
        let expected = convledger::reference::whole(&conv, &inputs.input, &inputs.weights);
        let points = usize::try_from(conv.output_points()).expect("small");
        for (i, (value, expected)) in output.iter().zip(&expected).enumerate() {
            let expected = expected + f64::from(bias[i / points % 5]);
            assert!((f64::from(*value) - expected).abs() < 1e-4 * expected.abs().max(1.0), "output {i}: {value}, expected {expected}");
        }
    }
}

#[test]
fn poison_reaches_every_output_and_workspace() {
    let gpu = device::open();
    let conv: Conv = "n1c4h8w8_k4r3s3_p1".parse().expect("key");
    let plan = find("winograd_f4").expect("winograd_f4").plan(&conv, &Variant::word("batch"), &gpu.limits).expect("supported");
    let workspaces: Vec<BufferId> = (0..plan.buffers.len()).map(BufferId).filter(|&id| plan.buffer(id).role == Role::Workspace).collect();
    let loaded = Loaded::new(&gpu, plan, 1).expect("loads");
    loaded.poison().expect("poison");
    assert_eq!(workspaces.len(), 3);
    for id in workspaces.into_iter().chain([Plan::OUTPUT]) {
        assert!(loaded.download(id).expect("download").into_floats().iter().all(|x| x.is_nan()), "{}", loaded.plan().buffer(id).name);
    }
}

#[test]
fn buffers_take_what_the_plan_says() {
    let gpu = device::open();
    let key = "n1c5h13w11_k6r3s3_p1";
    for (algorithm, conv) in ALGORITHMS.iter().flat_map(|a| a.elements().iter().map(move |&element| (a, in_type(key, element)))) {
        for variant in algorithm.variants(&conv, &gpu.limits) {
            let plan = match algorithm.plan(&conv, &variant, &gpu.limits) {
                Err(Unsupported::Problem(_)) => continue,
                plan => plan.expect("supported"),
            };
            let own = |id| if plan.memory_of(id) == id { plan.buffer(id).bytes() } else { Bytes(0) };
            let predicted: Vec<_> = plan.numbered().map(|(id, _)| own(id)).collect();
            let loaded = Loaded::new(&gpu, plan, 1).expect("loads");
            for (account, predicted) in loaded.accounts().iter().zip(&predicted) {
                // Tensors of an odd number of halves or bytes end within a word.
                assert_eq!(account.requested.0, predicted.0.next_multiple_of(4));
                assert!(conv.element() != ElementType::F32 || account.requested == *predicted);
                if gpu.identity.backend == "vulkan" {
                    assert!(account.allocated.expect("Vulkan tells") >= *predicted, "{account:?}");
                }
            }
        }
    }
}

/// The convolution cases of the ONNX project, converted from `PyTorch`, with the outputs it computed.
#[test]
fn pytorch_computed_the_same() {
    let gpu = device::open();
    let cases = onnx_cases::cases();
    assert!(cases.len() >= 20, "only {} cases", cases.len());
    let mut ran = 0;
    for case in &cases {
        for algorithm in ALGORITHMS {
            for variant in algorithm.variants(&case.conv, &gpu.limits) {
                let name = format!("{}: {}", case.name, variant.qualify(algorithm.id()));
                let mut plan = match algorithm.plan(&case.conv, &variant, &gpu.limits) {
                    Ok(plan) => plan,
                    Err(Unsupported::Problem(_)) => continue,
                    Err(error) => panic!("{name}: {error}"),
                };
                if case.bias.is_some() {
                    plan = add_bias(plan, &case.conv, &gpu.limits).expect("fits");
                }
                let bias_id = plan.buffers.iter().position(|b| b.role == Role::Bias).map(BufferId);
                let loaded = Loaded::new(&gpu, plan, 1).expect("loads");
                loaded.upload(Plan::INPUT, &case.input).expect("upload");
                loaded.upload(Plan::WEIGHTS, &case.weights).expect("upload");
                if let (Some(id), Some(bias)) = (bias_id, &case.bias) {
                    loaded.upload(id, bias).expect("upload");
                }
                loaded.poison().expect("poison");
                loaded.execute_poisoned().expect("execute");
                let output = loaded.download(Plan::OUTPUT).expect("download").into_floats();
                assert_eq!(output.len(), case.output.len(), "{name}");
                for (i, (value, expected)) in output.iter().zip(&case.output).enumerate() {
                    assert!((value - expected).abs() <= 1e-5 + 1e-4 * expected.abs(), "{name}, output {i}: {value}, PyTorch {expected}");
                }
                ran += 1;
            }
        }
    }
    assert!(ran >= 2 * cases.len(), "only {ran} runs of {} cases", cases.len());
}
