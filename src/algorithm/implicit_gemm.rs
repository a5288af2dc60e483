//! `implicit_gemm`: the matrix product of im2col, reading the patches where the input has them. No workspace, or with `split=s` that of
//! its parts; every problem. With `coop` by cooperative matrices of f16, where the device has them.

use super::backward::product;
use super::build::{Part, image_parts};
use super::gemm::{Patches, workgroups};
use super::reading::Reading;
use super::{Algorithm, Variant, coop, packed, split};
use crate::conv::{Conv, ElementType, Pass};
use crate::ledger;
use crate::plan::{Limits, Plan, TiledKernel, Unsupported};
use crate::units::{Bytes, Ops};

/// Implicit GEMM.
pub struct ImplicitGemm;

/// Whether a variant multiplies by cooperative matrices.
fn cooperative(variant: &Variant) -> bool {
    variant.parts() == (coop::WORD, None)
}

impl Algorithm for ImplicitGemm {
    fn id(&self) -> &'static str {
        "implicit_gemm"
    }

    fn summary(&self) -> &'static str {
        "the matrix product of im2col with the patches read in place; every stride, dilation, group, rank and pass"
    }

    fn workspace_formula(&self) -> &'static str {
        split::WORKSPACE
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["split=s", coop::WORD]
    }

    fn passes(&self) -> &'static [Pass] {
        &Pass::ALL
    }

    fn variants(&self, conv: &Conv, limits: &Limits) -> Vec<Variant> {
        match conv.computes() {
            Pass::Forward => {}
            Pass::BackwardData => return vec![Variant::none()],
            Pass::BackwardWeights => return product::variants(conv, limits),
        }
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

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        match conv.computes() {
            Pass::Forward if cooperative(variant) => coop::require(conv).map(|()| Bytes(0)),
            Pass::Forward => split::workspace(conv, split::parts(self, conv, variant)?),
            Pass::BackwardData => super::no_workspace(self, variant),
            Pass::BackwardWeights => product::workspace(conv, product::parts(self, conv, variant)?),
        }
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        Ok(match conv.computes() {
            Pass::Forward if cooperative(variant) => ledger::operations(conv),
            Pass::Forward => split::operations(conv, split::parts(self, conv, variant)?),
            Pass::BackwardData => ledger::operations(conv),
            Pass::BackwardWeights => product::operations(conv, product::parts(self, conv, variant)?),
        })
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        match conv.computes() {
            Pass::Forward => {}
            Pass::BackwardData => return product::data(conv, limits),
            Pass::BackwardWeights => return product::weights(conv, product::parts(self, conv, variant)?, limits),
        }
        if cooperative(variant) || conv.element() == ElementType::I8 {
            let step = if cooperative(variant) { coop::step } else { packed::multiply_patches };
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
            let points = conv.output_points();
            let Part { images, input, .. } = *part;
            Patches { conv, images, points, input, reading: Reading::Input, weights, output, parts }.step(self.id(), limits)
        })
    }
}
