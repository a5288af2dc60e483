//! What a run spent its time on, and how much of a sample is the timer.

use serde::{Deserialize, Serialize};

/// Where the time of a run went, its resumed parts included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expense {
    /// From the start of the first worker to the last row, in seconds.
    pub wall_s: f64,
    /// Of these, waiting for the device: executing, and copying to and from it.
    pub device_s: f64,
    /// Of these, waiting for the driver's compiler.
    pub compiler_s: f64,
    /// Of these, making inputs, computing the reference and comparing with it.
    pub verification_s: f64,
    /// The shortest sample of all cases, all its executions together.
    pub shortest_sample_ns: Option<f64>,
    /// What reading the time adds to a sample, over the shortest sample.
    pub timer_share: Option<f64>,
}

impl Expense {
    /// The part of the wall time that was device work or verification; none for a run that took no time.
    pub fn useful_share(&self) -> Option<f64> {
        (self.wall_s > 0.0).then(|| (self.device_s + self.verification_s) / self.wall_s)
    }

    /// Notes the samples of a case: the shortest of them, all executions together.
    pub fn note_sample(&mut self, sample_ns: f64, timer_overhead_ns: Option<f64>) {
        let shortest = self.shortest_sample_ns.map_or(sample_ns, |before| before.min(sample_ns));
        self.shortest_sample_ns = Some(shortest);
        self.timer_share = timer_overhead_ns.filter(|_| shortest > 0.0).map(|overhead| overhead / shortest);
    }

    /// Adds a later part of the same run.
    #[must_use]
    pub fn and(mut self, later: &Self) -> Self {
        self.wall_s += later.wall_s;
        self.device_s += later.device_s;
        self.compiler_s += later.compiler_s;
        self.verification_s += later.verification_s;
        // Of the two parts the one with the shorter sample tells.
        if later.shortest_sample_ns.is_some_and(|new| self.shortest_sample_ns.is_none_or(|old| new < old)) {
            (self.shortest_sample_ns, self.timer_share) = (later.shortest_sample_ns, later.timer_share);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_wall_time_and_parts_add_up() {
        let mut first = Expense { wall_s: 10.0, device_s: 6.0, verification_s: 2.0, ..Expense::default() };
        assert!((first.useful_share().expect("a share") - 0.8).abs() < 1e-12);
        assert_eq!(Expense::default().useful_share(), None);
        first.note_sample(4000.0, Some(20.0));
        first.note_sample(2000.0, Some(20.0));
        first.note_sample(9000.0, Some(20.0));
        assert_eq!((first.shortest_sample_ns, first.timer_share), (Some(2000.0), Some(0.01)));
        let mut later = Expense { wall_s: 10.0, device_s: 1.0, verification_s: 1.0, ..Expense::default() };
        let both = first.clone().and(&later);
        assert!((both.useful_share().expect("a share") - 0.5).abs() < 1e-12);
        assert_eq!(both.timer_share, Some(0.01), "the later part has no sample");
        later.note_sample(1000.0, Some(20.0));
        assert_eq!(first.and(&later).timer_share, Some(0.02));
    }
}
