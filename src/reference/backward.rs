//! The backward passes: the products of the forward one, summed over what they are gradients of.

use super::{ResultIndex, RowTap, index, input_at};
use crate::conv::{Axis, Conv};

/// Adds all products of one row of the input's gradient, which begins at `first`, to `out`.
pub(super) fn add_data_row(conv: &Conv, weights: &[f32], dy: &[f32], first: &ResultIndex, taps: &[RowTap], out: &mut [f64]) {
    let [_, _, width] = conv.axes_3d();
    let (row, stride) = (index(width.output()), index(width.stride));
    for_each_output_row(conv, first, |dy_row, weight_row| {
        let dy = &dy[dy_row..dy_row + row];
        for (tap, &weight) in taps.iter().zip(&weights[weight_row..]) {
            let weight = f64::from(weight);
            let reached = out[tap.first_input..].iter_mut().step_by(stride);
            dy[tap.outputs.clone()].iter().zip(reached).for_each(|(&y, x)| *x += weight * f64::from(y));
        }
    });
}

/// One element of the input's gradient.
pub(super) fn data_at(conv: &Conv, weights: &[f32], dy: &[f32], point: &ResultIndex) -> f64 {
    let [_, _, width] = conv.axes_3d();
    let mut sum = 0.0;
    for_each_output_row(conv, point, |dy_row, weight_row| {
        for tap in 0..width.kernel {
            if let Some(q) = output_at(&width, point.at[2], tap) {
                sum += f64::from(weights[weight_row + index(tap)]) * f64::from(dy[dy_row + index(q)]);
            }
        }
    });
    sum
}

/// Calls `visit` with the start of every pair of an output row and a weight row that meet in the input row of `point`.
fn for_each_output_row(conv: &Conv, point: &ResultIndex, mut visit: impl FnMut(usize, usize)) {
    let [depth, height, width] = conv.axes_3d();
    let [n, c] = point.outer;
    let (group_c, group_k) = (conv.group_channels_in(), conv.group_channels_out());
    for k in c / group_c * group_k..(c / group_c + 1) * group_k {
        for t in 0..depth.kernel {
            let Some(o) = output_at(&depth, point.at[0], t) else { continue };
            for r in 0..height.kernel {
                let Some(p) = output_at(&height, point.at[1], r) else { continue };
                let dy_row = (((n * conv.channels_out() + k) * depth.output() + o) * height.output() + p) * width.output();
                let weight_row = (((k * group_c + c % group_c) * depth.kernel + t) * height.kernel + r) * width.kernel;
                visit(index(dy_row), index(weight_row));
            }
        }
    }
}

/// The output that `input` reaches through `tap` along `axis`, if there is one.
fn output_at(axis: &Axis, input: u64, tap: u64) -> Option<u64> {
    let distance = (input + axis.pad_before).checked_sub(tap * axis.dilation)?;
    (distance.is_multiple_of(axis.stride) && distance / axis.stride < axis.output()).then_some(distance / axis.stride)
}

/// Adds all products of one row of the weights' gradient, which begins at `first`, to `out`.
pub(super) fn add_weights_row(conv: &Conv, input: &[f32], dy: &[f32], first: &ResultIndex, taps: &[RowTap], out: &mut [f64]) {
    for_each_pair_of_rows(conv, first, |input_row, dy_row| {
        for (sum, tap) in out.iter_mut().zip(taps) {
            *sum += dot(conv, tap, &input[input_row..], &dy[dy_row..]);
        }
    });
}

/// One element of the weights' gradient.
pub(super) fn weights_at(conv: &Conv, input: &[f32], dy: &[f32], point: &ResultIndex, taps: &[RowTap]) -> f64 {
    let tap = &taps[index(point.at[2])];
    let mut sum = 0.0;
    for_each_pair_of_rows(conv, point, |input_row, dy_row| sum += dot(conv, tap, &input[input_row..], &dy[dy_row..]));
    sum
}

/// The products of an output row with the elements of an input row that a tap reads for it.
fn dot(conv: &Conv, tap: &RowTap, input: &[f32], dy: &[f32]) -> f64 {
    let read = input[tap.first_input..].iter().step_by(index(conv.axes_3d()[2].stride));
    dy[tap.outputs.clone()].iter().zip(read).map(|(&y, &x)| f64::from(x) * f64::from(y)).sum()
}

/// Calls `visit` with the start of every pair of an input row and an output row that meet in the weight row of `point`.
#[expect(clippy::many_single_char_names, reason = "the letters of the formula")]
fn for_each_pair_of_rows(conv: &Conv, point: &ResultIndex, mut visit: impl FnMut(usize, usize)) {
    let [depth, height, width] = conv.axes_3d();
    let ([k, c], [t, r, _]) = (point.outer, point.at);
    let channel = k / conv.group_channels_out() * conv.group_channels_in() + c;
    for n in 0..conv.batch() {
        for o in 0..depth.output() {
            let Some(z) = input_at(&depth, o, t) else { continue };
            for p in 0..height.output() {
                let Some(y) = input_at(&height, p, r) else { continue };
                let input_row = (((n * conv.channels_in() + channel) * depth.size + z) * height.size + y) * width.size;
                let dy_row = (((n * conv.channels_out() + k) * depth.output() + o) * height.output() + p) * width.output();
                visit(index(input_row), index(dy_row));
            }
        }
    }
}
