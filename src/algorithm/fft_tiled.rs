//! `fft_tiled`: convolutions of stride 1 as products of spectra, on tiles of L×L inputs that overlap (overlap-save), L = 16 or 32.
//!
//! Filters, padded with zeros to L×L, and tiles are transformed; for each of the L·(L/2 + 1) frequencies that a real tile's spectrum does
//! not repeat, the products are summed over the channels of a group, which is a complex product of K/g×C/g by C/g×t matrices; the sums are
//! transformed back, and of each tile the (L−R+1)×(L−S+1) outputs are kept that no wrapping around its edge reaches. The kernel's size costs
//! nothing but those outputs. T = N·⌈P/(L−R+1)⌉·⌈Q/(L−S+1)⌉ tiles; `l16_tiles=t` handles t at a time. Workspace
//! `2·L·(L/2+1)·(C·t + K·t + K·C/g)` elements of f32, the filters' part kept between executions. A dilated convolution is as many plain ones
//! as the dilation has phases, as for [`super::Winograd`].
//!
//! Source: M. Mathieu and others, *Fast Training of Convolutional Networks through FFTs* (2014); tiles after N. Vasilache et al.,
//! *Fast Convolutional Nets With fbfft* (2015).
//!
//! **Operations.** A transform of L complex values has ½·L·log₂L butterflies of 4 additions, of which all but 3L/2 − 2 multiply by a twiddle
//! that is not a quarter turn, 6 more: `f = 5·L·log₂L − 9·L + 12`. A tile takes L of them, two real rows or columns as one; taking these
//! apart takes L² + 2·L additions forwards and L² backwards, and a filter's L² values are scaled by a power of two.
//!
//! **Rounding.** Each of the `s = 2·log₂L + 1` stages of a tile's transform (rows, columns, and taking apart) rounds every value once and in
//! part twice more, by the twiddle. These roundings are independent of each other, and orthogonal transforms pass them on unchanged in root
//! mean square, so a transform's relative error is `c·u·√(STAGE·s)`, with c and u of [`crate::verify::tolerance()`]. The errors of input
//! and filters reach a product unchanged, as relative to it as they were; the sum over C/g complex products is one over 2·C/g real terms,
//! and rounds by `c·u·√(C/g)` in that module's model; the inverse transform adds as much as the forward one. Together
//!
//! ```text
//! ρ = c · u · √( 3·STAGE·s + C/g ),
//! ```
//!
//! where the direct sum has `c·u·√(C/g·R·S/2 + 1)`, and s is that of the larger tile for both. The error is one of the whole tile, the
//! same for all of its outputs: with few terms it is many times the direct method's, with many taps it is less, because the taps are summed
//! in the transforms' logarithmic depth.
//!
//! Measured (`spectra_round_as_derived` in `tests/kernels/`: 1 to 256 channels, 1×1 to 32×32 taps, dense and depthwise): 0.19 to 0.29 of
//! the tolerance, which is four times this ρ, and 0.13 where a 14×14 map leaves most of a 32×32 tile empty.

mod products;
mod radix2;

use super::build::{StepBuilder, check_steps, pieces, share, word};
use super::variant::spread;
use super::{Algorithm, Variant};
use crate::conv::{Axis, Conv, ElementType};
use crate::plan::{BufferId, Constant, Limits, Plan, Step, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops, product};
use products::{ComplexProduct, Operand};
use radix2::{Butterfly, butterflies, literals, order};

/// Convolution by Fourier transforms of tiles.
pub struct FftTiled;

/// Type of spectra, whatever that of the tensors: transforms round, and in a narrower type they would round too much.
const SPECTRUM: ElementType = ElementType::F32;

/// Edges of tiles there are kernels for.
const EDGES: [u64; 2] = [16, 32];

/// Most tiles side by side in a workgroup: 32 bytes of each plane of spectra, the least that GPUs move.
const NEIGHBOURS: u32 = 8;

/// Roundings of a stage of a transform in the mean, as variances of one.
const STAGE: f64 = 1.5;

/// How a convolution is cut into tiles.
struct Tiling {
    /// Edge of a tile, L.
    edge: u64,
    /// Outputs kept of a tile along height and width.
    kept: [u64; 2],
    /// Tiles across the width.
    columns: u64,
    /// Tiles of one image.
    image: u64,
    /// Tiles of the batch, T.
    all: u64,
}

