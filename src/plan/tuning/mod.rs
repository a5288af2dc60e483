//! Tuning: the device-dependent choices of a plan, as plain data. They change how fast a plan is, never what it computes or allocates.
//!
//! A [`Tuning`] says for each tiled kernel and class of shapes which [`Tile`] to take. `builtin.toml` holds what was measured or is a
//! sound start for a kind of device; a file of the same form, as `convledger tune` writes it, goes before it.

mod file;
mod shape;
mod tile;

pub use file::TuningError;
pub use shape::ShapeClass;
pub use tile::{Sharing, Tile, TileError, TiledKernel};

use super::{DeviceClass, Limits};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The choices for one device, or one kind of device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// Which kind of device it is for; absent for every kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<DeviceClass>,
    /// Part of the name of the adapters it is for, whatever the case; absent for every adapter of the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Part of the name or version of the drivers it is for, whatever the case; absent for every driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Invocations of a workgroup of the kernels that handle one element each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    /// Whether convolution kernels get the shape folded into their text, which takes a compilation for each shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialise: Option<bool>,
    /// Whether kernels that read rows of the input read them as vectors of four where rows are made of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_loads: Option<bool>,
    /// Tiles, the first that fits first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<Rule>,
}

/// The tile of a kernel for a class of shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which kernel.
    pub kernel: TiledKernel,
    /// Which shapes; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeClass>,
    /// How it is cut.
    pub tile: Tile,
}

/// A file of tunings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningFile {
    /// One for each device or kind of device; of several that fit, the one that names the device goes first, then the one of its class.
    pub device: Vec<Tuning>,
}

impl Tuning {
    /// Nothing of its own: everything is as built in for the class.
    pub const NONE: Self =
        Self { class: None, name: None, driver: None, lanes: None, specialise: None, vector_loads: None, tiles: Vec::new() };

    /// Whether it is for an adapter with a driver.
    pub fn fits(&self, class: DeviceClass, name: &str, driver: &str) -> bool {
        let part_of = |part: &Option<String>, whole: &str| part.as_ref().is_none_or(|part| contains(whole, part));
        self.class.is_none_or(|own| own == class) && part_of(&self.name, name) && part_of(&self.driver, driver)
    }

    /// How closely it describes an adapter that it is for: by its whole name before a part of it before the driver before the class.
    fn precision(&self, name: &str) -> [bool; 4] {
        let whole = self.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name));
        [whole, self.name.is_some(), self.driver.is_some(), self.class.is_some()]
    }

    /// This one, and behind it what `fallback` says beyond it.
    #[must_use]
    pub fn before(mut self, fallback: &Self) -> Self {
        self.lanes = self.lanes.or(fallback.lanes);
        self.specialise = self.specialise.or(fallback.specialise);
        self.vector_loads = self.vector_loads.or(fallback.vector_loads);
        self.tiles.extend(&fallback.tiles);
        self
    }

    /// The same with one rule before all others.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.tiles.insert(0, rule);
        self
    }

    fn find(&self, kernel: TiledKernel, shape: ShapeClass) -> Option<Tile> {
        self.tiles.iter().find(|rule| rule.kernel == kernel && rule.shape.is_none_or(|own| own == shape)).map(|rule| rule.tile)
    }
}

impl TuningFile {
    /// What the program comes with.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<TuningFile> =
            LazyLock::new(|| toml::from_str(include_str!("builtin.toml")).expect("a test reads builtin.toml"));
        &BUILTIN
    }

    /// All that it holds for an adapter of whatever driver as one tuning, the closest first.
    pub fn select(&self, class: DeviceClass, name: &str) -> Tuning {
        self.select_for(class, name, "")
    }

    /// All that it holds for an adapter and its driver (name and version) as one tuning, the closest first.
    pub fn select_for(&self, class: DeviceClass, name: &str, driver: &str) -> Tuning {
        let mut fitting: Vec<&Tuning> = self.device.iter().filter(|tuning| tuning.fits(class, name, driver)).collect();
        fitting.sort_by_key(|tuning| std::cmp::Reverse(tuning.precision(name)));
        let own = Tuning { class: Some(class), name: Some(name.to_owned()).filter(|name| !name.is_empty()), ..Tuning::NONE };
        fitting.into_iter().fold(own, Tuning::before)
    }
}

/// Whether `part` occurs in `whole`, whatever the case.
fn contains(whole: &str, part: &str) -> bool {
    whole.to_lowercase().contains(&part.to_lowercase())
}

impl Limits {
    /// Invocations of a workgroup of the kernels that handle one element each.
    pub fn lanes(&self) -> u32 {
        self.tuning.lanes.or_else(|| class_defaults(self.class).lanes).unwrap_or(64).min(self.max_workgroup_invocations)
    }

    /// The same for kernels whose workgroups walk along `points` elements: no more than there are.
    pub fn lanes_for(&self, points: u64) -> u32 {
        let mut lanes = self.lanes();
        while u64::from(lanes / 2) >= points && lanes > 1 {
            lanes /= 2;
        }
        lanes
    }

    /// Whether convolution kernels get the shape folded into their text.
    pub fn specialise(&self) -> bool {
        self.tuning.specialise.or_else(|| class_defaults(self.class).specialise).unwrap_or(true)
    }

    /// Whether kernels that read rows of the input read them as vectors of four where they can.
    pub fn vector_loads(&self) -> bool {
        self.tuning.vector_loads.or_else(|| class_defaults(self.class).vector_loads).unwrap_or(true)
    }

    /// The tile of a kernel whose result has `m` rows by `n` columns, cut down to what the device allows and the shape can use.
    pub fn tile(&self, kernel: TiledKernel, m: u64, n: u64) -> Tile {
        let mut tile = self.tile_of(kernel, ShapeClass::of(m, n));
        if !kernel.sharings().contains(&tile.sharing) {
            tile.sharing = Sharing::Cache;
        }
        tile.fit(self, m)
    }

    /// The tile that tuning says a kernel takes for a class of shapes, before it is cut down.
    pub fn tile_of(&self, kernel: TiledKernel, shape: ShapeClass) -> Tile {
        let tile = self.tuning.find(kernel, shape).or_else(|| class_defaults(self.class).find(kernel, shape));
        tile.unwrap_or(Tile::FALLBACK)
    }
}

/// What is built in for a class alone.
fn class_defaults(class: DeviceClass) -> &'static Tuning {
    static DEFAULTS: LazyLock<Vec<(DeviceClass, Tuning)>> = LazyLock::new(|| {
        let all = [DeviceClass::Discrete, DeviceClass::Integrated, DeviceClass::Virtual, DeviceClass::Software, DeviceClass::Other];
        all.map(|class| (class, TuningFile::builtin().select(class, ""))).into()
    });
    DEFAULTS.iter().find(|(of, _)| *of == class).map_or_else(|| unreachable!("every class is listed"), |(_, tuning)| tuning)
}

#[cfg(test)]
mod tests;
