//! A sample of times and its order statistics.

use std::f64::consts::LN_2;

/// Fewer samples than this say nothing of drift: three in each third.
pub const DRIFT_MIN_SAMPLES: usize = 9;

/// Modified z-score past which a sample is an outlier (Iglewicz and Hoaglin 1993, How to Detect and Handle Outliers).
const OUTLIER_Z: f64 = 3.5;

/// Standard deviations of a normal distribution per median absolute deviation, `1/Φ⁻¹(3/4)`.
const SIGMA_PER_MAD: f64 = 1.4826;

/// A sample this close to the median, relative to it, is never an outlier.
const OUTLIER_MIN_DEVIATION: f64 = 0.01;

/// Numbers that make no sample.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// There are none.
    #[error("no samples")]
    Empty,
    /// One is no time.
    #[error("sample {position} is {value}, must be positive and finite")]
    NotPositive {
        /// Its position in the order taken, from 0.
        position: usize,
        /// Its value.
        value: f64,
    },
}

/// At least one positive, finite number: nothing downstream checks again.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    taken: Vec<f64>,
    sorted: Vec<f64>,
}

impl Samples {
    /// Takes samples in the order they were taken.
    ///
    /// # Errors
    /// [`StatsError`] when there are none, or names the first that is zero, negative, infinite or NaN.
    pub fn new(taken: Vec<f64>) -> Result<Self, StatsError> {
        if taken.is_empty() {
            return Err(StatsError::Empty);
        }
        if let Some(position) = taken.iter().position(|x| !(x.is_finite() && *x > 0.0)) {
            return Err(StatsError::NotPositive { position, value: taken[position] });
        }
        let mut sorted = taken.clone();
        sorted.sort_by(f64::total_cmp);
        Ok(Self { taken, sorted })
    }

    /// The samples in the order taken.
    pub fn taken(&self) -> &[f64] {
        &self.taken
    }

    /// Smallest sample.
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// Arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.taken.iter().sum::<f64>() / self.taken.len() as f64
    }

    /// Middle sample, or the mean of the two middle ones.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The `q`-quantile, linear between order statistics (type 7 of Hyndman and Fan 1996, the default of R and `NumPy`).
    ///
    /// # Panics
    /// When `q` is not within 0 and 1.
    pub fn quantile(&self, q: f64) -> f64 {
        quantile(&self.sorted, q)
    }

    /// An interval that holds the true median with a probability of at least 95 %, whatever the distribution; `None` below 6
    /// samples, of which not even all do.
    ///
    /// The number of samples below the median is binomial with p = ½, so the interval from the `l`-th smallest to the `l`-th
    /// largest sample misses it with probability `2·P(B < l)`; `l` is the largest for which that is at most 5 %
    /// (David and Nagaraja 2003, Order Statistics, 7.1). Unlike a bootstrap it is exact, has no seed and costs one sort.
    pub fn ci95_median(&self) -> Option<(f64, f64)> {
        ci95_median(&self.sorted)
    }

    /// For each sample in the order taken, whether it is an outlier: further from the median than 3.5 standard deviations,
    /// these estimated as 1.4826 median absolute deviations, and further than 1 %. The second keeps the ticks of a coarse
    /// clock, most samples falling on the same, from being outliers all.
    ///
    /// They are reported, not removed: quantiles hardly feel them, and a slow execution is a fact.
    pub fn outliers(&self) -> Vec<bool> {
        let median = self.median();
        let mut deviations: Vec<f64> = self.taken.iter().map(|x| (x - median).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let sigma = SIGMA_PER_MAD * quantile(&deviations, 0.5);
        let limit = (OUTLIER_Z * sigma).max(OUTLIER_MIN_DEVIATION * median);
        self.taken.iter().map(|x| (x - median).abs() > limit).collect()
    }

    /// Median of the last third over that of the first, less 1: positive when executions became slower. `None` below
    /// [`DRIFT_MIN_SAMPLES`].
    pub fn drift(&self) -> Option<f64> {
        if self.taken.len() < DRIFT_MIN_SAMPLES {
            return None;
        }
        let third = self.taken.len() / 3;
        let median = |part: &[f64]| {
            let mut part = part.to_vec();
            part.sort_by(f64::total_cmp);
            quantile(&part, 0.5)
        };
        Some(median(&self.taken[self.taken.len() - third..]) / median(&self.taken[..third]) - 1.0)
    }
}

