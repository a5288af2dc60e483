//! Convolution on the CPU in f64: what every kernel is held against.
//!
//! ```text
//! y[n,k,o,p,q] = Σ_c Σ_t Σ_r Σ_s  w[k,c,t,r,s] · x[n, c₀+c, i(o,t), i(p,r), i(q,s)],     i(o,t) = o·stride + t·dilation − pad_before
//! ```
//!
//! with `c` over the `C/g` channels of `k`'s group, which begin at `c₀`; an index outside the input reads 0. This is a
//! cross-correlation: the kernel is not flipped, as in every deep-learning library. The backward passes sum the same products, those of
//! the output's gradient `dy` in place of `y`: `dx[n,c₀+c,i,…]` is the sum of `w·dy` and `dw[k,c,t,r,s]` that of `x·dy` over all products
//! they are in. The product of two f32 is exact in f64, so the only error is that of the sum, about `2⁻⁵³·√L` for `L` products: nine
//! digits below that of any f32 kernel.
//!
//! [`whole`] and [`at_points`] add the products of a result in the same order and so agree to the last bit.

mod backward;
#[cfg(test)]
mod tests;

use crate::conv::{Axis, Conv, Pass};
use rayon::prelude::*;
use std::ops::Range;

/// The whole result of the convolution's pass, in C order with channels second, from the tensors it reads in the order of
/// [`Conv::operands`].
///
/// Rows of the result are shared out over the threads; each is summed tap by tap as scaled rows, so that the inner loop is
/// a vector operation over contiguous elements.
///
/// # Panics
/// When an operand has not the length of its tensor.
pub fn whole(conv: &Conv, first: &[f32], second: &[f32]) -> Vec<f64> {
    check_lengths(conv, first, second);
    let row = index(conv.result_extents()[2]);
    let mut result = vec![0.0; index(conv.result_elements())];
    let taps = row_taps(&conv.axes_3d()[2]);
    if row > 0 {
        result.par_chunks_mut(row).enumerate().for_each(|(i, out)| {
            let first_of_row = ResultIndex::of(conv, (i * row) as u64);
            match conv.computes() {
                Pass::Forward => add_row(conv, first, second, &first_of_row, &taps, out),
                Pass::BackwardData => backward::add_data_row(conv, first, second, &first_of_row, &taps, out),
                Pass::BackwardWeights => backward::add_weights_row(conv, first, second, &first_of_row, &taps, out),
            }
        });
    }
    result
}

/// The results at flat C-order indices `points`, in their order.
///
/// # Panics
/// As [`whole`], and when a point is not below the number of results.
pub fn at_points(conv: &Conv, first: &[f32], second: &[f32], points: &[u64]) -> Vec<f64> {
    check_lengths(conv, first, second);
    let taps = row_taps(&conv.axes_3d()[2]);
    let point = |&point: &u64| {
        let point = ResultIndex::of(conv, point);
        match conv.computes() {
            Pass::Forward => at(conv, first, second, &point),
            Pass::BackwardData => backward::data_at(conv, first, second, &point),
            Pass::BackwardWeights => backward::weights_at(conv, first, second, &point, &taps),
        }
    };
    points.par_iter().map(point).collect()
}

/// Where an element of the result lies: image and output channel (forward), image and input channel (backward data) or output channel and
/// input channel of its group (backward weights); then the position along depth, height and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultIndex {
    /// The two outer indices.
    pub outer: [u64; 2],
    /// Position along depth, height and width; 0 along axes the convolution does not have.
    pub at: [u64; 3],
}

impl ResultIndex {
    /// Takes a flat C-order index apart.
    ///
    /// # Panics
    /// When `flat` is not below the number of results.
    pub fn of(conv: &Conv, flat: u64) -> Self {
        assert!(flat < conv.result_elements(), "element {flat} of {conv} is past its {} results", conv.result_elements());
        let [d, h, w] = conv.result_extents();
        let [_, (inner, _)] = conv.result_outer();
        let (plane, within) = (flat / (d * h * w), flat % (d * h * w));
        Self { outer: [plane / inner, plane % inner], at: [within / (h * w), within / w % h, within % w] }
    }

    /// The flat C-order index.
    pub fn flat(&self, conv: &Conv) -> u64 {
        let [_, (inner, _)] = conv.result_outer();
        let plane = self.outer[0] * inner + self.outer[1];
        self.at.iter().zip(conv.result_extents()).fold(plane, |flat, (at, extent)| flat * extent + at)
    }
}

