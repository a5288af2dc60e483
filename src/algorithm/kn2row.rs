//! `kn2row`: a convolution as one product for each tap of the kernel, of the tap's weights with the whole input, whose results are shifted
//! into place and added up (Anderson, Vasudevan, Keane and Gregg, arXiv 1709.03395).
//!
//! The products lie in the order K, D, H, W. `full` keeps those of all taps of all images, `N·T·R·S·K·D·H·W` elements, and gathers each output
//! from them; `images=n` does so for n images at a time. `accumulate` keeps those of one tap of one image, `K·D·H·W`, and adds them to the output.
//! Outputs skipped by a stride are computed all the same: the operations are `2·N·K·C/g·T·R·S·D·H·W` and the additions.

use super::build::{StepBuilder, check_steps, images_per_step, pieces};
use super::gemm::{Matrix, Product};
use super::variant::micro_batches;
use super::{Algorithm, Variant, geometry};
use crate::conv::{Axis, Conv, ElementType};
use crate::plan::{Binding, Constant, Limits, Plan, Step, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops, product};

/// One product for each tap.
pub struct Kn2row;

/// What the products held at once are of.
#[derive(Clone, Copy)]
struct Extent {
    images: u64,
    taps: u64,
}

/// Some images of the batch and the windows of their tensors and products.
struct Part {
    images: u64,
    input: (Binding, u32),
    products: (Binding, u32),
    output: (Binding, u32),
}

impl Kn2row {
    fn extent(&self, conv: &Conv, variant: &Variant) -> Result<Extent, Unsupported> {
        super::require(self, conv)?;
        let taps = conv.taps();
        match variant.parts() {
            ("full", None) => Ok(Extent { images: conv.batch(), taps }),
            ("accumulate", None) => Ok(Extent { images: conv.batch().min(1), taps: 1 }),
            ("images", Some(images)) if (1..=conv.batch()).contains(&images) => Ok(Extent { images, taps }),
            ("images", Some(images)) => {
                Err(Unsupported::Variant(format!("images={images} is not within 1 to the {} images of the batch", conv.batch())))
            }
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    /// The product of one tap's weights with the input of a part, into the window's `slot`.
    fn multiply(plan: &Plan, conv: &Conv, part: &Part, tap: u32, slot: u64, limits: &Limits) -> Result<Step, Unsupported> {
        let (group_c, group_k, groups) = (conv.group_channels_in(), conv.group_channels_out(), conv.groups());
        let volume = conv.input_points();
        let skip = u64::from(part.products.1) + slot * part.images * conv.channels_out() * volume;
        let multiply = Product {
            stage: "gemm",
            m: group_k,
            n: volume,
            k: group_c,
            batch: part.images * groups,
            a: Matrix { window: (plan.whole(Plan::WEIGHTS), tap), pitch: conv.reduction(), stride: group_k * conv.reduction() },
            a_period: groups,
            b: Matrix { window: part.input, pitch: volume, stride: group_c * volume },
            c: Matrix {
                window: (part.products.0, super::build::word("products before a tap's", skip)?),
                pitch: volume,
                stride: group_k * volume,
            },
            parts: 1,
        };
        multiply.step_by(conv.taps(), conv.element(), limits)
    }

    /// The shifted sum of some taps' products, written to the output of a part or with `add` added to it.
    fn shift(conv: &Conv, part: &Part, taps: [(u64, u64); 3], add: bool, limits: &Limits) -> Result<Step, Unsupported> {
        let points = conv.output_points();
        let planes = part.images * conv.channels_out();
        let outputs = planes * points;
        let [_, _, width] = conv.axes_3d();
        let quads_row = width.output().div_ceil(4);
        let quads = points / width.output() * quads_row;
        let lanes = limits.lanes_for(quads);
        let stretches = quads.div_ceil(lanes.into());
        let vector = width.output().is_multiple_of(4) && part.output.1.is_multiple_of(4);
        let bytes = conv.element().bytes();
        let count: u64 = taps.iter().map(|(_, count)| count).product();
        let met: u64 = conv.axes_3d().iter().zip(taps).map(|(axis, (first, count))| met(axis, first, count)).product();
        let [first_t, first_r, first_s] = taps.map(|(first, _)| first);
        let [end_t, end_r, end_s] = taps.map(|(first, count)| first + count);
        StepBuilder::new("shift_add", "kn2row_shift", ElementType::F32)
            .constant("add", Constant::Flag(add))
            .constant("vector", Constant::Flag(vector))
            .bind(part.products.0)
            .bind(part.output.0.write())
            .problem(&[
                ("planes", planes),
                ("points", points),
                ("stretches", stretches),
                ("quads", quads),
                ("quads_row", quads_row),
                ("volume", conv.input_points()),
                ("tap_products", planes * conv.input_points()),
                ("products_skip", part.products.1.into()),
                ("output_skip", part.output.1.into()),
            ])?
            .problem(&[("first_t", first_t), ("first_r", first_r), ("first_s", first_s)])?
            .problem(&[("end_t", end_t), ("end_r", end_r), ("end_s", end_s)])?
            .problem(&geometry(conv))?
            .cost(&[count - u64::from(!add), outputs], &[&[planes, met, bytes], &[outputs, bytes], &[outputs, u64::from(add), bytes]])
            .tiled(planes * stretches, [lanes, 1, 1], limits)
    }
}

/// Pairs of an output and one of `count` taps from `first` on that meet an element of the input, along one axis.
fn met(axis: &Axis, first: u64, count: u64) -> u64 {
    if count == axis.kernel {
        return axis.taps_inside();
    }
    // Outputs o with pad_before <= o·stride + tap·dilation < pad_before + size.
    let below = |end: u64, tap: u64| end.saturating_sub(tap * axis.dilation).div_ceil(axis.stride).min(axis.output());
    (first..first + count).map(|tap| below(axis.pad_before + axis.size, tap) - below(axis.pad_before, tap)).sum()
}

impl Algorithm for Kn2row {
    fn id(&self) -> &'static str {
        "kn2row"
    }

    fn summary(&self) -> &'static str {
        "a matrix product for each tap with the unshifted input, shifted and added up; every stride, dilation, group and rank"
    }

