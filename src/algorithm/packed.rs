//! Matrix products of 8-bit integers, four of them to a word, with exact sums in 32 bits.
//!
//! WGSL stores nothing narrower than a word, and `dot4I8Packed` adds up four products of bytes; where a driver's compiler trips over it
//! ([`Limits::packed_dot`]) vectors of four do the same. So the reduction is walked four at a
//! time: rows of the weights lie along it already, and may begin within a word; the column matrix holds four of its rows in a word, the
//! last ones filled up with zeros.

use super::build::{Part, StepBuilder, share};
use super::gemm::tiles;
use super::{geometry, im2col};
use crate::conv::{Conv, ElementType};
use crate::plan::{Binding, BufferId, Constant, Limits, Plan, Sharing, Step, Tile, TiledKernel, Unsupported};

/// The most rows of the weights an invocation multiplies with four columns.
const MOST_ROWS: u32 = 8;

/// Words along the reduction of a group.
pub(super) fn words(conv: &Conv) -> u64 {
    conv.reduction().div_ceil(4)
}

/// Bytes of the column matrix at one output point.
pub(super) fn column_bytes(conv: &Conv) -> u64 {
    conv.groups() * words(conv) * 4
}

/// Unfolds a part of the input into a window of the column matrix.
pub(super) fn unfold(
    conv: &Conv,
    part: &im2col::Part,
    input: (Binding, u32),
    columns: (Binding, u32),
    limits: &Limits,
) -> Result<Step, Unsupported> {
    let &im2col::Part { images, point0, points, .. } = part;
    let rows = images * conv.groups() * words(conv);
    let lanes = limits.lanes_for(points);
    let stretches = points.div_ceil(lanes.into());
    let input_image = conv.channels_in() * conv.input_points();
    StepBuilder::new("im2col", "im2col_packed", ElementType::I8)
        .bind(input.0)
        .bind(columns.0.write())
        .problem(&[
            ("rows", rows),
            ("words", words(conv)),
            ("k", conv.reduction()),
            ("stretches", stretches),
            ("points", points),
            ("point0", point0),
            ("group_volume", conv.group_channels_in() * conv.input_points()),
            ("input_skip", input.1.into()),
            ("columns_skip", u64::from(columns.1) / 4),
        ])?
        .problem(&geometry(conv))?
        .cost(&[0], &[&[rows, 4, points], &[images, share(input_image, points, conv.output_points())]])
        .tiled(rows * stretches, [lanes, 1, 1], limits)
}

/// The tile of a product: as tuned, without staging.
fn tile(kernel: TiledKernel, m: u64, n: u64, limits: &Limits) -> Tile {
    let tuned = limits.tile(kernel, m, n);
    Tile { rows: tuned.rows.min(MOST_ROWS), columns: 1, sharing: Sharing::Cache, ..tuned }
}

fn kernel(stage: &'static str, conv: &Conv, tile: Tile, patches: bool, limits: &Limits) -> StepBuilder {
    StepBuilder::new(stage, "gemm_packed", ElementType::I8)
        .tile(tile)
        .constant("rows", Constant::Size(tile.rows))
        .constant("columns", Constant::Size(4 * tile.columns))
        .constant("patches", Constant::Flag(patches))
        .constant("packed_dot", Constant::Flag(limits.packed_dot))
        .constant("aligned", Constant::Flag(conv.reduction().is_multiple_of(4)))
}

