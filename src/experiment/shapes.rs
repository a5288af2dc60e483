//! `shapes`: an input whose size changes at every iteration against one that keeps it, of the same size in the mean.
//!
//! Only the width changes: input, output and column matrix are linear in it, so that the mean of the bytes is that of the widths.

use super::held::{HELD, growth, plan, run as load, told};
use super::{Column, Conclusion, Experiment, ExperimentError, Held, Part, Site};
use crate::conv::Conv;
use crate::device::{Gpu, Instance, Loaded};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "shapes",
    question: "what do sizes that change cost the allocator?",
    options: &["iterations"],
    columns: &[
        &[
            Column {
                name: "sequence",
                meaning: "kept: one plan for all; else a new one each time, of the same or of varying size, \
                    the old one dropped before (drop_first) or after (create_first) the new one is created",
            },
            Column { name: "iteration", meaning: "from 0" },
            Column { name: "conv", meaning: "the convolution" },
            Column { name: "plan_bytes", meaning: "bytes of its buffers, as requested" },
            Column { name: "new_allocations", meaning: "allocations that were not there after the iteration before" },
            Column { name: "compiler_ns", meaning: "time in the driver's compiler" },
        ],
        &HELD,
        &[Column { name: "fragmentation", meaning: "share of the reserved bytes that are handed out to none" }],
    ],
    parts: |settings| Sequence::ALL.map(|sequence| Part::Shapes { sequence, iterations: settings.iterations }).to_vec(),
};

const ALGORITHM: &str = "im2col";
/// Width in the mean, and the most it differs from it.
const WIDTH: (u64, u64) = (56, 28);

/// How plans follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sequence {
    /// One plan, kept.
    Kept,
    /// Plans of one size, the old one dropped first.
    SameDropFirst,
    /// Plans of one size, the new one created first.
    SameCreateFirst,
    /// Plans of varying size, the old one dropped first.
    VaryingDropFirst,
    /// Plans of varying size, the new one created first.
    VaryingCreateFirst,
}

impl Sequence {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Kept, Self::SameDropFirst, Self::SameCreateFirst, Self::VaryingDropFirst, Self::VaryingCreateFirst];

    /// As files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::SameDropFirst => "same_drop_first",
            Self::SameCreateFirst => "same_create_first",
            Self::VaryingDropFirst => "varying_drop_first",
            Self::VaryingCreateFirst => "varying_create_first",
        }
    }

    const fn varies(self) -> bool {
        matches!(self, Self::VaryingDropFirst | Self::VaryingCreateFirst)
    }

    const fn drops_first(self) -> bool {
        matches!(self, Self::SameDropFirst | Self::VaryingDropFirst)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeRow {
    /// How plans follow each other.
    pub sequence: Sequence,
    /// From 0.
    pub iteration: u64,
    /// Canonical key of the convolution.
    pub conv: String,
    /// Bytes of its buffers, as requested.
    pub plan_bytes: u64,
    /// Allocations that were not there after the iteration before; none where the allocator does not tell.
    pub new_allocations: Option<u64>,
    /// Time in the driver's compiler, in nanoseconds.
    pub compiler_ns: u64,
    /// What is held after it ran.
    #[serde(flatten)]
    pub held: Held,
    /// Share of the reserved bytes that are handed out to none.
    pub fragmentation: Option<f64>,
}

/// The width of an iteration: pairs that lie as far above the mean as below it.
pub(super) fn width(sequence: Sequence, iteration: u64) -> u64 {
    let (mean, spread) = WIDTH;
    // 11 has no factor in common with the spread: all distances come before one comes again.
    let distance = iteration / 2 * 11 % spread + 1;
    match (sequence.varies(), iteration.is_multiple_of(2)) {
        (false, _) => mean,
        (true, true) => mean + distance,
        (true, false) => mean - distance,
    }
}

pub(super) fn run(site: &Site<'_>, sequence: Sequence, iterations: u64) -> Result<Vec<ShapeRow>, ExperimentError> {
    let gpu = Gpu::open_without_clock((site.choose)(&Instance::default())?)?;
    let meter = gpu.meter();
    let names = |gpu: &Gpu| Some(gpu.allocator_report()?.allocations.into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>());
    let mut before = names(&gpu);
    let mut rows = Vec::new();
    let mut loaded: Option<Loaded> = None;
    for iteration in 0..iterations {
        let conv: Conv = format!("n1c16h56w{}_k16r3s3_p1", width(sequence, iteration)).parse()?;
        gpu.take_spent();
        if sequence != Sequence::Kept || loaded.is_none() {
            if sequence.drops_first() {
                drop(loaded.take());
            }
            // Where the old plan is still there it goes when the new one takes its place.
            loaded = Some(load(&gpu, plan(ALGORITHM, &conv, &gpu.limits)?)?);
        } else if let Some(kept) = &loaded {
            kept.execute(1, crate::device::Clock::Host)?;
        }
        let compiler = gpu.take_spent().compiler;
        let held = Held::now(&meter, &[&gpu]);
        let now = names(&gpu);
        let fragmentation = held.allocated_bytes.zip(held.reserved_bytes).filter(|(_, reserved)| *reserved > 0);
        rows.push(ShapeRow {
            sequence,
            iteration,
            conv: conv.to_string(),
            plan_bytes: loaded.iter().map(|loaded| loaded.plan().requested_bytes().0).sum(),
            new_allocations: now.as_ref().zip(before.as_ref()).map(|(now, before)| now.difference(before).count() as u64),
            compiler_ns: u64::try_from(compiler.as_nanos()).unwrap_or(u64::MAX),
            held,
            fragmentation: fragmentation.map(|(allocated, reserved)| 1.0 - allocated as f64 / reserved as f64),
        });
        before = now;
    }
    Ok(rows)
}

pub(super) fn conclude(rows: &[ShapeRow]) -> Conclusion {
    let of = |sequence| rows.iter().filter(move |row| row.sequence == sequence);
    let mut reserved = Vec::new();
    let mut others = Vec::new();
    for sequence in Sequence::ALL {
        let (Some(first), Some(last)) = (of(sequence).next(), of(sequence).next_back()) else { continue };
        let most = of(sequence).filter_map(|row| row.held.reserved_bytes).max();
        let fragmentation =
            of(sequence).filter_map(|row| row.fragmentation).fold(None, |most: Option<f64>, f| Some(most.map_or(f, |m| m.max(f))));
        if let (Some(most), Some(fragmentation)) = (most, fragmentation) {
            reserved.push(format!("{sequence} {:#} with up to {:.0} % of it handed out to none", Bytes(most), 100.0 * fragmentation));
        }
        let new: Option<u64> = of(sequence).skip(1).map(|row| row.new_allocations).sum();
        let new = new.map_or("-".to_owned(), |new| new.to_string());
        let compiler: f64 = of(sequence).skip(1).map(|row| row.compiler_ns as f64).sum();
        others.push(format!(
            "{sequence} {new} new allocations, {} resident, {:.1} s of compiling",
            told(growth(first.held.resident_bytes, last.held.resident_bytes)),
            compiler / 1e9
        ));
    }
    let reserved = if reserved.is_empty() { "nobody tells".to_owned() } else { reserved.join("; ") };
    vec![format!("Reserved at most: {reserved}."), format!("From the first iteration to the last: {}.", others.join("; "))].into()
}
