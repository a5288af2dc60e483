//! Split-K: the sum of a matrix product cut into parts that run side by side, each with results of its own, which a second kernel adds
//! up in order. It fills a device where the output has few tiles and the sum is long, for a workspace of `s·N·K·O·P·Q` elements of f32,
//! whatever the tensors' type: a sum is rounded to that only once it is whole.

use super::build::{Part, StepBuilder, image_parts_with};
use super::{Algorithm, Variant};
use crate::conv::{Conv, ElementType};
use crate::ledger;
use crate::plan::{Binding, Constant, Limits, Plan, Step, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops};

/// How the knob is written.
pub(super) const KNOBS: &[&str] = &["split=s"];
/// Its workspace in elements.
pub(super) const WORKSPACE: &str = "0; split=s: s*N*K*O*P*Q";

/// Type of the results of parts.
pub(super) const PARTS: ElementType = ElementType::F32;

/// Workgroups that fill a large GPU twice; products of fewer are worth splitting.
pub(super) const FULL: u64 = 256;
/// The least multiply-adds for each output that are worth a part of their own.
const LEAST_SUM: u64 = 64;
/// Most parts proposed.
const MOST_PARTS: u64 = 16;

/// The parts a variant asks for; 1 without the knob.
pub(super) fn parts(algorithm: &dyn Algorithm, conv: &Conv, variant: &Variant) -> Result<u64, Unsupported> {
    let channels = conv.group_channels_in();
    match variant.parts() {
        ("", None) => Ok(1),
        ("split", Some(parts)) if conv.element() == ElementType::I8 => {
            Err(Unsupported::Variant(format!("split={parts}: sums of 8-bit integers are not split")))
        }
        ("split", Some(parts)) if (2..=channels).contains(&parts) => Ok(parts),
        ("split", Some(parts)) if channels < 2 => {
            Err(Unsupported::Variant(format!("split={parts}: there is one input channel a group, and the sum over channels is split")))
        }
        ("split", Some(parts)) => {
            Err(Unsupported::Variant(format!("split={parts} is not within 2 to the {channels} input channels of a group")))
        }
        _ => Err(super::unknown_variant(algorithm, variant)),
    }
}

/// What to measure for a product of so many workgroups: whole, and where that leaves a large device idle, split.
pub(super) fn variants(conv: &Conv, workgroups: u64) -> Vec<Variant> {
    if conv.element() == ElementType::I8 {
        return vec![Variant::none()];
    }
    let worth = (conv.reduction() / LEAST_SUM).min(conv.group_channels_in() / 4).min(MOST_PARTS);
    let parts = FULL.div_ceil(workgroups.max(1)).next_power_of_two().min(if worth == 0 { 1 } else { 1 << worth.ilog2() });
    let split = (parts > 1).then(|| Variant::knob("split", parts));
    [Some(Variant::none()), split].into_iter().flatten().collect()
}

/// The workspace of `parts`.
pub(super) fn workspace(conv: &Conv, parts: u64) -> Result<Bytes, Unsupported> {
    if parts == 1 { Ok(Bytes(0)) } else { workspace_bytes("results of the parts", &factors(conv, parts), PARTS) }
}

fn factors(conv: &Conv, parts: u64) -> [u64; 4] {
    [parts, conv.batch(), conv.channels_out(), conv.output_points()]
}

/// Operations with the additions of the parts.
pub(super) fn operations(conv: &Conv, parts: u64) -> Ops {
    Ops(ledger::operations(conv).0.saturating_add(conv.output_elements().saturating_mul(parts - 1)))
}

/// A plan of one product for each part of the batch that can be bound at once, from `product(plan, part, output)`, and where the sum is
/// split of a step that adds up.
pub(super) fn plan(
    conv: &Conv,
    parts: u64,
    limits: &Limits,
    product: impl Fn(&Plan, &Part, (Binding, u32)) -> Result<Step, Unsupported>,
) -> Result<Plan, Unsupported> {
    let mut plan = Plan::new(conv);
    let image = conv.channels_out() * conv.output_points();
    if parts == 1 {
        for part in image_parts_with(&plan, conv, 0, limits)? {
            let step = product(&plan, &part, part.output)?;
            plan.steps.push(step);
        }
        return plan.finish(limits);
    }
    let results = plan.workspace("parts", &factors(conv, parts), PARTS)?;
    for part in image_parts_with(&plan, conv, parts.saturating_mul(image * PARTS.bytes()), limits)? {
        let outputs = part.images * image;
        let window = plan.window(results, part.first * image * parts, outputs * parts, limits);
        let step = product(&plan, &part, window)?;
        let add = sum_parts(conv, outputs, parts, window, part.output, limits)?;
        plan.steps.extend([step, add]);
    }
    plan.finish(limits)
}

/// The step that adds up `parts` results of `outputs` elements each, which lie one after another.
pub(super) fn sum_parts(
    conv: &Conv,
    outputs: u64,
    parts: u64,
    results: (Binding, u32),
    output: (Binding, u32),
    limits: &Limits,
) -> Result<Step, Unsupported> {
    let vector = [outputs, results.1.into(), output.1.into()].iter().all(|x| x.is_multiple_of(4));
    let bytes = conv.element().bytes();
    StepBuilder::new("sum_parts", "sum_parts", conv.element())
        .constant("vector", Constant::Flag(vector))
        .bind(results.0)
        .bind(output.0.write())
        .problem(&[("outputs", outputs), ("parts", parts), ("parts_skip", results.1.into()), ("output_skip", output.1.into())])?
        .cost(&[parts - 1, outputs], &[&[parts, outputs, PARTS.bytes()], &[outputs, bytes]])
        .linear(if vector { outputs / 4 } else { outputs }, limits.lanes(), limits)
}
