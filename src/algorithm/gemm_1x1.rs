//! `gemm_1x1`: a convolution without neighbours is a matrix product of weights and input as they lie. No workspace.

use super::build::{check_steps, images_per_step, pieces};
use super::gemm::{Matrix, Product};
use super::{Algorithm, Variant};
use crate::conv::Conv;
use crate::plan::{Limits, Plan, Unsupported};
use crate::units::Bytes;

/// The product for kernels of one tap, stride 1 and no padding.
pub struct Gemm1x1;

impl Algorithm for Gemm1x1 {
    fn id(&self) -> &'static str {
        "gemm_1x1"
    }

    fn summary(&self) -> &'static str {
        "one matrix product of weights and input per image and group; kernels of one tap, stride 1, no padding"
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
        let refuse = |what: &str, values: [u64; 3]| {
            let values = values[3 - conv.rank()..].iter().map(u64::to_string).collect::<Vec<_>>().join("x");
            Err(Unsupported::Problem(format!("gemm_1x1 is for {what}, not {values}")))
        };
        let axes = conv.axes_3d();
        if conv.taps() != 1 {
            return refuse("kernels of one tap", axes.map(|axis| axis.kernel));
        }
        if axes.iter().any(|axis| axis.stride != 1) {
            return refuse("stride 1", axes.map(|axis| axis.stride));
        }
        if axes.iter().any(|axis| axis.output() != axis.size) {
            return refuse("no padding", axes.map(|axis| axis.output() - axis.size));
        }
        match variant.parts() {
            ("", None) => Ok(Bytes(0)),
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.workspace(conv, variant)?;
        let mut plan = Plan::new(conv);
        let points = conv.output_points();
        let (group_c, group_k, groups) = (conv.group_channels_in(), conv.group_channels_out(), conv.groups());
        let (input_image, output_image) = (conv.channels_in() * points, conv.channels_out() * points);
        let bytes = conv.element().bytes();
        let piece = images_per_step(conv.batch(), &[input_image * bytes, output_image * bytes], limits);
        check_steps(conv.batch().div_ceil(piece))?;
        for (image, images) in pieces(conv.batch(), piece) {
            let product = Product {
                stage: "gemm",
                m: group_k,
                n: points,
                k: group_c,
                batch: images * groups,
                a: Matrix { window: (plan.whole(Plan::WEIGHTS), 0), pitch: group_c, stride: group_k * group_c },
                a_period: groups,
                b: Matrix {
                    window: plan.window(Plan::INPUT, image * input_image, images * input_image, limits),
                    pitch: points,
                    stride: group_c * points,
                },
                c: Matrix {
                    window: plan.window(Plan::OUTPUT, image * output_image, images * output_image, limits),
                    pitch: points,
                    stride: group_k * points,
                },
            };
            plan.steps.push(product.step(conv.element(), limits)?);
        }
        plan.finish(limits)
    }
}
