//! Winograd's method in four stages: convolutions of stride 1 with fewer multiplications.
//!
//! F(m, r) computes m outputs of r taps from α = m + r − 1 inputs with α multiplications instead of m·r. `winograd_f2`, `winograd_f4` and
//! `winograd_f6` nest it with itself for 3×3 kernels, `winograd_f2_5` and `winograd_f4_5` for 5×5: filters and overlapping α×α input tiles
//! are transformed, multiplied as α² matrix products of K×C/g by C/g×T, and transformed back into tiles of m×m outputs. `winograd_1d_f4`,
//! `winograd_1d_f4_5` and `winograd_1d_f2_7` apply it along the one axis of 1×r and r×1 kernels, with α products for a tile of m outputs.
//!
//! T = N·⌈P/m⌉·⌈Q/m⌉ tiles, or N·⌈P/m⌉·Q or N·P·⌈Q/m⌉ along one axis; `tiles=t` handles t at a time, so that V and M hold only those.
//! Workspace `α²·(C·t + K·t + K·C/g)` elements of f32, α for α² along one axis; the filters' part is kept between executions, and its
//! transform runs once for given weights.
//!
//! The gradient of the input is the same of the output's gradient, with filters turned by half a turn and channels exchanged.
//!
//! A dilation of d×e is d·e interleaved convolutions without one, whose tiles are counted one phase after the other: T is then
//! N·d·⌈⌈P/d⌉/m⌉·e·⌈⌈Q/e⌉/m⌉.

mod stages;
mod tiling;

pub(super) use stages::{FilterOrder, push_filter_transform};
pub(super) use tiling::Tiling;

use super::build::{check_steps, pieces};
use super::cook_toom::{Planar, Rational, Transforms};
use super::variant::spread;
use super::{Algorithm, Variant};
use crate::conv::{Conv, ElementType, Pass};
use crate::plan::{BufferId, Limits, Plan, Unsupported, workspace_bytes};
use crate::units::{Bytes, Ops, product};
use stages::{Chunk, Shared};

/// Type of what is transformed, whatever that of the tensors: transforms round, and in a narrower type they would round too much.
pub(super) const DOMAIN: ElementType = ElementType::F32;

/// A non-fused Winograd algorithm: F(m×m, r×r), or F(m, r) along one axis.
#[derive(Debug)]
pub struct Winograd {
    id: &'static str,
    summary: &'static str,
    formula: &'static str,
    /// Outputs of a tile along an axis of taps.
    pub(super) m: u64,
    /// Taps along it.
    r: u64,
    kernels: Kernels,
    /// The finite points, m + r − 2 of them.
    points: &'static [(i64, i64)],
}

/// The kernels a method is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernels {
    /// r×r.
    Square,
    /// 1×r and r×1.
    Line,
}

/// The points 0, ±1 of α = 4.
const FOUR: &[(i64, i64)] = &[(0, 1), (1, 1), (-1, 1)];
/// The points 0, ±2/3, ±3/2 of α = 6, which round less than the usual 0, ±1, ±2: F(4, 3) amplifies errors 2.2 times instead of 3.3,
/// F(2, 5) 2.3 times instead of 3.5.
const SIX: &[(i64, i64)] = &[(0, 1), (2, 3), (-2, 3), (3, 2), (-3, 2)];
/// The points 0, ±1, ±2, ±1/2 of α = 8: F(6, 3) amplifies errors 4.5 times, F(4, 5) 4.4 times and F(2, 7) 5.0 times, against 30 to 35 with
/// ±3 for ±1/2.
const EIGHT: &[(i64, i64)] = &[(0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 2), (-1, 2)];

impl Winograd {
    /// F(2×2, 3×3).
    pub const F2: Self = Self {
        id: "winograd_f2",
        summary: "Winograd F(2x2,3x3), non-fused: 2.25 times fewer multiplications; 3x3, stride 1",
        formula: "16*(C*t + K*t + K*C/g); batch: t = N*ceil(P/2)*ceil(Q/2)",
        m: 2,
        r: 3,
        kernels: Kernels::Square,
        points: FOUR,
    };

    /// F(4×4, 3×3).
    pub const F4: Self = Self {
        id: "winograd_f4",
        summary: "Winograd F(4x4,3x3), non-fused: 4 times fewer multiplications; 3x3, stride 1",
        formula: "36*(C*t + K*t + K*C/g); batch: t = N*ceil(P/4)*ceil(Q/4)",
        m: 4,
        r: 3,
        kernels: Kernels::Square,
        points: SIX,
    };