impl Tiling {
    /// Tiles with edges of `edge`, if the method computes the convolution.
    fn of(conv: &Conv, edge: u64) -> Result<Self, Unsupported> {
        super::require(&FftTiled, conv)?;
        let refuse = |reason: String| Err(Unsupported::Problem(reason));
        if conv.rank() != 2 {
            return refuse(format!("fft_tiled is for 2-D convolutions, not {}-D: its tiles are squares", conv.rank()));
        }
        let [_, height, width] = conv.axes_3d();
        if (height.stride, width.stride) != (1, 1) {
            return refuse(format!("fft_tiled is for stride 1, not {}x{}", height.stride, width.stride));
        }
        if height.kernel > edge || width.kernel > edge {
            return refuse(format!("fft_tiled: kernel {}x{} is larger than tiles of {edge}x{edge}", height.kernel, width.kernel));
        }
        let kept = [edge + 1 - height.kernel, edge + 1 - width.kernel];
        let along = |axis: &Axis, kept: u64| axis.dilation.checked_mul(axis.output().div_ceil(axis.dilation).div_ceil(kept));
        let tiles = || {
            let columns = along(&width, kept[1])?;
            let image = along(&height, kept[0])?.checked_mul(columns)?;
            Some(Self { edge, kept, columns, image, all: conv.batch().checked_mul(image)? })
        };
        tiles().ok_or_else(|| Unsupported::overflow("tiles", &[conv.batch(), height.output(), width.output()]))
    }

    /// The tiling a variant asks for, and how many tiles it handles at a time.
    fn with(conv: &Conv, variant: &Variant) -> Result<(Self, u64), Unsupported> {
        let (name, number) = variant.parts();
        let unknown = || super::unknown_variant(&FftTiled, variant);
        let (edge, knob) = EDGES
            .into_iter()
            .find_map(|edge| Some((edge, name.strip_prefix(&format!("l{edge}_"))?)))
            .filter(|(_, knob)| matches!((*knob, number), ("batch", None) | ("tiles", Some(_))))
            .ok_or_else(unknown)?;
        let tiling = Self::of(conv, edge)?;
        match number {
            None => {
                let all = tiling.all;
                Ok((tiling, all))
            }
            Some(tiles) if (1..=tiling.all).contains(&tiles) => Ok((tiling, tiles)),
            Some(tiles) => {
                Err(Unsupported::Variant(format!("l{edge}_{knob}={tiles} is not within 1 to the {} tiles there are", tiling.all)))
            }
        }
    }

    /// Complex numbers of a spectrum.
    fn frequencies(&self) -> u64 {
        self.edge * (self.edge / 2 + 1)
    }

    /// Operations of one transform as its kernel does them.
    fn operations(&self, transform: Transform) -> u64 {
        let complex = word("tile edge", self.edge).map_or(0, |edge| butterflies(edge).iter().map(Butterfly::operations).sum());
        transform.operations(self.edge, complex)
    }
}

/// Which of a transform's three uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transform {
    Filters,
    Input,
    Output,
}

impl Transform {
    /// Operations for one tile or filter, where a transform of as many complex values as its edge has takes `complex`.
    fn operations(self, edge: u64, complex: u64) -> u64 {
        let square = edge * edge;
        edge * complex
            + match self {
                Self::Filters => 2 * square + 2 * edge,
                Self::Input => square + 2 * edge,
                Self::Output => square,
            }
    }
}

/// How a transform's kernel is cut: tiles of an invocation, and invocations' tiles of a workgroup.
#[derive(Debug, Clone, Copy)]
struct Cut {
    each: u32,
    units: u32,
    edge: u32,
}

impl Cut {
    /// For spectra whose neighbours in memory come in vectors of four or not. Neighbouring invocations have neighbouring tiles, as many as
    /// workgroup memory holds, so that they read and write side by side; where a device has few lanes, an invocation has four of them.
    fn of(tiling: &Tiling, vectors: bool, limits: &Limits) -> Result<Self, Unsupported> {
        let edge = word("tile edge", tiling.edge)?;
        let mut cut = Self { each: if vectors && limits.lanes() <= 16 { 4 } else { 1 }, units: NEIGHBOURS, edge };
        if (Self { units: 1, ..cut }).workgroup_bytes() > limits.max_workgroup_bytes {
            cut.each = 1;
        }
        let most = limits.max_workgroup_invocations.min(limits.max_workgroup_size[0]);
        while cut.units > 1 && (cut.workgroup_bytes() > limits.max_workgroup_bytes || cut.units * edge / 2 > most) {
            cut.units /= 2;
        }
        Ok(cut)
    }

