//! `indirect`: the product of im2col through a table of where each tap of each output point lies (Dukhan, The Indirect Convolution
//! Algorithm, 2019).
//!
//! A pointer buffer in his terms; here `O·P·Q·T·R·S` 32-bit offsets into the plane of a channel, all ones for a tap in the padding. It depends
//! neither on the channels nor on the batch, is written once and kept.

use super::build::{Part, StepBuilder, image_parts};
use super::gemm::Patches;
use super::reading::Reading;
use super::{Algorithm, Variant, geometry};
use crate::conv::{Conv, ElementType};
use crate::plan::{Limits, Plan, Unsupported, workspace_bytes};
use crate::units::Bytes;

/// The product through a table of offsets.
pub struct Indirect;

impl Algorithm for Indirect {
    fn id(&self) -> &'static str {
        "indirect"
    }

    fn summary(&self) -> &'static str {
        "the matrix product of im2col through a table of where each tap of each output point lies; every stride, dilation, group and rank"
    }

    fn workspace_formula(&self) -> &'static str {
        "O*P*Q*T*R*S integers"
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        super::no_workspace(self, variant)?;
        workspace_bytes("offset table", &[conv.taps(), conv.output_points()], ElementType::U32)
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        let (taps, points) = (conv.taps(), conv.output_points());
        let mut plan = Plan::new(conv);
        let table = plan.cached_workspace("offset_table", &[taps, points], ElementType::U32)?;
        if conv.batch() > 0 {
            let entries = taps * points;
            let step = StepBuilder::new("offset_table", "indirect_table", ElementType::U32)
                .bind(plan.whole(table).write())
                .problem(&[("entries", entries), ("points", points)])?
                .problem(&geometry(conv))?
                .cost(&[0], &[&[entries, ElementType::U32.bytes()]])
                .once()
                .linear(entries, limits.lanes(), limits)?;
            plan.steps.push(step);
        }
        for Part { images, input, output, .. } in image_parts(&plan, conv, limits)? {
            let (weights, reading) = (plan.whole(Plan::WEIGHTS), Reading::Table(plan.whole(table)));
            let multiply = Patches { conv, images, points, input, reading, weights, output, parts: 1 };
            plan.steps.push(multiply.step("indirect", limits)?);
        }
        plan.finish(limits)
    }
}
