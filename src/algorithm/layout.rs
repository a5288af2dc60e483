//! Feature maps in another order than an algorithm's kernels read and write: converted before its first step and after its last.
//!
//! Each feature map that the pass reads or writes gets a workspace of its size in the order the algorithm knows, and steps that transpose
//! it, image by image, between `C × D·H·W` and `D·H·W × C`. A map of one channel or of one point lies the same way in both orders and is
//! left as it is.

use super::build::{StepBuilder, images_per_step, pieces};
use crate::conv::{Conv, Layout, Tensor};
use crate::plan::{BufferId, Limits, Plan, Role, Step, Unsupported, workspace_bytes};
use crate::units::Bytes;

/// A feature map: which, of how many channels and points an image.
#[derive(Clone, Copy)]
struct Map {
    tensor: Tensor,
    channels: u64,
    points: u64,
}

/// The feature maps of a convolution that lie differently in the two orders.
fn maps(conv: &Conv) -> impl Iterator<Item = Map> + use<> {
    let maps = [(Tensor::Input, conv.channels_in(), conv.input_points()), (Tensor::Output, conv.channels_out(), conv.output_points())];
    maps.into_iter().filter(|&(_, channels, points)| channels > 1 && points > 1).map(|(tensor, channels, points)| Map {
        tensor,
        channels,
        points,
    })
}

/// What the converted feature maps take.
pub(super) fn workspace(conv: &Conv) -> Result<Bytes, Unsupported> {
    maps(conv).try_fold(Bytes(0), |sum, map| {
        let factors = [conv.batch(), map.channels, map.points];
        let bytes = workspace_bytes("converted feature map", &factors, conv.element_of(map.tensor))?;
        sum.checked_add(bytes).ok_or_else(|| Unsupported::overflow("converted feature maps", &factors))
    })
}

/// The plan for a convolution in its own layout, from the one for the layout the algorithm knows.
pub(super) fn converted(mut plan: Plan, conv: &Conv, limits: &Limits) -> Result<Plan, Unsupported> {
    // The plan's uniforms are sized by its steps: they are added anew at the end.
    plan.buffers.retain(|b| b.role != Role::Uniform);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for map in maps(conv) {
        let own = Plan::of(map.tensor);
        let name = format!("{}_{}", conv.tensor_name(map.tensor), Layout::Nchw);
        let known = plan.workspace(&name, &[conv.batch(), map.channels, map.points], conv.element_of(map.tensor))?;
        for binding in plan.steps.iter_mut().flat_map(|step| &mut step.bindings).filter(|binding| binding.buffer == own) {
            binding.buffer = known;
        }
        if map.tensor == conv.result() {
            after.extend(steps(&plan, conv, map, (known, own), [map.channels, map.points], limits)?);
        } else {
            before.extend(steps(&plan, conv, map, (own, known), [map.points, map.channels], limits)?);
        }
    }
    plan.steps = before.into_iter().chain(plan.steps).chain(after).collect();
    plan.finish(limits)
}

/// Transposes all images of `rows` by `columns` elements from one buffer to the other.
fn steps(
    plan: &Plan,
    conv: &Conv,
    map: Map,
    (from, to): (BufferId, BufferId),
    [rows, columns]: [u64; 2],
    limits: &Limits,
) -> Result<Vec<Step>, Unsupported> {
    let element = conv.element_of(map.tensor);
    let image = rows * columns;
    let step = |(first, images)| {
        let (source, target) =
            (plan.window(from, first * image, images * image, limits), plan.window(to, first * image, images * image, limits));
        let (blocks_m, blocks_n) = (rows.div_ceil(4), columns.div_ceil(4));
        StepBuilder::new(if map.tensor == conv.result() { "result_layout" } else { "operand_layout" }, "layout", element)
            .bind(source.0)
            .bind(target.0.write())
            .problem(&[
                ("invocations", images * blocks_m * blocks_n),
                ("rows", rows),
                ("columns", columns),
                ("blocks_m", blocks_m),
                ("blocks_n", blocks_n),
                ("source_skip", source.1.into()),
                ("target_skip", target.1.into()),
            ])?
            .cost(&[0], &[&[2, images, image, element.bytes()]])
            .linear(images * blocks_m * blocks_n, limits.lanes(), limits)
    };
    pieces(conv.batch(), images_per_step(conv.batch(), &[image * element.bytes()], limits)).map(step).collect()
}
