//! Right results pass, each kind of wrong one is caught and named.

use super::*;
use crate::conv::tests::any_conv;
use crate::conv::{Conv, ElementType, Values};
use crate::reference::{self, ResultIndex};
use half::f16;
use proptest::prelude::*;

/// A right output as an f32 kernel computes it: products added one after another in f32, rounded to the element type.
#[expect(clippy::many_single_char_names, reason = "the letters of the formula")]
fn in_f32(conv: &Conv, Inputs { input, weights, .. }: &Inputs) -> Vec<f32> {
    let [d, h, w] = conv.axes_3d();
    let inside = |axis: &crate::conv::Axis, o: u64, tap: u64| {
        (o * axis.stride + tap * axis.dilation).checked_sub(axis.pad_before).filter(|&i| i < axis.size)
    };
    let index = |x: u64| usize::try_from(x).expect("small");
    (0..conv.output_elements())
        .map(|flat| {
            let ResultIndex { outer: [n, k], at: [o, p, q] } = ResultIndex::of(conv, flat);
            let mut sum = 0.0_f32;
            for c in 0..conv.group_channels_in() {
                let plane = n * conv.channels_in() + k / conv.group_channels_out() * conv.group_channels_in() + c;
                for tap in 0..conv.taps() {
                    let (t, r, s) = (tap / (h.kernel * w.kernel), tap / w.kernel % h.kernel, tap % w.kernel);
                    if let (Some(z), Some(y), Some(x)) = (inside(&d, o, t), inside(&h, p, r), inside(&w, q, s)) {
                        let weight = weights[index((k * conv.group_channels_in() + c) * conv.taps() + tap)];
                        sum += weight * input[index(((plane * d.size + z) * h.size + y) * w.size + x)];
                    }
                }
            }
            if conv.element() == ElementType::F16 { f16::from_f32(sum).to_f32() } else { sum }
        })
        .collect()
}

proptest! {
    #[test]
    fn a_right_result_passes(conv in any_conv(), seed: u64, half: bool) {
        let conv = conv.with_element(if half { ElementType::F16 } else { ElementType::F32 }).expect("fits");
        let inputs = Inputs::random(&conv, seed);
        let expectation = Expectation::new(&conv, &inputs, seed);
        let comparison = compare(&expectation, &in_f32(&conv, &inputs));
        prop_assert_eq!(comparison.verdict(tolerance(&conv, 1.0)), Ok(()), "{}", conv);
        prop_assert_eq!(comparison.points, conv.output_elements());
    }
}

/// A convolution of a usual size, small enough to be compared whole, with its right output.
fn right(key: &str) -> (Conv, Inputs, Expectation, Vec<f32>) {
    let conv: Conv = key.parse().expect(key);
    let inputs = Inputs::random(&conv, 42);
    let expectation = Expectation::new(&conv, &inputs, 42);
    let output = in_f32(&conv, &inputs);
    (conv, inputs, expectation, output)
}

const USUAL: &str = "n2c16h20w24_k8r3s3_p1";

fn compare(expectation: &Expectation, output: &[f32]) -> Comparison {
    expectation.compare(&Values::F32(output.to_vec()))
}

/// The message of the verdict on an output that must not pass.
fn complaint(conv: &Conv, expectation: &Expectation, output: &[f32]) -> String {
    compare(expectation, output).verdict(tolerance(conv, 1.0)).expect_err("a wrong result").to_string()
}

#[test]
fn errors_are_as_large_as_the_model_says() {
    for key in [USUAL, "n1c64h28w28_k16r3s3_p1", "n1c256h14w14_k16r3s3_p1", "n1c1h64w64_k4r1s1"] {
        let (conv, _, expectation, output) = right(key);
        let ratio = tolerance(&conv, 1.0) / compare(&expectation, &output).rel_l2;
        // 4·(1 + 2/√n), within a quarter; padding shortens sums, and a sum of one product rounds less than the model's.
        assert!((3.5..8.0).contains(&ratio), "{key}: tolerance over error {ratio}");
    }
}

#[test]
fn one_element_off_by_a_percent_is_caught_wherever_it_is() {
    let (conv, _, expectation, output) = right(USUAL);
    let rms = (output.iter().map(|x| x * x).sum::<f32>() / output.len() as f32).sqrt();
    let visible = output.iter().enumerate().filter(|(_, x)| x.abs() > 0.01 * rms).step_by(97);
    let mut tried = 0;
    for (i, &x) in visible {
        let mut wrong = output.clone();
        wrong[i] = x * 1.01;
        let place = Place::of(&conv, i as u64);
        let message = complaint(&conv, &expectation, &wrong);
        assert!(message.contains(&format!("at {place}:")), "{message}");
        tried += 1;
    }
    assert!(tried > 50);
}

