//! `direct`: the definition, one output per invocation. No workspace; every problem.

use super::build::{StepBuilder, check_steps, images_per_step, pieces, word};
use super::{Algorithm, Variant, geometry};
use crate::conv::{Conv, ElementType};
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
        "the definition, one output per invocation; every stride, dilation, group and rank"
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
        let points = conv.output_points();
        let lanes = limits.lanes_for(points);
        let stretches = points.div_ceil(lanes.into());
        let mut plan = Plan::new(conv);
        plan.tuning = format!("lanes {lanes}");
        let (input_image, output_image) = (conv.channels_in() * conv.input_points(), conv.channels_out() * conv.output_points());
        let bytes = conv.element().bytes();
        let piece = images_per_step(conv.batch(), &[input_image * bytes, output_image * bytes], limits);
        check_steps(conv.batch().div_ceil(piece))?;
        for (image, images) in pieces(conv.batch(), piece) {
            let input = plan.window(Plan::INPUT, image * input_image, images * input_image, limits);
            let output = plan.window(Plan::OUTPUT, image * output_image, images * output_image, limits);
            let planes = images * conv.channels_out();
            let part = conv.with_batch(images).map_or(*conv, |c| c);
            let [t, r, s] = conv.axes_3d().map(|axis| axis.kernel);
            let unroll = conv.taps() <= UNROLLED_TAPS;
            let size = |extent| word("kernel extent", if unroll { extent } else { 0 }).map(Constant::Size);
            let step = StepBuilder::new("direct", "direct", ElementType::F32)
                .constant("unroll", Constant::Flag(unroll))
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
