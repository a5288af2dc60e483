//! The fast loops against the definition written down naively.

use super::*;
use crate::conv::tests::any_conv;
use crate::conv::{ConvSpec, Tensor};
use proptest::prelude::*;

/// The formula of the module's head, output by output, with signed coordinates and a test for the padding at every tap.
#[expect(clippy::many_single_char_names, reason = "the letters of the formula")]
fn by_definition(conv: &Conv, input: &[f32], weights: &[f32]) -> Vec<f64> {
    let int = |x: u64| i64::try_from(x).expect("small");
    let [d, h, w] = conv.axes_3d();
    let coordinate = |a: &Axis, output: u64, tap: u64| int(output * a.stride + tap * a.dilation) - int(a.pad_before);
    let mut outputs = Vec::new();
    for n in 0..conv.batch() {
        for k in 0..conv.channels_out() {
            for (o, p, q) in triples([d.output(), h.output(), w.output()]) {
                let mut sum = 0.0;
                for c in 0..conv.group_channels_in() {
                    let channel = int(k / conv.group_channels_out() * conv.group_channels_in() + c);
                    for (t, r, s) in triples([d.kernel, h.kernel, w.kernel]) {
                        let (z, y, x) = (coordinate(&d, o, t), coordinate(&h, p, r), coordinate(&w, q, s));
                        let inside = |i: i64, a: &Axis| (0..int(a.size)).contains(&i);
                        if !(inside(z, &d) && inside(y, &h) && inside(x, &w)) {
                            continue;
                        }
                        let at = (((int(n * conv.channels_in()) + channel) * int(d.size) + z) * int(h.size) + y) * int(w.size) + x;
                        let tap = (((k * conv.group_channels_in() + c) * d.kernel + t) * h.kernel + r) * w.kernel + s;
                        sum += f64::from(weights[index(tap)]) * f64::from(input[usize::try_from(at).expect("inside")]);
                    }
                }
                outputs.push(sum);
            }
        }
    }
    outputs
}

fn triples([a, b, c]: [u64; 3]) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}

/// Values that are different everywhere, of both signs and not on a grid.
fn values(count: u64, phase: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.731 + phase).sin()).collect()
}

/// The gradients by their definition: every product of the forward pass, added to what it is a gradient of.
#[expect(clippy::many_single_char_names, reason = "the letters of the formula")]
fn backward_by_definition(conv: &Conv, first: &[f32], dy: &[f32]) -> Vec<f64> {
    let int = |x: u64| i64::try_from(x).expect("small");
    let [d, h, w] = conv.axes_3d();
    let coordinate = |a: &Axis, output: u64, tap: u64| int(output * a.stride + tap * a.dilation) - int(a.pad_before);
    let mut result = vec![0.0; index(conv.result_elements())];
    for n in 0..conv.batch() {
        for k in 0..conv.channels_out() {
            for (o, p, q) in triples([d.output(), h.output(), w.output()]) {
                let y = f64::from(dy[index((((n * conv.channels_out() + k) * d.output() + o) * h.output() + p) * w.output() + q)]);
                for c in 0..conv.group_channels_in() {
                    let channel = int(k / conv.group_channels_out() * conv.group_channels_in() + c);
                    for (t, r, s) in triples([d.kernel, h.kernel, w.kernel]) {
                        let (z, v, x) = (coordinate(&d, o, t), coordinate(&h, p, r), coordinate(&w, q, s));
                        let inside = |i: i64, a: &Axis| (0..int(a.size)).contains(&i);
                        if !(inside(z, &d) && inside(v, &h) && inside(x, &w)) {
                            continue;
                        }
                        let at = (((int(n * conv.channels_in()) + channel) * int(d.size) + z) * int(h.size) + v) * int(w.size) + x;
                        let at = usize::try_from(at).expect("inside");
                        let tap = index((((k * conv.group_channels_in() + c) * d.kernel + t) * h.kernel + r) * w.kernel + s);
                        match conv.computes() {
                            Pass::BackwardData => result[at] += f64::from(first[tap]) * y,
                            _ => result[tap] += f64::from(first[at]) * y,
                        }
                    }
                }
            }
        }
    }
    result
}

