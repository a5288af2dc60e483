//! Samples, quantiles, confidence intervals, outliers, drift and the stopping rule: pure functions fed with numbers.
//!
//! Times of executions are skewed to the right and have outliers, so everything here is by rank: the median and its
//! distribution-free interval, not a mean with a normal one. Samples are kept in the order taken, for drift.

mod samples;
mod stopping;
mod summary;

pub use samples::{DRIFT_MIN_SAMPLES, Samples, StatsError};
pub use stopping::{Decision, StoppingRule};
pub use summary::Summary;

/// The geometric mean of positive ratios; `None` of none.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    (!ratios.is_empty()).then(|| (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp())
}
