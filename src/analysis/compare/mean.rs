//! The geometric mean of the ratios of many cases.
//!
//! Its interval is that of a bootstrap over the cases: how much the mean would differ with other cases like these. What all cases of a run
//! share, such as a clock rate, moves them together and does not show in it.

use super::Case;
use super::ratio::percentiles;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// How often is drawn anew.
const DRAWS: usize = 2000;

/// Any will do.
const SEED: u64 = 0x6ea7;

/// Fewer cases say nothing of others like them.
const MIN_CASES: usize = 6;

/// A geometric mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its 95 % interval; `None` below 6 cases.
    pub ci95: Option<(f64, f64)>,
    /// Of how many cases.
    pub cases: usize,
}

/// The mean over the cases that have times of the same kind of clock on both sides; `None` where there is none.
pub fn geometric_mean(cases: &[Case]) -> Option<Mean> {
    let ratios = cases.iter().filter_map(|case| case.ratio.as_ref()).filter(|ratio| ratio.same_clock);
    of_logarithms(&ratios.map(|ratio| ratio.value.ln()).collect::<Vec<_>>())
}

pub(super) fn of_logarithms(logs: &[f64]) -> Option<Mean> {
    if logs.is_empty() {
        return None;
    }
    let n = logs.len();
    let mean = |sum: f64| (sum / n as f64).exp();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut drawn = || mean((0..n).map(|_| logs[rng.random_range(0..n)]).sum());
    let ci95 = (n >= MIN_CASES).then(|| percentiles((0..DRAWS).map(|_| drawn()).collect())).flatten();
    Some(Mean { value: mean(logs.iter().sum()), ci95, cases: n })
}