/// Sizes that both kinds of product read.
fn sizes(conv: &Conv, n: u64, batch: u64, tiles: (u64, u64)) -> [(&'static str, u64); 10] {
    [
        ("m", conv.group_channels_out()),
        ("n", n),
        ("k", conv.reduction()),
        ("words", words(conv)),
        ("batch", batch),
        ("groups", conv.groups()),
        ("ldc", conv.output_points()),
        ("last_word", conv.weight_elements().div_ceil(4) - 1),
        ("tiles_m", tiles.0),
        ("tiles_n", tiles.1),
    ]
}

/// Multiplies the weights by a window of the column matrix.
pub(super) fn multiply(
    plan: &Plan,
    conv: &Conv,
    part: &im2col::Part,
    columns: (Binding, u32),
    output: (Binding, u32),
    limits: &Limits,
) -> Result<Step, Unsupported> {
    let &im2col::Part { images, points, .. } = part;
    let (m, batch) = (conv.group_channels_out(), images * conv.groups());
    let tile = tile(TiledKernel::Gemm, m, points.saturating_mul(batch), limits);
    let cut = tiles(tile, m, points);
    kernel("gemm", conv, tile, false, limits)
        .bind(plan.whole(Plan::WEIGHTS))
        .bind(columns.0)
        .bind(output.0.write())
        .problem(&sizes(conv, points, batch, cut))?
        .problem(&[("columns_skip", u64::from(columns.1) / 4), ("c_skip", output.1.into())])?
        .cost(
            &[2, batch, m, points, conv.reduction()],
            &[&[conv.weight_elements()], &[images, column_bytes(conv), points], &[batch, m, points, ElementType::I32.bytes()]],
        )
        .tiled(cut.0 * cut.1 * batch, [tile.lanes_n, tile.lanes_m, 1], limits)
}

/// Multiplies the weights by the patches of some images, read in place.
pub(super) fn multiply_patches(plan: &Plan, conv: &Conv, part: &Part, limits: &Limits) -> Result<Step, Unsupported> {
    let &Part { images, input, output, .. } = part;
    let (m, groups, points) = (conv.group_channels_out(), conv.groups(), conv.output_points());
    let n = images * points;
    let tile = tile(TiledKernel::ImplicitGemm, m, n.saturating_mul(groups), limits);
    let cut = tiles(tile, m, n);
    let volume = conv.input_points();
    kernel("implicit_gemm", conv, tile, true, limits)
        .bind(input.0)
        .bind(plan.whole(Plan::WEIGHTS))
        .bind(output.0.write())
        .problem(&sizes(conv, n, groups, cut))?
        .problem(&[
            ("points", points),
            ("image_volume", conv.channels_in() * volume),
            ("group_volume", conv.group_channels_in() * volume),
            ("channels_out", conv.channels_out()),
            ("input_skip", input.1.into()),
            ("c_skip", output.1.into()),
        ])?
        .problem(&geometry(conv))?
        .cost(
            &[2, groups, m, n, conv.reduction()],
            &[&[conv.weight_elements()], &[images, conv.channels_in(), volume], &[groups, m, n, ElementType::I32.bytes()]],
        )
        .tiled(cut.0 * cut.1 * groups, [tile.lanes_n, tile.lanes_m, 1], limits)
}

/// The column matrix of `images` at `points` points each: its extents, in elements of one byte.
pub(super) fn columns(conv: &Conv, images: u64, points: u64) -> [u64; 5] {
    [images, conv.groups(), words(conv), 4, points]
}

/// A part of im2col: its windows, the unfolding and the product.
pub(super) fn push(
    plan: &mut Plan,
    conv: &Conv,
    columns: BufferId,
    part: &im2col::Part,
    output: (Binding, u32),
    limits: &Limits,
) -> Result<(), Unsupported> {
    let &im2col::Part { image, images, points, slot, .. } = part;
    let input_image = conv.channels_in() * conv.input_points();
    let matrix = column_bytes(conv) * points;
    let input = plan.window(Plan::INPUT, image * input_image, images * input_image, limits);
    let unfolded = plan.window(columns, slot * matrix, images * matrix, limits);
    let unfold = unfold(conv, part, input, unfolded, limits)?;
    let multiply = multiply(plan, conv, part, unfolded, output, limits)?;
    plan.steps.extend([unfold, multiply]);
    Ok(())
}
