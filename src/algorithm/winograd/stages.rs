//! The stages of Winograd's method as steps of a plan: transforms of filters and tiles, the product, the transform back.

use super::{DOMAIN, Tiling};
use crate::algorithm::build::{StepBuilder, share, word};
use crate::algorithm::cook_toom::{Planar, literals};
use crate::algorithm::gemm::{Matrix, Product};
use crate::conv::Conv;
use crate::plan::{BufferId, Constant, Limits, Plan, Unsupported};

/// The order of transformed filters in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::algorithm) enum FilterOrder {
    /// Point by point and group by group, matrices of K/g rows by C/g columns: the left operand of a product.
    Rows,
    /// Point by point and group by group, matrices of C/g rows by K/g columns: the right operand.
    Columns,
    /// Channel by channel, of a channel point by point.
    Channels,
}

impl FilterOrder {
    /// The order for products over `tiles` tiles: the longer side, or the one that comes in vectors, lies along the columns.
    pub(super) fn of(conv: &Conv, tiles: u64) -> Self {
        let (c, k) = (conv.group_channels_in(), conv.group_channels_out());
        let vectors = c.is_multiple_of(4) && k.is_multiple_of(4) && k >= 32;
        if vectors && (tiles < 64.min(k) || !tiles.is_multiple_of(4)) { Self::Columns } else { Self::Rows }
    }
}

/// The transform of all filters into a buffer; with `turned` the weights are those of the convolution whose input's gradient is computed.
pub(in crate::algorithm) fn push_filter_transform(
    plan: &mut Plan,
    conv: &Conv,
    turned: bool,
    transforms: &Planar,
    (filters, order): (BufferId, FilterOrder),
    limits: &Limits,
) -> Result<(), Unsupported> {
    let (group_c, group_k) = (conv.group_channels_in(), conv.group_channels_out());
    let planes = conv.channels_out() * group_c;
    let bytes = conv.element().bytes();
    let points = transforms.points();
    let [to_group, to_filter, to_channel, to_point] = match order {
        FilterOrder::Rows => [group_k * group_c, group_c, 1, planes],
        FilterOrder::Columns => [group_k * group_c, 1, group_k, planes],
        FilterOrder::Channels => [group_k * group_c * points, 1, group_k * points, group_k],
    };
    let step = StepBuilder::new("filter_transform", "winograd_filter", conv.element())
        .constant("turned", Constant::Flag(turned))
        .constant("g_h", Constant::Matrix(literals(&transforms.height.g)))
        .constant("g_w", Constant::Matrix(literals(&transforms.width.g)))
        .bind(plan.whole(Plan::WEIGHTS))
        .bind(plan.whole(filters).write())
        .problem(&[("planes", planes), ("group_c", group_c), ("group_k", group_k)])?
        .problem(&[("to_group", to_group), ("to_filter", to_filter), ("to_channel", to_channel), ("to_point", to_point)])?
        .cost(&[2, planes, transforms.filter_terms()], &[&[planes, conv.taps(), bytes], &[planes, points, DOMAIN.bytes()]])
        .once()
        .linear(planes, limits.lanes(), limits)?;
    plan.steps.push(step);
    Ok(())
}

/// What all chunks share: the matrices and the three workspace buffers.
pub(super) struct Shared {
    pub(super) order: FilterOrder,
    pub(super) transforms: Planar,
    pub(super) filters: BufferId,
    pub(super) tiles: BufferId,
    pub(super) products: BufferId,
}

/// Tiles handled together.
pub(super) struct Chunk<'a> {
    pub(super) tiling: &'a Tiling,
    pub(super) first: u64,
    pub(super) tiles: u64,
}

impl Chunk<'_> {
    /// Its stages: transform the input, multiply, transform back.
    pub(super) fn push(&self, plan: &mut Plan, conv: &Conv, shared: &Shared, limits: &Limits) -> Result<(), Unsupported> {
        let transforms = &shared.transforms;
        let Self { tiling, first, tiles } = *self;
        let [m_h, m_w] = tiling.m;
        let [_, height, width] = conv.axes_3d();
        let (c, k, bytes) = (conv.channels_in(), conv.channels_out(), conv.element().bytes());
        let points = transforms.points();
        let image = first / tiling.image;
        let images = (first + tiles).div_ceil(tiling.image) - image;
        let in_window = [
            ("tiles", tiles),
            ("tile0", first - image * tiling.image),
            ("tiles_image", tiling.image),
            ("tiles_w", tiling.columns),
            ("dilation_h", tiling.dilation[0]),
            ("dilation_w", tiling.dilation[1]),
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
            .constant("m_h", Constant::Size(word("tile edge", m_h)?))
            .constant("m_w", Constant::Size(word("tile edge", m_w)?))
            .constant("bt_h", Constant::Matrix(literals(&transforms.height.bt)))
            .constant("bt_w", Constant::Matrix(literals(&transforms.width.bt)))
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
                &[2, c, tiles, transforms.input_terms()],
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
        let whole = m_w == 4 && tiling.dilation == [1, 1] && width.output().is_multiple_of(4) && output.1.is_multiple_of(4);
        let output_step = StepBuilder::new("output_transform", "winograd_output", conv.element())
            .constant("m_h", Constant::Size(word("tile edge", m_h)?))
            .constant("m_w", Constant::Size(word("tile edge", m_w)?))
            .constant("at_h", Constant::Matrix(literals(&transforms.height.at)))
            .constant("at_w", Constant::Matrix(literals(&transforms.width.at)))
            .constant("each", Constant::Size(each_out))
            .constant("tile_rows", Constant::Flag(tile_rows))
            .constant("whole", Constant::Flag(whole))
            .bind(products)
            .bind(output.0.write())
            .problem(&in_window)?
            .problem(&[("k", k), ("group_k", group_k), ("p", height.output()), ("q", width.output()), ("output_skip", output.1.into())])?
            .cost(
                &[2, k, tiles, transforms.output_terms()],
                &[&[k, tiles, points, DOMAIN.bytes()], &[share(output_image, tiles, tiling.image), bytes]],
            )
            .linear(k * tiles / u64::from(each_out), limits.lanes(), limits)?;
        plan.steps.extend([input_step, gemm_step, output_step]);
        Ok(())
    }
}
