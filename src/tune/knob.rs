//! What can be tuned, and between what.

use crate::plan::{DeviceClass, Limits, Rule, ShapeClass, Sharing, Tile, TiledKernel, Tuning, TuningFile};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that tuning decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knob {
    /// The tile of a kernel for a class of shapes.
    Tile(TiledKernel, ShapeClass),
    /// Invocations of a workgroup of the kernels that handle one element each.
    Lanes,
    /// Whether shapes are folded into the text.
    Specialise,
    /// Whether rows of the input are read as vectors of four.
    VectorLoads,
}

/// What it is decided to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// For [`Knob::Tile`].
    Tile(Tile),
    /// For [`Knob::Lanes`].
    Lanes(u32),
    /// For [`Knob::Specialise`].
    Specialise(bool),
    /// For [`Knob::VectorLoads`].
    VectorLoads(bool),
}

/// Values of each part of a tile.
const ROWS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const COLUMNS: [u32; 3] = [1, 2, 4];
const LANES_N: [u32; 5] = [4, 8, 16, 32, 64];
const LANES_M: [u32; 5] = [1, 2, 4, 8, 16];
const DEPTHS: [u32; 3] = [4, 8, 16];
/// Least and most accumulators of an invocation, in vectors of four.
const ACCUMULATORS: (u32, u32) = (2, 64);
/// Values of [`Knob::Lanes`].
const LANES: [u32; 8] = [4, 8, 16, 32, 64, 128, 256, 512];

/// Least and most invocations of a workgroup that are worth trying: a software driver runs a few in one SIMD register, a GPU wants
/// whole subgroups, and several of them to hide latency behind.
fn invocations(class: DeviceClass) -> (u32, u32) {
    if class == DeviceClass::Software { (4, 64) } else { (32, 512) }
}

impl Knob {
    /// The knobs of `kernels`, large shapes first; where those are all kernels, then what they share.
    pub fn all(kernels: &[TiledKernel]) -> Vec<Self> {
        let shapes = [ShapeClass::Large, ShapeClass::Medium, ShapeClass::Small, ShapeClass::FewRows];
        let tiles = shapes.into_iter().flat_map(|shape| kernels.iter().map(move |&kernel| Self::Tile(kernel, shape)));
        let shared =
            TiledKernel::ALL.iter().all(|kernel| kernels.contains(kernel)).then_some([Self::Lanes, Self::Specialise, Self::VectorLoads]);
        tiles.chain(shared.into_iter().flatten()).collect()
    }

    /// What it is now.
    pub fn current(self, limits: &Limits) -> Choice {
        match self {
            Self::Tile(kernel, shape) => Choice::Tile(limits.tile_of(kernel, shape)),
            Self::Lanes => Choice::Lanes(limits.lanes()),
            Self::Specialise => Choice::Specialise(limits.specialise()),
            Self::VectorLoads => Choice::VectorLoads(limits.vector_loads()),
        }
    }

    /// A tuning with another choice.
    ///
    /// # Panics
    /// When the choice is not one of this knob.
    #[must_use]
    pub fn turn(self, tuning: Tuning, choice: Choice) -> Tuning {
        match (self, choice) {
            (Self::Tile(kernel, shape), Choice::Tile(tile)) => tuning.with(Rule { kernel, shape: Some(shape), tile }),
            (Self::Lanes, Choice::Lanes(lanes)) => Tuning { lanes: Some(lanes), ..tuning },
            (Self::Specialise, Choice::Specialise(on)) => Tuning { specialise: Some(on), ..tuning },
            (Self::VectorLoads, Choice::VectorLoads(on)) => Tuning { vector_loads: Some(on), ..tuning },
            _ => panic!("{choice} is no choice of {self}"),
        }
    }

