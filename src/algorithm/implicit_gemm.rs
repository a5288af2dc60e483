//! `implicit_gemm`: the matrix product of im2col, reading the patches where the input has them. No workspace; every problem.

use super::build::{check_steps, images_per_step, pieces};
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

    fn workspace_formula(&self) -> &'static str {
        "0"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &[]
    }

    fn variants(&self, _conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        vec![Variant::none()]
    }

    fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require_f32(self.id(), conv)?;
        match variant.parts() {
            ("", None) => Ok(Bytes(0)),
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.workspace(conv, variant)?;
        let mut plan = Plan::new(conv);
        let (input_image, output_image) = (conv.channels_in() * conv.input_points(), conv.channels_out() * conv.output_points());
        let bytes = conv.element().bytes();
        let piece = images_per_step(conv.batch(), &[input_image * bytes, output_image * bytes], limits);
        check_steps(conv.batch().div_ceil(piece))?;
        for (image, images) in pieces(conv.batch(), piece) {
            let patches = Patches {
                conv,
                images,
                input: plan.window(Plan::INPUT, image * input_image, images * input_image, limits),
                weights: plan.whole(Plan::WEIGHTS),
                output: plan.window(Plan::OUTPUT, image * output_image, images * output_image, limits),
            };
            plan.steps.push(patches.step(self.id(), limits)?);
        }
        plan.finish(limits)
    }
}
