//! `im2col`: unfold the input into a column matrix, then multiply it by the weights.
//!
//! The column matrix has `C·T·R·S` rows; how many of the output points it holds at once is the knob: `batch` all of all images,
//! `images=n` all of n, `image` all of one, `strip=p` p output rows of one. Groups multiply their own rows of it. Of 8-bit integers the
//! `C/g·T·R·S` rows of a group are rounded up to a multiple of four, which share words.

use super::build::{StepBuilder, check_steps, images_per_step, pieces, share, word};
use super::gemm::{Matrix, Product};
use super::variant::{micro_batches, spread};
use super::{Algorithm, Variant, geometry, packed, row};
use crate::conv::{Conv, ElementType};
use crate::plan::{BufferId, Constant, Limits, Plan, Unsupported, workspace_bytes};
use crate::units::{Bytes, product};

/// The most taps of a kernel row an invocation of the unfolding kernel copies.
const MOST_TAPS: u64 = 8;

/// im2col and GEMM.
pub struct Im2col;

/// What the column matrix holds at once.
#[derive(Clone, Copy)]
struct Extent {
    images: u64,
    points: u64,
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
        let bytes = conv.element().bytes();
        let input_image = conv.channels_in() * conv.input_points();
        let rows = conv.channels_in() * conv.taps();
        let matrix = rows * points;
        let input = plan.window(Plan::INPUT, image * input_image, images * input_image, limits);
        let unfolded = plan.window(columns, slot * matrix, images * matrix, limits);
        let [_, _, width] = conv.axes_3d();
        let quads_row = width.output().div_ceil(4);
        let quads = points / width.output() * quads_row;
        let lanes = limits.lanes_for(quads);
        let stretches = quads.div_ceil(lanes.into());
        let taps = width.kernel.min(MOST_TAPS);
        let row_pieces = width.kernel.div_ceil(taps);
        let kernel_rows = rows / width.kernel * row_pieces * images;
        let size = |what: &str, value: u64| word(what, value).map(Constant::Size);
        let by_four = [width.output(), points, unfolded.1.into()].iter().all(|x| x.is_multiple_of(4));
        // A later piece of a kernel row begins as many columns on.
        let aligned = input.1.is_multiple_of(4) && (row_pieces == 1 || (taps * width.dilation).is_multiple_of(4));
        let unfold = StepBuilder::new("im2col", "im2col", conv.element());
        let unfold = row::constants(unfold, &row::wanted(4, width.stride, taps, width.dilation), &width, aligned, limits)?
            .constant("taps", size("taps", taps)?)
            .constant("ragged", Constant::Flag(!width.kernel.is_multiple_of(taps)))
            .constant("stride", size("stride", width.stride)?)
            .constant("dilation", size("dilation", width.dilation)?)
            .constant("vector_c", Constant::Flag(by_four))
            .bind(input.0)
            .bind(unfolded.0.write())
            .problem(&[
                ("pieces", kernel_rows),
                ("row_pieces", row_pieces),
                ("stretches", stretches),
                ("quads", quads),
                ("quads_row", quads_row),
                ("row0", point0 / width.output()),
                ("points", points),
                ("input_skip", input.1.into()),
                ("columns_skip", unfolded.1.into()),
            ])?
            .problem(&geometry(conv))?
            .cost(&[0], &[&[images, matrix, bytes], &[images, share(input_image, points, conv.output_points()), bytes]])
            .tiled(kernel_rows * stretches, [lanes, 1, 1], limits)?;

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

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        let rows = conv.output_points() / conv.axes_3d()[2].output();
        let mut variants: Vec<Variant> = spread(rows, conv.batch(), 1).into_iter().map(|p| Variant::knob("strip", p)).collect();
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

    fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let Extent { images, points } = self.extent(conv, variant)?;
        workspace_bytes("column matrix", &factors(conv, images, points), conv.element())
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let Extent { images, points } = self.extent(conv, variant)?;
        self.workspace(conv, variant)?;
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