    /// Every choice a device can run.
    pub fn choices(self, limits: &Limits) -> Vec<Choice> {
        match self {
            Self::Tile(kernel, _) => tiles(kernel, limits).into_iter().map(Choice::Tile).collect(),
            Self::Lanes => LANES.into_iter().filter(|&lanes| lanes <= limits.max_workgroup_invocations).map(Choice::Lanes).collect(),
            Self::Specialise => vec![Choice::Specialise(true), Choice::Specialise(false)],
            Self::VectorLoads => vec![Choice::VectorLoads(true), Choice::VectorLoads(false)],
        }
    }

    /// Choices made for other devices or other shapes, which are likely to be good.
    pub fn known(self, limits: &Limits) -> Vec<Choice> {
        let Self::Tile(kernel, shape) = self else { return Vec::new() };
        let own = &limits.tuning.tiles;
        let builtin = TuningFile::builtin().device.iter().flat_map(|tuning| &tuning.tiles);
        let mut rules: Vec<&Rule> = own.iter().chain(builtin).filter(|rule| rule.kernel == kernel).collect();
        rules.sort_by_key(|rule| rule.shape != Some(shape));
        let mut known: Vec<Choice> = Vec::new();
        for tile in rules.iter().map(|rule| rule.tile).filter(|tile| tile.obstacle(limits).is_none()) {
            if !known.contains(&Choice::Tile(tile)) {
                known.push(Choice::Tile(tile));
            }
        }
        known
    }
}

/// Every tile of a kernel that a device can run and that is worth trying there.
fn tiles(kernel: TiledKernel, limits: &Limits) -> Vec<Tile> {
    let (least, most) = invocations(limits.class);
    let mut tiles = Vec::new();
    for &sharing in kernel.sharings() {
        // Without staging the depth makes no difference.
        let depths = if sharing == Sharing::Workgroup { &DEPTHS[..] } else { &DEPTHS[..1] };
        for (&depth, rows, columns) in depths.iter().flat_map(|d| ROWS.iter().flat_map(move |r| COLUMNS.iter().map(move |c| (d, *r, *c)))) {
            for (lanes_n, lanes_m) in LANES_N.iter().flat_map(|n| LANES_M.iter().map(move |m| (*n, *m))) {
                let tile = Tile { rows, columns, lanes_n, lanes_m, depth, sharing };
                let worthwhile =
                    (ACCUMULATORS.0..=ACCUMULATORS.1).contains(&(rows * columns)) && (least..=most).contains(&(lanes_n * lanes_m));
                if worthwhile && tile.fault().is_none() && tile.obstacle(limits).is_none() {
                    tiles.push(tile);
                }
            }
        }
    }
    tiles
}

impl Choice {
    /// How much two choices of a knob differ: doublings of their parts.
    pub fn distance(&self, other: &Self) -> u32 {
        match (self, other) {
            (Self::Tile(a), Self::Tile(b)) => {
                let doublings = |a: u32, b: u32| a.max(1).ilog2().abs_diff(b.max(1).ilog2());
                let parts = [(a.rows, b.rows), (a.columns, b.columns), (a.lanes_n, b.lanes_n), (a.lanes_m, b.lanes_m), (a.depth, b.depth)];
                parts.iter().map(|&(a, b)| doublings(a, b)).sum::<u32>() + 2 * u32::from(a.sharing != b.sharing)
            }
            (Self::Lanes(a), Self::Lanes(b)) => a.max(&1).ilog2().abs_diff(b.max(&1).ilog2()),
            _ => u32::from(self != other),
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tile(kernel, shape) => f.pad(&format!("{kernel} {shape}")),
            Self::Lanes => f.pad("lanes"),
            Self::Specialise => f.pad("specialise"),
            Self::VectorLoads => f.pad("vector_loads"),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tile(tile) => tile.fmt(f),
            Self::Lanes(lanes) => f.pad(&lanes.to_string()),
            Self::Specialise(on) | Self::VectorLoads(on) => f.pad(&on.to_string()),
        }
    }
}
