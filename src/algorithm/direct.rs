//! `direct`: the definition, one element of the result per invocation. No workspace; every problem, every pass.

use super::backward;
use super::build::{Part, StepBuilder, image_parts, word};
use super::{Algorithm, Variant, geometry};
use crate::conv::{Conv, ElementType, Layout, Pass};
use crate::ledger;
use crate::plan::{Constant, Limits, Plan, Unsupported};
use crate::units::Bytes;

/// Kernels of up to so many taps are unrolled in the shader's text.
const UNROLLED_TAPS: u64 = 64;

/// The direct method.
pub struct Direct;

impl Algorithm for Direct {
    fn id(&self) -> &'static str {
        "direct"
    }

    fn summary(&self) -> &'static str {
        "the definition, one element of the result per invocation; every stride, dilation, group, rank and pass"
    }

    fn elements(&self) -> &'static [ElementType] {
        super::ALL_TYPES
    }

    fn passes(&self) -> &'static [Pass] {
        &Pass::ALL
    }

    fn knows_layout(&self, conv: &Conv) -> bool {
        conv.layout() == Layout::Nchw || conv.computes() == Pass::Forward
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        super::no_workspace(self, variant)
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        match conv.computes() {
            Pass::Forward => {}
            Pass::BackwardData => return backward::direct::data(conv, limits),
            Pass::BackwardWeights => return backward::direct::weights(conv, limits),
        }
        let points = conv.output_points();
        let lanes = limits.lanes_for(points);
        let stretches = points.div_ceil(lanes.into());
        let mut plan = Plan::new(conv);
        plan.tuning = format!("lanes {lanes}");
        for Part { images, input, output, .. } in image_parts(&plan, conv, limits)? {
            let planes = images * conv.channels_out();
            let part = conv.with_batch(images).map_or(*conv, |c| c);
            let [t, r, s] = conv.axes_3d().map(|axis| axis.kernel);
            let unroll = conv.taps() <= UNROLLED_TAPS;
            let size = |extent| word("kernel extent", if unroll { extent } else { 0 }).map(Constant::Size);
            let step = StepBuilder::new("direct", "direct", conv.element())
                .constant("packed", Constant::Flag(conv.element() == ElementType::I8))
                .constant("unroll", Constant::Flag(unroll))
                .constant("channels_last", Constant::Flag(conv.layout() == Layout::Nhwc))
                .constant("t", size(t)?)
                .constant("r", size(r)?)
                .constant("s", size(s)?)
                .bind(input.0)
                .bind(plan.whole(Plan::WEIGHTS))
                .bind(output.0.write())
                .problem(&[
                    ("planes", planes),
                    ("points", points),
                    ("stretches", stretches),
                    ("input_skip", input.1.into()),
                    ("output_skip", output.1.into()),
                    ("c", conv.channels_in()),
                    ("k", conv.channels_out()),
                    ("group_c", conv.group_channels_in()),
                    ("group_k", conv.group_channels_out()),
                ])?
                .problem(&geometry(conv))?
                .cost(&[ledger::operations(&part).0], &[&[ledger::least_traffic(&part).0]])
                .tiled(planes * stretches, [lanes, 1, 1], limits)?;
            plan.steps.push(step);
        }
        plan.finish(limits)
    }
}
