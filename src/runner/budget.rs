//! How the time for measuring is shared out: a fair share of what is left to each case that is left, never more than a
//! case needs.

use std::time::Duration;

/// Measuring time of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Budget {
    /// For the whole run; none is no limit.
    total: Option<Duration>,
    /// The most one case gets.
    case: Duration,
    spent: Duration,
}

impl Budget {
    pub(super) fn new(total: Option<Duration>, case: Duration) -> Self {
        Self { total, case, spent: Duration::ZERO }
    }

    /// The share of the next of `cases` cases to come, or the whole budget if it is spent.
    pub(super) fn share(&self, cases: usize) -> Result<Duration, Duration> {
        let Some(total) = self.total else { return Ok(self.case) };
        let left = total.saturating_sub(self.spent);
        if left.is_zero() {
            return Err(total);
        }
        let cases = u32::try_from(cases.max(1)).unwrap_or(u32::MAX);
        Ok(self.case.min(left / cases))
    }

    pub(super) fn spend(&mut self, time: Duration) {
        self.spent = self.spent.saturating_add(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn without_a_limit_every_case_gets_its_most() {
        let mut budget = Budget::new(None, ms(2000));
        budget.spend(ms(1_000_000));
        assert_eq!(budget.share(1000), Ok(ms(2000)));
    }

    #[test]
    fn what_one_case_leaves_the_others_get() {
        let mut budget = Budget::new(Some(ms(1000)), ms(400));
        assert_eq!(budget.share(10), Ok(ms(100)));
        budget.spend(ms(10));
        assert_eq!(budget.share(9), Ok(ms(110)));
        budget.spend(ms(10));
        assert_eq!(budget.share(2), Ok(ms(400)), "capped");
    }

    #[test]
    fn a_spent_budget_is_named() {
        let mut budget = Budget::new(Some(ms(1000)), ms(400));
        budget.spend(ms(1200));
        assert_eq!(budget.share(3), Err(ms(1000)));
    }
}