/// The `q`-quantile of ascending numbers.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    assert!((0.0..=1.0).contains(&q), "quantile {q} is not within 0 and 1");
    let position = q * (sorted.len() - 1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position in the slice, not negative")]
    let below = position as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// See [`Samples::ci95_median`]; of ascending numbers.
pub(super) fn ci95_median(sorted: &[f64]) -> Option<(f64, f64)> {
    let rank = ci95_rank(sorted.len());
    let first = rank.checked_sub(1)?;
    Some((sorted[first], sorted[sorted.len() - rank]))
}

/// The largest `l` with `2·P(B < l) ≤ 5 %` for `B` binomial of `n` trials with p = ½; 0 where there is none.
fn ci95_rank(n: usize) -> usize {
    // Probabilities by their logarithms: 2⁻ⁿ itself underflows past a thousand samples.
    let mut ln_probability = -(n as f64) * LN_2;
    let mut cumulative = ln_probability.exp();
    let mut rank = 0;
    while cumulative <= 0.025 {
        ln_probability += ((n - rank) as f64 / (rank + 1) as f64).ln();
        rank += 1;
        cumulative += ln_probability.exp();
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, LogNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn samples(values: &[f64]) -> Samples {
        Samples::new(values.to_vec()).expect("samples")
    }

    #[test]
    fn what_is_no_time_is_refused_by_position() {
        assert_eq!(Samples::new(vec![]), Err(StatsError::Empty));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Samples::new(vec![1.0, 2.0, bad]).expect_err("no time");
            assert_eq!(error.to_string(), format!("sample 2 is {bad}, must be positive and finite"));
        }
    }

    #[test]
    fn quantiles_are_type_7() {
        let four = samples(&[7.0, 1.0, 4.0, 2.0]);
        // numpy.quantile([1, 2, 4, 7], [0, .05, .25, .5, .95, 1])
        for (q, value) in [(0.0, 1.0), (0.05, 1.15), (0.25, 1.75), (0.5, 3.0), (0.95, 6.55), (1.0, 7.0)] {
            assert!((four.quantile(q) - value).abs() < 1e-12, "{q}: {}", four.quantile(q));
        }
        assert_eq!((four.min(), four.mean(), four.median()), (1.0, 3.5, 3.0));
        assert_eq!(four.taken(), [7.0, 1.0, 4.0, 2.0]);
        let one = samples(&[5.0]);
        assert_eq!((one.min(), one.quantile(0.05), one.median(), one.quantile(0.95)), (5.0, 5.0, 5.0, 5.0));
    }

    #[test]
    fn interval_ranks_are_those_of_published_tables() {
        // Ranks of the 95 % interval of the median; David and Nagaraja, or any table of the sign test's critical values.
        for (n, low, high) in [(6, 1, 6), (8, 1, 8), (9, 2, 8), (12, 3, 10), (20, 6, 15), (30, 10, 21), (50, 18, 33), (100, 40, 61)] {
            let ranks: Vec<f64> = (1..=n).map(f64::from).collect();
            assert_eq!(samples(&ranks).ci95_median(), Some((f64::from(low), f64::from(high))), "{n}");
        }
        assert_eq!(samples(&[1.0, 2.0, 3.0, 4.0, 5.0]).ci95_median(), None);
        let many = samples(&(1..=5000).map(f64::from).collect::<Vec<_>>());
        let (low, high) = many.ci95_median().expect("many samples");
        // Normal approximation: 2500.5 ± 1.96·√5000/2.
        assert!((low - 2431.0).abs() < 2.0 && (high - 2570.0).abs() < 2.0, "{low} {high}");
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let times = LogNormal::new(0.0, 0.5).expect("a distribution");
        for (n, probability) in [(10, 0.9785), (25, 0.9567), (101, 0.9537)] {
            let trials = 4000;
            let held = (0..trials)
                .filter(|_| {
                    let drawn = samples(&times.sample_iter(&mut rng).take(n).collect::<Vec<_>>());
                    let (low, high) = drawn.ci95_median().expect("enough samples");
                    low <= 1.0 && 1.0 <= high
                })
                .count();
            let share = held as f64 / f64::from(trials);
            // Four standard errors of the share.
            assert!((share - probability).abs() < 0.0135, "{n} samples: {share}, exact {probability}");
        }
    }

    #[test]
    fn outliers_are_flagged_where_they_were_taken() {
        let mut values: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i % 5)).collect();
        values[3] = 180.0;
        values[11] = 60.0;
        let flagged: Vec<usize> = samples(&values).outliers().iter().enumerate().filter_map(|(i, &o)| o.then_some(i)).collect();
        assert_eq!(flagged, [3, 11]);
    }

    #[test]
    fn ticks_of_a_coarse_clock_are_no_outliers() {
        let mut values = vec![1000.0; 20];
        values[4] = 1001.0;
        values[9] = 1020.0;
        let outliers = samples(&values).outliers();
        assert!(!outliers[4] && outliers[9]);
        assert_eq!(samples(&[3.0; 7]).outliers(), [false; 7]);
    }

    #[test]
    fn drift_compares_the_last_third_with_the_first() {
        let rising: Vec<f64> = (0..9).map(|i| [100.0, 105.0, 110.0][i / 3]).collect();
        assert!((samples(&rising).drift().expect("nine") - 0.1).abs() < 1e-12);
        assert_eq!(samples(&[1.0; 12]).drift(), Some(0.0));
        assert_eq!(samples(&rising[..8]).drift(), None);
    }
}
