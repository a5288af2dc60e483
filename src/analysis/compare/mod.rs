//! Two runs, case by case: what became faster or slower, by how much and how surely, and whose bytes grew.
//!
//! The ratio of a case is its median time in the other run over that in the baseline: above 1 the other run is slower. Its 95 % interval
//! ([`Ratio`]) and the verdict on it ([`Verdict`]) are stated in their modules. An interval covers the scatter of the samples *within* the
//! two runs. It does not cover what differs *between* runs while each is steady: another clock rate or temperature, what else the machine
//! did, where buffers came to lie. Two runs of the same program differ by that: [`Comparison::allow_for`] takes repeats of the baseline for it.
//!
//! Cases are matched by their whole [`CaseKey`] first, then, where suites or layers are named otherwise, by problem, algorithm, variant and
//! cache, where that leaves one case on either side (`matching`).

mod environment;
mod gate;
mod matching;
mod mean;
mod ratio;
#[cfg(test)]
mod tests;
mod verdict;

pub use environment::{Difference, Peak, differences, peaks};
pub use gate::{Failure, Gate, GateError};
pub use matching::{MatchedBy, Missing};
pub use mean::{Mean, geometric_mean};
pub use ratio::{Estimate, Evidence, Ratio, of_intervals, of_samples};
pub use verdict::{Doubt, Judgement, Threshold, ThresholdError, Verdict};

use crate::device::Clock;
use crate::ledger::Ledger;
use crate::record::{CaseKey, Measurement, Run, SampleRow, Status};
use matching::matches;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::HashMap;

/// A value of the baseline and the same of the other run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sides<T> {
    /// Of the baseline.
    pub baseline: T,
    /// Of the run held against it.
    pub other: T,
}

impl<T> Sides<T> {
    /// The same of both rows.
    fn of<'a>(a: &'a Measurement, b: &'a Measurement, of: impl Fn(&'a Measurement) -> T) -> Self {
        Self { baseline: of(a), other: of(b) }
    }
}

impl<T: PartialEq> Sides<T> {
    /// Whether both are the same.
    pub fn agree(&self) -> bool {
        self.baseline == self.other
    }
}

/// Where a number of bytes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The closed form.
    Predicted,
    /// The size given to the device.
    Requested,
    /// What the allocator handed out.
    Allocated,
}

impl Level {
    /// The level as columns have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Requested => "requested",
            Self::Allocated => "allocated",
        }
    }
}

/// Bytes of one ledger at one level; a side is `None` where its row does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Whose bytes.
    pub ledger: Ledger,
    /// At which level.
    pub level: Level,
    /// How many.
    pub bytes: Sides<Option<u64>>,
}

impl Memory {
    /// Bytes more than in the baseline, negative where fewer; `None` where a side does not say.
    pub fn growth(&self) -> Option<i128> {
        Some(i128::from(self.bytes.other?) - i128::from(self.bytes.baseline?))
    }
}

/// A case that both runs have.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What it is called in either run.
    pub key: Sides<CaseKey>,
    /// How the two were found to be the same.
    pub matched: MatchedBy,
    /// What became of it.
    pub status: Sides<Status>,
    /// Why.
    pub reason: Sides<String>,
    /// Which tiles it ran with.
    pub tuning: Sides<String>,
    /// What is to be held against its samples.
    pub noise: Sides<String>,
    /// Whose clock timed it.
    pub clock: Sides<Option<Clock>>,
    /// Median times, in nanoseconds.
    pub median_ns: Sides<Option<f64>>,
    /// Times of what runs once for given weights, in nanoseconds; they have no interval and get no verdict.
    pub preparation_ns: Sides<Option<f64>>,
    /// The times, one over the other; `None` where a side has none.
    pub ratio: Option<Ratio>,
    /// Every ledger at every level.
    pub memory: Vec<Memory>,
}

impl Case {
    /// What the ratio amounts to; `None` where there is none.
    pub fn judge(&self, threshold: Threshold) -> Option<Judgement> {
        self.ratio.as_ref().map(|ratio| ratio.judge(threshold))
    }

    /// The algorithm with its variant.
    pub fn algorithm(&self) -> String {
        self.key.baseline.variant.qualify(&self.key.baseline.algorithm)
    }
}

/// A case of one run that the other has not, or that could be several there.
#[derive(Debug, Clone, PartialEq)]
pub struct Lone {
    /// The case.
    pub key: CaseKey,
    /// What became of it.
    pub status: Status,
    /// Why it has no counterpart.
    pub why: Missing,
}

/// A run held against a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The cases of both, in the baseline's order.
    pub cases: Vec<Case>,
    /// Those of one only.
    pub lone: Sides<Vec<Lone>>,
}

impl Comparison {
    /// Sums over the cases that say it on both sides, for each ledger at each level.
    pub fn memory_totals(&self) -> Vec<Memory> {
        let mut totals: Vec<Memory> = Vec::new();
        for memory in self.cases.iter().flat_map(|case| &case.memory) {
            let Sides { baseline: Some(a), other: Some(b) } = memory.bytes else { continue };
            let same = |total: &&mut Memory| (total.ledger, total.level) == (memory.ledger, memory.level);
            let add = |sum: Option<u64>, bytes: u64| sum.map(|sum| sum.saturating_add(bytes));
            match totals.iter_mut().find(same) {
                Some(Memory { bytes, .. }) => *bytes = Sides { baseline: add(bytes.baseline, a), other: add(bytes.other, b) },
                None => totals.push(*memory),
            }
        }
        totals
    }
}

