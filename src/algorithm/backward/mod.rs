//! The backward passes of the algorithms that have them: the gradient of the input (`data`) and that of the weights (`weights`), from the
//! gradient of the output. A transposed convolution is the first of them.
//!
//! An element of the weights' gradient is a sum over all output points of all images. It is cut into dispatches of rows of outputs, each
//! adding to what the ones before left behind, so that no kernel loops without bound; the order of the sum is always the same.

pub(super) mod direct;
pub(super) mod im2col;
pub(super) mod product;

use super::build::{Part, check_steps, image_parts, pieces, word};
use crate::conv::Conv;
use crate::plan::{Limits, Plan, Unsupported};

/// Most turns that a kernel's loops take in one dispatch: what a watchdog, or a driver that leaves loops, lets pass.
const MOST_TURNS: u64 = 1 << 15;

/// Some rows of outputs, in windows of input and output that hold their images.
struct Rows {
    part: Part,
    /// First row, counted from the first image of the part, over images, depths and heights.
    first: u64,
    count: u64,
}

/// All rows of outputs in pieces of so few turns that a dispatch can sum over them, where a row takes `turns`.
fn rows_of_outputs(plan: &Plan, conv: &Conv, turns: u64, limits: &Limits) -> Result<Vec<Rows>, Unsupported> {
    let [depth, height, _] = conv.axes_3d();
    let image_rows = depth.output() * height.output();
    let all_rows = conv.batch().saturating_mul(image_rows);
    word("rows of outputs", all_rows)?;
    let most = (MOST_TURNS / turns.max(1)).max(1);
    check_steps(all_rows.div_ceil(most))?;
    let mut all = Vec::new();
    for part in image_parts(plan, conv, limits)? {
        all.extend(pieces(part.images * image_rows, most).map(|(first, count)| Rows { part, first, count }));
    }
    Ok(all)
}
