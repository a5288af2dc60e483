//! `winograd_f2`, `winograd_f4`, `winograd_f6`: 3×3 convolutions of stride 1 with fewer multiplications, in four stages.
//!
//! With output tiles of m×m and α = m + 2, filters and overlapping α×α input tiles are transformed, multiplied as α² matrix
//! products of K×C/g by C/g×T, and transformed back. T = N·⌈P/m⌉·⌈Q/m⌉ tiles; `tiles=t` handles t at a time, so that V and M
//! hold only those. Workspace `α²·(C·t + K·t + K·C/g)` elements of f32; the filters' part is kept between executions, and its transform
//! runs once for given weights.
//!
//! A dilation of d×e is d·e interleaved convolutions without one, whose tiles are counted one phase after the other: T is then
//! N·d·⌈⌈P/d⌉/m⌉·e·⌈⌈Q/e⌉/m⌉.

use super::build::{StepBuilder, check_steps, pieces, share};
use super::cook_toom::{Rational, Transforms, literals};
use super::gemm::{Matrix, Product};
use super::variant::spread;
use super::{Algorithm, Variant};
use crate::conv::{Axis, Conv, ElementType};
use crate::plan::{BufferId, Constant, Limits, Plan, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops, product};

/// Type of what is transformed, whatever that of the tensors: transforms round, and in a narrower type they would round too much.
pub(super) const DOMAIN: ElementType = ElementType::F32;

/// A non-fused Winograd algorithm F(m×m, 3×3).
pub struct Winograd {
    id: &'static str,
    summary: &'static str,
    /// Edge of an output tile.
    pub(super) m: u64,
    points: &'static [(i64, i64)],
}

impl Winograd {
    /// F(2×2, 3×3) over the points 0, ±1.
    pub const F2: Self = Self {
        id: "winograd_f2",
        summary: "Winograd F(2x2,3x3), non-fused: 2.25 times fewer multiplications; 3x3, stride 1",
        m: 2,
        points: &[(0, 1), (1, 1), (-1, 1)],
    };

    /// F(4×4, 3×3) over the points 0, ±2/3, ±3/2, which round less than the usual 0, ±1, ±2.
    pub const F4: Self = Self {
        id: "winograd_f4",
        summary: "Winograd F(4x4,3x3), non-fused: 4 times fewer multiplications; 3x3, stride 1",
        m: 4,
        points: &[(0, 1), (2, 3), (-2, 3), (3, 2), (-3, 2)],
    };

    /// F(6×6, 3×3) over the points 0, ±1, ±2, ±1/2.
    pub const F6: Self = Self {
        id: "winograd_f6",
        summary: "Winograd F(6x6,3x3), non-fused: 5.06 times fewer multiplications, rounds more; 3x3, stride 1",
        m: 6,
        points: &[(0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 2), (-1, 2)],
    };

    /// The same method under another name.
    pub(super) const fn named(self, id: &'static str, summary: &'static str) -> Self {
        Self { id, summary, ..self }
    }

