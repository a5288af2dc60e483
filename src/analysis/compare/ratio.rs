//! The ratio of two medians and its 95 % interval.
//!
//! From the samples of both runs by a bootstrap: blocks of consecutive samples are drawn with replacement on either side, the ratio of the
//! medians of what was drawn is noted, and the interval leaves 2.5 % of these ratios out on either end (percentile interval, Efron and
//! Tibshirani 1993, An Introduction to the Bootstrap, 13). Neighbouring samples resemble each other, so blocks of ⌈n^⅓⌉ samples
//! are drawn, not single ones (Künsch 1989, The jackknife and the bootstrap for general stationary observations; the ring of samples is
//! closed as in Politis and Romano 1992). Outliers are drawn like all others. The seed is fixed: the same files give the same interval.
//!
//! Where a run's samples were not kept, from the recorded medians m and their 95 % intervals (l, u): on the scale of logarithms the distances
//! to the ends are added as squares, ln(m₂/m₁) − √(ln²(m₂/l₂) + ln²(u₁/m₁)) and ln(m₂/m₁) + √(ln²(u₂/m₂) + ln²(m₁/l₁)) (Zou and Donner 2008,
//! Construction of confidence limits about effect measures; exact for normal errors, and asymmetric where the intervals are).

use super::Sides;
use crate::record::{Measurement, SampleRow, Status};
use crate::stats::Samples;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// How often is drawn anew.
const DRAWS: usize = 2000;

/// Any will do.
const SEED: u64 = 0x5eed;

/// Below this many samples on a side there is no interval, as for the median itself ([`Samples::ci95_median`]).
const MIN_SAMPLES: usize = 6;

/// Further apart than this, relative to it, the recorded median is not that of the samples.
const SAME_MEDIAN: f64 = 1e-9;

/// What the interval of a ratio was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Both rows are the same record, of the same run: there is one measurement, and the ratio is 1.
    Identical,
    /// The samples of both runs.
    Samples,
    /// The medians' recorded intervals.
    Intervals,
    /// The medians alone; there is no interval.
    Medians,
}

impl Evidence {
    /// The evidence in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Samples => "samples",
            Self::Intervals => "intervals",
            Self::Medians => "medians",
        }
    }
}

/// The other run's median time over the baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// Above 1 the other run is slower.
    pub value: f64,
    /// Its 95 % interval; `None` where a side has too few samples.
    pub ci95: Option<(f64, f64)>,
    /// What the interval is from.
    pub evidence: Evidence,
    /// How far the samples of both runs drifted while they were taken, as a factor of at least 1: what a time may be off by that the
    /// interval does not know of. See [`super::Verdict`].
    pub drift: f64,
    /// How far repeats of the baseline lie apart, as a factor of at least 1; 1 where there are none. See [`super::Comparison::allow_for`].
    pub repeats: f64,
    /// A clock seemed to go down in one of the runs, by how much is not known.
    pub throttled: bool,
    /// Whether both were timed by the same kind of clock.
    pub same_clock: bool,
    /// `samples.csv` of a run holds other samples than those that its recorded median is of; they were not used.
    pub contradicted: bool,
}

/// A row and its samples.
type Row<'a> = (&'a Measurement, &'a [&'a SampleRow]);

impl Ratio {
    /// By how much the interval is widened on either side, for what it does not know of: drift or repeats, whichever is more.
    pub fn widening(&self) -> f64 {
        self.drift.max(self.repeats)
    }

    /// The ratio of two rows, `None` where one has no time. `copies` tells whether they are of one run.
    pub(super) fn of((a, sa): Row<'_>, (b, sb): Row<'_>, copies: bool) -> Option<Self> {
        let (ma, mb) = (median(a)?, median(b)?);
        let same_clock = a.clock == b.clock;
        let same_samples = sa == sb || sa.is_empty() || sb.is_empty();
        if copies && same_clock && times(a) == times(b) && same_samples {
            let evidence = Evidence::Identical;
            return Some(Self {
                value: 1.0,
                ci95: Some((1.0, 1.0)),
                evidence,
                drift: 1.0,
                repeats: 1.0,
                throttled: false,
                same_clock,
                contradicted: false,
            });
        }
        let sides = Sides { baseline: taken(sa, ma), other: taken(sb, mb) };
        let contradicted = (!sa.is_empty() && sides.baseline.is_none()) || (!sb.is_empty() && sides.other.is_none());
        let (ci95, evidence) = match (sides.baseline, sides.other) {
            (Some(a), Some(b)) => (of_samples(&a, &b), Evidence::Samples),
            _ => (of_intervals((ma, interval(a)), (mb, interval(b))), Evidence::Intervals),
        };
        let evidence = if ci95.is_some() { evidence } else { Evidence::Medians };
        let noises = [&a.noise, &b.noise].map(|noise| Noise::parse(noise));
        let drift = noises.iter().map(|noise| 1.0 + noise.drift.unwrap_or(0.0).abs()).product();
        let throttled = noises.iter().any(|noise| noise.throttled && noise.drift.is_none());
        Some(Self { value: mb / ma, ci95, evidence, drift, repeats: 1.0, throttled, same_clock, contradicted })
    }
}

