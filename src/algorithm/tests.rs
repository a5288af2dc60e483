//! What holds for every algorithm: closed forms equal plans, plans stay within limits, published figures come out to the byte.

use super::*;
use crate::conv::tests::any_conv;
use crate::ledger::Ledger;
use proptest::prelude::*;
use proptest::sample;

/// Convolutions of stride 1 with kernels that Winograd is made for, which random ones seldom are.
fn winograd_conv() -> impl Strategy<Value = Conv> {
    let kernel = prop::sample::select(vec!["r3s3", "r5s5", "r1s3", "r3s1", "r1s5", "r5s1", "r1s7", "r7s1", "s3", "s5", "s7"]);
    ((1_u64..4, 1_u64..6, 1_u64..6, 1_u64..3), (1_u64..24, 1_u64..24, 0_u64..3, 1_u64..3), kernel).prop_filter_map(
        "too small",
        |((n, c, k, g), (h, w, p, d), kernel)| {
            let h = if kernel.starts_with('r') { format!("h{h}") } else { String::new() };
            format!("n{n}c{}{h}w{w}_k{}{kernel}_p{p}_d{d}_g{g}", c * g, k * g).parse().ok()
        },
    )
}

/// 2-D convolutions of stride 1 with kernels of any size that tiles for Fourier transforms hold.
fn fft_conv() -> impl Strategy<Value = Conv> {
    ((1_u64..4, 1_u64..6, 1_u64..6, 1_u64..3), (1_u64..60, 1_u64..60, 1_u64..33, 1_u64..33, 0_u64..3, 1_u64..3))
        .prop_filter_map("too small", |((n, c, k, g), (h, w, r, s, p, d))| {
            format!("n{n}c{}h{h}w{w}_k{}r{r}s{s}_p{p}_d{d}_g{g}", c * g, k * g).parse().ok()
        })
}

fn check(conv: &Conv, limits: &Limits) -> Result<(), TestCaseError> {
    for algorithm in ALGORITHMS {
        let mut variants = algorithm.variants(conv, limits);
        if algorithm.knobs().contains(&"split=s") && conv.pass() == Pass::Forward {
            variants.extend([2, 3, conv.group_channels_in()].map(|parts| Variant::knob("split", parts)));
        }
        for variant in variants {
            let name = format!("{} of {conv}", variant.qualify(algorithm.id()));
            match (algorithm.workspace(conv, &variant), algorithm.plan(conv, &variant, limits)) {
                (Ok(workspace), Ok(plan)) => {
                    prop_assert_eq!(plan.bytes(Ledger::Computation), workspace, "workspace: {}", name);
                    if !plan.steps.is_empty() {
                        prop_assert_eq!(plan.arena_bytes(), plan.live_bytes(), "arena and what is live at once: {}", name);
                    }
                    prop_assert_eq!(plan.bytes(Ledger::Parameter), ledger::parameters(conv), "parameters: {}", name);
                    prop_assert_eq!(plan.bytes(Ledger::Activation), ledger::activations(conv), "activations: {}", name);
                    if conv.batch() > 0 {
                        prop_assert_eq!(
                            plan.operations(),
                            algorithm.operations(conv, &variant).expect("supported"),
                            "operations: {}",
                            name
                        );
                    }
                    for step in &plan.steps {
                        prop_assert_eq!(step.problem.len(), step.kernel.problem_fields.len());
                        for binding in &step.bindings {
                            prop_assert!(binding.size > 0 && binding.size <= limits.max_storage_binding_bytes, "window: {}", name);
                            prop_assert!(binding.offset % u64::from(limits.storage_alignment) == 0, "alignment: {}", name);
                            prop_assert!(
                                binding.offset + binding.size <= plan.buffer(binding.buffer).bytes().0.next_multiple_of(4),
                                "window end: {}",
                                name
                            );
                        }
                    }
                }
                (Ok(_), Err(Unsupported::Limit { .. })) | (Err(_), Err(_)) => {}
                (form, plan) => prop_assert!(false, "{}: closed form {:?}, plan {:?}", name, form, plan.map(|_| ())),
            }
        }
    }
    Ok(())
}

/// A device so small that plans must cut batches into windows.
fn tiny() -> Limits {
    Limits { max_storage_binding_bytes: 4096, max_workgroups: 7, storage_alignment: 64, f16: true, ..Limits::WEBGPU }
}

