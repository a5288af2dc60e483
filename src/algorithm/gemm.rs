//! The one matrix product of the algorithms: batched, strided, row-major, register-blocked. Its right operand is a matrix in a buffer, or
//! the column matrix of a convolution that nobody wrote down, read in place.

use super::build::{StepBuilder, word};
use super::geometry;
use super::reading::Reading;
use crate::conv::{Conv, ElementType};
use crate::plan::{Binding, Constant, Limits, Sharing, Step, Tile, TiledKernel, Unsupported};

/// One operand of a batched product.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    /// Window of its buffer, and the elements in it before the first matrix.
    pub(super) window: (Binding, u32),
    /// Elements from one row to the next.
    pub(super) pitch: u64,
    /// Elements from one matrix of the batch to the next.
    pub(super) stride: u64,
}

/// `batch` products of an M×K by a K×N matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    pub(super) stage: &'static str,
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    pub(super) batch: u64,
    pub(super) a: Matrix,
    /// A repeats after so many matrices: the groups, where the batch runs over images and groups.
    pub(super) a_period: u64,
    pub(super) b: Matrix,
    pub(super) c: Matrix,
    /// Into how many parts the sum over k is cut. The results of a part lie together in `c`, one part after another.
    pub(super) parts: u64,
}

/// The tile's part of a kernel.
fn cut(step: StepBuilder, tile: Tile, inner: u64) -> StepBuilder {
    let depth = u64::from(tile.depth);
    let step = step.tile(tile).constant("rows", Constant::Size(tile.rows)).constant("columns", Constant::Size(tile.columns));
    if tile.sharing == Sharing::Workgroup {
        return step
            .constant("depth", Constant::Size(tile.depth))
            .constant("lanes_n", Constant::Size(tile.lanes_n))
            .constant("lanes_m", Constant::Size(tile.lanes_m))
            .constant("tail", Constant::Flag(!inner.is_multiple_of(depth)));
    }
    // Without staging the text is unrolled by four, whatever the depth.
    let tail = u32::try_from(inner % 4).unwrap_or_default();
    step.constant("subgroup", Constant::Flag(tile.sharing == Sharing::Subgroup))
        .constant("blocks", Constant::Flag(inner >= 4))
        .constant("tail", Constant::Size(tail))
}

/// The sum over `inner` in parts with results of their own, `spacing` elements apart.
fn split(step: StepBuilder, parts: u64, spacing: u64, tile: Tile, inner: u64) -> Result<StepBuilder, Unsupported> {
    let step = step.constant("split", Constant::Flag(parts > 1));
    if parts == 1 {
        return Ok(step);
    }
    let blocks = if tile.sharing == Sharing::Workgroup { inner.div_ceil(tile.depth.into()) } else { inner / 4 };
    word("parts of blocks", blocks.saturating_mul(parts))?;
    step.problem(&[("parts", parts), ("blocks_k", blocks), ("c_part", spacing)])
}

/// Bytes of an element of the results: those of parts are f32.
fn result_bytes(element: ElementType, parts: u64) -> u64 {
    if parts > 1 { ElementType::F32.bytes() } else { element.bytes() }
}

fn shader(tile: Tile) -> &'static str {
    if tile.sharing == Sharing::Workgroup { "gemm_staged" } else { "gemm" }
}

/// Workgroups of a product whose sum is not split.
pub(super) fn workgroups(kernel: TiledKernel, [m, n, batch]: [u64; 3], limits: &Limits) -> u64 {
    let (tiles_m, tiles_n) = tiles(limits.tile(kernel, m, n.saturating_mul(batch)), m, n);
    tiles_m.saturating_mul(tiles_n).saturating_mul(batch)
}

/// Tiles along rows and columns.
pub(super) fn tiles(tile: Tile, m: u64, n: u64) -> (u64, u64) {
    (m.div_ceil(u64::from(tile.rows * tile.lanes_m)), n.div_ceil(u64::from(tile.columns * tile.lanes_n * 4)))
}

impl Product {
    /// The dispatches that compute it.
    pub(super) fn step(&self, element: ElementType, limits: &Limits) -> Result<Step, Unsupported> {
        self.step_by(1, element, limits)
    }

    /// The same with `a_step` elements of A from one k to the next.
    pub(super) fn step_by(&self, a_step: u64, element: ElementType, limits: &Limits) -> Result<Step, Unsupported> {
        let tile = limits.tile(TiledKernel::Gemm, self.m, self.n.saturating_mul(self.batch));
        let by_four = |m: &Matrix| [u64::from(m.window.1), m.pitch, m.stride].iter().all(|x| x.is_multiple_of(4));
        let vector_a = a_step == 1 && by_four(&self.a) && self.k.is_multiple_of(4);
        let columns_by_four = self.n.is_multiple_of(4);
        let (tiles_m, tiles_n) = tiles(tile, self.m, self.n);
        let bytes = element.bytes();
        let spacing = self.batch * self.c.stride;
        let step = split(StepBuilder::new(self.stage, shader(tile), element), self.parts, spacing, tile, self.k)?;
        cut(step, tile, self.k)
            .constant("patches", Constant::Flag(false))
            .constant("flat", Constant::Flag(false))
            .constant("vector_a", Constant::Flag(vector_a))
            .constant("vector_b", Constant::Flag(by_four(&self.b) && columns_by_four))
            .constant("vector_c", Constant::Flag(by_four(&self.c) && columns_by_four))
            .bind(self.a.window.0)
            .bind(self.b.window.0)
            .bind(self.c.window.0.write())
            .problem(&[
                ("m", self.m),
                ("n", self.n),
                ("k", self.k),
                ("batch", self.batch),
                ("a_skip", self.a.window.1.into()),
                ("a_stride", self.a.stride),
                ("a_period", self.a_period),
                ("lda", self.a.pitch),
                ("b_skip", self.b.window.1.into()),
                ("b_stride", self.b.stride),
                ("ldb", self.b.pitch),
                ("c_skip", self.c.window.1.into()),
                ("c_stride", self.c.stride),
                ("ldc", self.c.pitch),
                ("tiles_m", tiles_m),
                ("tiles_n", tiles_n),
            ])?
            .sizes(&[("a_step", a_step)], a_step == 1)?
            .cost(
                &[2, self.batch, self.m, self.n, self.k],
                &[
                    &[self.a_period.min(self.batch), self.m, self.k, bytes],
                    &[self.batch, self.k, self.n, bytes],
                    &[self.batch, self.m, self.n, self.parts, result_bytes(element, self.parts)],
                ],
            )
            .tiled(tiles_m * tiles_n * self.batch * self.parts, [tile.lanes_n, tile.lanes_m, 1], limits)
    }
}