    #[cfg(test)]
    pub(super) fn of(m: usize) -> &'static Self {
        match m {
            2 => &Self::F2,
            4 => &Self::F4,
            _ => &Self::F6,
        }
    }

    pub(super) fn transforms(&self) -> Transforms {
        let points: Vec<Rational> = self.points.iter().map(|&(n, d)| Rational::new(n, d)).collect();
        Transforms::new(self.points.len() - 1, 3, &points)
    }

    /// Edge of an input tile.
    pub(super) fn alpha(&self) -> u64 {
        self.m + 2
    }

    /// Whether the convolution is one this method computes; if so, its tiles.
    pub(super) fn tiling(&self, conv: &Conv) -> Result<Tiling, Unsupported> {
        super::require(self, conv)?;
        let refuse = |reason: String| Err(Unsupported::Problem(reason));
        if conv.rank() != 2 {
            return refuse(format!("{} is for 2-D convolutions, not {}-D", self.id, conv.rank()));
        }
        let [_, height, width] = conv.axes_3d();
        if (height.kernel, width.kernel) != (3, 3) {
            return refuse(format!("{} is for 3x3 kernels, not {}x{}", self.id, height.kernel, width.kernel));
        }
        if (height.stride, width.stride) != (1, 1) {
            return refuse(format!("{} is for stride 1, not {}x{}", self.id, height.stride, width.stride));
        }
        let along = |axis: &Axis| axis.dilation * axis.output().div_ceil(axis.dilation).div_ceil(self.m);
        let columns = along(&width);
        let Some(image) = along(&height).checked_mul(columns) else {
            return Err(Unsupported::overflow("tiles of an image", &[along(&height), columns]));
        };
        Ok(Tiling { columns, image, all: conv.batch() * image })
    }

    /// Tiles handled at a time.
    fn chunk(&self, tiling: &Tiling, variant: &Variant) -> Result<u64, Unsupported> {
        match variant.parts() {
            ("batch", None) => Ok(tiling.all),
            ("tiles", Some(tiles)) if (1..=tiling.all).contains(&tiles) => Ok(tiles),
            ("tiles", Some(tiles)) => {
                Err(Unsupported::Variant(format!("tiles={tiles} is not within 1 to the {} tiles there are", tiling.all)))
            }
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    /// The transform of all filters into a buffer.
    pub(super) fn push_filter_transform(
        &self,
        plan: &mut Plan,
        conv: &Conv,
        filters: BufferId,
        order: FilterOrder,
        limits: &Limits,
    ) -> Result<(), Unsupported> {
        let (group_c, group_k) = (conv.group_channels_in(), conv.group_channels_out());
        let planes = conv.channels_out() * group_c;
        let bytes = conv.element().bytes();
        let g = self.transforms().g;
        let points = self.alpha() * self.alpha();
        let [to_group, to_filter, to_channel, to_point] = match order {
            FilterOrder::Rows => [group_k * group_c, group_c, 1, planes],
            FilterOrder::Columns => [group_k * group_c, 1, group_k, planes],
            FilterOrder::Channels => [group_k * group_c * points, 1, group_k * points, group_k],
        };
        let step = StepBuilder::new("filter_transform", "winograd_filter", conv.element())
            .constant("g", Constant::Matrix(literals(&g)))
            .bind(plan.whole(Plan::WEIGHTS))
            .bind(plan.whole(filters).write())
            .problem(&[("planes", planes), ("group_c", group_c), ("group_k", group_k)])?
            .problem(&[("to_group", to_group), ("to_filter", to_filter), ("to_channel", to_channel), ("to_point", to_point)])?
            .cost(&[2, planes, Transforms::terms(&g)], &[&[planes, 9, bytes], &[planes, points, DOMAIN.bytes()]])
            .once()
            .linear(planes, limits.lanes(), limits)?;
        plan.steps.push(step);
        Ok(())
    }

    /// The stages of `tiles` tiles from `first` on: transform the input, multiply, transform back.
    fn push_chunk(&self, plan: &mut Plan, conv: &Conv, shared: &Shared, chunk: &Chunk, limits: &Limits) -> Result<(), Unsupported> {
        let transforms = &shared.transforms;
        let Chunk { tiling, first, tiles } = chunk;
        let (first, tiles) = (*first, *tiles);
        let [_, height, width] = conv.axes_3d();
        let (c, k, bytes) = (conv.channels_in(), conv.channels_out(), conv.element().bytes());
        let points = self.alpha() * self.alpha();
        let image = first / tiling.image;
        let images = (first + tiles).div_ceil(tiling.image) - image;
        let in_window = [
            ("tiles", tiles),
            ("tile0", first - image * tiling.image),
            ("tiles_image", tiling.image),
            ("tiles_w", tiling.columns),
            ("dilation_h", height.dilation),
            ("dilation_w", width.dilation),
        ];

        let input_image = c * conv.input_points();
        let input = plan.window(Plan::INPUT, image * input_image, images * input_image, limits);
        let (factors, skip) = plan.window(shared.tiles, 0, points * c * tiles, limits);
        // Four tiles of an invocation make vectors of what the product reads and writes; on a device with many lanes one tile is enough work.
        let (group_c, group_k) = (conv.group_channels_in(), conv.group_channels_out());
        let tile_rows = shared.order == FilterOrder::Columns;
        let each = |across: u64| if limits.lanes() <= 16 && across.is_multiple_of(4) { 4 } else { 1 };
        let each_in = each(if tile_rows { group_c } else { tiles });
        let each_out = each(if tile_rows { group_k } else { tiles });
        let input_step = StepBuilder::new("input_transform", "winograd_input", conv.element())
            .constant("m", Constant::Size(super::build::word("tile edge", self.m)?))
            .constant("bt", Constant::Matrix(literals(&transforms.bt)))
            .constant("each", Constant::Size(each_in))
            .constant("tile_rows", Constant::Flag(tile_rows))
            .bind(input.0)
            .bind(factors.write())
            .problem(&in_window)?
            .problem(&[
                ("c", c),
                ("group_c", group_c),
                ("h", height.size),
                ("w", width.size),
                ("pad_h", height.pad_before),
                ("pad_w", width.pad_before),
            ])?
            .problem(&[("input_skip", input.1.into())])?
            .cost(
                &[2, c, tiles, Transforms::terms(&transforms.bt)],
                &[&[c, tiles, points, DOMAIN.bytes()], &[share(input_image, tiles, tiling.image), bytes]],
            )
            .linear(c * tiles / u64::from(each_in), limits.lanes(), limits)?;

        let (products, products_skip) = plan.window(shared.products, 0, points * k * tiles, limits);
        let batch = points * conv.groups();
        let filters = |pitch| Matrix { window: (plan.whole(shared.filters), 0), pitch, stride: group_k * group_c };
        let tile_factors = |pitch| Matrix { window: (factors, skip), pitch, stride: group_c * tiles };
        let result = |pitch| Matrix { window: (products, products_skip), pitch, stride: group_k * tiles };
        let multiply = if tile_rows {
            let (a, b, c) = (tile_factors(group_c), filters(group_k), result(group_k));
            Product { stage: "gemm", m: tiles, n: group_k, k: group_c, batch, a, a_period: batch, b, c, parts: 1 }
        } else {
            let (a, b, c) = (filters(group_c), tile_factors(tiles), result(tiles));
            Product { stage: "gemm", m: group_k, n: tiles, k: group_c, batch, a, a_period: batch, b, c, parts: 1 }
        };
        let gemm_step = multiply.step(DOMAIN, limits)?;

        let output_image = k * conv.output_points();
        let output = plan.window(Plan::OUTPUT, image * output_image, images * output_image, limits);
        // Rows of a tile that begin and end on fours are written as vectors.
        let whole =
            self.m == 4 && (height.dilation, width.dilation) == (1, 1) && width.output().is_multiple_of(4) && output.1.is_multiple_of(4);
        let output_step = StepBuilder::new("output_transform", "winograd_output", conv.element())
            .constant("m", Constant::Size(super::build::word("tile edge", self.m)?))
            .constant("at", Constant::Matrix(literals(&transforms.at)))
            .constant("each", Constant::Size(each_out))
            .constant("tile_rows", Constant::Flag(tile_rows))
            .constant("whole", Constant::Flag(whole))
            .bind(products)
            .bind(output.0.write())
            .problem(&in_window)?
            .problem(&[("k", k), ("group_k", group_k), ("p", height.output()), ("q", width.output()), ("output_skip", output.1.into())])?
            .cost(
                &[2, k, tiles, Transforms::terms(&transforms.at)],
                &[&[k, tiles, points, DOMAIN.bytes()], &[share(output_image, tiles, tiling.image), bytes]],
            )
            .linear(k * tiles / u64::from(each_out), limits.lanes(), limits)?;
        plan.steps.extend([input_step, gemm_step, output_step]);
        Ok(())
    }
}

/// The order of transformed filters in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterOrder {
    /// Point by point and group by group, matrices of K/g rows by C/g columns: the left operand of a product.
    Rows,
    /// Point by point and group by group, matrices of C/g rows by K/g columns: the right operand.
    Columns,
    /// Channel by channel, of a channel point by point.
    Channels,
}

