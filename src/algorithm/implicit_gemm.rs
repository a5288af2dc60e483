//! `implicit_gemm`: the matrix product of im2col, reading the patches where the input has them. No workspace, or with `split=s` that of
//! its parts; every problem.

use super::build::image_parts;
use super::gemm::{Patches, workgroups};
use super::{Algorithm, Variant, packed, split};
use crate::conv::{Conv, ElementType};
use crate::plan::{Limits, Plan, TiledKernel, Unsupported};
use crate::units::{Bytes, Ops};

/// Implicit GEMM.
pub struct ImplicitGemm;

impl Algorithm for ImplicitGemm {
    fn id(&self) -> &'static str {
        "implicit_gemm"
    }

    fn summary(&self) -> &'static str {
        "the matrix product of im2col with the patches read in place; every stride, dilation, group and rank"
    }

    fn workspace_formula(&self) -> &'static str {
        split::WORKSPACE
    }

    fn knobs(&self) -> &'static [&'static str] {
        split::KNOBS
    }

    fn variants(&self, conv: &Conv, limits: &Limits) -> Vec<Variant> {
        let columns = conv.batch().saturating_mul(conv.output_points());
        split::variants(conv, workgroups(TiledKernel::ImplicitGemm, [conv.group_channels_out(), columns, conv.groups()], limits))
    }

    fn elements(&self) -> &'static [ElementType] {
        super::ALL_TYPES
    }

    fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        split::workspace(conv, split::parts(self, conv, variant)?)
    }

    fn operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.workspace(conv, variant)?;
        Ok(split::operations(conv, split::parts(self, conv, variant)?))
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.workspace(conv, variant)?;
        let parts = split::parts(self, conv, variant)?;
        if conv.element() == ElementType::I8 {
            let mut plan = Plan::new(conv);
            for part in image_parts(&plan, conv, limits)? {
                let step = packed::multiply_patches(&plan, conv, &part, limits)?;
                plan.steps.push(step);
            }
            return plan.finish(limits);
        }
        split::plan(conv, parts, limits, |plan, part, output| {
            let weights = plan.whole(Plan::WEIGHTS);
            Patches { conv, images: part.images, input: part.input, weights, output, parts }.step(self.id(), limits)
        })
    }
}
