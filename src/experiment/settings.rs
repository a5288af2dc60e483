//! The options of experiments.

use super::{EXPERIMENTS, Experiment, ExperimentError};
use crate::units::Bytes;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// What a user chose; none is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Size of the buffers of `pool`.
    pub size: Option<Bytes>,
    /// How many there are.
    pub count: Option<u64>,
    /// Iterations of `shapes`.
    pub iterations: Option<u64>,
    /// Executions of `soak`.
    pub executions: Option<u64>,
}

/// The options of all experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Size of the buffers of `pool`.
    pub size: Bytes,
    /// How many there are.
    pub count: u64,
    /// Iterations of `shapes`.
    pub iterations: u64,
    /// Executions of `soak`.
    pub executions: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { size: Bytes(1 << 20), count: 12, iterations: 24, executions: 10_000 }
    }
}

impl Choice {
    /// The settings for `experiments`, with the defaults where nothing was chosen.
    ///
    /// # Errors
    /// [`ExperimentError::Foreign`] for an option that none of them has, [`ExperimentError::Setting`] for a value that is out of range.
    pub fn settings(&self, experiments: &[&'static Experiment]) -> Result<Settings, ExperimentError> {
        let given = [
            ("size", self.size.is_some()),
            ("count", self.count.is_some()),
            ("iterations", self.iterations.is_some()),
            ("executions", self.executions.is_some()),
        ];
        for (option, _) in given.into_iter().filter(|(_, given)| *given) {
            let has = |experiment: &&Experiment| experiment.options.contains(&option);
            let owner = EXPERIMENTS.iter().copied().find(has).map_or("none", |owner| owner.name);
            if let ([experiment, ..], false) = (experiments, experiments.iter().copied().any(|experiment| has(&experiment))) {
                return Err(ExperimentError::Foreign { option, experiment: experiment.name, owner });
            }
        }
        let default = Settings::default();
        let settings = Settings {
            size: self.size.unwrap_or(default.size),
            count: self.count.unwrap_or(default.count),
            iterations: self.iterations.unwrap_or(default.iterations),
            executions: self.executions.unwrap_or(default.executions),
        };
        settings.check()?;
        Ok(settings)
    }
}

impl Settings {
    /// The most bytes that the buffers of `pool` may have together.
    pub const MOST_BYTES: Bytes = Bytes(4 << 30);
    /// How many buffers there may be.
    pub const COUNT: RangeInclusive<u64> = 1..=10_000;
    /// How many iterations.
    pub const ITERATIONS: RangeInclusive<u64> = 2..=10_000;
    /// How many executions; fewer say nothing of a trend.
    pub const EXECUTIONS: RangeInclusive<u64> = 20..=100_000_000;

    /// What counts for an experiment, by the names of its options.
    pub fn of(&self, experiment: &Experiment) -> Map<String, Value> {
        let all = [("size", self.size.0), ("count", self.count), ("iterations", self.iterations), ("executions", self.executions)];
        let own = all.into_iter().filter(|(option, _)| experiment.options.contains(option));
        own.map(|(option, value)| (option.to_owned(), value.into())).collect()
    }

    fn check(&self) -> Result<(), ExperimentError> {
        let within = |option, value: u64, range: RangeInclusive<u64>| {
            let reason = format!("must be from {} to {}", range.start(), range.end());
            if range.contains(&value) { Ok(()) } else { Err(wrong(option, value.to_string(), reason)) }
        };
        if self.size.0 == 0 {
            return Err(wrong("size", self.size.to_string(), "a buffer has at least a byte".into()));
        }
        within("count", self.count, Self::COUNT)?;
        within("iterations", self.iterations, Self::ITERATIONS)?;
        within("executions", self.executions, Self::EXECUTIONS)?;
        if self.size.0.checked_mul(self.count).is_none_or(|bytes| bytes > Self::MOST_BYTES.0) {
            return Err(wrong("size", self.size.to_string(), format!("{} such buffers are more than {}", self.count, Self::MOST_BYTES)));
        }
        Ok(())
    }
}

/// An option with a value that nothing can be done with.
pub(super) fn wrong(option: &'static str, value: String, reason: String) -> ExperimentError {
    ExperimentError::Setting { option, value, reason }
}
