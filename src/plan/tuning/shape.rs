//! Classes of result shapes that want different tiles.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The shape of a kernel's result, as far as it decides on a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeClass {
    /// Fewer rows than a tall register tile holds: depthwise and other narrow groups.
    FewRows,
    /// So few results that large tiles leave a device idle.
    Small,
    /// In between.
    Medium,
    /// Enough for every device.
    Large,
}

impl ShapeClass {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::FewRows, Self::Small, Self::Medium, Self::Large];

    /// The class of `m` rows by `n` columns, all matrices of a batch side by side.
    pub fn of(m: u64, n: u64) -> Self {
        if m < 16 {
            return Self::FewRows;
        }
        match m.saturating_mul(n) {
            0..0x1_0000 => Self::Small,
            0x1_0000..0x10_0000 => Self::Medium,
            _ => Self::Large,
        }
    }

    /// As files name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FewRows => "few_rows",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

impl fmt::Display for ShapeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
