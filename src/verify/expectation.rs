//! What an output should be, at all of its points or at a choice of them.

use super::comparison::{Comparison, Mismatch, Place};
use super::inputs::Inputs;
use super::points::{self, MAX_POINTS};
use crate::conv::{Conv, Values};
use crate::ledger::{operations, operations_without_padding};
use crate::reference;
use rayon::prelude::*;

/// Problems of at most this many multiply-adds are compared whole: well under a second of reference work.
pub const WHOLE_MULTIPLY_ADDS: u64 = 1 << 26;

/// The right values of an output.
#[derive(Debug, Clone)]
pub struct Expectation {
    conv: Conv,
    /// Flat indices of `values`, ascending; `None` when they are the whole output.
    points: Option<Vec<u64>>,
    values: Vec<f64>,
    /// What errors are relative to; see [`Expectation::new`].
    norm: f64,
}

impl Expectation {
    /// Computes the reference.
    ///
    /// Small problems are done whole: at most [`WHOLE_MULTIPLY_ADDS`] (where a reduction counts as at least 8, to bound memory
    /// too) or no more than [`MAX_POINTS`] outputs. Of larger ones so many points are compared at most: all corners
    /// of the output box (for the first and last image, the first and last channel of the first and last group), hundreds at
    /// random on each of its corners, edges and faces, where padding and tails of tiles go wrong, and
    /// [`RANDOM_POINTS`](super::RANDOM_POINTS) anywhere.
    ///
    /// Errors are taken relative to the norm of the expected values. A few outputs may cancel to nearly nothing by chance,
    /// though their rounding errors do not; so where all are compared the norm is at least what it is on average over the
    /// signs of the data, `√(mean x² · mean w² · products)`. If that is zero too, errors are absolute.
    ///
    /// # Panics
    /// When the inputs do not have the lengths of the convolution's tensors.
    pub fn new(conv: &Conv, inputs: &Inputs, seed: u64) -> Self {
        let [first, second] = conv.operands().map(|tensor| inputs.values(tensor));
        let outputs = conv.result_elements();
        let multiply_adds = (operations(conv).0 / 2).max(outputs.saturating_mul(8));
        let (points, values) = if multiply_adds <= WHOLE_MULTIPLY_ADDS || outputs <= MAX_POINTS as u64 {
            (None, reference::whole(conv, first, second))
        } else {
            let points: Vec<u64> = points::choose(conv, seed);
            let values = reference::at_points(conv, first, second, &points);
            (Some(points), values)
        };
        let norm = values.iter().map(|e| e * e).sum::<f64>().sqrt();
        let usual = if points.is_none() { usual_norm(conv, inputs) } else { 0.0 };
        let norm = if norm.max(usual) == 0.0 { 1.0 } else { norm.max(usual) };
        Self { conv: *conv, points, values, norm }
    }

    /// How many outputs are compared.
    pub fn len(&self) -> u64 {
        self.values.len() as u64
    }

    /// Whether there is nothing to compare: an empty batch.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether every output is compared.
    pub fn is_whole(&self) -> bool {
        self.points.is_none()
    }

    /// Holds a result, in C order with its channels second, against the expectation.
    ///
    /// # Panics
    /// When `output` does not have the length of the convolution's result.
    pub fn compare(&self, output: &Values) -> Comparison {
        assert_eq!(output.len() as u64, self.conv.result_elements(), "elements of the result of {}", self.conv);
        let (unwritten, infinite) = match output {
            Values::F32(values) => (Bad::of(values, f32::is_nan), Bad::of(values, f32::is_infinite)),
            Values::I32(values) => (Bad::of(values, |x| x == i32::MIN), Bad::default()),
        };
        let place = |flat: usize| Place::of(&self.conv, flat as u64);
        let rms = self.norm / (self.values.len().max(1) as f64).sqrt();
        let (mut squares, mut max_abs, mut max_element) = (0.0, 0.0_f64, 0.0_f64);
        let mut worst = None;
        for (i, &expected) in self.values.iter().enumerate() {
            let flat = self.points.as_ref().map_or(i as u64, |points| points[i]);
            let found = output.at(usize::try_from(flat).expect("an index into the output"));
            let error = (found - expected).abs();
            // NaN compares as nothing; as an error it is as large as can be.
            let error = if error.is_nan() { f64::INFINITY } else { error };
            squares += error * error;
            max_abs = max_abs.max(error);
            let element = error / (expected.abs() + rms);
            if element > max_element {
                max_element = element;
                worst = Some(Mismatch { place: Place::of(&self.conv, flat), found, expected });
            }
        }
        Comparison {
            rel_l2: squares.sqrt() / self.norm,
            max_abs,
            max_element,
            points: self.len(),
            outputs: output.len() as u64,
            integers: matches!(output, Values::I32(_)),
            unwritten: unwritten.count,
            first_unwritten: unwritten.first.map(place),
            infinite: infinite.count,
            first_infinite: infinite.first.map(place),
            worst,
        }
    }
}

/// Outputs that are no result.
#[derive(Default)]
struct Bad {
    count: u64,
    first: Option<usize>,
}

impl Bad {
    fn of<T: Copy + Sync>(values: &[T], bad: fn(T) -> bool) -> Self {
        let count = values.par_iter().filter(|&&x| bad(x)).count() as u64;
        Self { count, first: values.par_iter().position_first(|&x| bad(x)) }
    }
}

/// The norm of the output on average over the signs of the data.
fn usual_norm(conv: &Conv, inputs: &Inputs) -> f64 {
    let mean_square = |values: &[f32]| values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / values.len().max(1) as f64;
    let products = (operations_without_padding(conv).0 / 2) as f64;
    let [first, second] = conv.operands().map(|tensor| mean_square(inputs.values(tensor)));
    (first * second * products).sqrt()
}
