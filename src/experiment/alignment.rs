//! `alignment`: what a buffer takes beyond its size, from 3 B to 64 MiB.
//!
//! An allocator begins a buffer at a multiple of an alignment and books the gap before it to it. So what a buffer takes depends on where
//! the one before it ended: for the first of a size that is wgpu's own, for those behind it one of the same size, and then what is
//! allocated is the size rounded up to the alignment, whatever came first.

use super::held::{buffer, settle, size};
use super::{Column, Conclusion, Experiment, ExperimentError, Part, Site};
use crate::device::{AllocatorReport, Gpu, Instance};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "alignment",
    question: "what does a buffer take beyond its size?",
    options: &[],
    columns: &[&[
        Column { name: "size_bytes", meaning: "what is to be stored" },
        Column { name: "buffer", meaning: "1 to 4: of each size four buffers are created in turn and held together" },
        Column { name: "requested_bytes", meaning: "size given to the device: whole words" },
        Column { name: "allocated_bytes", meaning: "what the allocator handed out, the gap before the buffer included" },
        Column { name: "tax_bytes", meaning: "allocated less what is to be stored" },
        Column { name: "tax_share", meaning: "the tax as a share of allocated" },
        Column { name: "new_blocks", meaning: "blocks the allocator added for it: 0 where it lies in one that was there" },
        Column { name: "new_reserved_bytes", meaning: "bytes of these blocks" },
    ]],
    parts: |_| vec![Part::Alignment],
};

/// The smallest and the largest power of two in the sweep, as exponents.
const EXPONENTS: std::ops::RangeInclusive<u32> = 2..=26;
/// Buffers of a size.
const BUFFERS: u64 = 4;

/// A buffer, one of some of a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AlignmentRow {
    /// What is to be stored.
    pub size_bytes: u64,
    /// From 1, in the order they are created.
    pub buffer: u64,
    /// Size given to the device.
    pub requested_bytes: u64,
    /// What the allocator handed out; none where it does not tell, as the following.
    pub allocated_bytes: Option<u64>,
    /// Allocated less what is to be stored.
    pub tax_bytes: Option<u64>,
    /// The tax as a share of allocated.
    pub tax_share: Option<f64>,
    /// Blocks the allocator added for it.
    pub new_blocks: Option<u64>,
    /// Their bytes.
    pub new_reserved_bytes: Option<u64>,
}

impl AlignmentRow {
    /// Whether it lies behind another of its size, in the same block.
    pub fn is_behind(&self) -> bool {
        self.buffer > 1 && self.new_blocks == Some(0)
    }

    /// Whether it has a block that is just as large.
    fn is_alone(&self) -> bool {
        self.new_blocks == Some(1) && self.new_reserved_bytes == self.allocated_bytes
    }
}

/// Powers of two, what is a byte below and above each, and what is halfway to the next; of these what a device allows.
pub(super) fn sizes(most: u64) -> Vec<u64> {
    let around = |exponent: u32| {
        let power = 1_u64 << exponent;
        [power - 1, power, power + 1, power + power / 2 + 1]
    };
    let largest = 1_u64 << EXPONENTS.end();
    let mut sizes: Vec<u64> = EXPONENTS.flat_map(around).filter(|&size| size.next_multiple_of(4) <= most && size <= largest).collect();
    sizes.dedup();
    sizes
}

pub(super) fn run(site: &Site<'_>) -> Result<Vec<AlignmentRow>, ExperimentError> {
    let gpu = Gpu::open_without_clock((site.choose)(&Instance::default())?)?;
    settle(&gpu)?;
    let mut rows = Vec::new();
    for size in sizes(gpu.limits.max_buffer_bytes) {
        let mut held = Vec::new();
        let mut before = gpu.allocator_report();
        for nth in 1..=BUFFERS {
            let created = buffer(&gpu, Bytes(size))?;
            let now = gpu.allocator_report();
            let account = created.accounts_by(now.as_ref()).into_iter().next();
            let allocated = account.and_then(|account| account.allocated).map(|bytes| bytes.0);
            let tax = allocated.map(|allocated| allocated.saturating_sub(size));
            let more = |read: fn(&AllocatorReport) -> u64| Some(read(now.as_ref()?).saturating_sub(read(before.as_ref()?)));
            rows.push(AlignmentRow {
                size_bytes: size,
                buffer: nth,
                requested_bytes: account.map_or(size, |account| account.requested.0),
                allocated_bytes: allocated,
                tax_bytes: tax,
                tax_share: tax.zip(allocated).filter(|(_, all)| *all > 0).map(|(tax, all)| tax as f64 / all as f64),
                new_blocks: more(|report| report.blocks.len() as u64),
                new_reserved_bytes: more(|report| report.reserved().0),
            });
            held.push(created);
            before = now;
        }
    }
    Ok(rows)
}

pub(super) fn conclude(rows: &[AlignmentRow]) -> Conclusion {
    let known: Vec<(&AlignmentRow, u64, f64)> = rows.iter().filter_map(|row| Some((row, row.tax_bytes?, row.tax_share?))).collect();
    if known.is_empty() {
        return vec!["The allocator does not tell what it handed out, so nothing can be said of a tax.".to_owned()].into();
    }
    let behind: Vec<_> = known.iter().filter(|(row, ..)| row.is_behind()).collect();
    let alignment = behind.iter().filter_map(|(row, ..)| row.allocated_bytes).fold(0, gcd);
    // Of what is taxed alike the smallest.
    let most = |rows: &mut dyn Iterator<Item = &(&AlignmentRow, u64, f64)>| {
        rows.map(|(row, tax, _)| (*tax, std::cmp::Reverse(row.size_bytes)))
            .max()
            .map_or("-".to_owned(), |(tax, size)| format!("{} (for {})", Bytes(tax), Bytes(size.0)))
    };
    let taxed = known.iter().filter(|(row, _, share)| row.is_behind() && *share >= 0.01).map(|(row, ..)| row.size_bytes).max();
    let taxed = taxed.map_or("no size is taxed by 1 % or more".to_owned(), |bytes| {
        format!("the largest size that is taxed by 1 % or more is {}", Bytes(bytes))
    });
    let first = if behind.is_empty() {
        "No buffer lies behind another of its size, so nothing can be said of an alignment.".to_owned()
    } else {
        format!(
            "Behind another of its size in a block, each buffer takes a multiple of {}, so that the tax is at most {}; {taxed}.",
            Bytes(alignment),
            most(&mut behind.iter().copied())
        )
    };
    let second = format!(
        "The first of a size pays for the gap behind what was there before it: at most {}, over sizes up to {}.",
        most(&mut known.iter().filter(|(row, ..)| row.buffer == 1)),
        size(known.iter().map(|(row, ..)| row.size_bytes).max())
    );
    let least = rows.iter().filter_map(|row| row.new_reserved_bytes).filter(|bytes| *bytes > 0).min();
    let shared = rows.iter().filter(|row| !row.is_alone()).map(|row| row.size_bytes).max();
    let alone = rows.iter().map(|row| row.size_bytes).find(|bytes| Some(*bytes) > shared);
    let alone = alone.map_or("; the largest buffers share blocks".to_owned(), |bytes| {
        format!("; from {} on each buffer has a block of its own, of its size", Bytes(bytes))
    });
    vec![first, second, format!("The smallest block that was added is {}{alone}.", size(least))].into()
}

/// The greatest common divisor, by Euclid; that of zero and a number is the number.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