fn operands(conv: &Conv) -> [Vec<f32>; 2] {
    let [first, second] = conv.operands().map(|tensor| conv.elements(tensor));
    [values(first, 0.3), values(second, 1.7)]
}

fn any_pass() -> impl Strategy<Value = Pass> {
    prop::sample::select(Pass::ALL.to_vec())
}

proptest! {
    #[test]
    fn whole_and_points_are_the_definition(conv in any_conv(), pass in any_pass()) {
        let conv = conv.with_pass(pass);
        let [first, second] = operands(&conv);
        let found = whole(&conv, &first, &second);
        if pass == Pass::Forward {
            prop_assert_eq!(&found, &by_definition(&conv, &first, &second));
        } else {
            let expected = backward_by_definition(&conv, &first, &second);
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                // The orders of addition differ.
                prop_assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{} {}", found, expected);
            }
        }
        let backwards: Vec<u64> = (0..conv.result_elements()).rev().collect();
        let mut points = at_points(&conv, &first, &second, &backwards);
        points.reverse();
        prop_assert_eq!(&points, &found);
    }

    /// A transposed convolution is the gradient of the one it mirrors with respect to the input.
    #[test]
    fn transposed_is_backward_data(conv in any_conv()) {
        let key = format!("{conv}");
        let [first, second] = operands(&conv.with_pass(Pass::BackwardData));
        let spec = ConvSpec::from(conv);
        let output_padding: Vec<u64> = conv.axes().iter().map(|a| (a.padded() - a.span()) % a.stride).collect();
        let axes: Vec<Axis> = conv.axes().iter().map(|a| Axis { size: a.output(), ..*a }).collect();
        let transposed = ConvSpec { channels_in: spec.channels_out, channels_out: spec.channels_in, axes, ..spec }.transposed(&output_padding);
        let transposed = transposed.build().expect("the mirror image of a convolution that exists");
        prop_assert_eq!(transposed.shape(Tensor::Input), conv.input_shape(), "{}", key);
        prop_assert_eq!(whole(&transposed, &first, &second), whole(&conv.with_pass(Pass::BackwardData), &first, &second));
        prop_assert_eq!(transposed.to_string().parse::<Conv>().expect("own key"), transposed);
    }

    #[test]
    fn result_indices_round_trip(conv in any_conv(), pass in any_pass()) {
        let conv = conv.with_pass(pass);
        for flat in 0..conv.result_elements() {
            prop_assert_eq!(ResultIndex::of(&conv, flat).flat(&conv), flat);
        }
    }
}

#[test]
fn a_convolution_computed_by_hand() {
    // Input 1 2 3 / 4 5 6, kernel 1 10 / 100 1000, one row of zeros above and one column of zeros to the right.
    let conv: Conv = "n1c1h2w3_k1r2s2_p1:0x0:1".parse().expect("key");
    let output = whole(&conv, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(output, [2100.0, 3200.0, 300.0, 5421.0, 6532.0, 603.0]);
}

#[test]
fn groups_keep_their_channels_apart() {
    let conv: Conv = "n1c4w1_k2s1_g2".parse().expect("key");
    assert_eq!(whole(&conv, &[1.0, 2.0, 3.0, 4.0], &[1.0, 10.0, 100.0, 1000.0]), [21.0, 4300.0]);
}

#[test]
fn an_empty_batch_has_an_empty_output() {
    let conv: Conv = "n0c1h2w2_k1r1s1".parse().expect("key");
    assert_eq!(whole(&conv, &[], &[1.0]), Vec::<f64>::new());
    assert_eq!(at_points(&conv, &[], &[1.0], &[]), Vec::<f64>::new());
}

#[test]
#[should_panic(expected = "elements of the input of n1c1h2w2_k1r1s1")]
fn a_wrong_length_names_the_problem() {
    whole(&"n1c1h2w2_k1r1s1".parse().expect("key"), &[0.0; 3], &[1.0]);
}
