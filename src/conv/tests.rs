//! Properties of the key and of the sizes that follow from it.

use super::*;
use proptest::prelude::*;

/// Random possible convolutions of rank 1 to 3 with small sizes.
pub(crate) fn any_conv() -> impl Strategy<Value = Conv> {
    let axis = (1_u64..20, 1_u64..6, 1_u64..4, 0_u64..4, 0_u64..4, 1_u64..4).prop_map(|(size, kernel, stride, before, after, dilation)| {
        Axis::new(size, kernel).stride(stride).pad(before, after).dilation(dilation)
    });
    (0_u64..4, 1_u64..5, 1_u64..5, 1_u64..4, prop::collection::vec(axis, 1..=3))
        .prop_map(|(batch, cg, kg, groups, axes)| ConvSpec::new(batch, cg * groups, kg * groups, &axes).groups(groups))
        .prop_filter_map("kernel larger than input", |spec| spec.build().ok())
}

proptest! {
    #[test]
    fn key_round_trips(conv in any_conv()) {
        let key = conv.to_string();
        prop_assert_eq!(key.parse::<Conv>().expect("own key"), conv, "{}", key);
    }

    #[test]
    fn key_parser_never_panics(text in "[ncdhwktrspgx:_0-9é]{0,40}") {
        if let Ok(conv) = text.parse::<Conv>() {
            prop_assert_eq!(conv.to_string().parse::<Conv>().expect("own key"), conv);
        }
    }

    #[test]
    fn serde_round_trips_and_validates(conv in any_conv()) {
        let json = serde_json::to_string(&conv).expect("serialises");
        prop_assert_eq!(serde_json::from_str::<Conv>(&json).expect("own JSON"), conv);
    }

    #[test]
    fn taps_inside_counts_by_definition(conv in any_conv()) {
        for axis in conv.axes_3d() {
            let mut count = 0;
            for output in 0..axis.output() {
                for tap in 0..axis.kernel {
                    let at = output * axis.stride + tap * axis.dilation;
                    count += u64::from(at >= axis.pad_before && at - axis.pad_before < axis.size);
                }
            }
            prop_assert_eq!(axis.taps_inside(), count, "{:?}", axis);
        }
    }
}

#[test]
fn keys_of_the_design_are_canonical() {
    for key in [
        "n1c64h56w56_k128r3s3_p1",
        "n32c256h28w28_k128r3s3_s2_p1",
        "n1c144h56w56_k144r3s3_p1_g144",
        "n1c16d4h32w32_k16t3r11s11_p1x5x5",
        "n1c768w512_k768s128_p64_g16",
        "n2c8h1w1_k8r2s2_p1:15",
        "n0c3h3w3_k3r3s3",
    ] {
        assert_eq!(key.parse::<Conv>().expect(key).to_string(), key);
    }
    let loose: Conv = "n1c4h8w8_k4r3s3_g2_d1x1_p1:1x1_s1".parse().expect("loose form");
    assert_eq!(loose.to_string(), "n1c4h8w8_k4r3s3_p1_g2");
}

#[test]
fn shapes_follow_the_axes_that_were_named() {
    let conv: Conv = "n2c8h1w1_k8r2s2_p1:15".parse().expect("key");
    assert_eq!(conv.output_shape(), [2, 8, 16, 16]);
    let conv: Conv = "n1c768w512_k768s128_p64_g16".parse().expect("key");
    assert_eq!((conv.input_shape(), conv.weight_shape(), conv.output_shape()), (vec![1, 768, 512], vec![768, 48, 128], vec![1, 768, 513]));
}

#[test]
fn impossible_problems_name_the_value() {
    for (key, message) in [
        ("n1c0h4w4_k1r1s1", "'n1c0h4w4_k1r1s1': C is 0, must be at least 1"),
        ("n1c3h4w4_k2r1s1_g2", "'n1c3h4w4_k2r1s1_g2': 2 groups do not divide C = 3 channels"),
        ("n1c1h2w2_k1r3s3", "'n1c1h2w2_k1r3s3': kernel r spans 3 elements but h has only 2 with its padding"),
        ("n1c4294967311w1_k1s1", "'n1c4294967311w1_k1s1': C is 4294967311, past the largest extent 4294967295"),
        (
            "n1c1w8_k1s3_s3_p2147483647",
            "'n1c1w8_k1s3_s3_p2147483647': padded extent of w is 4294967302, past the largest extent 4294967295",
        ),
        (
            "n1c99999999999999999999h1w1_k1r1s1",
            "'n1c99999999999999999999h1w1_k1r1s1': the channel count C is 99999999999999999999, past the largest extent 4294967295",
        ),
        (
            "n4000000000c4000000000h1w2_k1r1s1",
            "'n4000000000c4000000000h1w2_k1r1s1': bytes of the input overflow 64 bits: 4000000000 x 4000000000 x 4 x 1 x 1 x 2",
        ),
        ("n1c3h4w4", "'n1c3h4w4', character 9: expected '_': the kernel follows after '_'"),
        ("n-1c3h4w4_k1r1s1", "'n-1c3h4w4_k1r1s1', character 2: expected the batch N, a whole number"),
        ("n1c3h4w4_k1r1s1_p1_p2", "'n1c3h4w4_k1r1s1_p1_p2', character 20: a second token 'p'"),
        ("n1c3h4w4_k1r1s1_p1x2x3", "'n1c3h4w4_k1r1s1_p1x2x3', character 18: 3 values for 2 axes: give one for all or one for each"),
        ("n1c3h4w4_k1r1s1_s1:2", "'n1c3h4w4_k1r1s1_s1:2', character 19: expected '_': tokens are joined by '_'"),
        ("", "'', character 1: expected 'n': a key begins with the batch, as in n1c64h56w56_k128r3s3_p1"),
    ] {
        assert_eq!(key.parse::<Conv>().expect_err(key).to_string(), message);
    }
}
