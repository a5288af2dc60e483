//! Tiles as tuning may have them, and kernels cut to a device's workgroups.

use crate::cases::{compare, verify};
use crate::device;
use crate::types::in_type;
use convledger::algorithm::{Variant, find};
use convledger::conv::{Conv, ElementType};
use convledger::plan::{Limits, Rule, Tile, TiledKernel, Tuning};
use convledger::verify::tolerance;

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
