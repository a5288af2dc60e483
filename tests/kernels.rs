//! Every algorithm and variant on a device against the f64 reference: named odd shapes, random ones, a device cut small.

#[path = "common/cases.rs"]
mod cases;

#[path = "common/device.rs"]
mod device;

#[path = "common/onnx_cases.rs"]
mod onnx_cases;

use cases::{compare, verify};
use convledger::algorithm::{ALGORITHMS, Variant, add_bias, find};
use convledger::conv::{Axis, Conv, ConvSpec, ElementType, Layout, Pass};
use convledger::device::{Checks, Clock, Gpu, Loaded};
use convledger::plan::{BufferId, Limits, Plan, Role, Rule, Tile, TiledKernel, Tuning, Unsupported};
use convledger::units::Bytes;
use convledger::verify::{Expectation, Inputs, tolerance};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

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

/// A convolution in another element type.
fn in_type(key: &str, element: ElementType) -> Conv {
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
fn halves_are_right_in_every_tile() {
    let gpu = device::open();
    for (index, text) in TILES.iter().enumerate() {
        let tile: Tile = text.parse().expect(text);
        if tile.obstacle(&gpu.limits).is_some() {
            continue;
        }
        let rules = TiledKernel::ALL.map(|kernel| Rule { kernel, shape: None, tile });
        let tuning = Tuning { tiles: rules.into(), specialise: Some(index % 2 == 0), vector_loads: Some(true), ..Tuning::NONE };
        let limits = Limits { tuning, ..gpu.limits.clone() };
        for key in ["n2c16h10w12_k32r3s3_p1", "n1c5h9w7_k17r3s3_p1_s2"] {
            for (id, variant) in [("im2col", "batch"), ("implicit_gemm", "split=3"), ("direct_tiled", "")] {
                let variant = variant.parse().expect(variant);
                let ran = verify(&gpu, &in_type(key, ElementType::F16), find(id).expect(id), &variant, &limits, 3);
                assert!(ran.unwrap_or_else(|error| panic!("{text}: {error}")), "{text}: {id}:{variant} of {key} did not run");
            }
        }
    }
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

/// The fused kernels on devices whose workgroups are small: taller register tiles, fewer channels and rows at a time.
#[test]
fn fused_winograd_is_right_in_small_workgroups() {
    let gpu = device::open();
    let mut tunings = std::collections::BTreeSet::new();
    for (invocations, bytes) in [(72, 8 << 10), (144, 16 << 10)] {
        let limits = Limits { max_workgroup_invocations: invocations, max_workgroup_bytes: bytes, ..gpu.limits.clone() };
        for shape in ["n1c9h11w33_k34r3s3_p1", "n5c6h13w8_k64r3s3_p1_g2", "n2c5h23w24_k20r3s3_p1x2_d1x2"] {
            let conv: Conv = shape.parse().expect(shape);
            for id in ["winograd_f2_fused", "winograd_f4_fused"] {
                let algorithm = find(id).expect(id);
                for variant in algorithm.variants(&conv, &limits) {
                    if verify(&gpu, &conv, algorithm, &variant, &limits, 13).unwrap_or_else(|error| panic!("{error}")) {
                        tunings.insert(algorithm.plan(&conv, &variant, &limits).expect("it ran").tuning);
                    }
                }
            }
        }
    }
    assert!(tunings.len() >= 4, "{tunings:?}");
}

/// Tiles of every kind: each way of sharing, register tiles taller and wider, blocks that divide evenly among the lanes and not.
const TILES: [&str; 10] = [
    "1x4 lanes 4x2 depth 4 cache",
    "5x4 lanes 8x3 depth 4 cache",
    "16x8 lanes 8x1 depth 4 subgroup",
    "32x4 lanes 16x1 depth 4 subgroup",
    "4x4 lanes 8x8 depth 16 workgroup",
    "4x4 lanes 16x4 depth 8 workgroup",
    "8x8 lanes 8x8 depth 8 workgroup",
    "8x8 lanes 16x16 depth 16 workgroup",
    "16x8 lanes 16x8 depth 16 workgroup",
    "12x4 lanes 16x2 depth 4 workgroup",
];

#[test]
fn every_tile_is_right() {
    // Sizes around the register and workgroup tiles' edges and the blocks' depth.
    let gpu = device::open();
    for (index, text) in TILES.iter().enumerate() {
        let tile: Tile = text.parse().expect(text);
        if tile.obstacle(&gpu.limits).is_some() {
            continue;
        }
        // Every other tile with the shape folded into the text, every other pair of them with rows read as vectors.
        let rules = TiledKernel::ALL.map(|kernel| Rule { kernel, shape: None, tile });
        let tuning = Tuning { tiles: rules.into(), specialise: Some(index % 2 == 0), vector_loads: Some(index % 4 < 2), ..Tuning::NONE };
        let limits = Limits { tuning, ..gpu.limits.clone() };
        for (place, key) in [
            "n2c3h1w1_k1r1s1",
            "n2c15h4w4_k3r1s1",
            "n1c33h9w7_k17r1s1",
            "n2c16h10w12_k32r3s3_p1",
            "n2c5h17w19_k40r3s3_p1_s2",
            "n1c20h9w9_k130r3s3_p2_d2",
            "n2c6d3h5w7_k20t2r3s3_p1_g2",
            "n1c2h21w18_k9r5s3_p3:1x0:2",
            "n3c48h14w14_k48r3s3_p1",
            "n2c6h12w20_k12r3s3_p1x2_d1x2_g6",
            "n1c4h9w8_k4r5s9_p2x5",
            "n2c5w24_k6s12_p1:7",
        ]
        .into_iter()
        .enumerate()
        {
            let conv: Conv = key.parse().expect(key);
            let mut cases = vec![("im2col", Variant::word("batch")), ("implicit_gemm", Variant::none()), ("direct_tiled", Variant::none())];
            cases.extend((conv.group_channels_in() == 1).then_some(("depthwise", Variant::none())));
            // The ways of finding patches other than in the input with a test each, and a left operand whose elements lie apart: each tile
            // with some of the shapes, and each shape with some of the tiles.
            match (index + place) % 5 {
                0 => cases.extend([("mec", Variant::word("batch")), ("mec", Variant::knob("strip", 1))]),
                1 => cases.push(("indirect", Variant::none())),
                2 => cases.extend(["taps", "points"].map(|tables| ("implicit_precomp", Variant::word(tables)))),
                3 => cases.push(("kn2row", Variant::word("full"))),
                _ => {}
            }
            // Few parts, and more than there are blocks of the sum.
            let channels = conv.group_channels_in();
            let splits = [2, 3, channels].into_iter().filter(|parts| (2..=channels).contains(parts)).map(|s| Variant::knob("split", s));
            let product = if conv.taps() == 1 { "gemm_1x1" } else { "implicit_gemm" };
            cases.extend(splits.map(|split| (product, split)));
            for (id, variant) in cases {
                let ran = verify(&gpu, &conv, find(id).expect(id), &variant, &limits, 3);
                assert!(ran.unwrap_or_else(|error| panic!("{text}: {error}")), "{text}: {id}:{variant} of {key} did not run");
            }
        }
    }
}

/// Spectra in tiles of every kind and kernels of every size; chunks that do and do not divide the tiles, and vectors of both.
#[test]
fn spectra_are_multiplied_right_by_every_tile() {
    let gpu = device::open();
    let fft = find("fft_tiled").expect("fft_tiled");
    for (index, text) in TILES.iter().enumerate() {
        let tile: Tile = text.parse().expect(text);
        if tile.obstacle(&gpu.limits).is_some() {
            continue;
        }
        let rule = Rule { kernel: TiledKernel::Gemm, shape: None, tile };
        // As many lanes as a GPU has every other time: several tiles of a workgroup, one of an invocation.
        let tuning = Tuning { tiles: vec![rule], lanes: Some(if index % 2 == 0 { 64 } else { 8 }), ..Tuning::NONE };
        let limits = Limits { tuning, ..gpu.limits.clone() };
        for (key, variants) in [
            ("n1c7h20w30_k18r3s3_p1", ["l16_batch", "l16_tiles=1"]),
            ("n3c8h29w40_k40r2s5_p2_g2", ["l16_tiles=4", "l16_tiles=5"]),
            ("n2c4h50w33_k32r4s4_p2", ["l16_tiles=20", "l16_tiles=3"]),
            ("n1c20h15w40_k9r1s16_p0:3x8_d1x2", ["l16_tiles=12", "l32_batch"]),
        ] {
            let conv: Conv = key.parse().expect(key);
            for variant in variants {
                let ran = verify(&gpu, &conv, fft, &variant.parse().expect(variant), &limits, 3);
                assert!(ran.unwrap_or_else(|error| panic!("{text}: {error}")), "{text}: {variant} of {key} did not run");
            }
        }
    }
}

/// Spectra round as their description derives: within the tolerance, and the tolerance within twenty times what they err.
#[test]
fn spectra_round_as_derived() {
    let gpu = device::open();
    let fft = find("fft_tiled").expect("fft_tiled");
    for (key, edges) in [
        ("n1c1h30w30_k1r1s1", [16, 32]),
        ("n1c1h30w30_k4r3s3_p1", [16, 32]),
        ("n2c3h28w28_k8r3s3_p1", [16, 32]),
        ("n1c64h28w28_k16r3s3_p1", [16, 32]),
        ("n1c256h14w14_k16r3s3_p1", [16, 32]),
        ("n1c8h28w28_k8r7s7_p3", [16, 32]),
        ("n1c64h20w20_k8r11s11_p5", [16, 32]),
        ("n1c4h20w20_k8r16s16_p8", [16, 32]),
        ("n1c16h40w40_k8r32s32_p16", [32, 32]),
        ("n2c32h14w14_k32r3s3_p1_g32", [16, 32]),
    ] {
        let conv: Conv = key.parse().expect(key);
        for edge in edges {
            let variant = Variant::word(&format!("l{edge}_batch"));
            let comparison = compare(&gpu, &conv, fft, &variant, &gpu.limits, 5).unwrap_or_else(|error| panic!("{error}"));
            let error = comparison.unwrap_or_else(|| panic!("{variant} of {key} did not run")).rel_l2;
            let share = error / tolerance(&conv, fft.amplification(&conv));
            println!("{key} {variant}: error {error:.2e}, {share:.3} of the tolerance");
            assert!((0.05..1.0).contains(&share), "{variant} of {key}: error {error:.1e} is {share:.3} of the tolerance");
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