proptest! {
    #[test]
    fn closed_forms_equal_plans(conv in any_conv(), pass in prop::sample::select(Pass::ALL.to_vec()), last: bool) {
        let conv = conv.with_pass(pass).with_layout(if last { Layout::Nhwc } else { Layout::Nchw });
        check(&conv, &Limits::UNLIMITED)?;
        check(&conv, &tiny())?;
    }

    #[test]
    fn closed_forms_equal_plans_for_winograd(conv in winograd_conv()) {
        check(&conv, &Limits::UNLIMITED)?;
        check(&conv, &tiny())?;
    }

    #[test]
    fn closed_forms_equal_plans_in_other_types(conv in prop_oneof![any_conv(), winograd_conv()], element in sample::select(vec![ElementType::F16, ElementType::I8])) {
        let conv = conv.with_element(element).expect("fits");
        check(&conv, &Limits::UNLIMITED)?;
        check(&conv, &tiny())?;
    }

    #[test]
    fn closed_forms_equal_plans_for_spectra(conv in fft_conv()) {
        check(&conv, &Limits::UNLIMITED)?;
        check(&conv, &tiny())?;
    }

    #[test]
    fn variants_of_spectra_rise_in_memory(conv in fft_conv()) {
        let fft = find("fft_tiled").expect("fft_tiled");
        let variants = fft.variants(&conv, &Limits::WEBGPU);
        let bytes: Vec<u64> = variants.iter().map(|v| fft.workspace(&conv, v).expect("supported").0).collect();
        prop_assert!((1..=10).contains(&bytes.len()) && bytes.is_sorted(), "{:?} of {}", bytes, conv);
    }

    #[test]
    fn variants_rise_in_memory(conv in any_conv(), pass in prop::sample::select(Pass::ALL.to_vec())) {
        let conv = conv.with_pass(pass);
        for algorithm in ALGORITHMS {
            let bytes: Vec<u64> =
                algorithm.variants(&conv, &Limits::WEBGPU).iter().filter_map(|v| algorithm.workspace(&conv, v).ok()).map(|b| b.0).collect();
            prop_assert!(bytes.is_sorted(), "{}: {:?} of {}", algorithm.id(), bytes, conv);
        }
    }
}

fn workspace(id: &str, variant: &str, key: &str, element: ElementType) -> u64 {
    let conv = key.parse::<Conv>().expect(key).with_element(element).expect("fits");
    find(id).expect(id).workspace(&conv, &variant.parse().expect(variant)).expect(key).0
}

#[test]
fn published_workspaces_come_out_to_the_byte() {
    // ROCm/MIOpen issue 3383: im2col GEMM of one 832x1024 image.
    assert_eq!(workspace("im2col", "batch", "n1c256h832w1024_k256r3s3_p1", ElementType::F32), 7_851_737_088);
    // The same log's implicit GEMM transposes input, weights and output to NHWC: all three tensors once more.
    let conv: Conv = "n1c256h832w1024_k256r3s3_p1".parse().expect("key");
    assert_eq!(ledger::least_traffic(&conv).0, 1_747_189_760);
    // ROCm/rocm-libraries issue 4100: bf16, 1x7 kernel, dilation 3.
    assert_eq!(workspace("im2col", "batch", "n1c512h1w3006_k512r1s7_p0x9_d1x3", ElementType::F16), 21_547_008);
    // ROCm/MIOpen issue 381: 3-D depthwise, workspace of one image of the batch of 4.
    assert_eq!(workspace("im2col", "image", "n4c256d1h14w14_k256t3r3s3_p1_g256", ElementType::F32), 5_419_008);
}