    fn workgroup_bytes(self) -> u32 {
        4 * self.edge * self.edge * self.units * self.each
    }

    /// A step that transforms `items` tiles or filters.
    fn step(self, step: StepBuilder, items: u64, limits: &Limits) -> Result<Step, Unsupported> {
        let list = butterflies(self.edge);
        let items = items / u64::from(self.each);
        step.constant("edge", Constant::Size(self.edge))
            .constant("each", Constant::Size(self.each))
            .constant("units", Constant::Size(self.units))
            .constant("butterflies", literals(&list))
            .constant("order", Constant::Sizes(order(self.edge)))
            .workgroup_bytes(self.workgroup_bytes())
            .problem(&[("items", items)])?
            .tiled(items.div_ceil(self.units.into()), [self.units * self.edge / 2, 1, 1], limits)
    }
}

/// What all chunks share: the order of matrices and the three workspace buffers.
struct Shared {
    /// Whether tiles are the rows of the products, and filters the columns, instead of the other way round.
    tile_rows: bool,
    /// From one row of tiles in memory to the next: the tiles of a whole chunk.
    pitch: u64,
    filters: BufferId,
    tiles: BufferId,
    products: BufferId,
}

/// Whether products of `tiles` tiles have them as rows: the longer side, or the one that comes in vectors, lies along the columns.
fn tile_rows(conv: &Conv, tiles: u64) -> bool {
    let (c, k) = (conv.group_channels_in(), conv.group_channels_out());
    let vectors = c.is_multiple_of(4) && k.is_multiple_of(4);
    vectors && (tiles < 64.min(k) || (k >= 32 && !tiles.is_multiple_of(4)))
}

/// Transforms the filters once for given weights.
fn filter_transform(plan: &Plan, conv: &Conv, tiling: &Tiling, shared: &Shared, limits: &Limits) -> Result<Step, Unsupported> {
    let (group_c, group_k) = (conv.group_channels_in(), conv.group_channels_out());
    let [_, height, width] = conv.axes_3d();
    let (filters, bytes) = (conv.channels_out() * group_c, conv.element().bytes());
    let across = if shared.tile_rows { group_k } else { group_c };
    let cut = Cut::of(tiling, across.is_multiple_of(4), limits)?;
    // Both transforms of forward kernels are twice too large, and the inverse lacks its factor.
    let scale = 1.0 / (4 * tiling.edge * tiling.edge) as f64;
    let step = StepBuilder::new("filter_transform", "fft_forward", conv.element())
        .constant("filter", Constant::Flag(true))
        .constant("tile_rows", Constant::Flag(shared.tile_rows))
        .constant("scale", Constant::Word(format!("{scale:?}")))
        .bind(plan.whole(Plan::WEIGHTS))
        .bind(plan.whole(shared.filters).write())
        .problem(&[("h", height.kernel), ("w", width.kernel), ("pad_h", 0), ("pad_w", 0)])?
        .problem(&[("dilation_h", 1), ("dilation_w", 1), ("group_c", group_c), ("group_k", group_k)])?
        .problem(&[("stride", filters / u64::from(cut.each))])?
        .cost(
            &[filters, tiling.operations(Transform::Filters)],
            &[&[filters, conv.taps(), bytes], &[2, filters, tiling.frequencies(), SPECTRUM.bytes()]],
        )
        .once();
    cut.step(step, filters, limits)
}