impl FilterOrder {
    /// The order for products over `tiles` tiles: the longer side, or the one that comes in vectors, lies along the columns.
    fn of(conv: &Conv, tiles: u64) -> Self {
        let (c, k) = (conv.group_channels_in(), conv.group_channels_out());
        let vectors = c.is_multiple_of(4) && k.is_multiple_of(4) && k >= 32;
        if vectors && (tiles < 64.min(k) || !tiles.is_multiple_of(4)) { Self::Columns } else { Self::Rows }
    }
}

/// How the output is cut into tiles.
pub(super) struct Tiling {
    /// Tiles across the width.
    pub(super) columns: u64,
    /// Tiles of one image.
    pub(super) image: u64,
    /// Tiles of the batch, T.
    pub(super) all: u64,
}

/// Tiles handled together.
struct Chunk<'a> {
    tiling: &'a Tiling,
    first: u64,
    tiles: u64,
}

/// What all chunks share: the matrices and the three workspace buffers.
struct Shared {
    order: FilterOrder,
    transforms: Transforms,
    filters: BufferId,
    tiles: BufferId,
    products: BufferId,
}

impl Algorithm for Winograd {
    fn id(&self) -> &'static str {
        self.id
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn workspace_formula(&self) -> &'static str {
        match self.m {
            2 => "16*(C*t + K*t + K*C/g); batch: t = N*ceil(P/2)*ceil(Q/2)",
            4 => "36*(C*t + K*t + K*C/g); batch: t = N*ceil(P/4)*ceil(Q/4)",
            _ => "64*(C*t + K*t + K*C/g); batch: t = N*ceil(P/6)*ceil(Q/6)",
        }
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["tiles=t", "batch"]
    }

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        // Chunks are multiples of 4 so that every chunk but the last reads and writes whole vectors.
        let all = self.tiling(conv).map_or(0, |tiling| tiling.all);
        spread(all, 1, 4).into_iter().map(|t| Variant::knob("tiles", t)).chain([Variant::word("batch")]).collect()
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let chunk = self.chunk(&self.tiling(conv)?, variant)?;
        let points = self.alpha() * self.alpha();
        let parts = [
            ("transformed filters", [points, conv.channels_out(), conv.group_channels_in()]),
            ("transformed tiles", [points, conv.channels_in(), chunk]),
            ("tile products", [points, conv.channels_out(), chunk]),
        ];
        parts.iter().try_fold(Bytes(0), |sum, (what, factors)| {
            sum.checked_add(workspace_bytes(what, factors, DOMAIN)?).ok_or_else(|| Unsupported::overflow(what, factors))
        })
    }

    fn operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.workspace(conv, variant)?;
        let tiles = self.tiling(conv)?.all;
        let (c, k, cg) = (conv.channels_in(), conv.channels_out(), conv.group_channels_in());
        let transforms = self.transforms();
        let terms = [
            [2 * self.alpha() * self.alpha(), cg, k, tiles],
            [2, k, cg, Transforms::terms(&transforms.g)],
            [2, c, tiles, Transforms::terms(&transforms.bt)],
            [2, k, tiles, Transforms::terms(&transforms.at)],
        ];
        let sum = terms.iter().try_fold(0_u64, |sum, factors| sum.checked_add(product(factors)?));
        sum.map(Ops).ok_or_else(|| Unsupported::overflow("operations", &terms[0]))
    }

    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let tiling = self.tiling(conv)?;
        let chunk = self.chunk(&tiling, variant)?;
        let points = self.alpha() * self.alpha();
        self.workspace(conv, variant)?;
        let mut plan = Plan::new(conv);
        let shared = Shared {
            order: FilterOrder::of(conv, chunk),
            transforms: self.transforms(),
            filters: plan.cached_workspace("filters", &[points, conv.channels_out(), conv.group_channels_in()], DOMAIN)?,
            tiles: plan.workspace("tiles", &[points, conv.channels_in(), chunk], DOMAIN)?,
            products: plan.workspace("products", &[points, conv.channels_out(), chunk], DOMAIN)?,
        };
        if tiling.all > 0 {
            self.push_filter_transform(&mut plan, conv, shared.filters, shared.order, limits)?;
        }
        check_steps(1 + 3_u64.saturating_mul(tiling.all.div_ceil(chunk.max(1))))?;
        for (first, tiles) in pieces(tiling.all, chunk.max(1)) {
            self.push_chunk(&mut plan, conv, &shared, &Chunk { tiling: &tiling, first, tiles }, limits)?;
        }
        plan.finish(limits)
    }

    fn warning(&self, conv: &Conv) -> &'static str {
        if self.m == 6 && conv.element() == ElementType::F16 {
            "F(6x6,3x3) in f16 is exact enough only because its transformed values are f32 here: in f16 it errs by 6e-3"
        } else {
            ""
        }
    }

    fn amplification(&self, conv: &Conv) -> f64 {
        // Both dimensions amplify independently. The transforms round too, which shows where few channels are summed: for one channel
        // the error's spread is 1.3 times the formula's for F(4,3) and F(6,3), and that of a tile's error five times as wide.
        let few_channels = 1.0 + 1.5 / (conv.group_channels_in() as f64).sqrt();
        self.transforms().amplification().powi(2) * few_channels
    }
}