#[test]
fn a_sum_is_split_where_the_output_is_small() {
    let proposed = |id: &str, key: &str| {
        let conv: Conv = key.parse().expect(key);
        let variants = find(id).expect(id).variants(&conv, &Limits::WEBGPU);
        variants.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    // 7x7 maps of 512 channels: 49 columns. A VGG layer has 50176.
    assert_eq!(proposed("implicit_gemm", "n1c512h7w7_k512r3s3_p1"), " split=8");
    assert_eq!(proposed("implicit_gemm", "n1c64h224w224_k64r3s3_p1"), "");
    assert_eq!(proposed("gemm_1x1", "n1c256h14w14_k1024r1s1"), " split=4");
    // Three channels are not worth parts of their own.
    assert_eq!(proposed("implicit_gemm", "n1c3h7w7_k8r3s3_p1"), "");
    assert_eq!(workspace("implicit_gemm", "split=16", "n2c512h7w7_k512r3s3_p1", ElementType::F32), 16 * 2 * 512 * 49 * 4);
    let conv: Conv = "n1c8h7w7_k8r3s3_p1".parse().expect("key");
    let refused = |text: &str| find("implicit_gemm").expect("id").workspace(&conv, &text.parse().expect(text)).expect_err(text).to_string();
    assert_eq!(refused("split=9"), "split=9 is not within 2 to the 8 input channels of a group");
    assert_eq!(refused("split=1"), "split=1 is not within 2 to the 8 input channels of a group");
    assert_eq!(refused("split"), "'split' is not a variant of implicit_gemm: known are split=s, coop");
}

/// What halves with the tensors, and what stays f32.
#[test]
fn halves_take_half_where_nothing_is_summed() {
    let key = "n2c16h20w20_k16r3s3_p1";
    let of = |id, variant, element| workspace(id, variant, key, element);
    for (id, variant, divisor) in [
        ("im2col", "batch", 2),
        ("implicit_gemm", "split=4", 1),
        ("winograd_f4", "batch", 1),
        ("winograd_f6", "tiles=8", 1),
        ("winograd_f2_fused", "cached", 1),
    ] {
        assert_eq!(of(id, variant, ElementType::F32), divisor * of(id, variant, ElementType::F16), "{id}:{variant}");
    }
}

#[test]
fn f16_is_refused_where_the_device_has_none_and_warned_of_where_it_is_delicate() {
    let conv = "n1c4h9w9_k4r3s3_p1".parse::<Conv>().expect("key").with_element(ElementType::F16).expect("fits");
    for algorithm in ALGORITHMS.iter().filter(|a| a.elements().contains(&ElementType::F16)) {
        for variant in algorithm.variants(&conv, &Limits::WEBGPU) {
            match algorithm.plan(&conv, &variant, &Limits::WEBGPU) {
                Err(Unsupported::Problem(reason)) => {
                    assert!(reason.contains("16-bit floats") || algorithm.workspace(&conv, &variant).is_err(), "{reason}");
                }
                other => panic!("{}: {:?}", algorithm.id(), other.map(|_| ())),
            }
        }
    }
    let warned: Vec<&str> = ALGORITHMS.iter().filter(|a| !a.warning(&conv).is_empty()).map(|a| a.id()).collect();
    assert_eq!(warned, ["winograd_f6"]);
    let single = conv.with_element(ElementType::F32).expect("fits");
    assert!(ALGORITHMS.iter().all(|a| a.warning(&single).is_empty()));
}

#[test]
fn bytes_share_words_and_their_sums_stay_in_range() {
    // A reduction of 27 takes 28 bytes a point and group, one of 36 takes 36.
    assert_eq!(workspace("im2col", "batch", "n2c6h8w8_k4r3s3_p1_g2", ElementType::I8), 2 * 2 * 28 * 64);
    assert_eq!(workspace("im2col", "strip=2", "n2c4h8w8_k4r3s3_p1", ElementType::I8), 36 * 16);
    assert_eq!(workspace("implicit_gemm", "", "n2c6h8w8_k4r3s3_p1_g2", ElementType::I8), 0);
    let of = |key: &str, id: &str| {
        let conv = key.parse::<Conv>().expect(key).with_element(ElementType::I8).expect("fits");
        let algorithm = find(id).expect(id);
        algorithm.workspace(&conv, &algorithm.variants(&conv, &Limits::UNLIMITED)[0]).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(of("n1c131071h1w1_k1r1s1", "direct"), Ok(()));
    assert_eq!(
        of("n1c131072h1w1_k1r1s1", "direct"),
        Err("direct sums 8-bit integers in 32 bits, which hold 131071 products whatever they are, not 131072".to_owned())
    );
    assert_eq!(of("n1c4h8w8_k4r3s3_p1", "winograd_f2"), Err("winograd_f2 has f32 and f16 kernels only, not i8".to_owned()));
    let conv = "n1c8h8w8_k4r3s3_p1".parse::<Conv>().expect("key").with_element(ElementType::I8).expect("fits");
    let split = find("implicit_gemm").expect("id").workspace(&conv, &Variant::knob("split", 2)).expect_err("not split");
    assert_eq!(split.to_string(), "split=2: sums of 8-bit integers are not split");
}

#[test]
fn cooperative_matrices_are_for_halves_on_devices_that_have_them() {
    let algorithm = find("implicit_gemm").expect("id");
    let conv: Conv = "n2c16h20w20_k48r3s3_p1".parse().expect("key");
    let half = conv.with_element(ElementType::F16).expect("fits");
    let coop = Variant::word("coop");
    let with = Limits { f16: true, coop: 8, min_subgroup: 32, ..Limits::WEBGPU };
    let without = Limits { coop: 0, ..with.clone() };
    assert!(algorithm.variants(&half, &with).contains(&coop));
    assert!(!algorithm.variants(&half, &without).contains(&coop) && !algorithm.variants(&conv, &with).contains(&coop));
    let plan = algorithm.plan(&half, &coop, &with).expect("supported");
    // 2 by 4 matrices of 8 by 8: 3 of 16 filters by 25 of 32 of the 800 points.
    assert_eq!((plan.steps[0].workgroups, plan.steps[0].kernel.workgroup), ([3 * 25, 1, 1], [32, 1, 1]));
    assert_eq!((plan.bytes(Ledger::Computation), algorithm.workspace(&half, &coop)), (Bytes(0), Ok(Bytes(0))));
    let refused = |conv, limits| algorithm.plan(conv, &coop, limits).map(|_| ()).expect_err("refused").to_string();
    assert_eq!(refused(&conv, &with), "coop multiplies cooperative matrices of f16, not f32");
    assert_eq!(
        refused(&half, &without),
        "coop needs a device with cooperative matrices of f16 with sums in f32 and subgroups of one size, which this one does not offer"
    );
}

#[test]
fn im2col_blows_up_ninefold() {
    let key = "n1c64h224w224_k128r3s3_p1";
    assert_eq!(workspace("im2col", "batch", key, ElementType::F32), 115_605_504);
    assert_eq!(workspace("direct", "", key, ElementType::F32), 0);
}

/// What lies between im2col and nothing: lowered inputs, products of taps, tables.
#[test]
fn workspaces_of_the_methods_between() {
    let elements = |id: &str, variant: &str, key: &str| workspace(id, variant, key, ElementType::F32) / 4;
    // Figures 1 and 2 of Cho and Brand: a 3x3 kernel over 7x7 is 25 x 9 elements unfolded and 5 x 21 lowered.
    assert_eq!(elements("im2col", "batch", "n1c1h7w7_k1r3s3"), 225);
    assert_eq!(elements("mec", "batch", "n1c1h7w7_k1r3s3"), 105);
    // One output row sees three rows, two with a stride of two see five; of three axes as many depths as the kernel spans.
    assert_eq!(elements("mec", "strip=1", "n2c4h7w7_k1r3s3_p1"), 4 * 3 * 3 * 7);
    assert_eq!(elements("mec", "strip=2", "n2c4h7w7_k1r3s3_s2"), 4 * 3 * 5 * 3);
    assert_eq!(elements("mec", "strip=2", "n1c2d9h7w7_k1t3r2s2_d2x1x1"), 2 * 2 * 5 * 3 * 6);
    assert_eq!(elements("mec", "images=2", "n3c2d9h7w7_k1t3r2s2_p1x0:2x0"), 2 * 2 * 2 * 11 * 9 * 6);
    // 3x3 products with the whole input of 56x56, padding or not.
    assert_eq!(elements("kn2row", "full", "n4c64h56w56_k32r3s3_p1"), 4 * 9 * 32 * 56 * 56);
    assert_eq!(elements("kn2row", "images=3", "n4c64h56w56_k32r3s3"), 3 * 9 * 32 * 56 * 56);
    assert_eq!(elements("kn2row", "accumulate", "n4c64h56w56_k32r3s3"), 32 * 56 * 56);
    // Tables know neither batch nor all channels.
    for key in ["n1c8h9w9_k8r3s3_p1", "n7c64h9w9_k8r3s3_p1"] {
        assert_eq!(elements("indirect", "", key), 81 * 9);
    }
    assert_eq!(elements("implicit_precomp", "taps", "n7c64h9w9_k8r3s3_p1_g8"), 8 * 9);
    assert_eq!(elements("implicit_precomp", "points", "n7c64h9w9_k8r3s3_p1_g8"), 8 * 9 + 81);
}

/// Products of whole inputs are more operations than the direct method's where a stride skips outputs.
#[test]
fn kn2row_computes_what_a_stride_skips() {
    let conv: Conv = "n2c8h8w8_k4r2s2_s2".parse().expect("key");
    for variant in ["accumulate", "full"] {
        let operations = find("kn2row").expect("id").operations(&conv, &variant.parse().expect(variant));
        assert_eq!(operations, Ok(Ops(2 * 2 * 4 * 8 * 4 * 64 + 2 * 4 * 16 * 3)));
    }
}

/// By hand: 16 - 3 + 1 = 14 outputs of a tile hold 12, so there is one, with 16·9 frequencies of two numbers; 56 outputs are two tiles of 30.
#[test]
fn spectra_take_what_paper_and_pencil_say() {
    let key = "n1c4h14w14_k8r3s3";
    assert_eq!(workspace("fft_tiled", "l16_batch", key, ElementType::F32), 4 * 288 * (4 + 8 + 4 * 8));
    assert_eq!(workspace("fft_tiled", "l32_batch", "n32c64h56w56_k128r3s3_p1", ElementType::F32), 142_606_336);
    // A product of 8, 5·16·4 − 9·16 + 12 = 188 of a row or column, 16 of them a tile; filters, input and output beside them.
    let operations = find("fft_tiled").expect("id").operations(&key.parse().expect(key), &Variant::word("l16_batch")).expect(key).0;
    let transforms = 32 * (16 * 188 + 2 * 256 + 2 * 16) + 4 * (16 * 188 + 256 + 2 * 16) + 8 * (16 * 188 + 256);
    assert_eq!(operations, 8 * 144 * 32 + transforms);
}

#[test]
fn refusals_carry_their_numbers() {
    let plan = |id: &str, variant: &str, key: &str, limits: &Limits| {
        let conv: Conv = key.parse().expect(key);
        find(id).expect(id).plan(&conv, &variant.parse().expect(variant), limits).map(|_| ()).expect_err(key).to_string()
    };
    let webgpu = &Limits::WEBGPU;
    assert_eq!(plan("winograd_f2", "batch", "n1c8h8w8_k8r5s5", webgpu), "winograd_f2 is for 3x3 kernels, not 5x5");
    assert_eq!(
        plan("implicit_precomp", "taps", "n1c8h19w28_k3r19s28", webgpu),
        "implicit_precomp has 32 bits for the coordinates of taps, not 1 + 19 + 28"
    );
    assert_eq!(
        plan("implicit_precomp", "taps", "n1c2048h512w512_k8r3s3", webgpu),
        "implicit_precomp has 28 bits beside the tap for offsets, not for 536609794"
    );
    assert_eq!(
        plan("implicit_precomp", "points", "n1c1d2000h2000w2000_k1t1r1s1", &Limits::UNLIMITED),
        "implicit_precomp:points has 32 bits for a corner, not for 1999, 1999, 1999"
    );
    assert_eq!(plan("mec", "strip=9", "n1c8h8w8_k8r1s1", webgpu), "strip=9 is not within 1 to the 8 output rows of an image");
    assert_eq!(plan("kn2row", "images=2", "n1c8h8w8_k8r1s1", webgpu), "images=2 is not within 1 to the 1 images of the batch");
    assert_eq!(plan("winograd_f4", "batch", "n1c8h8w8_k8r3s3_s2", webgpu), "winograd_f4 is for stride 1, not 2x2");
    assert_eq!(plan("winograd_f2_5", "batch", "n1c8w8_k8s5", webgpu), "winograd_f2_5 is for 2-D convolutions, not 1-D");
    assert_eq!(plan("winograd_1d_f4", "batch", "n1c8h8w8_k8r3s3", webgpu), "winograd_1d_f4 is for 1x3 and 3x1 kernels, not 3x3");
    assert_eq!(plan("winograd_1d_f2_7", "batch", "n1c8w8_k8s1", webgpu), "winograd_1d_f2_7 is for 1x7 and 7x1 kernels, not 1x1");
    assert_eq!(plan("winograd_1d_f4", "batch", "n1c8d3h8w8_k8t1r1s3", webgpu), "winograd_1d_f4 is for 1-D and 2-D convolutions, not 3-D");
    assert_eq!(plan("fft_tiled", "l16_batch", "n1c8h40w40_k8r3s17", webgpu), "fft_tiled: kernel 3x17 is larger than tiles of 16x16");
    assert_eq!(plan("fft_tiled", "l32_tiles=9", "n1c8h60w60_k8r3s3", webgpu), "l32_tiles=9 is not within 1 to the 4 tiles there are");
    assert_eq!(
        plan("fft_tiled", "l64_batch", "n1c8h60w60_k8r3s3", webgpu),
        "'l64_batch' is not a variant of fft_tiled: known are l16_tiles=t, l16_batch, l32_tiles=t, l32_batch"
    );
    assert_eq!(plan("im2col", "strip=9", "n1c8h8w8_k8r1s1", webgpu), "strip=9 is not within 1 to the 8 output rows of an image");
    assert_eq!(
        plan("im2col", "tiles=9", "n1c8h8w8_k8r1s1", webgpu),
        "'tiles=9' is not a variant of im2col: known are strip=p, image, images=n, batch"
    );
    assert_eq!(plan("im2col", "image", "n4294967295c1h1w1_k1r1s1", &Limits::UNLIMITED), "dispatches 8589934590 > the most of a plan 65536");
    assert_eq!(
        plan("im2col", "batch", "n1c192h224w224_k64r3s3_p1", webgpu),
        "columns buffer 346,816,512 B > buffer size limit 268,435,456 B"
    );
    assert_eq!(
        plan("im2col", "batch", "n1c64h224w224_k64r3s3_p1", &Limits { max_storage_binding_bytes: 64 << 20, ..Limits::WEBGPU }),
        "im2col: columns window 115,605,504 B > storage binding limit 67,108,864 B"
    );
    assert_eq!(
        plan("im2col", "batch", "n1c1w4294967295_k1s2147483648", &Limits::UNLIMITED),
        "column matrix 1 x 1 x 2147483648 x 2147483648 x 4 > the 64-bit range 18446744073709551615"
    );
}

/// Sizes near the ends of 32 and 64 bits: every answer is a number or a refusal, quickly, never a wrap or a flood of steps.
#[test]
fn huge_problems_are_refused_not_wrapped() {
    for key in [
        "n1c65536h8192w4096_k65536r3s3_p1",
        "n1c1073741824h16384w32768_k1r3s3_p1",
        "n4294967295c1h1w1_k1r1s1",
        "n4294967295c1h3w3_k1r3s3_p1",
        "n1c1h4294967295w1_k1r4294967295s1",
        "n1c1w4294967295_k1s2147483648",
        "n1c4294967295h1w1_k1r1s1",
        "n5c24h4903w5078_k1r3s3_p4x6",
        "n50000c8h1w3840_k16r1s1_g8",
        "n4294967295c1h1w1_k1r3s3_p1431655765_d1431655765",
        "n4294967295c1h1w1_k1r5s5_p2147483646_d1073741823",
    ] {
        let conv: Conv = key.parse().expect(key);
        assert!(ledger::operations_without_padding(&conv) <= ledger::operations(&conv));
        for limits in [&Limits::WEBGPU, &Limits::UNLIMITED] {
            for algorithm in ALGORITHMS {
                for variant in algorithm.variants(&conv, limits) {
                    if let Ok(plan) = algorithm.plan(&conv, &variant, limits) {
                        assert_eq!(Ok(plan.bytes(Ledger::Computation)), algorithm.workspace(&conv, &variant), "{key}");
                    }
                }
            }
        }
    }
}

#[test]
fn ids_are_unique_and_documented() {
    let mut ids: Vec<&str> = ALGORITHMS.iter().map(|a| a.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ALGORITHMS.len());
    for algorithm in ALGORITHMS {
        assert!(algorithm.id().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{}", algorithm.id());
        assert!(!algorithm.summary().is_empty() && !algorithm.workspace_formula().is_empty());
        assert!(algorithm.amplification(&"n1c1h3w3_k1r3s3".parse().expect("key")) >= 1.0);
    }
}
