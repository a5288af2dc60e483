//! One measuring session: warm up, choose how many executions make a sample, take samples until the stopping rule is content.
//!
//! A session sees only a [`Sampler`]: a device, or a mock in tests. It reads no clock of its own but the sampler's and the budget's.

use crate::stats::{Decision, StoppingRule};
use crate::units::Nanoseconds;
use std::time::{Duration, Instant};

/// What can be timed.
pub trait Sampler {
    /// What goes wrong when it is.
    type Error;

    /// Runs the work `executions` times back to back; the time of all of them together.
    ///
    /// # Errors
    /// The sampler's own.
    fn sample(&mut self, executions: u32) -> Result<Nanoseconds, Self::Error>;
}

/// How a session goes about it.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    /// Smallest difference the clock shows, or what reading it takes where that is more; a sample lasts at least [`TICKS`] of it.
    pub resolution: Nanoseconds,
    /// When to stop.
    pub rule: StoppingRule,
}

/// What a session saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Mean time of one execution in each sample, in the order taken.
    pub samples: Vec<f64>,
    /// Executions of one sample.
    pub executions: u32,
    /// Why it stopped.
    pub decision: Decision,
}

/// Clock ticks a sample lasts at least, so that rounding to ticks stays below one percent.
pub const TICKS: f64 = 100.0;

/// Most executions of one sample: a submission of more commands would cost the host more than it tells.
pub const MOST_EXECUTIONS: u32 = 4096;

/// Warm-up is over when a sample is within this of the one before.
const SETTLED: f64 = 0.05;

/// Warm-up ends after this many samples even if the time has not settled.
const MOST_WARM_UPS: usize = 8;

/// Share of the budget warm-up may take.
const WARM_UP_SHARE: f64 = 0.2;

impl Session {
    /// Warms up, then samples until the rule decides.
    ///
    /// The work must have run once before, so that pipelines are built and buffers touched.
    ///
    /// # Errors
    /// The sampler's, at the first sample that fails.
    pub fn run<S: Sampler>(&self, sampler: &mut S) -> Result<Measured, S::Error> {
        let start = Instant::now();
        let executions = self.warm_up(sampler, start)?;
        let mut taken = Vec::new();
        loop {
            let total = sampler.sample(executions)?;
            taken.push(total.0 / f64::from(executions));
            match self.rule.decide(&taken, start.elapsed()) {
                Decision::Continue => {}
                decision => return Ok(Measured { samples: taken, executions, decision }),
            }
        }
    }

    /// Repeats until the time has settled; gives the executions that make a sample long enough for the clock.
    fn warm_up<S: Sampler>(&self, sampler: &mut S, start: Instant) -> Result<u32, S::Error> {
        let mut executions = 1;
        let mut before: Option<f64> = None;
        for _ in 0..MOST_WARM_UPS {
            let one = sampler.sample(executions)?.0 / f64::from(executions);
            let needed = (TICKS * self.resolution.0 / one).ceil().clamp(1.0, MOST_EXECUTIONS.into());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small positive number")]
            let needed = needed as u32;
            let steady = before.is_some_and(|before| (one - before).abs() <= SETTLED * before);
            let settled = steady && needed <= executions;
            if settled || self.warm_up_spent(start.elapsed()) {
                return Ok(executions.max(needed));
            }
            before = Some(one);
            executions = executions.max(needed);
        }
        Ok(executions)
    }

    fn warm_up_spent(&self, elapsed: Duration) -> bool {
        elapsed > self.rule.budget.mul_f64(WARM_UP_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Work that takes given times, the last one for ever, and notes what it was asked.
    struct Mock {
        times: Vec<f64>,
        asked: Vec<u32>,
    }

    impl Sampler for Mock {
        type Error = Infallible;

        fn sample(&mut self, executions: u32) -> Result<Nanoseconds, Infallible> {
            let time = self.times[self.asked.len().min(self.times.len() - 1)];
            self.asked.push(executions);
            Ok(Nanoseconds(time * f64::from(executions)))
        }
    }

    fn session(resolution: f64) -> Session {
        let rule = StoppingRule { relative_half_width: 0.01, min_samples: 10, max_samples: 1000, budget: Duration::from_mins(1) };
        Session { resolution: Nanoseconds(resolution), rule }
    }

    #[test]
    fn steady_work_stops_at_once_and_warm_up_is_not_counted() {
        let mut mock = Mock { times: vec![9000.0, 2000.0, 1000.0, 1000.0], asked: Vec::new() };
        let Ok(measured) = session(1.0).run(&mut mock);
        assert_eq!(measured.decision, Decision::Converged);
        assert!(measured.samples.iter().all(|&s| (s - 1000.0).abs() < 1e-9), "{:?}", measured.samples);
        assert_eq!(measured.executions, 1);
        assert_eq!(mock.asked.len(), 4 + measured.samples.len());
    }

    #[test]
    fn short_work_is_repeated_until_the_clock_can_tell() {
        let mut mock = Mock { times: vec![50.0], asked: Vec::new() };
        let Ok(measured) = session(40.0).run(&mut mock);
        assert_eq!(measured.executions, 80);
        assert!(measured.samples.iter().all(|&s| (s - 50.0).abs() < 1e-9));
    }

    #[test]
    fn a_spent_budget_stops_with_what_there_is() {
        let mut mock = Mock { times: vec![1000.0, 5000.0, 3000.0], asked: Vec::new() };
        let mut session = session(1.0);
        session.rule.budget = Duration::ZERO;
        let Ok(measured) = session.run(&mut mock);
        assert_eq!(measured.decision, Decision::BudgetSpent);
        assert!(!measured.samples.is_empty());
    }
}
