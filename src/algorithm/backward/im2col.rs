//! The backward passes of `im2col`: a matrix product beside an unfolding of the input, or one followed by its reverse.
//!
//! The gradient of the input: the transposed weights times the gradient of the output are the gradients of the column matrix, which are
//! then folded, each input element collecting the columns' elements it was copied to (`col2im`). The knob is the forward pass's.
//!
//! The gradient of the weights: the gradient of the output times the transposed column matrix, image by image, and then the sum over the
//! images. The column matrix is written point by point, `N·O·P·Q × C·T·R·S`, and each image has results of its own, `N·K·C/g·T·R·S`
//! elements of workspace where there are several.

use super::super::build::{StepBuilder, check_steps, images_per_step, pieces};
use super::super::gemm::{Matrix, Product};
use super::super::im2col::Extent;
use super::super::split::{PARTS, sum_parts};
use super::super::{geometry, is_dense};
use crate::conv::Conv;
use crate::ledger;
use crate::plan::{BufferId, Constant, Limits, Plan, Step, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops};

/// Elements of a column matrix.
fn columns(conv: &Conv, extent: Extent) -> [u64; 4] {
    [extent.images, conv.channels_in(), conv.taps(), extent.points]
}

/// The results of all images, where there are several.
fn results(conv: &Conv) -> [u64; 3] {
    [if conv.batch() > 1 { conv.batch() } else { 0 }, conv.channels_out(), conv.reduction()]
}

/// The workspace of the weights' gradient.
pub(in super::super) fn weights_workspace(conv: &Conv, extent: Extent) -> Result<Bytes, Unsupported> {
    let sums = workspace_bytes("results of the images", &results(conv), PARTS)?;
    let matrix = workspace_bytes("column matrix", &columns(conv, extent), conv.element())?;
    matrix.checked_add(sums).ok_or_else(|| Unsupported::overflow("column matrix and results", &columns(conv, extent)))
}

/// Operations of the weights' gradient with the additions over the images.
pub(in super::super) fn weights_operations(conv: &Conv) -> Ops {
    Ops(ledger::operations(conv).0.saturating_add(conv.weight_elements().saturating_mul(conv.batch().saturating_sub(1))))
}

/// The gradient of the weights, `extent.images` images at a time.
pub(in super::super) fn weights(conv: &Conv, extent: Extent, limits: &Limits) -> Result<Plan, Unsupported> {
    weights_workspace(conv, extent)?;
    let mut plan = Plan::new(conv);
    let matrix = plan.workspace("columns", &columns(conv, extent), conv.element())?;
    let elements = conv.weight_elements();
    let several = conv.batch() > 1;
    let target = if several { plan.workspace("results", &results(conv), PARTS)? } else { Plan::WEIGHTS };
    let bytes = conv.element().bytes();
    let (points, row) = (conv.output_points(), conv.channels_in() * conv.taps());
    let (input_image, output_image) = (conv.channels_in() * conv.input_points(), conv.channels_out() * points);
    let most = images_per_step(
        extent.images,
        &[input_image * bytes, output_image * bytes, row * points * bytes, elements * PARTS.bytes()],
        limits,
    );
    check_steps(2_u64.saturating_mul(conv.batch().div_ceil(most)))?;
    for (image, images) in pieces(conv.batch(), most) {
        let input = plan.window(Plan::INPUT, image * input_image, images * input_image, limits);
        let unfolded = plan.window(matrix, 0, images * points * row, limits);
        let kernel_rows = row / conv.axes_3d()[2].kernel;
        let invocations = images.saturating_mul(points).saturating_mul(kernel_rows);
        let unfold = StepBuilder::new("im2col", "im2col_points", conv.element())
            .bind(input.0)
            .bind(unfolded.0.write())
            .problem(&[
                ("invocations", invocations),
                ("kernel_rows", kernel_rows),
                ("c", conv.channels_in()),
                ("input_skip", input.1.into()),
                ("columns_skip", unfolded.1.into()),
            ])?
            .problem(&geometry(conv))?
            .cost(&[0], &[&[images, points, row, bytes], &[images, input_image, bytes]])
            .linear(invocations, limits.lanes(), limits)?;
        let (group_k, groups, reduction) = (conv.group_channels_out(), conv.groups(), conv.reduction());
        // The matrices of a product are equally far apart; so where there are groups the images are multiplied one by one.
        let (at_once, one) = if groups == 1 { (images, 1) } else { (1, images) };
        plan.steps.push(unfold);
        for part in 0..one {
            let product = Product {
                stage: "gemm",
                m: group_k,
                n: reduction,
                k: points,
                batch: at_once * groups,
                a: Matrix {
                    window: plan.window(Plan::OUTPUT, (image + part) * output_image, at_once * output_image, limits),
                    pitch: points,
                    stride: group_k * points,
                },
                a_period: at_once * groups,
                b: Matrix {
                    window: plan.window(matrix, part * points * row, at_once * points * row, limits),
                    pitch: row,
                    stride: if groups == 1 { points * row } else { reduction },
                },
                c: Matrix {
                    window: plan.window(target, (image + part) * elements, at_once * elements, limits),
                    pitch: reduction,
                    stride: group_k * reduction,
                },
                parts: 1,
            };
            let multiply = product.step(conv.element(), limits)?;
            plan.steps.push(multiply);
        }
    }
    if several {
        let all = (plan.whole(target), 0);
        let output = (plan.whole(Plan::WEIGHTS), 0);
        plan.steps.push(sum_parts(conv, elements, conv.batch(), all, output, limits)?);
    }
    plan.finish(limits)
}

