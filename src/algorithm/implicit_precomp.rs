//! `implicit_precomp`: the product of im2col with the patches read in place, at distances from their corner that are tabled once.
//!
//! A row of the column matrix is an element of a patch: its offset from the patch's corner does not depend on the patch. One 32-bit entry for
//! each of the `C/g·T·R·S` holds the offset and the tap's coordinates, so that rows are taken in the order of the weights without a
//! division; a column has a mask with a bit for each coordinate of a tap that is inside. With `points` the corners of the `O·P·Q`
//! output points are tabled as well; with `taps` they are computed, once for each column of a register tile.
//!
//! cuDNN has a method of this name (`IMPLICIT_PRECOMP_GEMM`), which tables offsets likewise.

use super::build::{Part, StepBuilder, image_parts};
use super::gemm::Patches;
use super::reading::{Packing, Reading};
use super::{Algorithm, Variant, geometry};
use crate::conv::{Conv, ElementType};
use crate::plan::{BufferId, Limits, Plan, Unsupported, workspace_bytes};
use crate::units::Bytes;

/// The product by tabled offsets.
pub struct ImplicitPrecomp;

/// Bits of an entry.
const ENTRY: u32 = 32;
/// Most bits of one field: a shift by all bits of a word is none.
const FIELD: u32 = ENTRY - 1;

/// Bits that hold numbers up to `most`.
fn bits(most: u64) -> u32 {
    u64::BITS - most.leading_zeros()
}

impl ImplicitPrecomp {
    /// How the tables are packed, that of the points only with `points`.
    fn packing(&self, conv: &Conv, points: bool) -> Result<Packing, Unsupported> {
        let id = self.id();
        let refuse = |reason: String| Err(Unsupported::Problem(reason));
        let axes = conv.axes_3d();
        let [depth, height, width] = axes;
        let coordinates: u64 = axes.iter().map(|axis| axis.kernel).sum();
        if coordinates > u64::from(ENTRY) {
            let [t, r, s] = axes.map(|axis| axis.kernel);
            return refuse(format!("{id} has {ENTRY} bits for the coordinates of taps, not {t} + {r} + {s}"));
        }
        let tap = axes.map(|axis| bits(axis.kernel - 1));
        let offset = (ENTRY - tap.iter().sum::<u32>()).min(FIELD);
        let pitches = [height.size * width.size, width.size, 1];
        let within: u128 = axes.iter().zip(pitches).map(|(axis, pitch)| u128::from(axis.span() - 1) * u128::from(pitch)).sum();
        let farthest = u128::from((conv.group_channels_in() - 1) * conv.input_points()) + within;
        if farthest >> offset > 0 {
            return refuse(format!("{id} has {offset} bits beside the tap for offsets, not for {farthest}"));
        }
        if !points {
            return Ok(Packing { offset, tap: [tap[1], tap[2]], corner: [0, 0] });
        }
        let last = [depth, height, width].map(|axis| (axis.output() - 1) * axis.stride);
        let corner = last.map(bits);
        if corner.iter().sum::<u32>() > ENTRY || corner.iter().any(|&bits| bits > FIELD) {
            let [d, h, w] = last;
            return refuse(format!("{id}:points has {ENTRY} bits for a corner, not for {d}, {h}, {w}"));
        }
        Ok(Packing { offset, tap: [tap[1], tap[2]], corner: [corner[1], corner[2]] })
    }

    /// Whether a variant tables the corners of the points.
    fn points(&self, variant: &Variant) -> Result<bool, Unsupported> {
        match variant.parts() {
            ("taps", None) => Ok(false),
            ("points", None) => Ok(true),
            _ => Err(super::unknown_variant(self, variant)),
        }
    }

    /// Writes a table of `entries`, once.
    fn push_table(
        plan: &mut Plan,
        conv: &Conv,
        (stage, shader): (&'static str, &str),
        table: BufferId,
        packing: &Packing,
        limits: &Limits,
    ) -> Result<(), Unsupported> {
        let entries = plan.buffer(table).elements;
        let step = packing
            .describe(StepBuilder::new(stage, shader, ElementType::U32))
            .bind(plan.whole(table).write())
            .problem(&[("entries", entries)])?
            .problem(&geometry(conv))?
            .cost(&[0], &[&[entries, ElementType::U32.bytes()]])
            .once()
            .linear(entries, limits.lanes(), limits)?;
        plan.steps.push(step);
        Ok(())
    }
}

impl Algorithm for ImplicitPrecomp {
    fn id(&self) -> &'static str {
        "implicit_precomp"
    }

    fn summary(&self) -> &'static str {
        "the matrix product of im2col with the patches read in place by tabled offsets; kernels of up to 32 coordinates along all axes"
    }

    fn workspace_formula(&self) -> &'static str {
        "taps: C/g*T*R*S integers; points: C/g*T*R*S + O*P*Q integers"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["taps", "points"]
    }

    fn variants(&self, conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        let points = self.packing(conv, true).is_ok().then(|| Variant::word("points"));
        [Variant::word("taps")].into_iter().chain(points).collect()
    }

    fn elements(&self) -> &'static [ElementType] {
        super::FLOATS
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        super::require(self, conv)?;
        let points = self.points(variant)?;
        self.packing(conv, points)?;
        let offsets = workspace_bytes("offset table", &[conv.group_channels_in(), conv.taps()], ElementType::U32)?;
        if !points {
            return Ok(offsets);
        }
        let corners = workspace_bytes("corner table", &[conv.output_points()], ElementType::U32)?;
        offsets.checked_add(corners).ok_or_else(|| Unsupported::overflow("tables", &[conv.reduction(), conv.output_points()]))
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        let packing = self.packing(conv, self.points(variant)?)?;
        let points = conv.output_points();
        let mut plan = Plan::new(conv);
        let offsets = plan.cached_workspace("offset_table", &[conv.group_channels_in(), conv.taps()], ElementType::U32)?;
        let corners = if self.points(variant)? { Some(plan.cached_workspace("corner_table", &[points], ElementType::U32)?) } else { None };
        if conv.batch() > 0 {
            Self::push_table(&mut plan, conv, ("offset_table", "implicit_precomp_taps"), offsets, &packing, limits)?;
            if let Some(corners) = corners {
                Self::push_table(&mut plan, conv, ("corner_table", "implicit_precomp_points"), corners, &packing, limits)?;
            }
        }
        for Part { images, input, output, .. } in image_parts(&plan, conv, limits)? {
            let reading = Reading::Offsets { packing, offsets: plan.whole(offsets), corners: corners.map(|corners| plan.whole(corners)) };
            let weights = plan.whole(Plan::WEIGHTS);
            let multiply = Patches { conv, images, points, input, reading, weights, output, parts: 1 };
            plan.steps.push(multiply.step("implicit_precomp", limits)?);
        }
        plan.finish(limits)
    }
}
