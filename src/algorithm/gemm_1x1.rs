//! `gemm_1x1`: a convolution without neighbours is a matrix product of weights and input as they lie. No workspace.

use super::build::{Part, image_parts};
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
        super::no_workspace(self, variant)
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.workspace(conv, variant)?;
        let mut plan = Plan::new(conv);
        let points = conv.output_points();
        let (group_c, group_k, groups) = (conv.group_channels_in(), conv.group_channels_out(), conv.groups());
        for Part { images, input, output } in image_parts(&plan, conv, limits)? {
            let product = Product {
                stage: "gemm",
                m: group_k,
                n: points,
                k: group_c,
                batch: images * groups,
                a: Matrix { window: (plan.whole(Plan::WEIGHTS), 0), pitch: group_c, stride: group_k * group_c },
                a_period: groups,
                b: Matrix { window: input, pitch: points, stride: group_c * points },
                c: Matrix { window: output, pitch: points, stride: group_k * points },
            };
            plan.steps.push(product.step(conv.element(), limits)?);
        }
        plan.finish(limits)
    }
}