/// The stages of `tiles` tiles from `first` on: transform the input, multiply, transform back.
fn push_chunk(
    plan: &mut Plan,
    conv: &Conv,
    tiling: &Tiling,
    shared: &Shared,
    (first, tiles): (u64, u64),
    limits: &Limits,
) -> Result<(), Unsupported> {
    let [_, height, width] = conv.axes_3d();
    let (c, k, bytes) = (conv.channels_in(), conv.channels_out(), conv.element().bytes());
    let (group_c, group_k, groups) = (conv.group_channels_in(), conv.group_channels_out(), conv.groups());
    let tile_rows = shared.tile_rows;
    let pitch = if tile_rows { tiles } else { shared.pitch };
    let numbers = 2 * tiling.frequencies();
    let image = first / tiling.image;
    let images = (first + tiles).div_ceil(tiling.image) - image;
    let in_window = [
        ("tiles", tiles),
        ("tile0", first - image * tiling.image),
        ("tiles_image", tiling.image),
        ("tiles_w", tiling.columns),
        ("m_h", tiling.kept[0]),
        ("m_w", tiling.kept[1]),
        ("dilation_h", height.dilation),
        ("dilation_w", width.dilation),
    ];
    // Vectors of tiles of one channel, or of channels of one tile.
    let vectors = |channels: u64| {
        if tile_rows { channels.is_multiple_of(4) } else { tiles.is_multiple_of(4) && pitch.is_multiple_of(4) }
    };

    let input_image = c * conv.input_points();
    let input = plan.window(Plan::INPUT, image * input_image, images * input_image, limits);
    let cut = Cut::of(tiling, vectors(group_c), limits)?;
    let step = StepBuilder::new("input_transform", "fft_forward", conv.element())
        .constant("filter", Constant::Flag(false))
        .constant("tile_rows", Constant::Flag(tile_rows))
        .bind(input.0)
        .bind(plan.whole(shared.tiles).write())
        .problem(&in_window)?
        .problem(&[("source_skip", input.1.into()), ("h", height.size), ("w", width.size)])?
        .problem(&[("pad_h", height.pad_before), ("pad_w", width.pad_before), ("c", c), ("group_c", group_c)])?
        .problem(&[("stride", c * pitch / u64::from(cut.each)), ("pitch", pitch / u64::from(cut.each))])?
        .cost(
            &[c, tiles, tiling.operations(Transform::Input)],
            &[&[c, tiles, numbers, SPECTRUM.bytes()], &[share(input_image, tiles, tiling.image), bytes]],
        );
    plan.steps.push(cut.step(step, c * tiles, limits)?);

    let operand = |buffer, pitch, rows: u64| Operand { window: plan.whole(buffer), pitch, plane: pitch * rows };
    let frequencies = tiling.frequencies();
    let multiply = if tile_rows {
        let (a, b) = (operand(shared.tiles, group_c, pitch), operand(shared.filters, group_k, group_c));
        ComplexProduct { m: tiles, n: group_k, k: group_c, frequencies, groups, a, b, c: operand(shared.products, group_k, pitch) }
    } else {
        let (a, b) = (operand(shared.filters, group_c, group_k), operand(shared.tiles, pitch, group_c));
        ComplexProduct { m: group_k, n: tiles, k: group_c, frequencies, groups, a, b, c: operand(shared.products, pitch, group_k) }
    };
    plan.steps.push(multiply.step(limits)?);

    let output_image = k * conv.output_points();
    let output = plan.window(Plan::OUTPUT, image * output_image, images * output_image, limits);
    let cut = Cut::of(tiling, vectors(group_k), limits)?;
    let step = StepBuilder::new("output_transform", "fft_inverse", conv.element())
        .constant("tile_rows", Constant::Flag(tile_rows))
        .bind(plan.whole(shared.products))
        .bind(output.0.write())
        .problem(&in_window)?
        .problem(&[("output_skip", output.1.into()), ("p", height.output()), ("q", width.output()), ("k", k), ("group_k", group_k)])?
        .problem(&[("stride", k * pitch / u64::from(cut.each)), ("pitch", pitch / u64::from(cut.each))])?
        .cost(
            &[k, tiles, tiling.operations(Transform::Output)],
            &[&[k, tiles, numbers, SPECTRUM.bytes()], &[share(output_image, tiles, tiling.image), bytes]],
        );
    plan.steps.push(cut.step(step, k * tiles, limits)?);
    Ok(())
}