    /// F(6×6, 3×3).
    pub const F6: Self = Self {
        id: "winograd_f6",
        summary: "Winograd F(6x6,3x3), non-fused: 5.06 times fewer multiplications, rounds more; 3x3, stride 1",
        formula: "64*(C*t + K*t + K*C/g); batch: t = N*ceil(P/6)*ceil(Q/6)",
        m: 6,
        r: 3,
        kernels: Kernels::Square,
        points: EIGHT,
    };

    /// F(2×2, 5×5).
    pub const F2_5: Self = Self {
        id: "winograd_f2_5",
        summary: "Winograd F(2x2,5x5), non-fused: 2.78 times fewer multiplications; 5x5, stride 1",
        formula: "36*(C*t + K*t + K*C/g); batch: t = N*ceil(P/2)*ceil(Q/2)",
        m: 2,
        r: 5,
        kernels: Kernels::Square,
        points: SIX,
    };

    /// F(4×4, 5×5).
    pub const F4_5: Self = Self {
        id: "winograd_f4_5",
        summary: "Winograd F(4x4,5x5), non-fused: 6.25 times fewer multiplications, rounds more; 5x5, stride 1",
        formula: "64*(C*t + K*t + K*C/g); batch: t = N*ceil(P/4)*ceil(Q/4)",
        m: 4,
        r: 5,
        kernels: Kernels::Square,
        points: EIGHT,
    };

    /// F(4, 3) along one axis.
    pub const LINE_F4: Self = Self {
        id: "winograd_1d_f4",
        summary: "Winograd F(4,3) along one axis, non-fused: 2 times fewer multiplications; 1x3 and 3x1, stride 1",
        formula: "6*(C*t + K*t + K*C/g); batch: t = N*ceil(P/4)*Q or N*P*ceil(Q/4)",
        m: 4,
        r: 3,
        kernels: Kernels::Line,
        points: SIX,
    };

    /// F(4, 5) along one axis.
    pub const LINE_F4_5: Self = Self {
        id: "winograd_1d_f4_5",
        summary: "Winograd F(4,5) along one axis, non-fused: 2.5 times fewer multiplications; 1x5 and 5x1, stride 1",
        formula: "8*(C*t + K*t + K*C/g); batch: t = N*ceil(P/4)*Q or N*P*ceil(Q/4)",
        m: 4,
        r: 5,
        kernels: Kernels::Line,
        points: EIGHT,
    };

    /// F(2, 7) along one axis.
    pub const LINE_F2_7: Self = Self {
        id: "winograd_1d_f2_7",
        summary: "Winograd F(2,7) along one axis, non-fused: 1.75 times fewer multiplications; 1x7 and 7x1, stride 1",
        formula: "8*(C*t + K*t + K*C/g); batch: t = N*ceil(P/2)*Q or N*P*ceil(Q/2)",
        m: 2,
        r: 7,
        kernels: Kernels::Line,
        points: EIGHT,
    };

