//! Tuning: the device-dependent choices of a plan, as plain data. They change how fast a plan is, never what it computes or allocates.
//!
//! A [`Tuning`] says for each tiled kernel and class of shapes which [`Tile`] to take. `builtin.toml` holds what was measured or is a
//! sound start for a kind of device; a file of the same form, as `convledger tune` writes it, goes before it.

mod shape;
mod tile;

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
    /// Invocations of a workgroup of the kernels that handle one element each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    /// Whether convolution kernels get the shape folded into their text, which takes a compilation for each shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialise: Option<bool>,
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
    pub const NONE: Self = Self { class: None, name: None, lanes: None, specialise: None, tiles: Vec::new() };

    /// Whether it is for an adapter.
    pub fn fits(&self, class: DeviceClass, name: &str) -> bool {
        let named = self.name.as_ref().is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()));
        named && self.class.is_none_or(|own| own == class)
    }

    /// How closely it describes the adapters it is for: by name before by class before all.
    fn precision(&self) -> u8 {
        u8::from(self.name.is_some()) * 2 + u8::from(self.class.is_some())
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

    /// All that it holds for an adapter as one tuning, the closest first.
    pub fn select(&self, class: DeviceClass, name: &str) -> Tuning {
        let mut fitting: Vec<&Tuning> = self.device.iter().filter(|tuning| tuning.fits(class, name)).collect();
        fitting.sort_by_key(|tuning| std::cmp::Reverse(tuning.precision()));
        Tuning {
            class: Some(class),
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            lanes: fitting.iter().find_map(|tuning| tuning.lanes),
            specialise: fitting.iter().find_map(|tuning| tuning.specialise),
            tiles: fitting.iter().flat_map(|tuning| tuning.tiles.iter().copied()).collect(),
        }
    }
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

    /// The tile of a kernel whose result has `m` rows by `n` columns, cut down to what the device allows and the shape can use.
    pub fn tile(&self, kernel: TiledKernel, m: u64, n: u64) -> Tile {
        let shape = ShapeClass::of(m, n);
        let tile = self.tuning.find(kernel, shape).or_else(|| class_defaults(self.class).find(kernel, shape));
        tile.unwrap_or_else(|| kernel.fallback()).fit(self, m)
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