/// Some rows of output points of some images, whose columns are folded together.
struct Strip {
    image: u64,
    images: u64,
    point0: u64,
    points: u64,
    /// Rows of the input whose elements it may reach, or none but all where depth and height are numbered together.
    rows: (u64, u64),
    /// The first of them that no strip has reached before.
    fresh: u64,
}

/// The strips of an image, of `points` output points each: together they reach each row of the input, and no row is left out between them.
fn strips(conv: &Conv, points: u64) -> Vec<(u64, u64, (u64, u64), u64)> {
    let [depth, height, width] = conv.axes_3d();
    let all = pieces(conv.output_points(), points);
    if depth.output() > 1 || depth.size > 1 {
        return all.map(|(point0, points)| (point0, points, (0, height.size), if point0 == 0 { 0 } else { height.size })).collect();
    }
    let mut fresh = 0;
    all.map(|(point0, points)| {
        let (first, end) = (point0 / width.output(), (point0 + points) / width.output());
        let begin = (first * height.stride).saturating_sub(height.pad_before).min(fresh);
        let reached = ((end - 1) * height.stride + height.span()).saturating_sub(height.pad_before).min(height.size);
        let last = if end == height.output() { height.size } else { reached.max(begin) };
        let strip = (point0, points, (begin, last), fresh);
        fresh = fresh.max(last);
        strip
    })
    .collect()
}

/// The gradient of the input.
pub(in super::super) fn data(conv: &Conv, extent: Extent, limits: &Limits) -> Result<Plan, Unsupported> {
    let mut plan = Plan::new(conv);
    let matrix = plan.workspace("columns", &columns(conv, extent), conv.element())?;
    let bytes = conv.element().bytes();
    let rows = conv.channels_in() * conv.taps();
    let image_bytes = [
        conv.channels_in() * conv.input_points() * bytes,
        rows * extent.points * bytes,
        conv.channels_out() * conv.output_points() * bytes,
    ];
    let most = images_per_step(extent.images, &image_bytes, limits);
    let per_image = conv.output_points().div_ceil(extent.points);
    check_steps(2_u64.saturating_mul(conv.batch().div_ceil(most)).saturating_mul(per_image))?;
    for (image, images) in pieces(conv.batch(), most) {
        for (point0, points, rows, fresh) in strips(conv, extent.points) {
            let strip = Strip { image, images, point0, points, rows, fresh };
            let steps = strip.steps(&plan, conv, matrix, limits)?;
            plan.steps.extend(steps);
        }
    }
    plan.finish(limits)
}

impl Strip {
    fn steps(&self, plan: &Plan, conv: &Conv, matrix: BufferId, limits: &Limits) -> Result<[Step; 2], Unsupported> {
        let &Self { image, images, point0, points, rows: (first_row, end_row), fresh } = self;
        let bytes = conv.element().bytes();
        let (reduction, groups, all_points) = (conv.reduction(), conv.groups(), conv.output_points());
        let (group_k, rows) = (conv.group_channels_out(), conv.channels_in() * conv.taps());
        let (input_image, output_image) = (conv.channels_in() * conv.input_points(), conv.channels_out() * all_points);
        let columns = plan.window(matrix, 0, images * rows * points, limits);
        let gradient = plan.window(Plan::OUTPUT, image * output_image + point0, images * output_image - (all_points - points), limits);
        // The weights of a group lie K/g rows by C/g·T·R·S: read across they are transposed.
        let product = Product {
            stage: "gemm",
            m: reduction,
            n: points,
            k: group_k,
            batch: images * groups,
            a: Matrix { window: (plan.whole(Plan::WEIGHTS), 0), pitch: 1, stride: group_k * reduction },
            a_period: groups,
            b: Matrix { window: gradient, pitch: all_points, stride: group_k * all_points },
            c: Matrix { window: columns, pitch: points, stride: reduction * points },
            parts: 1,
        };
        let multiply = product.step_by(reduction, conv.element(), limits)?;

        let [depth, _, width] = conv.axes_3d();
        let input = plan.window(Plan::INPUT, image * input_image, images * input_image, limits);
        let rows_folded = end_row - first_row;
        let elements = depth.size * rows_folded * width.size;
        let planes = images * conv.channels_in();
        let lanes = limits.lanes_for(elements);
        let stretches = elements.div_ceil(lanes.into());
        let fold = StepBuilder::new("col2im", "col2im", conv.element())
            .constant("dense", Constant::Flag(is_dense(conv)))
            .constant("add", Constant::Flag(point0 > 0))
            .bind(columns.0)
            .bind(input.0.write())
            .problem(&[
                ("planes", planes),
                ("stretches", stretches),
                ("elements", elements),
                ("first_row", first_row),
                ("rows", rows_folded),
                ("fresh", fresh),
                ("first_line", point0 / width.output()),
                ("lines", points / width.output()),
                ("points", points),
                ("columns_skip", columns.1.into()),
                ("input_skip", input.1.into()),
            ])?
            .problem(&geometry(conv))?
            .cost(&[images, rows, points], &[&[images, rows, points, bytes], &[if point0 > 0 { 2 } else { 1 }, planes, elements, bytes]])
            .tiled(planes * stretches, [lanes, 1, 1], limits)?;
        Ok([multiply, fold])
    }
}

/// Operations of the input's gradient: the product's, and the additions of the folding.
pub(in super::super) fn data_operations(conv: &Conv) -> Ops {
    let columns = conv.batch().saturating_mul(conv.channels_in()).saturating_mul(conv.taps()).saturating_mul(conv.output_points());
    Ops(ledger::operations(conv).0.saturating_add(columns))
}
