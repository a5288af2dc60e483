//! `implicit_gemm`: the matrix product of im2col, reading the patches where the input has them. No workspace, or with `split=s` that of
//! its parts; every problem. With `coop` by cooperative matrices of f16, where the device has them.

use super::build::image_parts;
use super::gemm::{Patches, workgroups};
use super::{Algorithm, Variant, coop, packed, split};
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
        &["split=s", coop::WORD]
    }

    fn variants(&self, conv: &Conv, limits: &Limits) -> Vec<Variant> {
        let columns = conv.batch().saturating_mul(conv.output_points());
        let workgroups = workgroups(TiledKernel::ImplicitGemm, [conv.group_channels_out(), columns, conv.groups()], limits);
        let mut variants = split::variants(conv, workgroups);
        if coop::proposed(conv, limits) {
            variants.insert(1, Variant::word(coop::WORD));
        }
        variants
    }

    fn elements(&self) -> &'static [ElementType] {
        super::ALL_TYPES
    }

    fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        if variant.parts() == (coop::WORD, None) {
            coop::require(conv)?;
            return Ok(Bytes(0));
        }
        split::workspace(conv, split::parts(self, conv, variant)?)
    }

    fn operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.workspace(conv, variant)?;
        let parts = if variant.parts() == (coop::WORD, None) { 1 } else { split::parts(self, conv, variant)? };
        Ok(split::operations(conv, parts))
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.workspace(conv, variant)?;
        let cooperative = variant.parts() == (coop::WORD, None);
        if cooperative || conv.element() == ElementType::I8 {
            let step = if cooperative { coop::step } else { packed::multiply_patches };
            let mut plan = Plan::new(conv);
            for part in image_parts(&plan, conv, limits)? {
                let step = step(&plan, conv, &part, limits)?;
                plan.steps.push(step);
            }
            return plan.finish(limits);
        }
        let parts = split::parts(self, conv, variant)?;
        split::plan(conv, parts, limits, |plan, part, output| {
            let weights = plan.whole(Plan::WEIGHTS);
            Patches { conv, images: part.images, input: part.input, weights, output, parts }.step(self.id(), limits)
        })
    }
}