/// The outputs along a row that one tap reaches, and the input element that the first of them reads.
struct RowTap {
    outputs: Range<usize>,
    first_input: usize,
}

/// For each tap along `axis`, what it contributes to.
fn row_taps(axis: &Axis) -> Vec<RowTap> {
    (0..axis.kernel)
        .map(|tap| {
            // Outputs q with 0 <= q·stride + tap·dilation − pad_before < size.
            let shift = tap * axis.dilation;
            let start = axis.pad_before.saturating_sub(shift).div_ceil(axis.stride);
            let end = (axis.size + axis.pad_before).saturating_sub(shift).div_ceil(axis.stride).min(axis.output());
            match input_at(axis, start, tap) {
                Some(first) if start < end => RowTap { outputs: index(start)..index(end), first_input: index(first) },
                _ => RowTap { outputs: 0..0, first_input: 0 },
            }
        })
        .collect()
}

/// Adds all products of one output row, which begins at `first`, to `out`.
fn add_row(conv: &Conv, input: &[f32], weights: &[f32], first: &ResultIndex, taps: &[RowTap], out: &mut [f64]) {
    let width = index(conv.axes_3d()[2].size);
    let stride = index(conv.axes_3d()[2].stride);
    for_each_row(conv, first, |input_row, weight_row| {
        let row = &input[input_row..input_row + width];
        for (tap, &weight) in taps.iter().zip(&weights[weight_row..]) {
            let (weight, row) = (f64::from(weight), &row[tap.first_input..]);
            let out = &mut out[tap.outputs.clone()];
            if stride == 1 {
                out.iter_mut().zip(row).for_each(|(o, &x)| *o += weight * f64::from(x));
            } else {
                out.iter_mut().zip(row.iter().step_by(stride)).for_each(|(o, &x)| *o += weight * f64::from(x));
            }
        }
    });
}

/// One output.
fn at(conv: &Conv, input: &[f32], weights: &[f32], point: &ResultIndex) -> f64 {
    let axis = &conv.axes_3d()[2];
    let mut sum = 0.0;
    for_each_row(conv, point, |input_row, weight_row| {
        for tap in 0..axis.kernel {
            if let Some(x) = input_at(axis, point.at[2], tap) {
                sum += f64::from(weights[weight_row + index(tap)]) * f64::from(input[input_row + index(x)]);
            }
        }
    });
    sum
}

/// Calls `visit` with the start of every pair of an input row and a weight row that meet in the output row of `point`.
fn for_each_row(conv: &Conv, point: &ResultIndex, mut visit: impl FnMut(usize, usize)) {
    let [depth, height, width] = conv.axes_3d();
    let channels = conv.group_channels_in();
    let [n, k] = point.outer;
    let first_channel = n * conv.channels_in() + k / conv.group_channels_out() * channels;
    for c in 0..channels {
        for t in 0..depth.kernel {
            let Some(z) = input_at(&depth, point.at[0], t) else { continue };
            for r in 0..height.kernel {
                let Some(y) = input_at(&height, point.at[1], r) else { continue };
                let input_row = (((first_channel + c) * depth.size + z) * height.size + y) * width.size;
                let weight_row = (((k * channels + c) * depth.kernel + t) * height.kernel + r) * width.kernel;
                visit(index(input_row), index(weight_row));
            }
        }
    }
}

/// The input element that `tap` of `output` reads along `axis`; `None` in the padding.
fn input_at(axis: &Axis, output: u64, tap: u64) -> Option<u64> {
    (output * axis.stride + tap * axis.dilation).checked_sub(axis.pad_before).filter(|&x| x < axis.size)
}

fn check_lengths(conv: &Conv, first: &[f32], second: &[f32]) {
    for (tensor, values) in conv.operands().into_iter().zip([first, second]) {
        assert_eq!(values.len() as u64, conv.elements(tensor), "elements of the {} of {conv}", conv.tensor_name(tensor));
    }
}

/// An index into a slice. Extents are below 2³² and flat indices below the length of a slice, so only a 16-bit target
/// could fail.
fn index(x: u64) -> usize {
    usize::try_from(x).expect("an index into memory fits a pointer")
}