    /// Every method.
    #[cfg(test)]
    pub(super) const ALL: [&'static Self; 8] =
        [&Self::F2, &Self::F4, &Self::F6, &Self::F2_5, &Self::F4_5, &Self::LINE_F4, &Self::LINE_F4_5, &Self::LINE_F2_7];

    /// The same method under another name.
    pub(super) const fn named(self, id: &'static str, summary: &'static str) -> Self {
        Self { id, summary, ..self }
    }

    /// The matrices along an axis of taps.
    pub(super) fn transforms(&self) -> Transforms {
        let points: Vec<Rational> = self.points.iter().map(|&(n, d)| Rational::new(n, d)).collect();
        let r = usize::try_from(self.r).unwrap_or_default();
        Transforms::new(self.points.len() + 2 - r, r, &points)
    }

    /// The matrices along both axes of tiles.
    fn planar(&self, tiling: &Tiling) -> Planar {
        let along = |m: u64| if m == 1 { Transforms::new(1, 1, &[]) } else { self.transforms() };
        let [height, width] = tiling.m.map(along);
        Planar { height, width }
    }

    /// Inputs of a tile along an axis of taps, α.
    pub(super) fn alpha(&self) -> u64 {
        self.m + self.r - 1
    }

    /// Products of a tile, for each pair of channels.
    pub(super) fn points(&self) -> u64 {
        match self.kernels {
            Kernels::Square => self.alpha() * self.alpha(),
            Kernels::Line => self.alpha(),
        }
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
}

impl Algorithm for Winograd {
    fn id(&self) -> &'static str {
        self.id
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn workspace_formula(&self) -> &'static str {
        self.formula
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["tiles=t", "batch"]
    }

    fn passes(&self) -> &'static [Pass] {
        &[Pass::Forward, Pass::BackwardData]
    }

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        // Chunks are multiples of 4 so that every chunk but the last reads and writes whole vectors.
        let all = self.form(conv).and_then(|form| self.tiling(&form)).map_or(0, |tiling| tiling.all);
        spread(all, 1, 4).into_iter().map(|t| Variant::knob("tiles", t)).chain([Variant::word("batch")]).collect()
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let conv = &self.form(conv)?;
        let chunk = self.chunk(&self.tiling(conv)?, variant)?;
        let points = self.points();
        let parts = [
            ("transformed filters", [points, conv.channels_out(), conv.group_channels_in()]),
            ("transformed tiles", [points, conv.channels_in(), chunk]),
            ("tile products", [points, conv.channels_out(), chunk]),
        ];
        parts.iter().try_fold(Bytes(0), |sum, (what, factors)| {
            sum.checked_add(workspace_bytes(what, factors, DOMAIN)?).ok_or_else(|| Unsupported::overflow(what, factors))
        })
    }

    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        let conv = &self.form(conv)?;
        let tiling = self.tiling(conv)?;
        let (tiles, transforms) = (tiling.all, self.planar(&tiling));
        let (c, k, cg) = (conv.channels_in(), conv.channels_out(), conv.group_channels_in());
        let terms = [
            [2 * self.points(), cg, k, tiles],
            [2, k, cg, transforms.filter_terms()],
            [2, c, tiles, transforms.input_terms()],
            [2, k, tiles, transforms.output_terms()],
        ];
        let sum = terms.iter().try_fold(0_u64, |sum, factors| sum.checked_add(product(factors)?));
        sum.map(Ops).ok_or_else(|| Unsupported::overflow("operations", &terms[0]))
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        let (given, conv) = (conv, &self.form(conv)?);
        let turned = given.computes() != Pass::Forward;
        let tiling = self.tiling(conv)?;
        let chunk = self.chunk(&tiling, variant)?;
        let points = self.points();
        let mut plan = Plan::new(conv);
        let shared = Shared {
            order: FilterOrder::of(conv, chunk),
            transforms: self.planar(&tiling),
            filters: plan.cached_workspace("filters", &[points, conv.channels_out(), conv.group_channels_in()], DOMAIN)?,
            tiles: plan.workspace("tiles", &[points, conv.channels_in(), chunk], DOMAIN)?,
            products: plan.workspace("products", &[points, conv.channels_out(), chunk], DOMAIN)?,
        };
        if tiling.all > 0 {
            push_filter_transform(&mut plan, conv, turned, &shared.transforms, (shared.filters, shared.order), limits)?;
        }
        check_steps(1 + 3_u64.saturating_mul(tiling.all.div_ceil(chunk.max(1))))?;
        for (first, tiles) in pieces(tiling.all, chunk.max(1)) {
            Chunk { tiling: &tiling, first, tiles }.push(&mut plan, conv, &shared, limits)?;
        }
        if turned { exchanged(plan, given) } else { plan }.finish(limits)
    }

    fn warning(&self, conv: &Conv) -> &'static str {
        if self.m == 6 && conv.element() == ElementType::F16 {
            "F(6x6,3x3) in f16 is exact enough only because its transformed values are f32 here: in f16 it errs by 6e-3"
        } else {
            ""
        }
    }

    fn amplification(&self, conv: &Conv) -> f64 {
        // The axes of taps amplify independently. The transforms round too, which shows where few channels are summed: for one channel
        // the error's spread is 1.3 times the formula's for F(4,3) and F(6,3), and that of a tile's error five times as wide.
        let channels = if conv.computes() == Pass::Forward { conv.group_channels_in() } else { conv.group_channels_out() };
        let few_channels = 1.0 + 1.5 / (channels as f64).sqrt();
        let axes = if self.kernels == Kernels::Square { 2 } else { 1 };
        self.transforms().amplification().powi(axes) * few_channels
    }
}

/// The plan of the convolution that computes the gradient of the input of `conv`, as one for `conv`: what the former reads is the gradient
/// of the latter's output, and what it writes that of the latter's input.
fn exchanged(mut plan: Plan, conv: &Conv) -> Plan {
    let own = Plan::new(conv);
    for id in [Plan::INPUT, Plan::OUTPUT] {
        plan.buffers[id.0] = own.buffer(id).clone();
    }
    let other = |id: BufferId| match id {
        Plan::INPUT => Plan::OUTPUT,
        Plan::OUTPUT => Plan::INPUT,
        same => same,
    };
    for binding in plan.steps.iter_mut().flat_map(|step| &mut step.bindings) {
        binding.buffer = other(binding.buffer);
    }
    Plan { result: own.result, ..plan }
}
