//! Element types, passes and layouts: the parts of a problem that its canonical key leaves to flags and columns.

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
    /// 8-bit signed integer, accumulated in 32 bits; the result is [`ElementType::I32`].
    I8,
    /// 32-bit signed integer: results of 8-bit problems, never a problem's own type.
    I32,
    /// 32-bit unsigned integer: index tables and uniforms, never a problem's own type.
    U32,
}

impl ElementType {
    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 => 2,
            Self::I8 => 1,
        }
    }

    /// The type's name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I8 => "i8",
            Self::I32 => "i32",
            Self::U32 => "u32",
        }
    }

    /// The type's name in WGSL, where 8-bit integers are stored four to a word.
    pub const fn wgsl(self) -> &'static str {
        match self {
            Self::I8 => "u32",
            other => other.name(),
        }
    }

    /// The type of the results of a problem in this one.
    #[must_use]
    pub const fn result(self) -> Self {
        match self {
            Self::I8 => Self::I32,
            other => other,
        }
    }

    /// Unit roundoff: the largest relative error of rounding once to this type; 0 for integers.
    pub const fn unit_roundoff(self) -> f64 {
        match self {
            Self::F32 => 1.0 / (1_u64 << 24) as f64,
            Self::F16 => 1.0 / (1_u64 << 11) as f64,
            Self::I8 | Self::I32 | Self::U32 => 0.0,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which convolution of training a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// Output from input and weights.
    Forward,
    /// Gradient of the input from that of the output and the weights.
    BackwardData,
    /// Gradient of the weights from the input and the gradient of the output.
    BackwardWeights,
}

impl Pass {
    /// All passes.
    pub const ALL: [Self; 3] = [Self::Forward, Self::BackwardData, Self::BackwardWeights];
}

/// In which order a feature map's elements lie in memory. Weights keep the order K,C/g,\[T,\]R,S.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Channel after channel: N,C,\[D,\]H,W.
    #[default]
    Nchw,
    /// All channels of a point together: N,\[D,\]H,W,C.
    Nhwc,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nchw => "nchw",
            Self::Nhwc => "nhwc",
        })
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Forward => "forward",
            Self::BackwardData => "backward_data",
            Self::BackwardWeights => "backward_weights",
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
            "i8" => Ok(Self::I8),
            _ => Err(UnknownName { name: name.to_owned(), kind: "an element type", known: "f32, f16, i8" }),
        }
    }
}

impl FromStr for Pass {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = "forward, backward_data, backward_weights";
        Self::ALL.into_iter().find(|pass| pass.to_string() == name).ok_or(UnknownName { name: name.to_owned(), kind: "a pass", known })
    }
}

impl FromStr for Layout {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "nchw" => Ok(Self::Nchw),
            "nhwc" => Ok(Self::Nhwc),
            _ => Err(UnknownName { name: name.to_owned(), kind: "a layout", known: "nchw, nhwc" }),
        }
    }
}
