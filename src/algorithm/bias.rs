//! Bias: one more parameter buffer and a last step, the same behind every algorithm.

use super::build::{StepBuilder, images_per_step, pieces};
use crate::conv::{Conv, ElementType, Layout};
use crate::plan::{Buffer, BufferId, Lifetime, Limits, Plan, Role, Unsupported};

/// Adds a bias of one element for each output channel to a finished plan of a forward pass: its buffer, and steps that add it to the
/// output in place.
///
/// # Errors
/// [`Unsupported::Limit`] where the device's limits are too small, [`Unsupported::Problem`] for integers.
pub fn add_bias(mut plan: Plan, conv: &Conv, limits: &Limits) -> Result<Plan, Unsupported> {
    if conv.element() == ElementType::I8 {
        return Err(Unsupported::Problem("a bias is for floats, not for i8".to_owned()));
    }
    // The plan's uniforms are sized by its steps: they are added anew at the end.
    plan.buffers.retain(|b| b.role != Role::Uniform);
    let [_, (channels, _)] = conv.result_outer();
    let points: u64 = conv.result_extents().iter().product();
    let bias = BufferId(plan.buffers.len());
    plan.buffers.push(Buffer {
        name: "bias".into(),
        role: Role::Bias,
        element: conv.element(),
        elements: channels,
        lifetime: Lifetime::Call,
    });
    let image = channels * points;
    // Of a map whose channels come last each element is a point of its own.
    let points = if conv.layout() == Layout::Nhwc { 1 } else { points };
    let bytes = conv.element().bytes();
    for (first, images) in pieces(conv.batch(), images_per_step(conv.batch(), &[image * bytes], limits)) {
        let outputs = images * image;
        let output = plan.window(plan.result, first * image, outputs, limits);
        let step = StepBuilder::new("bias", "bias", conv.element())
            .bind(plan.whole(bias))
            .bind(output.0.write())
            .problem(&[("outputs", outputs), ("output_skip", output.1.into()), ("points", points), ("k", channels)])?
            .cost(&[outputs], &[&[2, outputs, bytes], &[channels, bytes]])
            .linear(outputs, limits.lanes(), limits)?;
        plan.steps.push(step);
    }
    plan.finish(limits)
}
