//! When to stop sampling.

use super::samples::{ci95_median, quantile};
use std::time::Duration;

/// Stops when the median is known well enough, or enough was spent on it. Fed with numbers, it knows no clock.
///
/// Looking at an interval again and again until it is narrow makes it hold the median a little less often than the 95 % of
/// a fixed number of samples; the looks grow rarer with the number of samples, eight per doubling, which bounds that and
/// the cost of the sorts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoppingRule {
    /// Both ends of the median's 95 % interval must lie within this fraction of the median; 0.01 is ±1 %.
    pub relative_half_width: f64,
    /// No convergence is accepted on fewer samples; below 6 there is no interval.
    pub min_samples: usize,
    /// No more samples than this are taken.
    pub max_samples: usize,
    /// No sample is begun after this much time, except the first.
    pub budget: Duration,
}

impl Default for StoppingRule {
    fn default() -> Self {
        Self { relative_half_width: 0.01, min_samples: 10, max_samples: 1000, budget: Duration::from_secs(1) }
    }
}

/// What the rule says after a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Take another.
    Continue,
    /// The interval is narrow enough.
    Converged,
    /// The time is up and the interval is not.
    BudgetSpent,
    /// As many as allowed were taken and the interval is not.
    MaxSamples,
}

impl StoppingRule {
    /// Decides on all samples so far and the time spent on them.
    pub fn decide(&self, samples: &[f64], elapsed: Duration) -> Decision {
        if samples.is_empty() {
            return Decision::Continue;
        }
        let full = samples.len() >= self.max_samples;
        let spent = elapsed >= self.budget;
        if (full || spent || self.is_due(samples.len())) && self.has_converged(samples) {
            Decision::Converged
        } else if full {
            Decision::MaxSamples
        } else if spent {
            Decision::BudgetSpent
        } else {
            Decision::Continue
        }
    }

    /// Whether the interval is looked at after `n` samples.
    fn is_due(&self, n: usize) -> bool {
        n == self.min_samples || n.is_multiple_of((1_usize << n.ilog2() >> 3).max(1))
    }

    fn has_converged(&self, samples: &[f64]) -> bool {
        if samples.len() < self.min_samples {
            return false;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5);
        let allowed = self.relative_half_width * median;
        ci95_median(&sorted).is_some_and(|(low, high)| median - low <= allowed && high - median <= allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const NO_TIME: Duration = Duration::ZERO;

    fn rule() -> StoppingRule {
        StoppingRule { budget: Duration::from_secs(10), ..StoppingRule::default() }
    }

    /// Feeds one sample after another, each taking a millisecond, until the rule stops.
    fn run(rule: &StoppingRule, mut next: impl FnMut() -> f64) -> (usize, Decision) {
        let mut samples = Vec::new();
        loop {
            let elapsed = Duration::from_millis(samples.len() as u64);
            match rule.decide(&samples, elapsed) {
                Decision::Continue => samples.push(next()),
                decision => return (samples.len(), decision),
            }
        }
    }

    #[test]
    fn constant_times_stop_at_the_least_number() {
        assert_eq!(run(&rule(), || 5.0), (10, Decision::Converged));
        // Below six samples there is no interval, whatever the least number.
        assert_eq!(run(&StoppingRule { min_samples: 1, ..rule() }, || 5.0), (6, Decision::Converged));
    }

    #[test]
    fn noise_needs_as_many_samples_as_its_spread_asks_for() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut stop = |spread: f64| {
            let times = Normal::new(100.0, spread).expect("a distribution");
            run(&rule(), || times.sample(&mut rng))
        };
        // Half width 1.96·1.253·σ/√n: 1 % of the median needs about 6·(σ in %)² samples.
        let (few, decision) = stop(1.0);
        assert!(few < 30 && decision == Decision::Converged, "{few} {decision:?}");
        let (many, decision) = stop(5.0);
        assert!((60..300).contains(&many) && decision == Decision::Converged, "{many} {decision:?}");
        assert_eq!(stop(30.0), (1000, Decision::MaxSamples));
    }

    #[test]
    fn the_budget_ends_it_but_not_before_the_first_sample() {
        let mut alternating = [1.0, 2.0].into_iter().cycle();
        let short = StoppingRule { budget: Duration::from_millis(25), ..rule() };
        assert_eq!(run(&short, || alternating.next().expect("endless")), (25, Decision::BudgetSpent));
        let late = Duration::from_mins(1);
        assert_eq!(rule().decide(&[], late), Decision::Continue);
        assert_eq!(rule().decide(&[1.0], late), Decision::BudgetSpent);
        assert_eq!(rule().decide(&[1.0; 10], late), Decision::Converged);
    }

    #[test]
    fn looks_grow_rarer_but_the_last_is_never_left_out() {
        let rule = rule();
        let looks = (1..=1000).filter(|&n| rule.is_due(n)).count();
        assert!((60..80).contains(&looks), "{looks}");
        assert_eq!(rule.decide(&[1.0; 999], NO_TIME), Decision::Continue);
        assert_eq!(rule.decide(&[1.0; 1000], NO_TIME), Decision::Converged);
    }
}
