//! What a row says of its samples.

use super::{Decision, Samples};

/// Drift past this, either way, is told.
const DRIFT_TOLD: f64 = 0.02;

/// Becoming slower by more than this within one case looks like a clock going down.
const DRIFT_THROTTLING: f64 = 0.10;

/// The statistics of one case, in the unit of its samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub samples: u64,
    /// Executions averaged in each sample.
    pub executions_per_sample: u64,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// 5th percentile.
    pub p05: f64,
    /// 95th percentile.
    pub p95: f64,
    /// The 95 % interval of the median; `None` below 6 samples.
    pub ci95: Option<(f64, f64)>,
    /// Last third over first third, less 1; `None` below 9 samples.
    pub drift: Option<f64>,
    /// How many samples are outliers.
    pub outliers: u64,
    /// Why sampling ended; [`Decision::Continue`] when it was cut off.
    pub decision: Decision,
}

impl Summary {
    /// Summarises samples, each the mean over `executions_per_sample` executions, whose taking ended with `decision`.
    pub fn of(samples: &Samples, executions_per_sample: u64, decision: Decision) -> Self {
        Self {
            samples: samples.taken().len() as u64,
            executions_per_sample,
            median: samples.median(),
            min: samples.min(),
            mean: samples.mean(),
            p05: samples.quantile(0.05),
            p95: samples.quantile(0.95),
            ci95: samples.ci95_median(),
            drift: samples.drift(),
            outliers: samples.outliers().iter().filter(|&&outlier| outlier).count() as u64,
            decision,
        }
    }

    /// What is to be said against the samples, joined by `;`; empty when nothing is.
    ///
    /// `budget_spent`, `max_samples` or `cut_off` when sampling ended before the interval was narrow enough; `drift=+3.2%` past
    /// 2 % either way; `throttling_suspected` past +10 %; `outliers=3`.
    pub fn noise(&self) -> String {
        let mut notes = Vec::new();
        match self.decision {
            Decision::Converged => {}
            Decision::BudgetSpent => notes.push("budget_spent".to_owned()),
            Decision::MaxSamples => notes.push("max_samples".to_owned()),
            Decision::Continue => notes.push("cut_off".to_owned()),
        }
        if let Some(drift) = self.drift.filter(|drift| drift.abs() > DRIFT_TOLD) {
            notes.push(format!("drift={:+.1}%", 100.0 * drift));
            if drift > DRIFT_THROTTLING {
                notes.push("throttling_suspected".to_owned());
            }
        }
        if self.outliers > 0 {
            notes.push(format!("outliers={}", self.outliers));
        }
        notes.join(";")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(values: impl IntoIterator<Item = f64>, decision: Decision) -> String {
        let samples = Samples::new(values.into_iter().collect()).expect("samples");
        Summary::of(&samples, 1, decision).noise()
    }

    #[test]
    fn noise_says_what_is_to_be_said() {
        let steady = || (0..30).map(|i| 100.0 + f64::from(i % 3));
        let slowing = |by: f64| (0..30).map(move |i| 100.0 + f64::from(i % 3) + by * f64::from(i) / 20.0);
        assert_eq!(noise(steady(), Decision::Converged), "");
        assert_eq!(noise(steady(), Decision::BudgetSpent), "budget_spent");
        assert_eq!(noise([7.0], Decision::BudgetSpent), "budget_spent");
        assert_eq!(noise(steady(), Decision::MaxSamples), "max_samples");
        assert_eq!(noise(steady(), Decision::Continue), "cut_off");
        assert_eq!(noise(steady().chain([150.0, 90.0, 200.0]), Decision::Converged), "outliers=3");
        insta::assert_snapshot!(noise(slowing(4.0), Decision::Converged), @"drift=+4.1%");
        insta::assert_snapshot!(noise(slowing(-4.0), Decision::Converged), @"drift=-4.0%");
        insta::assert_snapshot!(noise(slowing(20.0).chain([300.0]), Decision::BudgetSpent), @"budget_spent;drift=+19.9%;throttling_suspected;outliers=1");
    }

    #[test]
    fn a_summary_has_every_statistic() {
        let samples = Samples::new((1..=20).map(f64::from).collect()).expect("samples");
        insta::assert_debug_snapshot!(Summary::of(&samples, 8, Decision::MaxSamples), @r"
        Summary {
            samples: 20,
            executions_per_sample: 8,
            median: 10.5,
            min: 1.0,
            mean: 10.5,
            p05: 1.9500000000000002,
            p95: 19.05,
            ci95: Some(
                (
                    6.0,
                    15.0,
                ),
            ),
            drift: Some(
                4.0,
            ),
            outliers: 0,
            decision: MaxSamples,
        }
        ");
    }
}
