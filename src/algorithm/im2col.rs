//! `im2col`: unfold the input into a column matrix, then multiply it by the weights.
//!
//! The column matrix has `C·T·R·S` rows; how many of the output points it holds at once is the knob: `batch` all of all images,
//! `images=n` all of n, `image` all of one, `strip=p` p output rows of one. Groups multiply their own rows of it. Of 8-bit integers the
//! `C/g·T·R·S` rows of a group are rounded up to a multiple of four, which share words.

use super::backward;
use super::build::{check_steps, images_per_step, pieces};
use super::gemm::{Matrix, Product};
use super::unfold::Unfolding;
use super::variant::{micro_batches, spread};
use super::{Algorithm, Variant, packed};
use crate::conv::{Conv, ElementType, Pass};
use crate::ledger;
use crate::plan::{BufferId, Limits, Plan, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops, product};

/// im2col and GEMM.
pub struct Im2col;

/// What the column matrix holds at once.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) images: u64,
    pub(super) points: u64,
}

/// Extents of the column matrix. Of 8-bit integers each group's reduction is rounded up to whole words of four.
fn factors(conv: &Conv, images: u64, points: u64) -> Vec<u64> {
    match conv.element() {
        ElementType::I8 => packed::columns(conv, images, points).into(),
        _ => vec![images, conv.channels_in(), conv.taps(), points],
    }
}

impl Im2col {
    fn extent(&self, conv: &Conv, variant: &Variant) -> Result<Extent, Unsupported> {
        super::require(self, conv)?;
        if conv.computes() == Pass::BackwardWeights && conv.element() != ElementType::F32 {
            let reason = format!("im2col computes the backward_weights pass in f32 only, not {}", conv.element());
            return Err(Unsupported::Problem(reason));
        }
        let [_, _, width] = conv.axes_3d();
        let points = conv.output_points();
        let rows = points / width.output();
        match variant.parts() {
            ("batch", None) => Ok(Extent { images: conv.batch(), points }),
            ("image", None) => Ok(Extent { images: conv.batch().min(1), points }),
            ("images", Some(images)) if (1..=conv.batch()).contains(&images) => Ok(Extent { images, points }),
            ("images", Some(images)) => {
                Err(Unsupported::Variant(format!("images={images} is not within 1 to the {} images of the batch", conv.batch())))
            }
            ("strip", Some(_)) if conv.computes() == Pass::BackwardWeights => Err(Unsupported::Variant(
                "the backward_weights pass of im2col unfolds whole images: known are image, images=n, batch".into(),
            )),
            ("strip", Some(strip)) if (1..=rows).contains(&strip) => {
                Ok(Extent { images: conv.batch().min(1), points: strip * width.output() })
            }
            ("strip", Some(strip)) => {
                Err(Unsupported::Variant(format!("strip={strip} is not within 1 to the {rows} output rows of an image")))
            }
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    /// Unfolds `points` from `point0` on of `images` from `image` on, then multiplies.
    fn push(plan: &mut Plan, conv: &Conv, columns: BufferId, part: &Part, limits: &Limits) -> Result<(), Unsupported> {
        let &Part { image, images, point0, points, slot } = part;
        let output_image = conv.channels_out() * conv.output_points();
        let first = image * output_image + point0;
        let span = images * output_image - (conv.output_points() - points);
        let output = plan.window(Plan::OUTPUT, first, span, limits);
        if conv.element() == ElementType::I8 {
            return packed::push(plan, conv, columns, part, output, limits);
        }
        let input_image = conv.channels_in() * conv.input_points();
        let matrix = conv.channels_in() * conv.taps() * points;
        let unfolded = plan.window(columns, slot * matrix, images * matrix, limits);
        let [depth, height, width] = conv.axes_3d();
        let unfolding = Unfolding {
            conv,
            images,
            input: plan.window(Plan::INPUT, image * input_image, images * input_image, limits),
            columns: unfolded,
            window: [(0, depth.output()), (0, height.output())],
            row0: point0 / width.output(),
            points,
        };
        let unfold = unfolding.step("im2col", limits)?;

        let reduction = conv.reduction();
        let (group_k, groups) = (conv.group_channels_out(), conv.groups());
        let product = Product {
            stage: "gemm",
            m: group_k,
            n: points,
            k: reduction,
            batch: images * groups,
            a: Matrix { window: (plan.whole(Plan::WEIGHTS), 0), pitch: reduction, stride: group_k * reduction },
            a_period: groups,
            b: Matrix { window: unfolded, pitch: points, stride: reduction * points },
            c: Matrix { window: output, pitch: conv.output_points(), stride: group_k * conv.output_points() },
            parts: 1,
        };
        let multiply = product.step(conv.element(), limits)?;
        plan.steps.extend([unfold, multiply]);
        Ok(())
    }
}

/// A part of the problem that one pair of steps handles.
pub(super) struct Part {
    pub(super) image: u64,
    pub(super) images: u64,
    pub(super) point0: u64,
    pub(super) points: u64,
    /// Which image of the column matrix it goes to.
    pub(super) slot: u64,
}

impl Algorithm for Im2col {
    fn id(&self) -> &'static str {
        "im2col"
    }

    fn summary(&self) -> &'static str {
        "unfold the input into a column matrix, then one matrix product per image and group"
    }

