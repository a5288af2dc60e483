//! `depthwise`: one input channel a group, every output channel from one plane. No workspace; bound by memory traffic.

use super::build::{Part, StepBuilder, image_parts, word};
use super::row::{self, sizes, wanted};
use super::{Algorithm, Variant, geometry};
use crate::conv::{Conv, ElementType};
use crate::ledger;
use crate::plan::{Constant, Limits, Plan, Step, Tile, TiledKernel, Unsupported};
use crate::units::Bytes;

/// The most taps that are unrolled in the text.
const MOST_TAPS: u64 = 64;

/// The most elements of the input an invocation holds at once.
const MOST_ELEMENTS: usize = 160;

/// The kernel for as many groups as input channels.
pub struct Depthwise;

/// The block for a convolution: as tuned, smaller where an invocation would hold too much of the input.
fn tile(conv: &Conv, images: u64, limits: &Limits) -> (Tile, Vec<u64>, Vec<u64>) {
    let [_, height, width] = conv.axes_3d();
    let planes = images.saturating_mul(conv.channels_out());
    let mut tile = limits.tile(TiledKernel::Depthwise, height.output(), width.output().saturating_mul(planes));
    loop {
        let rows = wanted(tile.rows.into(), height.stride, height.kernel, height.dilation);
        let columns = wanted(u64::from(4 * tile.columns), width.stride, width.kernel, width.dilation);
        if rows.len() * columns.len() <= MOST_ELEMENTS || (tile.rows == 1 && tile.columns == 1) {
            return (tile, rows, columns);
        }
        if tile.rows > 1 {
            tile.rows /= 2;
        } else {
            tile.columns /= 2;
        }
    }
}

impl Depthwise {
    fn step(&self, plan: &Plan, conv: &Conv, &Part { images, input, output, .. }: &Part, limits: &Limits) -> Result<Step, Unsupported> {
        let [_, height, width] = conv.axes_3d();
        let (tile, wanted_h, wanted_w) = tile(conv, images, limits);
        let lanes = tile.lanes_n * tile.lanes_m;
        let planes = images * conv.channels_out();
        let blocks_row = width.output().div_ceil(u64::from(4 * tile.columns));
        let blocks = height.output().div_ceil(tile.rows.into()) * blocks_row;
        let stretches = blocks.div_ceil(lanes.into());
        let size = |what: &str, value: u64| word(what, value).map(Constant::Size);
        let part = conv.with_batch(images).map_or(*conv, |c| c);
        let step = StepBuilder::new(self.id(), self.id(), conv.element());
        row::constants(step, &wanted_w, &width, input.1.is_multiple_of(4), limits)?
            .tile(tile)
            .constant("rows", Constant::Size(tile.rows))
            .constant("columns", Constant::Size(tile.columns))
            .constant("taps_h", size("kernel height", height.kernel)?)
            .constant("taps_w", size("kernel width", width.kernel)?)
            .constant("stride_h", size("stride", height.stride)?)
            .constant("stride_w", size("stride", width.stride)?)
            .constant("dilation_h", size("dilation", height.dilation)?)
            .constant("dilation_w", size("dilation", width.dilation)?)
            .constant("wanted_h", sizes("input row", &wanted_h)?)
            .constant("vector_c", Constant::Flag(width.output().is_multiple_of(4) && output.1.is_multiple_of(4)))
            .bind(input.0)
            .bind(plan.whole(Plan::WEIGHTS))
            .bind(output.0.write())
            .problem(&[
                ("planes", planes),
                ("stretches", stretches),
                ("blocks", blocks),
                ("blocks_row", blocks_row),
                ("input_skip", input.1.into()),
                ("output_skip", output.1.into()),
                ("c", conv.channels_in()),
                ("k", conv.channels_out()),
                ("multiplier", conv.group_channels_out()),
            ])?
            .sizes(&geometry(conv), limits.specialise())?
            .cost(&[ledger::operations(&part).0], &[&[ledger::least_traffic(&part).0]])
            .tiled(planes * stretches, [lanes, 1, 1], limits)
    }
}

impl Algorithm for Depthwise {
    fn id(&self) -> &'static str {
        "depthwise"
    }

    fn summary(&self) -> &'static str {
        "blocks of outputs from one plane; one input channel a group, 1-D and 2-D, up to 64 taps"
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        let refuse = |reason: String| Err(Unsupported::Problem(reason));
        if conv.group_channels_in() != 1 {
            return refuse(format!("depthwise is for one input channel a group, not {}", conv.group_channels_in()));
        }
        let axes = conv.axes_3d();
        if conv.rank() == 3 {
            return refuse("depthwise is for 1-D and 2-D convolutions, not 3-D".to_owned());
        }
        if conv.taps() > MOST_TAPS {
            return refuse(format!("depthwise is for kernels of up to {MOST_TAPS} taps, not {}", conv.taps()));
        }
        if let Some(axis) = axes.iter().find(|axis| axis.stride > MOST_TAPS || axis.dilation > 1024) {
            return refuse(format!(
                "depthwise is for strides up to {MOST_TAPS} and dilations up to 1024, not {} and {}",
                axis.stride, axis.dilation
            ));
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
