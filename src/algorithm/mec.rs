//! `mec`: memory-efficient convolution (Cho and Brand, ICML 2017). The input is lowered along the width only, and the windows of the lowered
//! matrix that neighbouring output rows multiply overlap, where im2col would hold what they share once for each kernel row.
//!
//! Of each channel the lowered matrix has what every tap of a kernel row sees, for every row of the padded input: `C·S·(D+pads)·(H+pads)·Q`
//! elements for an image. It is the unfolding of the convolution with a kernel of 1×1×S, so the kernel of im2col writes it. The product reads it
//! in place, without tests: the padding's zeros are there. Three axes are lowered in the same way, depth by depth.
//!
//! `batch` lowers all images, `images=n` n at a time, `strip=p` what p output rows of one image see:
//! `C·S·((T−1)·dilation_d+1)·((p−1)·stride_h+(R−1)·dilation_h+1)·Q`.

use super::build::{check_steps, images_per_step, pieces};
use super::gemm::Patches;
use super::reading::{Lowered, Reading};
use super::unfold::Unfolding;
use super::variant::{micro_batches, spread};
use super::{Algorithm, Variant};
use crate::conv::{Axis, Conv, ConvSpec, ElementType};
use crate::plan::{BufferId, Limits, Plan, Unsupported, workspace_bytes};
use crate::units::Bytes;

/// Compact lowering along the width.
pub struct Mec;

/// What the lowered matrix holds at once.
#[derive(Clone, Copy)]
enum Extent {
    Images(u64),
    Strip(u64),
}

/// A part of the problem that one pair of steps handles.
struct Part {
    image: u64,
    images: u64,
    /// Which image of the lowered matrix it goes to.
    slot: u64,
    /// Depth and row of the output where it begins.
    at: [u64; 2],
    /// Output points of an image.
    points: u64,
    lowered: Lowered,
}

/// What `rows` output rows of one depth see.
fn strip(conv: &Conv, rows: u64) -> Lowered {
    let [depth, height, _] = conv.axes_3d();
    Lowered { depths: depth.span(), rows: (rows - 1) * height.stride + height.span() }
}

/// The convolution whose column matrix is the lowered input.
fn lowering(conv: &Conv) -> Result<Conv, Unsupported> {
    let [depth, height, width] = conv.axes_3d();
    let whole = |axis: Axis| Axis { kernel: 1, stride: 1, dilation: 1, ..axis };
    let spec = ConvSpec::new(conv.batch(), conv.channels_in(), 1, &[whole(depth), whole(height), width]);
    let factors = [conv.batch(), conv.channels_in(), width.kernel, depth.padded(), height.padded(), width.output()];
    let spec = ConvSpec { element: conv.element(), ..spec };
    spec.build().map_err(|_| Unsupported::overflow("lowered input", &factors))
}