impl Comparison {
    /// Widens each ratio by what the medians of `repeats` differ by from each other and from that of `baseline`, whose runs they repeat: a
    /// ratio no further from 1 is nothing that the baseline does not do by itself. Cases that no repeat has stay as they are. The number of
    /// cases that have a repeat.
    pub fn allow_for(&mut self, baseline: &Run, repeats: &[Run]) -> usize {
        let mut spread: HashMap<&CaseKey, (f64, f64)> = HashMap::new();
        for repeat in repeats {
            for (i, j, _) in matches(&baseline.measurements, &repeat.measurements).pairs {
                let (a, b) = (&baseline.measurements[i], &repeat.measurements[j]);
                let (Some(ma), Some(mb)) = (ratio::median(a), ratio::median(b)) else { continue };
                let (low, high) = spread.entry(&a.case).or_insert((1.0, 1.0));
                (*low, *high) = (low.min(mb / ma), high.max(mb / ma));
            }
        }
        for case in &mut self.cases {
            if let (Some(ratio), Some((low, high))) = (&mut case.ratio, spread.get(&case.key.baseline)) {
                ratio.repeats = high / low;
            }
        }
        spread.len()
    }
}

/// Holds `other` against `baseline`.
pub fn compare(baseline: &Run, other: &Run) -> Comparison {
    let (a, b) = (&baseline.measurements, &other.measurements);
    let found = matches(a, b);
    let samples = Sides { baseline: samples_of(baseline), other: samples_of(other) };
    let copies = baseline.environment.run_id == other.environment.run_id;
    let cases = found.pairs.par_iter().map(|&(i, j, matched)| case(&a[i], &b[j], matched, &samples, copies)).collect();
    let lone = |rows: &[Measurement], missing: Vec<(usize, Missing)>| {
        missing.into_iter().map(|(at, why)| Lone { key: rows[at].case.clone(), status: rows[at].status, why }).collect()
    };
    Comparison { cases, lone: Sides { baseline: lone(a, found.only_baseline), other: lone(b, found.only_other) } }
}

type SamplesByCase<'a> = HashMap<&'a CaseKey, Vec<&'a SampleRow>>;

/// The samples of each case, in the order taken.
fn samples_of(run: &Run) -> SamplesByCase<'_> {
    let mut by_case: SamplesByCase<'_> = HashMap::new();
    for row in &run.samples {
        by_case.entry(&row.case).or_default().push(row);
    }
    for rows in by_case.values_mut() {
        rows.sort_by_key(|row| row.sample);
    }
    by_case
}

fn case(a: &Measurement, b: &Measurement, matched: MatchedBy, samples: &Sides<SamplesByCase<'_>>, copies: bool) -> Case {
    let sa = samples.baseline.get(&a.case).map_or(&[][..], Vec::as_slice);
    let sb = samples.other.get(&b.case).map_or(&[][..], Vec::as_slice);
    let text = |of: fn(&Measurement) -> &String| Sides::of(a, b, |row| of(row).clone());
    Case {
        key: Sides::of(a, b, |row| row.case.clone()),
        matched,
        status: Sides::of(a, b, |row| row.status),
        reason: text(|row| &row.reason),
        tuning: text(|row| &row.tuning),
        noise: text(|row| &row.noise),
        clock: Sides::of(a, b, |row| row.clock),
        median_ns: Sides::of(a, b, |row| row.time_median_ns),
        preparation_ns: Sides::of(a, b, |row| row.time_preparation_ns),
        ratio: Ratio::of((a, sa), (b, sb), copies),
        memory: memory(a, b),
    }
}

fn memory(a: &Measurement, b: &Measurement) -> Vec<Memory> {
    type Bytes = fn(&Measurement) -> Option<u64>;
    let columns: [(Ledger, Level, Bytes); 9] = [
        (Ledger::Parameter, Level::Predicted, |row| Some(row.parameter_bytes)),
        (Ledger::Parameter, Level::Requested, |row| row.parameter_requested_bytes),
        (Ledger::Parameter, Level::Allocated, |row| row.parameter_allocated_bytes),
        (Ledger::Activation, Level::Predicted, |row| Some(row.activation_bytes)),
        (Ledger::Activation, Level::Requested, |row| row.activation_requested_bytes),
        (Ledger::Activation, Level::Allocated, |row| row.activation_allocated_bytes),
        (Ledger::Computation, Level::Predicted, |row| row.computation_bytes),
        (Ledger::Computation, Level::Requested, |row| row.computation_requested_bytes),
        (Ledger::Computation, Level::Allocated, |row| row.computation_allocated_bytes),
    ];
    columns.into_iter().map(|(ledger, level, bytes)| Memory { ledger, level, bytes: Sides::of(a, b, bytes) }).collect()
}
