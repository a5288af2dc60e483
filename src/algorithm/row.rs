//! Which columns of an input row an invocation loads for neighbouring outputs, and whether it loads them as vectors of four.

use super::build::{StepBuilder, word};
use crate::conv::Axis;
use crate::plan::{Constant, Limits, Unsupported};

/// The columns for `outputs` neighbouring outputs, relative to the first; ascending, each once.
pub(super) fn wanted(outputs: u64, stride: u64, taps: u64, dilation: u64) -> Vec<u64> {
    let mut columns: Vec<u64> = (0..outputs).flat_map(|x| (0..taps).map(move |s| x * stride + s * dilation)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Numbers as the text holds them.
pub(super) fn sizes(what: &str, values: &[u64]) -> Result<Constant, Unsupported> {
    values.iter().map(|&value| word(what, value)).collect::<Result<_, _>>().map(Constant::Sizes)
}

/// The constants that `common/row.wgsl` takes: `columns` of rows along `width`, whose first is a multiple of four before the padding.
///
/// Where tuning has vectors loaded, they come as such if the rows and what lies before them in the buffer (`aligned`) are whole vectors, and
/// a vector holds two of the columns or more in the mean: rarer ones are cheaper one by one.
pub(super) fn constants(
    step: StepBuilder,
    columns: &[u64],
    width: &Axis,
    aligned: bool,
    limits: &Limits,
) -> Result<StepBuilder, Unsupported> {
    let shift = (4 - width.pad_before % 4) % 4;
    let mut vectors: Vec<u64> = columns.iter().map(|x| (x + shift) / 4).collect();
    vectors.dedup();
    let vector = limits.vector_loads() && aligned && width.size.is_multiple_of(4) && 2 * vectors.len() <= columns.len();
    // Without vectors the text depends on neither.
    let (shift, vectors) = if vector { (shift, vectors) } else { (0, Vec::new()) };
    Ok(step
        .constant("vector_in", Constant::Flag(vector))
        .constant("shift", word("shift", shift).map(Constant::Size)?)
        .constant("wanted_v", sizes("vector of input columns", &vectors)?)
        .constant("wanted_w", sizes("input column", columns)?))
}