#[test]
fn one_wrong_element_does_not_drown_in_a_large_output() {
    // An error of 2e-5 of an element in 589,824 vanishes in the L2 norm, but not to the guard of single elements.
    let (conv, _, expectation, mut output) = right("n4c4h192w192_k4r1s1");
    let typical = output.iter().position(|x| (1.9..2.1).contains(&x.abs())).expect("a typical element");
    output[typical] *= 1.0 + 2e-5;
    let comparison = compare(&expectation, &output);
    assert!(comparison.rel_l2 < tolerance(&conv, 1.0), "{}", comparison.rel_l2);
    assert!(matches!(comparison.verdict(tolerance(&conv, 1.0)), Err(WrongResult::Element { .. })));
}

#[test]
fn unwritten_and_infinite_elements_are_counted_over_the_whole_output() {
    let (conv, _, expectation, output) = right(USUAL);
    let mut wrong = output.clone();
    wrong[17] = f32::NAN;
    insta::assert_snapshot!(complaint(&conv, &expectation, &wrong), @"1 of 7,680 outputs are NaN, first at n0 k0 y0 x17");
    let comparison = compare(&expectation, &wrong);
    assert_eq!((comparison.unwritten, comparison.rel_l2, comparison.max_abs), (1, f64::INFINITY, f64::INFINITY));
    wrong.fill(f32::NAN);
    insta::assert_snapshot!(complaint(&conv, &expectation, &wrong), @"7,680 of 7,680 outputs are NaN, first at n0 k0 y0 x0");
    wrong.clone_from(&output);
    wrong[4000] = f32::NEG_INFINITY;
    insta::assert_snapshot!(complaint(&conv, &expectation, &wrong), @"1 of 7,680 outputs are infinite, first at n1 k0 y6 x16");
}

#[test]
fn halves_that_overflow_are_infinite_and_wrong() {
    let conv = USUAL.parse::<Conv>().expect(USUAL).with_element(ElementType::F16).expect("fits");
    let mut inputs = Inputs::random(&conv, 42);
    // Sums of 144 products spread 12 times as wide: a quarter is past 65504, the largest half.
    inputs.input.iter_mut().for_each(|x| *x = f16::from_f32(*x * 5000.0).to_f32());
    let expectation = Expectation::new(&conv, &inputs, 42);
    let message = complaint(&conv, &expectation, &in_f32(&conv, &inputs));
    insta::assert_snapshot!(message, @"2,085 of 7,680 outputs are infinite, first at n0 k0 y0 x11");
}

#[test]
fn integers_are_compared_to_the_last_digit() {
    let conv = "n1c64h3w3_k2r3s3_p1".parse::<Conv>().expect("key").with_element(ElementType::I8).expect("fits");
    let inputs = Inputs { input: vec![-128.0; 576], weights: vec![-128.0; 1152], output: Vec::new() };
    let expectation = Expectation::new(&conv, &inputs, 0);
    let compared = |output: &[i32]| expectation.compare(&Values::I32(output.to_vec())).verdict(tolerance(&conv, 1.0));
    let taps = [4, 6, 4, 6, 9, 6, 4, 6, 4].map(|taps| taps * 64 * (1 << 14));
    let right = [taps, taps].concat();
    assert_eq!(compared(&right), Ok(()));
    let mut wrong = right.clone();
    wrong[13] += 1;
    insta::assert_snapshot!(compared(&wrong).expect_err("off by one"), @"relative L2 error 4.0e-8 > tolerance 0.0e0, worst at n0 k1 y1 x1: 9437185, expected 9437184");
    wrong[13] = i32::MIN;
    insta::assert_snapshot!(compared(&wrong).expect_err("not written"), @"1 of 18 outputs are not written, first at n0 k1 y1 x1");
}

#[test]
fn swapped_rows_and_stale_zeros_are_caught() {
    let (conv, _, expectation, output) = right(USUAL);
    let mut wrong = output.clone();
    let (first, second) = wrong.split_at_mut(24);
    first.swap_with_slice(&mut second[..24]);
    insta::assert_snapshot!(complaint(&conv, &expectation, &wrong), @"relative L2 error 1.0e-1 > tolerance 8.9e-7, worst at n0 k0 y1 x11: 21.420433, expected -2.128705");
    let mut wrong = output.clone();
    wrong[24 * 20 * 3 + 5] = 0.0;
    insta::assert_snapshot!(complaint(&conv, &expectation, &wrong), @"relative L2 error 4.3e-3 > tolerance 8.9e-7, worst at n0 k3 y0 x5: 0, expected 4.522562");
    complaint(&conv, &expectation, &vec![0.0; output.len()]);
}

