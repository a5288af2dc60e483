//! The product of `implicit_gemm` by cooperative matrices: a subgroup multiplies small matrices of halves together, on hardware made for
//! it (tensor cores, SIMD-group matrices), with sums in f32.
//!
//! wgpu offers them as an experimental feature on Vulkan and Metal. Which sizes there are is the device's: [`Limits::coop`].

use super::build::{Part, StepBuilder};
use super::geometry;
use crate::conv::{Conv, ElementType};
use crate::plan::{Constant, Limits, Plan, Step, Unsupported};

/// How the variant is written.
pub(super) const WORD: &str = "coop";

/// Matrices of a workgroup, along the filters and along the points: as many accumulators as a subgroup of 32 holds with room to spare.
const MATRICES: [u32; 2] = [2, 4];

/// Whether there is anything to try.
pub(super) fn proposed(conv: &Conv, limits: &Limits) -> bool {
    conv.element() == ElementType::F16 && limits.coop > 0
}

/// Refuses what the matrices do not hold.
pub(super) fn require(conv: &Conv) -> Result<(), Unsupported> {
    if conv.element() == ElementType::F16 {
        return Ok(());
    }
    Err(Unsupported::Problem(format!("{WORD} multiplies cooperative matrices of f16, not {}", conv.element())))
}

/// The dispatch for some images.
pub(super) fn step(plan: &Plan, conv: &Conv, part: &Part, limits: &Limits) -> Result<Step, Unsupported> {
    if limits.coop == 0 {
        let what = "cooperative matrices of f16 with sums in f32 and subgroups of one size";
        return Err(Unsupported::Problem(format!("{WORD} needs a device with {what}, which this one does not offer")));
    }
    let &Part { images, input, output, .. } = part;
    let [rows, columns] = MATRICES;
    let edge = limits.coop;
    let (m, groups, points, volume) = (conv.group_channels_out(), conv.groups(), conv.output_points(), conv.input_points());
    let n = images * points;
    let [tiles_m, tiles_n] = [m.div_ceil((rows * edge).into()), n.div_ceil((columns * edge).into())];
    let bytes = conv.element().bytes();
    // Blocks of both operands in halves, and of one result in f32.
    let workgroup_bytes = 2 * edge * edge * (rows + columns) + 4 * edge * edge;
    StepBuilder::new("implicit_gemm", "gemm_coop", conv.element())
        .constant("cooperative", Constant::Flag(true))
        .constant("edge", Constant::Size(edge))
        .constant("rows", Constant::Size(rows))
        .constant("columns", Constant::Size(columns))
        .workgroup_bytes(workgroup_bytes)
        .bind(input.0)
        .bind(plan.whole(Plan::WEIGHTS))
        .bind(output.0.write())
        .problem(&[
            ("m", m),
            ("n", n),
            ("k", conv.reduction()),
            ("batch", groups),
            ("points", points),
            ("image_volume", conv.channels_in() * volume),
            ("group_volume", conv.group_channels_in() * volume),
            ("channels_out", conv.channels_out()),
            ("input_skip", input.1.into()),
            ("c_skip", output.1.into()),
            ("tiles_m", tiles_m),
            ("tiles_n", tiles_n),
        ])?
        .problem(&geometry(conv))?
        .cost(
            &[2, groups, m, n, conv.reduction()],
            &[&[conv.weight_elements(), bytes], &[images, conv.channels_in(), volume, bytes], &[groups, m, n, bytes]],
        )
        .tiled(tiles_m * tiles_n * groups, [limits.min_subgroup, 1, 1], limits)
}
