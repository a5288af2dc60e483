//! `alignment`: what a buffer takes beyond its size, from 4 B to 64 MiB.

use super::held::{buffer, size};
use super::{Column, Conclusion, Experiment, ExperimentError, Part, Site};
use crate::device::{Gpu, Instance};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "alignment",
    question: "what does a buffer take beyond its size?",
    options: &[],
    columns: &[&[
        Column { name: "size_bytes", meaning: "what is to be stored" },
        Column { name: "requested_bytes", meaning: "size given to the device: whole words" },
        Column { name: "allocated_bytes", meaning: "what the allocator handed out" },
        Column { name: "tax_bytes", meaning: "allocated less what is to be stored" },
        Column { name: "tax_share", meaning: "the tax as a share of allocated" },
        Column { name: "blocks", meaning: "blocks the allocator holds for this one buffer" },
        Column { name: "reserved_bytes", meaning: "bytes of the blocks" },
    ]],
    parts: |_| vec![Part::Alignment],
};

/// The smallest and the largest power of two in the sweep, as exponents.
const EXPONENTS: std::ops::RangeInclusive<u32> = 2..=26;

/// A buffer of a size, alone on the device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AlignmentRow {
    /// What is to be stored.
    pub size_bytes: u64,
    /// Size given to the device.
    pub requested_bytes: u64,
    /// What the allocator handed out; none where it does not tell, as the following.
    pub allocated_bytes: Option<u64>,
    /// Allocated less what is to be stored.
    pub tax_bytes: Option<u64>,
    /// The tax as a share of allocated.
    pub tax_share: Option<f64>,
    /// Blocks the allocator holds for it.
    pub blocks: Option<u64>,
    /// Their bytes.
    pub reserved_bytes: Option<u64>,
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
    sizes(gpu.limits.max_buffer_bytes).into_iter().map(|size| row(&gpu, size)).collect()
}

fn row(gpu: &Gpu, size_bytes: u64) -> Result<AlignmentRow, ExperimentError> {
    let held = buffer(gpu, Bytes(size_bytes))?;
    let report = gpu.allocator_report();
    let account = held.accounts_by(report.as_ref()).into_iter().next();
    let allocated_bytes = account.and_then(|account| account.allocated).map(|bytes| bytes.0);
    let tax_bytes = allocated_bytes.map(|allocated| allocated.saturating_sub(size_bytes));
    Ok(AlignmentRow {
        size_bytes,
        requested_bytes: account.map_or(size_bytes, |account| account.requested.0),
        allocated_bytes,
        tax_bytes,
        tax_share: tax_bytes
            .zip(allocated_bytes)
            .filter(|(_, allocated)| *allocated > 0)
            .map(|(tax, allocated)| tax as f64 / allocated as f64),
        blocks: report.as_ref().map(|report| report.blocks.len() as u64),
        reserved_bytes: report.as_ref().map(|report| report.reserved().0),
    })
}

pub(super) fn conclude(rows: &[AlignmentRow]) -> Conclusion {
    let known: Vec<(&AlignmentRow, u64, f64)> = rows.iter().filter_map(|row| Some((row, row.tax_bytes?, row.tax_share?))).collect();
    let Some(most) = known.iter().rev().max_by_key(|(_, tax, _)| *tax) else {
        return vec!["The allocator does not tell what it handed out, so nothing can be said of a tax.".to_owned()].into();
    };
    let small = known.iter().filter(|(_, _, share)| *share >= 0.01).map(|(row, ..)| row.size_bytes).max();
    let small = small.map_or("no size is taxed by 1 % or more".to_owned(), |bytes| {
        format!("the largest size that is taxed by 1 % or more is {}", Bytes(bytes))
    });
    let largest = known.iter().map(|(row, ..)| row.size_bytes).max();
    let first =
        format!("The tax is at most {} (for {}), over sizes up to {}; {small}.", Bytes(most.1), Bytes(most.0.size_bytes), size(largest));
    let reserved: Vec<(&AlignmentRow, u64)> = rows.iter().filter_map(|row| Some((row, row.reserved_bytes?))).collect();
    let floor = reserved.iter().map(|(_, bytes)| *bytes).min();
    let own = reserved.iter().find(|(row, bytes)| Some(*bytes) != floor && row.size_bytes < *bytes);
    let own = own.map_or("; no buffer took more".to_owned(), |(row, bytes)| {
        format!("; the first that took more is one of {}, with {bytes:#}", Bytes(row.size_bytes), bytes = Bytes(*bytes))
    });
    vec![first, format!("The least the allocator reserves for a buffer is {}{own}.", size(floor))].into()
}
