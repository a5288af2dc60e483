//! The backward passes as matrix products whose second operand is read where it lies.
//!
//! The gradient of the weights of a group is the product of the `K/g × N·O·P·Q` matrix of the output's gradient by the transposed column
//! matrix of the input, `N·O·P·Q × C/g·T·R·S`. Its long sum can be split: `split=s` sums s parts of the rows of outputs side by side, each
//! with results of its own, `s·K·C/g·T·R·S` elements of workspace, which a second kernel adds up in order.

use super::super::build::{Part, StepBuilder, image_parts, share};
use super::super::gemm::Patches;
use super::super::reading::Reading;
use super::super::split::{self, PARTS, sum_parts};
use super::super::{Algorithm, Variant, geometry};
use super::{Rows, rows_of_outputs};
use crate::conv::Conv;
use crate::ledger;
use crate::plan::{Constant, Limits, Plan, TiledKernel, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops};

/// The gradient of the input: the product of the transposed weights and the gradient of the output, which is read tap by tap.
pub(in super::super) fn data(conv: &Conv, limits: &Limits) -> Result<Plan, Unsupported> {
    let mut plan = Plan::new(conv);
    for Part { images, input, output, .. } in image_parts(&plan, conv, limits)? {
        let (points, reading, weights) = (conv.input_points(), Reading::Gradient, plan.whole(Plan::WEIGHTS));
        let product = Patches { conv, images, points, input: output, reading, weights, output: input, parts: 1 };
        plan.steps.push(product.step("implicit_gemm", limits)?);
    }
    plan.finish(limits)
}

/// Rows of outputs, which the sum can be split between.
fn rows(conv: &Conv) -> u64 {
    let [depth, height, _] = conv.axes_3d();
    conv.batch().saturating_mul(depth.output() * height.output())
}

/// The parts a variant asks for; 1 without the knob.
pub(in super::super) fn parts(algorithm: &dyn Algorithm, conv: &Conv, variant: &Variant) -> Result<u64, Unsupported> {
    match variant.parts() {
        ("", None) => Ok(1),
        ("split", Some(parts)) if (2..=rows(conv)).contains(&parts) => Ok(parts),
        ("split", Some(parts)) => Err(Unsupported::Variant(format!("split={parts} is not within 2 to the {} rows of outputs", rows(conv)))),
        _ => Err(super::super::unknown_variant(algorithm, variant)),
    }
}

/// What to measure: whole, and split in ever more parts until they fill a large device.
pub(in super::super) fn variants(conv: &Conv, limits: &Limits) -> Vec<Variant> {
    let (tiles_m, tiles_n) = tiles(conv, limits);
    let workgroups = tiles_m.saturating_mul(tiles_n).saturating_mul(conv.groups());
    let parts = [4_u64, 16, 64].into_iter().filter(|&parts| parts <= rows(conv) && workgroups.saturating_mul(parts / 4) < split::FULL);
    [Variant::none()].into_iter().chain(parts.map(|parts| Variant::knob("split", parts))).collect()
}

fn factors(conv: &Conv, parts: u64) -> [u64; 3] {
    [parts, conv.channels_out(), conv.reduction()]
}

/// Whether results lie in a workspace: those of several parts, and those that are summed in a wider type than they are stored in.
fn apart(conv: &Conv, parts: u64) -> bool {
    parts > 1 || conv.element() != PARTS
}

/// The workspace of `parts`.
pub(in super::super) fn workspace(conv: &Conv, parts: u64) -> Result<Bytes, Unsupported> {
    if apart(conv, parts) { workspace_bytes("results of the parts", &factors(conv, parts), PARTS) } else { Ok(Bytes(0)) }
}

/// Operations with the additions of the parts.
pub(in super::super) fn operations(conv: &Conv, parts: u64) -> Ops {
    Ops(ledger::operations(conv).0.saturating_add(conv.weight_elements().saturating_mul(parts - 1)))
}

fn tiles(conv: &Conv, limits: &Limits) -> (u64, u64) {
    let (m, n) = (conv.group_channels_out(), conv.reduction());
    let tile = limits.tile(TiledKernel::DirectTiled, m, n);
    (m.div_ceil(u64::from(tile.rows * tile.lanes_m)), n.div_ceil(u64::from(tile.columns * tile.lanes_n * 4)))
}

/// The gradient of the weights in `parts`.
pub(in super::super) fn weights(conv: &Conv, parts: u64, limits: &Limits) -> Result<Plan, Unsupported> {
    let (m, n, groups, points) = (conv.group_channels_out(), conv.reduction(), conv.groups(), conv.output_points());
    let tile = limits.tile(TiledKernel::DirectTiled, m, n);
    let (tiles_m, tiles_n) = tiles(conv, limits);
    let [_, _, width] = conv.axes_3d();
    let elements = conv.weight_elements();
    let mut plan = Plan::new(conv);
    let target = if apart(conv, parts) { plan.workspace("parts", &factors(conv, parts), PARTS)? } else { Plan::WEIGHTS };
    // Four outputs of a row are a turn, and each part walks its own rows.
    let turns = width.output().div_ceil(4).div_ceil(parts);
    for (index, Rows { part, first, count: rows }) in rows_of_outputs(&plan, conv, turns, limits)?.into_iter().enumerate() {
        let vector = width.output().is_multiple_of(4) && part.output.1.is_multiple_of(4);
        let step = StepBuilder::new("implicit_gemm", "weight_gradient", conv.element())
            .tile(tile)
            .constant("rows", Constant::Size(tile.rows))
            .constant("columns", Constant::Size(tile.columns))
            .constant("add", Constant::Flag(index > 0))
            .constant("vector_a", Constant::Flag(vector))
            .constant("rest", Constant::Size(u32::try_from(width.output() % 4).unwrap_or_default()))
            .bind(part.input.0)
            .bind(part.output.0)
            .bind(plan.whole(target).write())
            .problem(&[
                ("m", m),
                ("n", n),
                ("batch", groups),
                ("parts", parts),
                ("first_row", first),
                ("rows", rows),
                ("tiles_m", tiles_m),
                ("tiles_n", tiles_n),
                ("input_skip", part.input.1.into()),
                ("output_skip", part.output.1.into()),
                ("group_c", conv.group_channels_in()),
                ("c", conv.channels_in()),
                ("k", conv.channels_out()),
                ("weights", elements),
            ])?
            .sizes(&[("taps", conv.taps()), ("volume", conv.input_points()), ("points", points)], limits.specialise())?
            .sizes(&geometry(conv), limits.specialise())?
            .cost(
                &[2, elements, rows, width.output()],
                &[
                    &[share(ledger::activations(conv).0, rows, self::rows(conv))],
                    &[if index > 0 { 2 } else { 1 }, parts, elements, PARTS.bytes()],
                ],
            )
            .tiled(tiles_m * tiles_n * groups * parts, [tile.lanes_n, tile.lanes_m, 1], limits)?;
        plan.steps.push(step);
    }
    if apart(conv, parts) {
        let results = (plan.whole(target), 0);
        let output = (plan.whole(Plan::WEIGHTS), 0);
        plan.steps.push(sum_parts(conv, elements, parts, results, output, limits)?);
    }
    plan.finish(limits)
}