impl Algorithm for FftTiled {
    fn id(&self) -> &'static str {
        "fft_tiled"
    }

    fn summary(&self) -> &'static str {
        "products of the spectra of overlapping tiles; 2-D, stride 1, kernels up to the tile's edge of 16 or 32"
    }

    fn workspace_formula(&self) -> &'static str {
        "2*L*(L/2+1)*(C*t + K*t + K*C/g); batch: t = N*ceil(P/(L-R+1))*ceil(Q/(L-S+1))"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["l16_tiles=t", "l16_batch", "l32_tiles=t", "l32_batch"]
    }

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        let of_edge = |edge: u64| {
            let all = Tiling::of(conv, edge).map_or(0, |tiling| tiling.all);
            let chunks = spread(all, 1, 4).into_iter().map(move |t| Variant::knob(&format!("l{edge}_tiles"), t));
            chunks.chain([Variant::word(&format!("l{edge}_batch"))])
        };
        let mut variants: Vec<(Bytes, Variant)> = EDGES
            .into_iter()
            .flat_map(of_edge)
            .filter_map(|variant| Some((self.native_workspace(conv, &variant).ok()?, variant)))
            .collect();
        variants.sort_by_key(|(bytes, _)| *bytes);
        if variants.is_empty() { vec![Variant::word("l32_batch")] } else { variants.into_iter().map(|(_, variant)| variant).collect() }
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let (tiling, tiles) = Tiling::with(conv, variant)?;
        let parts = [
            ("spectra of filters", [2, tiling.frequencies(), conv.channels_out(), conv.group_channels_in()]),
            ("spectra of tiles", [2, tiling.frequencies(), conv.channels_in(), tiles]),
            ("products of spectra", [2, tiling.frequencies(), conv.channels_out(), tiles]),
        ];
        parts.iter().try_fold(Bytes(0), |sum, (what, factors)| {
            sum.checked_add(workspace_bytes(what, factors, SPECTRUM)?).ok_or_else(|| Unsupported::overflow(what, factors))
        })
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        let (tiling, _) = Tiling::with(conv, variant)?;
        let (c, k, cg, tiles) = (conv.channels_in(), conv.channels_out(), conv.group_channels_in(), tiling.all);
        let edge = tiling.edge;
        let complex = 5 * edge * u64::from(edge.ilog2()) + 12 - 9 * edge;
        let terms = [
            [8 * tiling.frequencies(), cg, k, tiles],
            [1, k, cg, Transform::Filters.operations(edge, complex)],
            [1, c, tiles, Transform::Input.operations(edge, complex)],
            [1, k, tiles, Transform::Output.operations(edge, complex)],
        ];
        let sum = terms.iter().try_fold(0_u64, |sum, factors| sum.checked_add(product(factors)?));
        sum.map(Ops).ok_or_else(|| Unsupported::overflow("operations", &terms[0]))
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let (tiling, chunk) = Tiling::with(conv, variant)?;
        self.native_workspace(conv, variant)?;
        let numbers = 2 * tiling.frequencies();
        let (c, k, cg) = (conv.channels_in(), conv.channels_out(), conv.group_channels_in());
        let mut plan = Plan::new(conv);
        let shared = Shared {
            tile_rows: tile_rows(conv, chunk),
            pitch: chunk,
            filters: plan.cached_workspace("filters", &[numbers, k, cg], SPECTRUM)?,
            tiles: plan.workspace("tiles", &[numbers, c, chunk], SPECTRUM)?,
            products: plan.workspace("products", &[numbers, k, chunk], SPECTRUM)?,
        };
        for buffer in &plan.buffers {
            word(&format!("elements of {}", buffer.name), buffer.elements)?;
        }
        check_steps(1 + 3_u64.saturating_mul(tiling.all.div_ceil(chunk.max(1))))?;
        if tiling.all > 0 {
            plan.steps.push(filter_transform(&plan, conv, &tiling, &shared, limits)?);
        }
        for part in pieces(tiling.all, chunk.max(1)) {
            push_chunk(&mut plan, conv, &tiling, &shared, part, limits)?;
        }
        plan.finish(limits)
    }

    fn amplification(&self, conv: &Conv) -> f64 {
        let stages = f64::from(2 * EDGES[1].ilog2() + 1);
        let channels = conv.group_channels_in() as f64;
        let direct = conv.reduction() as f64 / 2.0 + 1.0;
        ((3.0 * STAGE * stages + channels) / direct).sqrt()
    }
}
