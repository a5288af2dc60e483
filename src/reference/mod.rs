//! Convolution on the CPU in f64: what every kernel is held against.
//!
//! ```text
//! out[n,k,o,p,q] = Σ_c Σ_t Σ_r Σ_s  w[k,c,t,r,s] · in[n, c₀+c, i(o,t), i(p,r), i(q,s)],     i(o,t) = o·stride + t·dilation − pad_before
//! ```
//!
//! with `c` over the `C/g` channels of `k`'s group, which begin at `c₀`; an index outside the input reads 0. This is a
//! cross-correlation: the kernel is not flipped, as in every deep-learning library. The product of two f32 is exact in
//! f64, so the only error is that of the sum, about `2⁻⁵³·√L` for `L` products: nine digits below that of any f32 kernel.
//!
//! [`whole`] and [`at_points`] add the products of an output in the same order and so agree to the last bit.

#[cfg(test)]
mod tests;

use crate::conv::{Axis, Conv};
use rayon::prelude::*;
use std::ops::Range;

/// The whole output, `N,K,[O,]P,Q` in C order.
///
/// Output rows are shared out over the threads; each is summed tap by tap as scaled input rows, so that the inner loop is
/// a vector operation over `Q` contiguous elements.
///
/// # Panics
/// When `input` is not `N,C,[D,]H,W` or `weights` not `K,C/g,[T,]R,S` elements long.
pub fn whole(conv: &Conv, input: &[f32], weights: &[f32]) -> Vec<f64> {
    check_lengths(conv, input, weights);
    let row = index(conv.axes_3d()[2].output());
    let mut output = vec![0.0; index(conv.output_elements())];
    let taps = row_taps(&conv.axes_3d()[2]);
    output.par_chunks_mut(row).enumerate().for_each(|(i, out)| {
        add_row(conv, input, weights, &OutputIndex::of(conv, (i * row) as u64), &taps, out);
    });
    output
}

/// The outputs at flat C-order indices `points`, in their order.
///
/// # Panics
/// As [`whole`], and when a point is not below the number of outputs.
pub fn at_points(conv: &Conv, input: &[f32], weights: &[f32], points: &[u64]) -> Vec<f64> {
    check_lengths(conv, input, weights);
    points.par_iter().map(|&point| at(conv, input, weights, &OutputIndex::of(conv, point))).collect()
}

/// Where an output lies: image, output channel, position along depth, height and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputIndex {
    /// Image.
    pub n: u64,
    /// Output channel.
    pub k: u64,
    /// Position along depth, height and width; 0 along axes the convolution does not have.
    pub at: [u64; 3],
}

impl OutputIndex {
    /// Takes a flat C-order index apart.
    ///
    /// # Panics
    /// When `flat` is not below the number of outputs.
    pub fn of(conv: &Conv, flat: u64) -> Self {
        assert!(flat < conv.output_elements(), "output {flat} of {conv} is past its {} outputs", conv.output_elements());
        let [_, p, q] = conv.axes_3d().map(|a| a.output());
        let (plane, within) = (flat / conv.output_points(), flat % conv.output_points());
        Self { n: plane / conv.channels_out(), k: plane % conv.channels_out(), at: [within / (p * q), within / q % p, within % q] }
    }

    /// The flat C-order index.
    pub fn flat(&self, conv: &Conv) -> u64 {
        let plane = self.n * conv.channels_out() + self.k;
        self.at.iter().zip(conv.axes_3d()).fold(plane, |flat, (at, axis)| flat * axis.output() + at)
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
fn add_row(conv: &Conv, input: &[f32], weights: &[f32], first: &OutputIndex, taps: &[RowTap], out: &mut [f64]) {
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
fn at(conv: &Conv, input: &[f32], weights: &[f32], point: &OutputIndex) -> f64 {
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
fn for_each_row(conv: &Conv, point: &OutputIndex, mut visit: impl FnMut(usize, usize)) {
    let [depth, height, width] = conv.axes_3d();
    let channels = conv.group_channels_in();
    let first_channel = point.n * conv.channels_in() + point.k / conv.group_channels_out() * channels;
    for c in 0..channels {
        for t in 0..depth.kernel {
            let Some(z) = input_at(&depth, point.at[0], t) else { continue };
            for r in 0..height.kernel {
                let Some(y) = input_at(&height, point.at[1], r) else { continue };
                let input_row = (((first_channel + c) * depth.size + z) * height.size + y) * width.size;
                let weight_row = (((point.k * channels + c) * depth.kernel + t) * height.kernel + r) * width.kernel;
                visit(index(input_row), index(weight_row));
            }
        }
    }
}

/// The input element that `tap` of `output` reads along `axis`; `None` in the padding.
fn input_at(axis: &Axis, output: u64, tap: u64) -> Option<u64> {
    (output * axis.stride + tap * axis.dilation).checked_sub(axis.pad_before).filter(|&x| x < axis.size)
}

fn check_lengths(conv: &Conv, input: &[f32], weights: &[f32]) {
    assert_eq!(input.len() as u64, conv.input_elements(), "elements of the input of {conv}");
    assert_eq!(weights.len() as u64, conv.weight_elements(), "elements of the weights of {conv}");
}

/// An index into a slice. Extents are below 2³² and flat indices below the length of a slice, so only a 16-bit target
/// could fail.
fn index(x: u64) -> usize {
    usize::try_from(x).expect("an index into memory fits a pointer")
}
