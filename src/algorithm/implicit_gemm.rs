//! `implicit_gemm`: the matrix product of im2col, reading the patches where the input has them. No workspace, or with `split=s` that of
//! its parts; every problem.

use super::backward::product;
use super::build::{Part, image_parts};
use super::gemm::{Patches, workgroups};
use super::reading::Reading;
use super::{Algorithm, Variant, packed, split};
use crate::conv::{Conv, ElementType, Pass};
use crate::ledger;
use crate::plan::{Limits, Plan, TiledKernel, Unsupported};
use crate::units::{Bytes, Ops};

/// Implicit GEMM.
pub struct ImplicitGemm;

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
        split::KNOBS
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
        split::variants(conv, workgroups(TiledKernel::ImplicitGemm, [conv.group_channels_out(), columns, conv.groups()], limits))
    }

    fn elements(&self) -> &'static [ElementType] {
        super::ALL_TYPES
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        match conv.computes() {
            Pass::Forward => split::workspace(conv, split::parts(self, conv, variant)?),
            Pass::BackwardData => super::no_workspace(self, variant),
            Pass::BackwardWeights => product::workspace(conv, product::parts(self, conv, variant)?),
        }
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        Ok(match conv.computes() {
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
            let points = conv.output_points();
            let Part { images, input, .. } = *part;
            Patches { conv, images, points, input, reading: Reading::Input, weights, output, parts }.step(self.id(), limits)
        })
    }
}