#[test]
fn padding_on_the_wrong_side_is_caught_in_small_and_large_problems() {
    for (right, wrong) in [
        ("n1c8h16w16_k8r3s3_p0:2", "n1c8h16w16_k8r3s3_p2:0"),
        ("n1c8h16w16_k8r3s3_p0:2x1", "n1c8h16w16_k8r3s3_p2:0x1"),
        ("n1c16h160w160_k24r3s3_p1:1x1:2_s1x2", "n1c16h160w160_k24r3s3_p1:1x2:1_s1x2"),
    ] {
        let (right, wrong): (Conv, Conv) = (right.parse().expect(right), wrong.parse().expect(wrong));
        let inputs = Inputs::random(&right, 3);
        let output = rounded(&reference::whole(&wrong, &inputs.input, &inputs.weights));
        let expectation = Expectation::new(&right, &inputs, 3);
        let message = complaint(&right, &expectation, &output);
        assert!(message.starts_with("relative L2 error"), "{message}");
    }
}

#[test]
fn large_problems_are_compared_at_points_but_read_whole() {
    let conv: Conv = "n1c32h112w112_k32r3s3_p1".parse().expect("key");
    let inputs = Inputs::random(&conv, 5);
    let expectation = Expectation::new(&conv, &inputs, 5);
    assert!(!expectation.is_whole());
    let output = rounded(&reference::whole(&conv, &inputs.input, &inputs.weights));
    let comparison = compare(&expectation, &output);
    assert_eq!(comparison.verdict(tolerance(&conv, 1.0)), Ok(()));
    assert!((RANDOM_POINTS as u64..MAX_POINTS as u64).contains(&comparison.points));
    // A last column left out shows although only some of its elements are compared; NaN shows wherever it is.
    let mut wrong = output.clone();
    wrong.iter_mut().skip(111).step_by(112).for_each(|x| *x = 0.0);
    assert!(complaint(&conv, &expectation, &wrong).contains(" x111: 0, expected"));
    let unseen =
        (0..output.len()).find(|i| compare(&expectation, &with_nan(&output, *i)).rel_l2.is_finite()).expect("a point not compared");
    let message = complaint(&conv, &expectation, &with_nan(&output, unseen));
    assert_eq!(message, format!("1 of 401,408 outputs are NaN, first at {}", Place::of(&conv, unseen as u64)));
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is meant")]
fn rounded(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

fn with_nan(output: &[f32], at: usize) -> Vec<f32> {
    let mut output = output.to_vec();
    output[at] = f32::NAN;
    output
}

#[test]
fn an_output_that_should_be_zero_is_compared_absolutely() {
    let conv: Conv = "n1c1h3w3_k1r1s1".parse().expect("key");
    let inputs = Inputs { input: vec![0.0; 9], weights: vec![2.0], output: Vec::new() };
    let expectation = Expectation::new(&conv, &inputs, 0);
    assert_eq!(compare(&expectation, &[0.0; 9]).verdict(tolerance(&conv, 1.0)), Ok(()));
    let mut wrong = [0.0; 9];
    wrong[4] = 0.5;
    let comparison = compare(&expectation, &wrong);
    assert!((comparison.rel_l2 - 0.5).abs() < 1e-12);
    insta::assert_snapshot!(complaint(&conv, &expectation, &wrong), @"relative L2 error 5.0e-1 > tolerance 2.1e-7, worst at n0 k0 y1 x1: 0.5, expected 0");
}

#[test]
fn outputs_that_only_read_padding_must_be_zero() {
    // A 1×1 kernel over a padded point: all outputs but the middle one are 0.
    let conv: Conv = "n1c1h1w1_k1r1s1_p1".parse().expect("key");
    let inputs = Inputs { input: vec![3.0], weights: vec![2.0], output: Vec::new() };
    let expectation = Expectation::new(&conv, &inputs, 0);
    let mut output = [0.0; 9];
    output[4] = 6.0;
    assert_eq!(compare(&expectation, &output).verdict(tolerance(&conv, 1.0)), Ok(()));
    output[0] = 1e-3;
    complaint(&conv, &expectation, &output);
}

#[test]
fn an_empty_batch_passes() {
    let conv: Conv = "n0c3h3w3_k3r3s3".parse().expect("key");
    let inputs = Inputs::random(&conv, 1);
    let expectation = Expectation::new(&conv, &inputs, 1);
    assert!(expectation.is_empty());
    let comparison = compare(&expectation, &[]);
    assert_eq!((comparison.verdict(tolerance(&conv, 1.0)), comparison.points, comparison.rel_l2), (Ok(()), 0, 0.0));
}

#[test]
fn places_have_the_letters_of_their_axes() {
    for (key, flat, place) in
        [("n2c1w5_k2s1", 13, "n1 k0 x3"), ("n2c1h2w5_k2r1s1", 33, "n1 k1 y0 x3"), ("n1c1d2h2w5_k2t1r1s1", 38, "n0 k1 z1 y1 x3")]
    {
        assert_eq!(Place::of(&key.parse().expect(key), flat).to_string(), place, "{key}");
    }
}
