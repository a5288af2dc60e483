//! Unfolding along the width: the kernel that writes column matrices, whole ones for `im2col` and those of kernel rows for `mec`.

use super::build::{StepBuilder, share, word};
use super::{geometry, row};
use crate::conv::Conv;
use crate::plan::{Binding, Constant, Limits, Step, Unsupported};

/// The most taps of a kernel row an invocation copies.
const MOST_TAPS: u64 = 8;

/// What some rows of output points of some images see, unfolded: for each channel and tap a row of as many columns as there are points.
pub(super) struct Unfolding<'a> {
    pub(super) conv: &'a Conv,
    pub(super) images: u64,
    pub(super) input: (Binding, u32),
    pub(super) columns: (Binding, u32),
    /// The depths and rows of output points that are numbered: where they begin, and how many there are.
    pub(super) window: [(u64, u64); 2],
    /// First row of points, by number.
    pub(super) row0: u64,
    /// Points from there on, in whole rows.
    pub(super) points: u64,
}

impl Unfolding<'_> {
    /// The dispatch that does it.
    pub(super) fn step(&self, stage: &'static str, limits: &Limits) -> Result<Step, Unsupported> {
        let &Self { conv, images, input, columns, window: [depths, heights], row0, points } = self;
        let bytes = conv.element().bytes();
        let input_image = conv.channels_in() * conv.input_points();
        let rows = conv.channels_in() * conv.taps();
        let matrix = rows * points;
        let [depth, height, width] = conv.axes_3d();
        let quads_row = width.output().div_ceil(4);
        let quads = points / width.output() * quads_row;
        let lanes = limits.lanes_for(quads);
        let stretches = quads.div_ceil(lanes.into());
        let taps = width.kernel.min(MOST_TAPS);
        let row_pieces = width.kernel.div_ceil(taps);
        let kernel_rows = rows / width.kernel * row_pieces * images;
        let size = |what: &str, value: u64| word(what, value).map(Constant::Size);
        let by_four = [width.output(), points, columns.1.into()].iter().all(|x| x.is_multiple_of(4));
        // A later piece of a kernel row begins as many columns on.
        let aligned = input.1.is_multiple_of(4) && (row_pieces == 1 || (taps * width.dilation).is_multiple_of(4));
        // Points that are numbered from a later one on have less padding before them; below zero it wraps, as the kernel's coordinates do.
        let before = |what: &str, padding: u64, stride: u64, first: u64| {
            Ok::<_, Unsupported>(word(what, padding)?.wrapping_sub(word(what, first * stride)?).into())
        };
        let mut fields = geometry(conv);
        for (name, value) in &mut fields {
            match *name {
                "o" => *value = depths.1,
                "p" => *value = heights.1,
                "pad_d" => *value = before("first depth", depth.pad_before, depth.stride, depths.0)?,
                "pad_h" => *value = before("first row", height.pad_before, height.stride, heights.0)?,
                _ => {}
            }
        }
        let unfold = StepBuilder::new(stage, "im2col", conv.element());
        row::constants(unfold, &row::wanted(4, width.stride, taps, width.dilation), &width, aligned, limits)?
            .constant("taps", size("taps", taps)?)
            .constant("ragged", Constant::Flag(!width.kernel.is_multiple_of(taps)))
            .constant("stride", size("stride", width.stride)?)
            .constant("dilation", size("dilation", width.dilation)?)
            .constant("vector_c", Constant::Flag(by_four))
            .bind(input.0)
            .bind(columns.0.write())
            .problem(&[
                ("pieces", kernel_rows),
                ("row_pieces", row_pieces),
                ("stretches", stretches),
                ("quads", quads),
                ("quads_row", quads_row),
                ("row0", row0),
                ("points", points),
                ("input_skip", input.1.into()),
                ("columns_skip", columns.1.into()),
            ])?
            .problem(&fields)?
            .cost(&[0], &[&[images, matrix, bytes], &[images, share(input_image, points, conv.output_points()), bytes]])
            .tiled(kernel_rows * stretches, [lanes, 1, 1], limits)
    }
}
