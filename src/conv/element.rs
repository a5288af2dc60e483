//! Element types and passes: the parts of a problem that its canonical key leaves to flags and columns.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Type of the stored elements of every tensor of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16, accumulated in binary32.
    F16,
    /// 32-bit unsigned integer: index tables and uniforms, never a problem's own type.
    U32,
}

impl ElementType {
    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 | Self::U32 => 4,
            Self::F16 => 2,
        }
    }

    /// The type's name in WGSL.
    pub const fn wgsl(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::U32 => "u32",
        }
    }

    /// Unit roundoff: the largest relative error of rounding once to this type; 0 for integers.
    pub const fn unit_roundoff(self) -> f64 {
        match self {
            Self::F32 => 1.0 / (1_u64 << 24) as f64,
            Self::F16 => 1.0 / (1_u64 << 11) as f64,
            Self::U32 => 0.0,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.wgsl())
    }
}

/// Which convolution of training a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// Output from input and weights.
    Forward,
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Forward => "forward",
        })
    }
}

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is not {kind}: known are {known}")]
pub struct UnknownName {
    name: String,
    kind: &'static str,
    known: &'static str,
}

impl FromStr for ElementType {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "f32" => Ok(Self::F32),
            "f16" => Ok(Self::F16),
            _ => Err(UnknownName { name: name.to_owned(), kind: "an element type", known: "f32, f16" }),
        }
    }
}

impl FromStr for Pass {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "forward" => Ok(Self::Forward),
            _ => Err(UnknownName { name: name.to_owned(), kind: "a pass", known: "forward" }),
        }
    }
}
