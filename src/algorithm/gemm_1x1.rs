//! `gemm_1x1`: a convolution without neighbours is a matrix product of weights and input as they lie. No workspace,
//! or with `split=s` that of its parts.

use super::gemm::{Matrix, Product, workgroups};
use super::{Algorithm, Variant, split};
use crate::conv::{Conv, ElementType};
use crate::plan::{Limits, Plan, TiledKernel, Unsupported};
use crate::units::{Bytes, Ops};

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
        split::WORKSPACE
    }

    fn knobs(&self) -> &'static [&'static str] {
        split::KNOBS
    }

    fn variants(&self, conv: &Conv, limits: &Limits) -> Vec<Variant> {
        let batch = conv.batch().saturating_mul(conv.groups());
        split::variants(conv, workgroups(TiledKernel::Gemm, [conv.group_channels_out(), conv.output_points(), batch], limits))
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
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
        split::workspace(conv, split::parts(self, conv, variant)?)
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        Ok(split::operations(conv, split::parts(self, conv, variant)?))
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        let parts = split::parts(self, conv, variant)?;
        let points = conv.output_points();
        let (group_c, group_k, groups) = (conv.group_channels_in(), conv.group_channels_out(), conv.groups());
        split::plan(conv, parts, limits, |plan, part, output| {
            let product = Product {
                stage: "gemm",
                m: group_k,
                n: points,
                k: group_c,
                batch: part.images * groups,
                a: Matrix { window: (plan.whole(Plan::WEIGHTS), 0), pitch: group_c, stride: group_k * group_c },
                a_period: groups,
                b: Matrix { window: part.input, pitch: points, stride: group_c * points },
                c: Matrix { window: output, pitch: points, stride: group_k * points },
                parts,
            };
            product.step(conv.element(), limits)
        })
    }
}
