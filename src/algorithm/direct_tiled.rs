//! `direct_tiled`: the direct method in register tiles of output channels by neighbouring outputs. No workspace.

use super::build::{Part, StepBuilder, image_parts, word};
use super::{Algorithm, Variant, geometry, row};
use crate::conv::{Conv, ElementType};
use crate::ledger;
use crate::plan::{Constant, Limits, Plan, Sharing, Step, Tile, TiledKernel, Unsupported};
use crate::units::Bytes;

/// The widest kernel whose row is unrolled in the text.
const MOST_TAPS: u64 = 16;

/// The most columns of the input an invocation holds at once.
const MOST_COLUMNS: u64 = 96;

/// The register-blocked direct method.
pub struct DirectTiled;

/// The tile for a convolution: as tuned, narrower where an invocation would hold too many columns.
fn tile(conv: &Conv, images: u64, limits: &Limits) -> Tile {
    let [_, _, width] = conv.axes_3d();
    let columns = images.saturating_mul(conv.groups()).saturating_mul(conv.output_points());
    let mut tile = limits.tile(TiledKernel::DirectTiled, conv.group_channels_out(), columns);
    // No wider than a row, and no more than fits registers.
    let too_wide = |columns: u32| {
        let outputs = u64::from(4 * columns);
        outputs >= width.output() + 4
            || (outputs - 1).saturating_mul(width.stride).min(outputs * width.kernel) + width.kernel > MOST_COLUMNS
    };
    while tile.columns > 1 && too_wide(tile.columns) {
        tile.columns /= 2;
    }
    tile
}

impl DirectTiled {
    fn step(&self, plan: &Plan, conv: &Conv, &Part { images, input, output, .. }: &Part, limits: &Limits) -> Result<Step, Unsupported> {
        let [depth, height, width] = conv.axes_3d();
        let tile = tile(conv, images, limits);
        let lanes = tile.lanes_n * tile.lanes_m;
        let outputs = u64::from(4 * tile.columns);
        let pieces_row = width.output().div_ceil(outputs);
        let pieces = depth.output() * height.output() * pieces_row;
        let stretches = pieces.div_ceil(lanes.into());
        let group_blocks = conv.group_channels_out().div_ceil(tile.rows.into());
        let blocks = conv.groups() * group_blocks;
        let size = |what: &str, value: u64| word(what, value).map(Constant::Size);
        let fold = limits.specialise();
        let part = conv.with_batch(images).map_or(*conv, |c| c);
        let columns = row::wanted(outputs, width.stride, width.kernel, width.dilation);
        let step = StepBuilder::new(self.id(), self.id(), conv.element());
        row::constants(step, &columns, &width, input.1.is_multiple_of(4), limits)?
            .tile(tile)
            .constant("rows", Constant::Size(tile.rows))
            .constant("columns", Constant::Size(tile.columns))
            .constant("subgroup", Constant::Flag(tile.sharing == Sharing::Subgroup))
            .constant("taps", size("kernel width", width.kernel)?)
            .constant("stride", size("stride", width.stride)?)
            .constant("dilation", size("dilation", width.dilation)?)
            .constant("vector_c", Constant::Flag(width.output().is_multiple_of(4) && output.1.is_multiple_of(4)))
            .bind(input.0)
            .bind(plan.whole(Plan::WEIGHTS))
            .bind(output.0.write())
            .problem(&[
                ("images", images),
                ("blocks", blocks),
                ("group_blocks", group_blocks),
                ("stretches", stretches),
                ("pieces", pieces),
                ("pieces_row", pieces_row),
                ("input_skip", input.1.into()),
                ("output_skip", output.1.into()),
                ("c", conv.channels_in()),
                ("k", conv.channels_out()),
                ("group_c", conv.group_channels_in()),
                ("group_k", conv.group_channels_out()),
            ])?
            .sizes(&geometry(conv), fold)?
            .cost(&[ledger::operations(&part).0], &[&[ledger::least_traffic(&part).0]])
            .tiled(images * blocks * stretches, [lanes, 1, 1], limits)
    }
}

impl Algorithm for DirectTiled {
    fn id(&self) -> &'static str {
        "direct_tiled"
    }

    fn summary(&self) -> &'static str {
        "the direct method in register tiles of channels by neighbouring outputs; kernels up to 16 wide"
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        let [_, _, width] = conv.axes_3d();
        if width.kernel > MOST_TAPS {
            return Err(Unsupported::Problem(format!("direct_tiled is for kernels up to {MOST_TAPS} wide, not {}", width.kernel)));
        }
        if width.stride > MOST_TAPS {
            return Err(Unsupported::Problem(format!(
                "direct_tiled is for strides up to {MOST_TAPS} along the width, not {}",
                width.stride
            )));
        }
        super::no_workspace(self, variant)
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        let mut plan = Plan::new(conv);
        for part in image_parts(&plan, conv, limits)? {
            let step = self.step(&plan, conv, &part, limits)?;
            plan.steps.push(step);
        }
        plan.finish(limits)
    }
}
