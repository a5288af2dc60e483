//! How the product of [`Patches`](super::gemm::Patches) finds the elements of a column matrix that nobody wrote down.

use super::build::{StepBuilder, word};
use super::is_dense;
use crate::conv::Conv;
use crate::plan::{Binding, Constant, Unsupported};

/// Where the elements of the column matrix are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    /// In the input, each tap tested against its edges.
    Input,
    /// In the gradient of the output, which the product of the transposed weights with it makes the gradient of the input.
    Gradient,
    /// In the input lowered along the width.
    Lowered(Lowered),
    /// In the input, where a table has the offset of each tap of each point.
    Table(Binding),
    /// In the input, at a tabled distance from the patch's corner for each row of the matrix.
    Offsets {
        /// How entries are packed.
        packing: Packing,
        /// An entry for each channel of a group and tap.
        offsets: Binding,
        /// An entry for each output point of an image, or nothing where corners are computed.
        corners: Option<Binding>,
    },
}

/// The input unfolded along the width alone, padding included. Of a channel first the taps of a kernel row, then depths, then rows of as many
/// columns as an output row has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lowered {
    /// Depths of the padded input that are there.
    pub(super) depths: u64,
    /// Rows of each.
    pub(super) rows: u64,
}

/// How tabled entries are packed in 32 bits. A row of the matrix: its tap's coordinates along depth, height and width above the offset from
/// the corner. A corner: its coordinates in the padded input along depth, height and width, the width's in the lowest bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    /// Bits of an offset.
    pub(super) offset: u32,
    /// Bits of a tap's coordinate along height and width.
    pub(super) tap: [u32; 2],
    /// Bits of a corner's coordinate along height and width.
    pub(super) corner: [u32; 2],
}

impl Packing {
    /// What the kernels that write and read the tables take.
    pub(super) fn describe(&self, step: StepBuilder) -> StepBuilder {
        let Self { offset, tap: [tap_h, tap_w], corner: [corner_h, corner_w] } = *self;
        [("offset_bits", offset), ("tap_h", tap_h), ("tap_w", tap_w), ("corner_h", corner_h), ("corner_w", corner_w)]
            .into_iter()
            .fold(step, |step, (name, bits)| step.constant(name, Constant::Size(bits)))
    }
}

impl Reading {
    fn name(&self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Gradient => "gradient",
            Self::Lowered(_) => "lowered",
            Self::Table(_) => "table",
            Self::Offsets { .. } => "offsets",
        }
    }

    /// Elements from one channel to the next.
    pub(super) fn volume(&self, conv: &Conv) -> u64 {
        let [_, _, width] = conv.axes_3d();
        match self {
            Self::Lowered(Lowered { depths, rows }) => width.kernel * depths * rows * width.output(),
            Self::Gradient => conv.output_points(),
            _ => conv.input_points(),
        }
    }

    /// Whether rows of the matrix are taken in the order of the weights, whatever the tile.
    pub(super) fn is_flat(&self) -> bool {
        matches!(self, Self::Offsets { .. })
    }

    /// Whether columns lie together in vectors of four, where the buffer begins with one.
    pub(super) fn vectors(&self, conv: &Conv) -> bool {
        let [_, _, width] = conv.axes_3d();
        matches!(self, Self::Lowered(_)) && width.output().is_multiple_of(4)
    }

    /// Words of the tables.
    pub(super) fn words(&self, conv: &Conv) -> u64 {
        match self {
            Self::Input | Self::Gradient | Self::Lowered(_) => 0,
            Self::Table(_) => conv.output_points() * conv.taps(),
            Self::Offsets { corners, .. } => conv.reduction() + if corners.is_some() { conv.output_points() } else { 0 },
        }
    }

    /// The kernel's part of it, sizes folded into the text with `fold`: constants, sizes and tables.
    pub(super) fn describe(&self, step: StepBuilder, conv: &Conv, fold: bool) -> Result<StepBuilder, Unsupported> {
        let step = step.constant("reading", Constant::Word(self.name().into()));
        let [depth, height, width] = conv.axes_3d();
        match self {
            Self::Input => Ok(step),
            Self::Gradient => Ok(step.constant("dense", Constant::Flag(is_dense(conv)))),
            Self::Lowered(Lowered { depths, rows }) => {
                let row = width.output();
                // A step past the end is never taken.
                let along = |step: u64, extent: u64, pitch: u64| if step < extent { step * pitch } else { 0 };
                let sizes = [
                    ("step_d", along(depth.stride, *depths, rows * row)),
                    ("step_h", along(height.stride, *rows, row)),
                    ("tap_d", along(depth.dilation, *depths, rows * row)),
                    ("tap_h", along(height.dilation, *rows, row)),
                    ("tap_w", depths * rows * row),
                ];
                step.sizes(&sizes, fold)
            }
            Self::Table(table) => {
                word("offset table: entries", conv.output_points().saturating_mul(conv.taps()))?;
                Ok(step.constant("vector_t", Constant::Flag(conv.output_points().is_multiple_of(4))).bind(*table))
            }
            Self::Offsets { packing, offsets, corners } => {
                let step = packing.describe(step).constant("corners", Constant::Flag(corners.is_some())).bind(*offsets);
                Ok(corners.iter().fold(step, |step, corners| step.bind(*corners)))
            }
        }
    }
}
