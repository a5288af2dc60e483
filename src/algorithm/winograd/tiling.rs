//! How the output is cut into tiles, and which convolutions can be.

use super::{Kernels, Winograd};
use crate::algorithm::require;
use crate::conv::{Axis, Conv, Pass};
use crate::plan::Unsupported;
use crate::units::product;

/// The tiles of a convolution.
pub(in crate::algorithm) struct Tiling {
    /// Outputs of a tile along height and width.
    pub(super) m: [u64; 2],
    /// Output points from one of a tile to the next, along height and width.
    pub(super) dilation: [u64; 2],
    /// Tiles across the width.
    pub(in crate::algorithm) columns: u64,
    /// Tiles of one image.
    pub(in crate::algorithm) image: u64,
    /// Tiles of the batch, T.
    pub(in crate::algorithm) all: u64,
}

impl Winograd {
    /// The convolution whose output is computed: the one given, or the one that computes the gradient of its input.
    pub(super) fn form(&self, conv: &Conv) -> Result<Conv, Unsupported> {
        require(self, conv)?;
        if conv.computes() == Pass::Forward {
            return Ok(*conv);
        }
        self.check(conv)?;
        conv.turned().ok_or_else(|| {
            let padding = conv.axes().iter().map(|axis| format!("{}:{}", axis.pad_before, axis.pad_after)).collect::<Vec<_>>().join("x");
            let reason = "the backward_data pass for padding less than the dilated kernel's extent";
            Unsupported::Problem(format!("{} computes {reason}, not {padding}", self.id))
        })
    }

    /// Whether the convolution is one this method computes; if so, its tiles.
    pub(in crate::algorithm) fn tiling(&self, conv: &Conv) -> Result<Tiling, Unsupported> {
        self.check(conv)?;
        let [_, height, width] = conv.axes_3d();
        // One tap has nothing to be dilated, and its axis is left as it is.
        let axes = [height, width];
        let m = axes.map(|axis| if axis.kernel == 1 { 1 } else { self.m });
        let dilation = axes.map(|axis| if axis.kernel == 1 { 1 } else { axis.dilation });
        let along = |axis: &Axis, m: u64, dilation: u64| dilation * axis.output().div_ceil(dilation).div_ceil(m);
        let (rows, columns) = (along(&height, m[0], dilation[0]), along(&width, m[1], dilation[1]));
        let Some((image, all)) = rows.checked_mul(columns).zip(product(&[rows, columns, conv.batch()])) else {
            return Err(Unsupported::overflow("tiles", &[conv.batch(), rows, columns]));
        };
        Ok(Tiling { m, dilation, columns, image, all })
    }

    fn check(&self, conv: &Conv) -> Result<(), Unsupported> {
        let refuse = |reason: String| Err(Unsupported::Problem(reason));
        let [_, height, width] = conv.axes_3d();
        let (id, r, kernel) = (self.id, self.r, (height.kernel, width.kernel));
        match self.kernels {
            Kernels::Square if conv.rank() != 2 => return refuse(format!("{id} is for 2-D convolutions, not {}-D", conv.rank())),
            Kernels::Line if conv.rank() > 2 => return refuse(format!("{id} is for 1-D and 2-D convolutions, not {}-D", conv.rank())),
            Kernels::Square if kernel != (r, r) => return refuse(format!("{id} is for {r}x{r} kernels, not {}x{}", kernel.0, kernel.1)),
            Kernels::Line if kernel != (1, r) && kernel != (r, 1) => {
                return refuse(format!("{id} is for 1x{r} and {r}x1 kernels, not {}x{}", kernel.0, kernel.1));
            }
            Kernels::Square | Kernels::Line => {}
        }
        if (height.stride, width.stride) != (1, 1) {
            return refuse(format!("{id} is for stride 1, not {}x{}", height.stride, width.stride));
        }
        Ok(())
    }
}
