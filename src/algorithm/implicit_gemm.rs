//! `implicit_gemm`: the matrix product of im2col, reading the patches where the input has them. No workspace; every problem.

use super::build::{Part, image_parts};
use super::gemm::Patches;
use super::{Algorithm, Variant};
use crate::conv::Conv;
use crate::plan::{Limits, Plan, Unsupported};
use crate::units::Bytes;

/// Implicit GEMM.
pub struct ImplicitGemm;

impl Algorithm for ImplicitGemm {
    fn id(&self) -> &'static str {
        "implicit_gemm"
    }

    fn summary(&self) -> &'static str {
        "the matrix product of im2col with the patches read in place; every stride, dilation, group and rank"
    }

    fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require_f32(self.id(), conv)?;
        super::no_workspace(self, variant)
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.workspace(conv, variant)?;
        let mut plan = Plan::new(conv);
        for Part { images, input, output } in image_parts(&plan, conv, limits)? {
            let patches = Patches { conv, images, input, weights: plan.whole(Plan::WEIGHTS), output };
            plan.steps.push(patches.step(self.id(), limits)?);
        }
        plan.finish(limits)
    }
}