/// The product of a convolution's weights and the patches of its input, group by group, the columns being the points of all `images`; or
/// that of its transposed weights and the gradient of its output, the columns being the points of the input.
pub(super) struct Patches<'a> {
    pub(super) conv: &'a Conv,
    pub(super) images: u64,
    /// Points of an image that are computed: all, or some of the first when `images` is 1.
    pub(super) points: u64,
    /// The input, or what was made of it.
    pub(super) input: (Binding, u32),
    /// How patches are found in it.
    pub(super) reading: Reading,
    pub(super) weights: Binding,
    /// What is computed, or the results of the parts.
    pub(super) output: (Binding, u32),
    /// As those of [`Product`]; each part sums over some of the channels.
    pub(super) parts: u64,
}

impl Patches<'_> {
    /// The dispatch that computes it.
    pub(super) fn step(&self, stage: &'static str, limits: &Limits) -> Result<Step, Unsupported> {
        let Self { conv, images, ref reading, .. } = *self;
        let element = conv.element();
        let (groups, taps) = (conv.groups(), conv.taps());
        let backward = matches!(reading, Reading::Gradient);
        let (group_c, group_k) = (conv.group_channels_in(), conv.group_channels_out());
        // Weights lie K rows by C·T·R·S; from one channel of the sum to the next are the taps of one plane, or those of all input channels.
        let (m, c, points, row, a_step) = if backward {
            (group_c, group_k, conv.input_points(), taps, group_c * taps)
        } else {
            (group_k, group_c, conv.output_points(), group_c * taps, taps)
        };
        let n = images * self.points;
        let volume = reading.volume(conv);
        let tile = limits.tile(TiledKernel::ImplicitGemm, m, n.saturating_mul(groups));
        let (tiles_m, tiles_n) = tiles(tile, m, n);
        let bytes = element.bytes();
        let fold = limits.specialise();
        // Fewer channels than a staged block is deep: the reduction runs over all taps of all channels, as the weights lie.
        let few = !backward && tile.sharing == Sharing::Workgroup && taps > 1 && c < u64::from(tile.depth);
        let flat = few || reading.is_flat();
        let inner = if flat { c * taps } else { c };
        let vector_a = (a_step == 1 || flat) && inner.is_multiple_of(4);
        let vector_b = reading.vectors(conv) && self.input.1.is_multiple_of(4);
        let vector_c = points.is_multiple_of(4) && self.points.is_multiple_of(4) && self.output.1.is_multiple_of(4);
        let spacing = images * groups * m * points;
        let step = split(StepBuilder::new(stage, shader(tile), element), self.parts, spacing, tile, inner)?;
        let step = cut(step, tile, inner)
            .constant("patches", Constant::Flag(true))
            .constant("flat", Constant::Flag(flat))
            .constant("vector_a", Constant::Flag(vector_a))
            .constant("vector_b", Constant::Flag(vector_b))
            .constant("vector_c", Constant::Flag(vector_c))
            .bind(self.input.0)
            .bind(self.weights);
        reading
            .describe(step, conv, fold)?
            .bind(self.output.0.write())
            .problem(&[
                ("n", n),
                ("a_skip", 0),
                ("b_skip", self.input.1.into()),
                ("c_skip", self.output.1.into()),
                ("m", m),
                ("k", inner),
                ("batch", groups),
                ("a_stride", m * c * taps),
                ("a_period", groups),
                ("lda", row),
                ("b_stride", c * volume),
                ("b_image", groups * c * volume),
                ("c_image", groups * m),
                ("tiles_m", tiles_m),
                ("tiles_n", tiles_n),
            ])?
            .sizes(&[("taps", taps), ("a_step", a_step), ("volume", volume), ("points", points), ("ldc", points)], fold)?
            .sizes(&geometry(conv), fold)?
            .cost(
                &[2, groups, m, if backward { images * conv.output_points() } else { n }, c, taps],
                &[
                    &[groups, m, c, taps, bytes],
                    &[images, groups, c, volume, bytes],
                    &[images, groups, m, self.points, self.parts, result_bytes(element, self.parts)],
                    &[reading.words(conv), ElementType::U32.bytes()],
                ],
            )
            .tiled(tiles_m * tiles_n * groups * self.parts, [tile.lanes_n, tile.lanes_m, 1], limits)
    }
}
