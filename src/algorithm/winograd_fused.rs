//! `winograd_f2_fused`, `winograd_f4_fused`: Winograd's method in one kernel, without its two large workspaces.
//!
//! A workgroup computes a [`Block`] of filters by tiles: it transforms the input tiles of a few channels into workgroup memory, multiplies,
//! and at the end transforms the products back, so that neither transformed tiles nor products go through buffers. Each block of filters
//! transforms its tiles anew: `⌈K/g / filters⌉` times over. Two variants: `cached` keeps the transformed filters between executions,
//! `α²·K·C/g` elements of f32; `inside` transforms them anew for each block of tiles, `⌈T / tiles⌉` times over, and has no workspace.
//!
//! Spreading the points of a tile over the invocations follows D. Yan, W. Wang and X. Chu, *Optimizing Batched Winograd Convolution on
//! GPUs* (2020).
//!
//! How many filters and tiles a block has is part of the method, since the operations depend on it, and is taken from the convolution
//! alone; how a workgroup shares it out is a [`Cut`], taken from the device's limits.

mod cut;

use super::build::{StepBuilder, check_steps, images_per_step, pieces, word};
use super::cook_toom::{Planar, literals};
use super::winograd::{DOMAIN, FilterOrder, Tiling, push_filter_transform};
use super::{Algorithm, Variant, Winograd};
use crate::conv::{Conv, ElementType};
use crate::plan::{Binding, Constant, Limits, Plan, Step, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops, product};
use cut::{Block, Cut};

/// A fused Winograd algorithm F(m×m, 3×3).
pub struct WinogradFused {
    method: Winograd,
}

impl WinogradFused {
    /// F(2×2, 3×3).
    pub const F2: Self = Self {
        method: Winograd::F2
            .named("winograd_f2_fused", "Winograd F(2x2,3x3) in one kernel: no transformed tiles or products in memory; 3x3, stride 1"),
    };

    /// F(4×4, 3×3).
    pub const F4: Self = Self {
        method: Winograd::F4
            .named("winograd_f4_fused", "Winograd F(4x4,3x3) in one kernel: no transformed tiles or products in memory; 3x3, stride 1"),
    };

    /// Whether filters are transformed inside the kernel.
    fn inside(&self, variant: &Variant) -> Result<bool, Unsupported> {
        match variant.parts() {
            ("inside", None) => Ok(true),
            ("cached", None) => Ok(false),
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    fn points(&self) -> u64 {
        self.method.points()
    }

    fn transforms(&self) -> Planar {
        let axis = self.method.transforms();
        Planar { height: axis.clone(), width: axis }
    }

    /// Operations of the kernel for `tiles` tiles in `tile_blocks` blocks, as products to add up.
    fn terms(&self, conv: &Conv, inside: bool, tiles: u64, block: Block, tile_blocks: u64) -> [[u64; 4]; 4] {
        let transforms = self.transforms();
        let (c, k, cg) = (conv.channels_in(), conv.channels_out(), conv.group_channels_in());
        let filter_blocks = conv.group_channels_out().div_ceil(block.filters);
        [
            [2 * self.points(), cg, k, tiles],
            [2 * filter_blocks, c, tiles, transforms.input_terms()],
            [2, k, tiles, transforms.output_terms()],
            [if inside { 2 * tile_blocks } else { 0 }, k, cg, transforms.filter_terms()],
        ]
    }

    fn step(&self, conv: &Conv, launch: &Launch, limits: &Limits) -> Result<Step, Unsupported> {
        let Launch { tiling, block, cut, inside, first, images, .. } = launch;
        let transforms = self.method.transforms();
        let [_, height, width] = conv.axes_3d();
        let (k, c, bytes) = (conv.group_channels_out(), conv.group_channels_in(), conv.element().bytes());
        let m = self.method.m;
        let tiles = images * tiling.image;
        // A block that windows cut in two counts where it ends.
        let tile_blocks = (first * tiling.image + tiles).div_ceil(block.tiles) - (first * tiling.image).div_ceil(block.tiles);
        let operations = self
            .terms(conv, *inside, tiles, *block, tile_blocks)
            .iter()
            .fold(0_u64, |sum, factors| sum.saturating_add(product(factors).unwrap_or(u64::MAX)));
        let (tiles_m, tiles_n) = (k.div_ceil(block.filters), tiles.div_ceil(block.tiles));
        let (input_image, output_image) = (conv.channels_in() * conv.input_points(), conv.channels_out() * conv.output_points());
        // Rows of a tile that begin and end on its edge are written as vectors.
        let whole =
            (height.dilation, width.dilation) == (1, 1) && width.output().is_multiple_of(m) && u64::from(launch.output.1).is_multiple_of(m);
        let (filter_elements, filter_bytes) = if *inside { (conv.taps(), bytes) } else { (self.points(), DOMAIN.bytes()) };
        let mut step = StepBuilder::new("winograd_fused", "winograd_fused", conv.element())
            .constant("m", Constant::Size(word("tile edge", m)?))
            .constant("bt", Constant::Matrix(literals(&transforms.bt)))
            .constant("at", Constant::Matrix(literals(&transforms.at)))
            .constant("g", Constant::Matrix(literals(&transforms.g)))
            .constant("inside", Constant::Flag(*inside))
            .constant("vector_filters", Constant::Flag(!inside && k.is_multiple_of(4)))
            .constant("whole", Constant::Flag(whole));
        for (name, value) in cut.constants() {
            step = step.constant(name, Constant::Size(value));
        }
        step.workgroup_bytes(cut.workgroup_bytes())
            .bind(launch.input.0)
            .bind(launch.filters)
            .bind(launch.output.0.write())
            .problem(&[("k", k), ("c", c), ("groups", conv.groups()), ("h", height.size), ("w", width.size)])?
            .problem(&[("p", height.output()), ("q", width.output()), ("pad_h", height.pad_before), ("pad_w", width.pad_before)])?
            .problem(&[("dilation_h", height.dilation), ("dilation_w", width.dilation)])?
            .problem(&[("tiles", tiles), ("tiles_image", tiling.image), ("tiles_w", tiling.columns)])?
            .problem(&[("input_skip", launch.input.1.into()), ("output_skip", launch.output.1.into())])?
            .problem(&[("tiles_m", tiles_m), ("tiles_n", tiles_n)])?
            .cost(
                &[operations],
                &[
                    &[*images, input_image, bytes],
                    &[filter_elements, conv.channels_out(), c, filter_bytes],
                    &[*images, output_image, bytes],
                ],
            )
            .tiled(tiles_m.saturating_mul(tiles_n).saturating_mul(conv.groups()), [cut.lanes_n * cut.lanes_m, cut.points, 1], limits)
    }
}

/// What one dispatch is about.
struct Launch<'a> {
    tiling: &'a Tiling,
    block: Block,
    cut: Cut,
    inside: bool,
    first: u64,
    images: u64,
    input: (Binding, u32),
    filters: Binding,
    output: (Binding, u32),
}

impl Algorithm for WinogradFused {
    fn id(&self) -> &'static str {
        self.method.id()
    }

