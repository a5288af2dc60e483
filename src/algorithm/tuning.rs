//! Device-dependent choices: tile and workgroup sizes. They change how fast a plan is, never what it computes or allocates.

use crate::plan::{DeviceClass, Limits};

/// The choices a plan takes from its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tuning {
    /// Invocations of a workgroup of the kernels that handle one element each.
    pub(super) lanes: u32,
    /// Tile of the matrix product.
    pub(super) gemm: GemmTile,
}

/// How the matrix product is cut into invocations and workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GemmTile {
    /// Rows of an invocation's register tile.
    pub(super) rows: u32,
    /// Vectors of four columns of an invocation's register tile.
    pub(super) columns: u32,
    /// Invocations of a workgroup along the columns.
    pub(super) lanes_n: u32,
    /// Invocations of a workgroup along the rows.
    pub(super) lanes_m: u32,
}

/// Software drivers vectorise a workgroup of 8 over one SIMD register and hold A in a scalar when its address depends on the
/// workgroup alone: tall tiles, one row of lanes.
const SOFTWARE: Tuning = Tuning { lanes: 8, gemm: GemmTile { rows: 16, columns: 2, lanes_n: 8, lanes_m: 1 } };

/// GPUs hide latency by many invocations of moderate register tiles and share rows and columns through the cache.
const GPU: Tuning = Tuning { lanes: 64, gemm: GemmTile { rows: 8, columns: 1, lanes_n: 16, lanes_m: 8 } };

impl Tuning {
    /// The defaults of a device's class, cut down where its limits are smaller.
    pub(super) fn of(limits: &Limits) -> Self {
        let mut tuning = match limits.class {
            DeviceClass::Software => SOFTWARE,
            DeviceClass::Discrete | DeviceClass::Integrated | DeviceClass::Virtual | DeviceClass::Other => GPU,
        };
        while tuning.gemm.lanes_n * tuning.gemm.lanes_m > limits.max_workgroup_invocations && tuning.gemm.lanes_m > 1 {
            tuning.gemm.lanes_m /= 2;
        }
        tuning
    }
}

impl Tuning {
    /// Lanes for kernels whose workgroups walk along `points` elements: no more than there are.
    pub(super) fn lanes_for(&self, points: u64) -> u32 {
        let mut lanes = self.lanes;
        while u64::from(lanes / 2) >= points && lanes > 1 {
            lanes /= 2;
        }
        lanes
    }
}

impl GemmTile {
    /// The same tile for a product of only `m` rows: no register row that could never be stored.
    pub(super) fn for_rows(self, m: u64) -> Self {
        let mut tile = self;
        while u64::from(tile.rows / 2) >= m {
            tile.rows /= 2;
        }
        tile
    }

    /// How the tile is written in the `tuning` column: `16x8 lanes 8x1` is rows × columns of an invocation, lanes along n × m.
    pub(super) fn describe(self) -> String {
        format!("gemm {}x{} lanes {}x{}", self.rows, 4 * self.columns, self.lanes_n, self.lanes_m)
    }
}