    fn workspace_formula(&self) -> &'static str {
        "batch: N*C*T*R*S*O*P*Q; images=n: n*C*T*R*S*O*P*Q; image: C*T*R*S*O*P*Q; strip=p: C*T*R*S*p*Q"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["strip=p", "image", "images=n", "batch"]
    }

    fn passes(&self) -> &'static [Pass] {
        &Pass::ALL
    }

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        let rows = conv.output_points() / conv.axes_3d()[2].output();
        let strips = if conv.computes() == Pass::BackwardWeights { Vec::new() } else { spread(rows, conv.batch(), 1) };
        let mut variants: Vec<Variant> = strips.into_iter().map(|p| Variant::knob("strip", p)).collect();
        if conv.batch() > 1 {
            variants.push(Variant::word("image"));
        }
        variants.extend(micro_batches(conv));
        variants.push(Variant::word("batch"));
        variants
    }

    fn elements(&self) -> &'static [ElementType] {
        super::ALL_TYPES
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let extent = self.extent(conv, variant)?;
        if conv.computes() == Pass::BackwardWeights {
            return backward::im2col::weights_workspace(conv, extent);
        }
        workspace_bytes("column matrix", &factors(conv, extent.images, extent.points), conv.element())
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        Ok(match conv.computes() {
            Pass::Forward => ledger::operations(conv),
            Pass::BackwardData => backward::im2col::data_operations(conv),
            Pass::BackwardWeights => backward::im2col::weights_operations(conv),
        })
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let extent = self.extent(conv, variant)?;
        self.native_workspace(conv, variant)?;
        match conv.computes() {
            Pass::Forward => {}
            Pass::BackwardData => return backward::im2col::data(conv, extent, limits),
            Pass::BackwardWeights => return backward::im2col::weights(conv, extent, limits),
        }
        let Extent { images, points } = extent;
        let mut plan = Plan::new(conv);
        let columns = plan.workspace("columns", &factors(conv, images, points), conv.element())?;
        let bytes = conv.element().bytes();
        let image_bytes = [
            conv.channels_in() * conv.input_points() * bytes,
            product(&factors(conv, 1, points)).unwrap_or(u64::MAX).saturating_mul(bytes),
            conv.channels_out() * conv.output_points() * conv.element().result().bytes(),
        ];
        let piece = images_per_step(images, &image_bytes, limits);
        check_steps(2_u64.saturating_mul(conv.batch().div_ceil(piece)).saturating_mul(conv.output_points().div_ceil(points)))?;
        for (image, count) in pieces(conv.batch(), piece) {
            for (point0, points) in pieces(conv.output_points(), points) {
                let slot = if images == conv.batch() { image } else { 0 };
                Self::push(&mut plan, conv, columns, &Part { image, images: count, point0, points, slot }, limits)?;
            }
        }
        plan.finish(limits)
    }
}
