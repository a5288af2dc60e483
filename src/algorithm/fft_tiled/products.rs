//! The products of spectra: for each frequency and group a product of complex matrices, whose real and imaginary parts lie in planes apart.

use crate::algorithm::build::StepBuilder;
use crate::conv::ElementType;
use crate::plan::{Binding, Constant, Limits, Sharing, Step, Tile, TiledKernel, Unsupported};

/// One operand. Of each frequency there are the real parts of all groups' matrices and then the imaginary ones, without gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    pub(super) window: Binding,
    /// Elements from one row to the next.
    pub(super) pitch: u64,
    /// Elements of one plane of a matrix.
    pub(super) plane: u64,
}

/// Complex products of M×K by K×N.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComplexProduct {
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    pub(super) frequencies: u64,
    pub(super) groups: u64,
    pub(super) a: Operand,
    pub(super) b: Operand,
    pub(super) c: Operand,
}

/// Half the tile of a real product, since a complex result takes two accumulators, and the workgroup memory it takes.
///
/// The tuned tiles are for products whose result is large in itself; here there are many small ones, which do not lie side by side. So a
/// tile for very few rows has exactly those, others are the tuned ones of taller results, and none has more columns than are needed.
fn tile(limits: &Limits, m: u64, n: u64, batch: u64) -> (Tile, u32) {
    const FEW: u64 = 4;
    const TALL: u64 = 16;
    let columns = n.saturating_mul(batch);
    let mut tile = limits.tile(TiledKernel::Gemm, if m <= FEW { m } else { m.max(TALL) }, columns);
    let lower = Tile { rows: tile.rows / 2, ..tile };
    if m <= FEW && tile.sharing == Sharing::Cache {
        tile.rows = u32::try_from(m.next_power_of_two()).unwrap_or(1);
        tile.columns = tile.columns.min(8 / tile.rows);
    } else if lower.fault().is_none() {
        tile = lower;
    } else if tile.columns.is_multiple_of(2) {
        tile.columns /= 2;
    }
    while tile.columns.is_multiple_of(2) && u64::from(tile.columns / 2 * tile.lanes_n * 4) >= n {
        tile.columns /= 2;
    }
    while tile.sharing == Sharing::Cache && tile.lanes_n.is_multiple_of(16) && u64::from(tile.columns * tile.lanes_n / 2 * 4) >= n {
        tile.lanes_n /= 2;
    }
    while tile.sharing == Sharing::Workgroup && 2 * tile.workgroup_bytes() > limits.max_workgroup_bytes {
        if tile.depth > 4 {
            tile.depth /= 2;
        } else {
            tile.sharing = Sharing::Cache;
        }
    }
    (tile, 2 * tile.workgroup_bytes())
}

impl ComplexProduct {
    /// The dispatch that computes it.
    pub(super) fn step(&self, limits: &Limits) -> Result<Step, Unsupported> {
        let Self { m, n, k, frequencies, groups, a, b, c } = *self;
        let batch = frequencies * groups;
        let (tile, workgroup_bytes) = tile(limits, m, n, batch);
        let staged = tile.sharing == Sharing::Workgroup;
        let tiles_m = m.div_ceil(u64::from(tile.rows * tile.lanes_m));
        let tiles_n = n.div_ceil(u64::from(tile.columns * tile.lanes_n * 4));
        let bytes = ElementType::F32.bytes();
        let mut step = StepBuilder::new("products", if staged { "fft_products_staged" } else { "fft_products" }, ElementType::F32)
            .tile(tile)
            .workgroup_bytes(workgroup_bytes)
            .constant("rows", Constant::Size(tile.rows))
            .constant("columns", Constant::Size(tile.columns))
            .constant("vector_a", Constant::Flag(k.is_multiple_of(4)))
            .constant("vector_b", Constant::Flag(b.pitch.is_multiple_of(4)))
            .constant("vector_c", Constant::Flag(c.pitch.is_multiple_of(4)));
        step = if staged {
            step.constant("depth", Constant::Size(tile.depth))
                .constant("lanes_n", Constant::Size(tile.lanes_n))
                .constant("lanes_m", Constant::Size(tile.lanes_m))
                .constant("tail", Constant::Flag(!k.is_multiple_of(tile.depth.into())))
        } else {
            step.constant("subgroup", Constant::Flag(tile.sharing == Sharing::Subgroup))
                .constant("blocks", Constant::Flag(k >= 4))
                .constant("tail", Constant::Size(u32::try_from(k % 4).unwrap_or_default()))
        };
        step.bind(a.window)
            .bind(b.window)
            .bind(c.window.write())
            .problem(&[("m", m), ("n", n), ("k", k), ("batch", batch), ("groups", groups)])?
            .problem(&[("a_stride", a.plane), ("lda", a.pitch), ("b_stride", b.plane), ("ldb", b.pitch)])?
            .problem(&[("c_skip", 0), ("c_stride", c.plane), ("ldc", c.pitch), ("tiles_m", tiles_m), ("tiles_n", tiles_n)])?
            .cost(&[8, batch, m, n, k], &[&[2, batch, m, k, bytes], &[2, batch, k, n, bytes], &[2, batch, m, n, bytes]])
            .tiled(tiles_m.saturating_mul(tiles_n).saturating_mul(batch), [tile.lanes_n, tile.lanes_m, 1], limits)
    }
}
