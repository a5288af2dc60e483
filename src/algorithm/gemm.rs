//! The one matrix product that im2col and Winograd share: batched, strided, row-major, register-blocked.

use super::build::StepBuilder;
use super::tuning::GemmTile;
use crate::conv::ElementType;
use crate::plan::{Binding, Constant, Limits, Step, Unsupported};

/// One operand of a batched product.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    /// Window of its buffer, and the elements in it before the first matrix.
    pub(super) window: (Binding, u32),
    /// Elements from one row to the next.
    pub(super) pitch: u64,
    /// Elements from one matrix of the batch to the next.
    pub(super) stride: u64,
}

/// `batch` products of an M×K by a K×N matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    pub(super) stage: &'static str,
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    pub(super) batch: u64,
    pub(super) a: Matrix,
    /// A repeats after so many matrices: the groups, where the batch runs over images and groups.
    pub(super) a_period: u64,
    pub(super) b: Matrix,
    pub(super) c: Matrix,
}

impl Product {
    /// The dispatches that compute it, in `tile`s.
    pub(super) fn step(&self, element: ElementType, tile: GemmTile, limits: &Limits) -> Result<Step, Unsupported> {
        let tile = tile.for_rows(self.m);
        let by_four = |m: &Matrix| [u64::from(m.window.1), m.pitch, m.stride].iter().all(|x| x.is_multiple_of(4));
        let vector_a = by_four(&self.a) && self.k.is_multiple_of(4);
        let vector_n = by_four(&self.b) && by_four(&self.c) && self.n.is_multiple_of(4);
        let tiles_m = self.m.div_ceil(u64::from(tile.rows * tile.lanes_m));
        let tiles_n = self.n.div_ceil(u64::from(tile.columns * tile.lanes_n * 4));
        let bytes = element.bytes();
        StepBuilder::new(self.stage, "gemm", element)
            .constant("rows", Constant::Size(tile.rows))
            .constant("columns", Constant::Size(tile.columns))
            .constant("vector_a", Constant::Flag(vector_a))
            .constant("vector_n", Constant::Flag(vector_n))
            .bind(self.a.window.0)
            .bind(self.b.window.0)
            .bind(self.c.window.0.write())
            .problem(&[
                ("m", self.m),
                ("n", self.n),
                ("k", self.k),
                ("batch", self.batch),
                ("a_skip", self.a.window.1.into()),
                ("a_stride", self.a.stride),
                ("a_period", self.a_period),
                ("lda", self.a.pitch),
                ("b_skip", self.b.window.1.into()),
                ("b_stride", self.b.stride),
                ("ldb", self.b.pitch),
                ("c_skip", self.c.window.1.into()),
                ("c_stride", self.c.stride),
                ("ldc", self.c.pitch),
                ("tiles_m", tiles_m),
                ("tiles_n", tiles_n),
            ])?
            .cost(
                &[2, self.batch, self.m, self.n, self.k],
                &[
                    &[self.a_period.min(self.batch), self.m, self.k, bytes],
                    &[self.batch, self.k, self.n, bytes],
                    &[self.batch, self.m, self.n, bytes],
                ],
            )
            .tiled(tiles_m * tiles_n * self.batch, [tile.lanes_n, tile.lanes_m, 1], limits)
    }
}