    fn summary(&self) -> &'static str {
        self.method.summary()
    }

    fn workspace_formula(&self) -> &'static str {
        if self.method.m == 2 { "inside: 0; cached: 16*K*C/g" } else { "inside: 0; cached: 36*K*C/g" }
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["inside", "cached"]
    }

    fn variants(&self, _conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        ["inside", "cached"].map(Variant::word).into()
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        let inside = self.inside(variant)?;
        self.method.tiling(conv)?;
        if inside {
            return Ok(Bytes(0));
        }
        workspace_bytes("transformed filters", &[self.points(), conv.channels_out(), conv.group_channels_in()], DOMAIN)
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        let inside = self.inside(variant)?;
        self.native_workspace(conv, variant)?;
        let tiles = self.method.tiling(conv)?.all;
        let block = Block::of(conv, self.method.m, tiles);
        let once = if inside { 0 } else { 2 };
        let filters = [once, conv.channels_out(), conv.group_channels_in(), self.transforms().filter_terms()];
        let terms = self.terms(conv, inside, tiles, block, tiles.div_ceil(block.tiles));
        let sum = terms.iter().chain([&filters]).try_fold(0_u64, |sum, factors| sum.checked_add(product(factors)?));
        sum.map(Ops).ok_or_else(|| Unsupported::overflow("operations", &terms[0]))
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let inside = self.inside(variant)?;
        self.native_workspace(conv, variant)?;
        let tiling = self.method.tiling(conv)?;
        let block = Block::of(conv, self.method.m, tiling.all);
        let cut = Cut::of(block, self.points(), conv.group_channels_in(), limits)?;
        let mut plan = Plan::new(conv);
        let mut filters = plan.whole(Plan::WEIGHTS);
        if !inside {
            let id = plan.cached_workspace("filters", &[self.points(), conv.channels_out(), conv.group_channels_in()], DOMAIN)?;
            filters = plan.whole(id);
            if tiling.all > 0 {
                push_filter_transform(&mut plan, conv, false, &self.transforms(), (id, FilterOrder::Channels), limits)?;
            }
        }
        let (input_image, output_image) = (conv.channels_in() * conv.input_points(), conv.channels_out() * conv.output_points());
        let bytes = conv.element().bytes();
        let piece = images_per_step(conv.batch(), &[input_image * bytes, output_image * bytes], limits);
        check_steps(1 + conv.batch().div_ceil(piece))?;
        for (first, images) in pieces(conv.batch(), piece) {
            let input = plan.window(Plan::INPUT, first * input_image, images * input_image, limits);
            let output = plan.window(Plan::OUTPUT, first * output_image, images * output_image, limits);
            let launch = Launch { tiling: &tiling, block, cut, inside, first, images, input, filters, output };
            plan.steps.push(self.step(conv, &launch, limits)?);
        }
        plan.tuning = format!("winograd_fused {cut}");
        plan.finish(limits)
    }

    fn amplification(&self, conv: &Conv) -> f64 {
        self.method.amplification(conv)
    }
}
