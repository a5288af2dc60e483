//! Tiles: how a register-blocked kernel is cut into invocations and workgroups.

use crate::plan::Limits;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A kernel whose tile is a matter of tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TiledKernel {
    /// The matrix product of im2col, Winograd and 1×1 kernels.
    Gemm,
    /// The matrix product that reads the patches of the input in place.
    ImplicitGemm,
    /// The direct method in register tiles: rows are output channels, columns neighbouring outputs.
    DirectTiled,
    /// The depthwise kernel: rows and columns are those of a block of outputs.
    Depthwise,
}

impl TiledKernel {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gemm, Self::ImplicitGemm, Self::DirectTiled, Self::Depthwise];

    /// As files name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gemm => "gemm",
            Self::ImplicitGemm => "implicit_gemm",
            Self::DirectTiled => "direct_tiled",
            Self::Depthwise => "depthwise",
        }
    }

    /// The ways of sharing that its shaders know.
    pub const fn sharings(self) -> &'static [Sharing] {
        match self {
            Self::Gemm | Self::ImplicitGemm => &Sharing::ALL,
            Self::DirectTiled => &[Sharing::Cache, Sharing::Subgroup],
            Self::Depthwise => &[Sharing::Cache],
        }
    }
}

impl fmt::Display for TiledKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How the invocations that need the same operands come by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Each loads what it needs; the caches do the sharing.
    Cache,
    /// Each loads a part of the rows' operand, and they hand the parts round within their subgroup.
    Subgroup,
    /// They stage blocks of both operands in workgroup memory.
    Workgroup,
}

impl Sharing {
    const ALL: [Self; 3] = [Self::Cache, Self::Subgroup, Self::Workgroup];

    /// As files name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Subgroup => "subgroup",
            Self::Workgroup => "workgroup",
        }
    }
}

/// How the result of a kernel is cut. Written `16x8 lanes 8x1 depth 4 subgroup`: rows × columns of an invocation, invocations along
/// columns × rows, reduction steps taken together, sharing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tile {
    /// Rows of an invocation's register tile.
    pub rows: u32,
    /// Vectors of four columns of an invocation's register tile.
    pub columns: u32,
    /// Invocations of a workgroup along the columns.
    pub lanes_n: u32,
    /// Invocations of a workgroup along the rows.
    pub lanes_m: u32,
    /// Steps of the reduction unrolled in the text, and staged together where workgroup memory is used.
    pub depth: u32,
    /// How operands are shared.
    pub sharing: Sharing,
}

/// Invocations that hand operands round: the smallest subgroup for which it pays.
pub(super) const HAND_ROUND: u32 = 8;

impl Tile {
    /// One that any device runs.
    pub(super) const FALLBACK: Self = Self { rows: 8, columns: 1, lanes_n: 16, lanes_m: 8, depth: 4, sharing: Sharing::Cache };

    /// Bytes of workgroup memory the staged blocks of both operands take; nothing where none are staged.
    pub fn workgroup_bytes(&self) -> u32 {
        match self.sharing {
            Sharing::Workgroup => 4 * self.depth * (self.rows * self.lanes_m + 4 + 4 * self.columns * self.lanes_n),
            Sharing::Cache | Sharing::Subgroup => 0,
        }
    }

    /// Why no kernel can have this tile, if none can.
    pub fn fault(&self) -> Option<String> {
        let Self { rows, columns, lanes_n, lanes_m, depth, sharing } = *self;
        let within =
            |what: &str, value: u32, most: u32| (value == 0 || value > most).then(|| format!("{what} {value} is not within 1 to {most}"));
        let faults = [
            within("rows", rows, 64),
            (columns == 0 || columns > 8).then(|| format!("columns {} is not within 4 to 32", u64::from(columns) * 4)),
            within("lanes along columns", lanes_n, 1024),
            within("lanes along rows", lanes_m, 1024),
            (rows * columns > 128).then(|| format!("a register tile of {rows}x{} has more than 512 accumulators", 4 * columns)),
            (![4, 8, 16].contains(&depth)).then(|| format!("depth {depth} is not 4, 8 or 16")),
            (sharing == Sharing::Subgroup && (lanes_m != 1 || !lanes_n.is_multiple_of(HAND_ROUND) || !rows.is_multiple_of(HAND_ROUND)))
                .then(|| format!("sharing in subgroups wants one lane along the rows, and rows and lanes by {HAND_ROUND}")),
            (sharing == Sharing::Subgroup && depth != 4).then(|| "sharing in subgroups wants depth 4".to_owned()),
            (sharing == Sharing::Workgroup && !(rows.is_multiple_of(4) && lanes_m.is_multiple_of(columns)))
                .then(|| "sharing in workgroup memory wants rows by 4, and lanes along the rows by the vectors of columns".to_owned()),
        ];
        faults.into_iter().flatten().next()
    }