impl Mec {
    fn extent(&self, conv: &Conv, variant: &Variant) -> Result<Extent, Unsupported> {
        super::require(self, conv)?;
        let rows = conv.axes_3d()[1].output();
        match variant.parts() {
            ("batch", None) => Ok(Extent::Images(conv.batch())),
            ("images", Some(images)) if (1..=conv.batch()).contains(&images) => Ok(Extent::Images(images)),
            ("images", Some(images)) => {
                Err(Unsupported::Variant(format!("images={images} is not within 1 to the {} images of the batch", conv.batch())))
            }
            ("strip", Some(strip)) if (1..=rows).contains(&strip) => Ok(Extent::Strip(strip)),
            ("strip", Some(strip)) => {
                Err(Unsupported::Variant(format!("strip={strip} is not within 1 to the {rows} output rows of an image")))
            }
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    /// Lowers what a part sees, then multiplies.
    fn push(plan: &mut Plan, conv: &Conv, lowering: &Conv, matrix: BufferId, part: &Part, limits: &Limits) -> Result<(), Unsupported> {
        let &Part { image, images, slot, at: [o, p], points, lowered } = part;
        let [depth, height, width] = conv.axes_3d();
        let input_image = conv.channels_in() * conv.input_points();
        let reading = Reading::Lowered(lowered);
        let lowered_image = conv.channels_in() * reading.volume(conv);
        let window = plan.window(matrix, slot * lowered_image, images * lowered_image, limits);
        let unfolding = Unfolding {
            conv: lowering,
            images,
            input: plan.window(Plan::INPUT, image * input_image, images * input_image, limits),
            columns: window,
            window: [(o * depth.stride, lowered.depths), (p * height.stride, lowered.rows)],
            row0: 0,
            points: lowered.depths * lowered.rows * width.output(),
        };
        let lower = unfolding.step("lower", limits)?;

        let output_image = conv.channels_out() * conv.output_points();
        let first = image * output_image + (o * height.output() + p) * width.output();
        let span = images * output_image - (conv.output_points() - points);
        let multiply = Patches {
            conv,
            images,
            points,
            input: window,
            reading,
            weights: plan.whole(Plan::WEIGHTS),
            output: plan.window(Plan::OUTPUT, first, span, limits),
            parts: 1,
        };
        let multiply = multiply.step("mec", limits)?;
        plan.steps.extend([lower, multiply]);
        Ok(())
    }

    /// The parts of the batch and of its images.
    fn parts(conv: &Conv, extent: Extent, limits: &Limits) -> Result<Vec<Part>, Unsupported> {
        let [depth, height, width] = conv.axes_3d();
        let bytes = conv.element().bytes();
        let points = conv.output_points();
        match extent {
            Extent::Images(images) => {
                let lowered = Lowered { depths: depth.padded(), rows: height.padded() };
                let volume = Reading::Lowered(lowered).volume(conv);
                let (c, k) = (conv.channels_in(), conv.channels_out());
                let image_bytes = [c * conv.input_points(), c * volume, k * points].map(|elements| elements * bytes);
                let piece = images_per_step(images, &image_bytes, limits);
                check_steps(2_u64.saturating_mul(conv.batch().div_ceil(piece)))?;
                let part = |(image, count)| {
                    let slot = if images == conv.batch() { image } else { 0 };
                    Part { image, images: count, slot, at: [0, 0], points, lowered }
                };
                Ok(pieces(conv.batch(), piece).map(part).collect())
            }
            Extent::Strip(rows) => {
                let strips = height.output().div_ceil(rows);
                check_steps(2_u64.saturating_mul(conv.batch()).saturating_mul(depth.output()).saturating_mul(strips))?;
                let part = |image, o, (p, rows)| Part {
                    image,
                    images: 1,
                    slot: 0,
                    at: [o, p],
                    points: rows * width.output(),
                    lowered: strip(conv, rows),
                };
                let of_depth = |image, o| pieces(height.output(), rows).map(move |strip| part(image, o, strip));
                Ok((0..conv.batch()).flat_map(|image| (0..depth.output()).flat_map(move |o| of_depth(image, o))).collect())
            }
        }
    }
}

impl Algorithm for Mec {
    fn id(&self) -> &'static str {
        "mec"
    }

    fn summary(&self) -> &'static str {
        "lower the input along the width only; the products of output rows read overlapping windows of it"
    }

    fn workspace_formula(&self) -> &'static str {
        "batch: N*C*S*(D+pads)*(H+pads)*Q; images=n: n*C*S*(D+pads)*(H+pads)*Q; strip=p: C*S*((T-1)*dilation_d+1)*((p-1)*stride_h+(R-1)*dilation_h+1)*Q"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["strip=p", "images=n", "batch"]
    }

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        let [depth, height, _] = conv.axes_3d();
        let strips = spread(height.output(), conv.batch().saturating_mul(depth.output()), 1);
        let one = (conv.batch() > 1).then(|| Variant::knob("images", 1));
        let strips = strips.into_iter().map(|p| Variant::knob("strip", p));
        strips.chain(one).chain(micro_batches(conv)).chain([Variant::word("batch")]).collect()
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let [depth, height, width] = conv.axes_3d();
        let (images, Lowered { depths, rows }) = match self.extent(conv, variant)? {
            Extent::Images(images) => (images, Lowered { depths: depth.padded(), rows: height.padded() }),
            Extent::Strip(rows) => (conv.batch().min(1), strip(conv, rows)),
        };
        workspace_bytes("lowered input", &[images, conv.channels_in(), width.kernel, depths, rows, width.output()], conv.element())
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let extent = self.extent(conv, variant)?;
        let bytes = self.native_workspace(conv, variant)?;
        let mut plan = Plan::new(conv);
        let matrix = plan.workspace("lowered", &[bytes.0 / conv.element().bytes()], conv.element())?;
        if conv.batch() == 0 {
            return plan.finish(limits);
        }
        let lowering = lowering(conv)?;
        for part in Self::parts(conv, extent, limits)? {
            Self::push(&mut plan, conv, &lowering, matrix, &part, limits)?;
        }
        plan.finish(limits)
    }
}