    fn workspace_formula(&self) -> &'static str {
        "full: N*T*R*S*K*D*H*W; images=n: n*T*R*S*K*D*H*W; accumulate: K*D*H*W"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["accumulate", "images=n", "full"]
    }

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        let one = (conv.batch() > 1).then(|| Variant::knob("images", 1));
        [Variant::word("accumulate")].into_iter().chain(one).chain(micro_batches(conv)).chain([Variant::word("full")]).collect()
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let Extent { images, taps } = self.extent(conv, variant)?;
        workspace_bytes("products", &[images, taps, conv.channels_out(), conv.input_points()], conv.element())
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        let factors = [2, conv.batch(), conv.channels_out(), conv.reduction(), conv.input_points()];
        let additions = product(&[conv.output_elements(), conv.taps() - 1]);
        let sum = product(&factors).zip(additions).and_then(|(products, additions)| products.checked_add(additions));
        sum.map(Ops).ok_or_else(|| Unsupported::overflow("operations", &factors))
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let Extent { images, taps } = self.extent(conv, variant)?;
        self.native_operations(conv, variant)?;
        let mut plan = Plan::new(conv);
        let (volume, k) = (conv.input_points(), conv.channels_out());
        let products = plan.workspace("products", &[images, taps, k, volume], conv.element())?;
        if images == 0 {
            return plan.finish(limits);
        }
        let bytes = conv.element().bytes();
        let (input_image, output_image, products_image) = (conv.channels_in() * volume, k * conv.output_points(), taps * k * volume);
        let piece = images_per_step(images, &[input_image, output_image, products_image].map(|image| image * bytes), limits);
        let rounds = conv.taps() / taps;
        check_steps(conv.batch().div_ceil(piece).saturating_mul(rounds).saturating_mul(taps.saturating_add(1)))?;
        let axes = conv.axes_3d();
        for (first, count) in pieces(conv.batch(), images) {
            for (image, images) in pieces(count, piece) {
                let part = Part {
                    images,
                    input: plan.window(Plan::INPUT, (first + image) * input_image, images * input_image, limits),
                    products: plan.window(products, image * products_image, images * products_image, limits),
                    output: plan.window(Plan::OUTPUT, (first + image) * output_image, images * output_image, limits),
                };
                if taps == conv.taps() {
                    for (tap, slot) in (0..).zip(0..taps) {
                        plan.steps.push(Self::multiply(&plan, conv, &part, tap, slot, limits)?);
                    }
                    plan.steps.push(Self::shift(conv, &part, axes.map(|axis| (0, axis.kernel)), false, limits)?);
                    continue;
                }
                let [_, height, width] = axes;
                for (tap, index) in (0..).zip(0..conv.taps()) {
                    let at = [index / (height.kernel * width.kernel), index / width.kernel % height.kernel, index % width.kernel];
                    plan.steps.push(Self::multiply(&plan, conv, &part, tap, 0, limits)?);
                    plan.steps.push(Self::shift(conv, &part, at.map(|tap| (tap, 1)), index > 0, limits)?);
                }
            }
        }
        plan.finish(limits)
    }
}
