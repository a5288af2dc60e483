//! The backward passes by their definition, one element of the gradient per invocation. No workspace; every problem.

use super::super::build::{Part, StepBuilder, image_parts, share};
use super::super::{geometry, is_dense};
use super::{Rows, rows_of_outputs};
use crate::conv::Conv;
use crate::ledger;
use crate::plan::{Constant, Limits, Plan, Unsupported};

/// The gradient of the input.
pub(in super::super) fn data(conv: &Conv, limits: &Limits) -> Result<Plan, Unsupported> {
    let points = conv.input_points();
    let lanes = limits.lanes_for(points);
    let stretches = points.div_ceil(lanes.into());
    let mut plan = Plan::new(conv);
    plan.tuning = format!("lanes {lanes}");
    for Part { images, input, output, .. } in image_parts(&plan, conv, limits)? {
        let planes = images * conv.channels_in();
        let part = conv.with_batch(images).map_or(*conv, |c| c);
        let step = StepBuilder::new("direct", "direct_data", conv.element())
            .constant("dense", Constant::Flag(is_dense(conv)))
            .bind(output.0)
            .bind(plan.whole(Plan::WEIGHTS))
            .bind(input.0.write())
            .problem(&[
                ("planes", planes),
                ("points", points),
                ("stretches", stretches),
                ("input_skip", input.1.into()),
                ("output_skip", output.1.into()),
                ("c", conv.channels_in()),
                ("k", conv.channels_out()),
                ("group_c", conv.group_channels_in()),
                ("group_k", conv.group_channels_out()),
            ])?
            .problem(&geometry(conv))?
            .cost(&[ledger::operations(&part).0], &[&[ledger::least_traffic(&part).0]])
            .tiled(planes * stretches, [lanes, 1, 1], limits)?;
        plan.steps.push(step);
    }
    plan.finish(limits)
}

/// The gradient of the weights.
pub(in super::super) fn weights(conv: &Conv, limits: &Limits) -> Result<Plan, Unsupported> {
    let elements = conv.weight_elements();
    let lanes = limits.lanes_for(elements);
    let [depth, height, width] = conv.axes_3d();
    let all_rows = conv.batch() * depth.output() * height.output();
    let mut plan = Plan::new(conv);
    plan.tuning = format!("lanes {lanes}");
    let bytes = conv.element().bytes();
    for (index, Rows { part, first, count: rows }) in rows_of_outputs(&plan, conv, width.output(), limits)?.into_iter().enumerate() {
        let step = StepBuilder::new("direct", "direct_weights", conv.element())
            .constant("add", Constant::Flag(index > 0))
            .bind(part.input.0)
            .bind(part.output.0)
            .bind(plan.whole(Plan::WEIGHTS).write())
            .problem(&[
                ("weights", elements),
                ("first_row", first),
                ("end_row", first + rows),
                ("input_skip", part.input.1.into()),
                ("output_skip", part.output.1.into()),
                ("c", conv.channels_in()),
                ("k", conv.channels_out()),
                ("group_c", conv.group_channels_in()),
                ("group_k", conv.group_channels_out()),
            ])?
            .problem(&geometry(conv))?
            .cost(
                &[2, elements, rows, width.output()],
                &[&[share(ledger::activations(conv).0, rows, all_rows)], &[if index > 0 { 2 } else { 1 }, elements, bytes]],
            )
            .linear(elements, lanes, limits)?;
        plan.steps.push(step);
    }
    plan.finish(limits)
}