    /// Why a device cannot run this tile, if it cannot.
    pub fn obstacle(&self, limits: &Limits) -> Option<String> {
        let invocations = self.lanes_n * self.lanes_m;
        if invocations > limits.max_workgroup_invocations
            || self.lanes_n > limits.max_workgroup_size[0]
            || self.lanes_m > limits.max_workgroup_size[1]
        {
            return Some(format!("{} x {} invocations are more than a workgroup may have", self.lanes_n, self.lanes_m));
        }
        if self.workgroup_bytes() > limits.max_workgroup_bytes {
            return Some(format!("{} B of workgroup memory > limit {} B", self.workgroup_bytes(), limits.max_workgroup_bytes));
        }
        if self.sharing == Sharing::Subgroup && limits.min_subgroup < HAND_ROUND {
            return Some(format!("subgroups of {} are smaller than {HAND_ROUND}", limits.min_subgroup));
        }
        None
    }

    /// The nearest tile the device can run, with no register row that could never be stored in a result of `m` rows.
    pub(super) fn fit(mut self, limits: &Limits, m: u64) -> Self {
        while u64::from(self.rows / 2) >= m && self.rows.is_multiple_of(2) {
            self.rows /= 2;
        }
        if self.sharing == Sharing::Subgroup && (self.fault().is_some() || self.obstacle(limits).is_some()) {
            self.sharing = Sharing::Cache;
        }
        while self.sharing == Sharing::Workgroup && self.depth > 4 && self.workgroup_bytes() > limits.max_workgroup_bytes {
            self.depth /= 2;
        }
        if self.sharing == Sharing::Workgroup && (self.fault().is_some() || self.workgroup_bytes() > limits.max_workgroup_bytes) {
            self.sharing = Sharing::Cache;
        }
        while self.obstacle(limits).is_some() && (self.lanes_m > 1 || self.lanes_n > 1) {
            if self.lanes_m > 1 {
                self.lanes_m /= 2;
            } else {
                self.lanes_n /= 2;
            }
        }
        self
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, lanes_n, lanes_m, depth, sharing } = self;
        f.pad(&format!("{rows}x{} lanes {lanes_n}x{lanes_m} depth {depth} {}", 4 * columns, sharing.name()))
    }
}

/// A text that is not a tile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a tile such as '16x8 lanes 8x1 depth 4 cache': {problem}")]
pub struct TileError {
    text: String,
    problem: String,
}

impl FromStr for Tile {
    type Err = TileError;

    fn from_str(text: &str) -> Result<Self, TileError> {
        let error = |problem: &str| TileError { text: text.to_owned(), problem: problem.to_owned() };
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["lanes", "depth"] = [words.get(1), words.get(3)].map(|word| word.copied().unwrap_or_default()) else {
            return Err(error("rows x columns, 'lanes', along columns x along rows, 'depth', number, sharing"));
        };
        if words.len() != 6 {
            return Err(error("it has six words"));
        }
        let number = |word: &str| word.parse::<u32>().map_err(|_| error(&format!("'{word}' is not a whole number up to {}", u32::MAX)));
        let pair = |word: &str| {
            let (first, second) = word.split_once('x').ok_or_else(|| error(&format!("'{word}' is not two numbers joined by x")))?;
            Ok((number(first)?, number(second)?))
        };
        let (rows, columns) = pair(words[0])?;
        let (lanes_n, lanes_m) = pair(words[2])?;
        if !columns.is_multiple_of(4) {
            return Err(error("columns come in vectors of four"));
        }
        let sharing = Sharing::ALL.into_iter().find(|sharing| sharing.name() == words[5]);
        let sharing = sharing.ok_or_else(|| error(&format!("'{}' is not cache, subgroup or workgroup", words[5])))?;
        let tile = Self { rows, columns: columns / 4, lanes_n, lanes_m, depth: number(words[4])?, sharing };
        tile.fault().map_or(Ok(tile), |problem| Err(error(&problem)))
    }
}

impl TryFrom<String> for Tile {
    type Error = TileError;

    fn try_from(text: String) -> Result<Self, TileError> {
        text.parse()
    }
}

impl From<Tile> for String {
    fn from(tile: Tile) -> Self {
        tile.to_string()
    }
}