/// The median of a case that has one.
pub(super) fn median(row: &Measurement) -> Option<f64> {
    row.time_median_ns.filter(|&t| row.status == Status::Ok && t.is_finite() && t > 0.0)
}

fn times(row: &Measurement) -> [Option<f64>; 7] {
    let Measurement { time_median_ns, time_min_ns, time_mean_ns, time_p05_ns, time_p95_ns, .. } = *row;
    [time_median_ns, time_min_ns, time_mean_ns, time_p05_ns, time_p95_ns, row.time_ci95_low_ns, row.time_ci95_high_ns]
}

/// The samples, where there are some and `median` is theirs.
fn taken(rows: &[&SampleRow], median: f64) -> Option<Samples> {
    let samples = Samples::new(rows.iter().map(|row| row.time_ns).collect()).ok()?;
    ((samples.median() - median).abs() <= SAME_MEDIAN * median).then_some(samples)
}

fn interval(row: &Measurement) -> Option<(f64, f64)> {
    row.time_ci95_low_ns.zip(row.time_ci95_high_ns)
}

/// What a row's `noise` says that bears on a comparison.
struct Noise {
    /// Last third over first, less 1.
    drift: Option<f64>,
    throttled: bool,
}

impl Noise {
    fn parse(text: &str) -> Self {
        let drift = text.split(';').find_map(|note| note.strip_prefix("drift=")?.strip_suffix('%')?.parse::<f64>().ok());
        let throttled = text.split(';').any(|note| note == "throttling_suspected");
        Self { drift: drift.filter(|drift| drift.is_finite()).map(|drift| drift / 100.0), throttled }
    }
}

/// The 95 % interval of the median of `b` over that of `a`, by the bootstrap; `None` where a side has fewer than 6 samples.
pub fn of_samples(a: &Samples, b: &Samples) -> Option<(f64, f64)> {
    if a.taken().len().min(b.taken().len()) < MIN_SAMPLES {
        return None;
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut scratch = Vec::new();
    let mut ratios = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let drawn = drawn_median(a.taken(), &mut rng, &mut scratch);
        ratios.push(drawn_median(b.taken(), &mut rng, &mut scratch) / drawn);
    }
    percentiles(ratios)
}

/// What 2.5 % of the numbers lie below, and what 2.5 % lie above.
pub(super) fn percentiles(numbers: Vec<f64>) -> Option<(f64, f64)> {
    let drawn = Samples::new(numbers).ok()?;
    Some((drawn.quantile(0.025), drawn.quantile(0.975)))
}

/// The median of as many samples as there are, drawn in blocks.
fn drawn_median(taken: &[f64], rng: &mut impl RngExt, scratch: &mut Vec<f64>) -> f64 {
    let n = taken.len();
    let block = (1..=n).find(|block| block.pow(3) >= n).unwrap_or(1);
    scratch.clear();
    while scratch.len() < n {
        let start = rng.random_range(0..n);
        let length = block.min(n - scratch.len());
        scratch.extend((start..start + length).map(|at| taken[at % n]));
    }
    let (below, &mut upper, _) = scratch.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 { upper } else { f64::midpoint(below.iter().copied().fold(f64::MIN, f64::max), upper) }
}

/// A median and its 95 % interval.
pub type Estimate = (f64, Option<(f64, f64)>);

/// The 95 % interval of the second median over the first, from theirs; `None` where one has none that holds it.
pub fn of_intervals((ma, a): Estimate, (mb, b): Estimate) -> Option<(f64, f64)> {
    let sound = |m: f64, (low, high): (f64, f64)| (0.0 < low && low <= m && m <= high && high.is_finite()).then_some((low, high));
    let ((la, ua), (lb, ub)) = (sound(ma, a?)?, sound(mb, b?)?);
    let log = (mb / ma).ln();
    let below = (mb / lb).ln().hypot((ua / ma).ln());
    let above = (ub / mb).ln().hypot((ma / la).ln());
    Some(((log - below).exp(), (log + above).exp()))
}
