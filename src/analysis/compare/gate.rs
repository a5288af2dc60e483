//! Rules by which a comparison fails, for continuous integration: `slower:5%,memory:1MiB,status`.

use super::{Case, Comparison, Mean, Missing, Threshold, Verdict, geometric_mean};
use crate::record::Status;
use crate::units::{Bytes, Grouped};
use std::fmt;
use std::str::FromStr;

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate {
    /// A case is SLOWER, by this threshold or by that of the comparison.
    Slower(Option<Threshold>),
    /// The geometric mean's interval lies above 1 and the threshold.
    Mean(Option<Threshold>),
    /// A ledger of a case grew by more, at any level.
    Memory(Bytes),
    /// A case that was `ok` no longer is, or one became a failure of another kind.
    Status,
    /// A case of the baseline has no counterpart.
    Missing,
    /// A case is UNSURE.
    Unsure,
}

/// Why a text is no rule; names the part that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct GateError {
    problem: String,
}

/// A rule that a comparison does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The rule as it is written.
    pub rule: String,
    /// The worst case of it and the value found.
    pub worst: String,
    /// How many more cases there are.
    pub more: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.worst)?;
        match self.more {
            0 => Ok(()),
            1 => write!(f, "; and 1 more case"),
            more => write!(f, "; and {more} more cases"),
        }
    }
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(rule: &str) -> Result<Self, Self::Err> {
        let error = |problem: String| GateError { problem };
        let (name, value) = rule.split_once(':').map_or((rule, None), |(name, value)| (name, Some(value)));
        let threshold = || value.map(str::parse::<Threshold>).transpose().map_err(|e| error(e.to_string()));
        let gate = match name {
            "slower" => Self::Slower(threshold()?),
            "mean" => Self::Mean(threshold()?),
            "memory" => Self::Memory(value.map_or(Ok(Bytes(0)), str::parse).map_err(|e: crate::units::BytesError| error(e.to_string()))?),
            "status" => Self::Status,
            "missing" => Self::Missing,
            "unsure" => Self::Unsure,
            _ => return Err(error("a rule is slower[:PERCENT], mean[:PERCENT], memory[:BYTES], status, missing or unsure".into())),
        };
        match (gate, value) {
            (Self::Status | Self::Missing | Self::Unsure, Some(value)) => Err(error(format!("'{name}' takes no value, and has '{value}'"))),
            _ => Ok(gate),
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |threshold: &Option<Threshold>| threshold.map_or(String::new(), |threshold| format!(":{threshold}"));
        match self {
            Self::Slower(threshold) => write!(f, "slower{}", with(threshold)),
            Self::Mean(threshold) => write!(f, "mean{}", with(threshold)),
            Self::Memory(bytes) => write!(f, "memory:{}B", bytes.0),
            Self::Status => f.write_str("status"),
            Self::Missing => f.write_str("missing"),
            Self::Unsure => f.write_str("unsure"),
        }
    }
}

impl Gate {
    /// What a comparison fails by, if it does. `threshold` is that of rules without their own.
    pub fn check(&self, comparison: &Comparison, threshold: Threshold) -> Option<Failure> {
        let timed = comparison.cases.iter().any(|case| case.ratio.is_some());
        let was_timed = comparison.cases.iter().filter(|case| case.status.baseline == Status::Ok).count();
        if matches!(self, Self::Slower(_) | Self::Mean(_) | Self::Unsure) && !timed && was_timed > 0 {
            let worst = format!("there is nothing to judge: none of {was_timed} cases that the baseline timed has a time in the other run");
            return Some(Failure { rule: self.to_string(), worst, more: 0 });
        }
        let cases = || comparison.cases.iter();
        let judged = |verdict: Verdict, threshold: Threshold| {
            cases().filter_map(move |case| {
                let ratio = case.ratio.as_ref().filter(|_| case.judge(threshold).is_some_and(|j| j.verdict == verdict))?;
                let interval = ratio.ci95.map_or_else(|| " (no interval)".into(), |(low, high)| format!(" ({low:.3} to {high:.3})"));
                Some((ratio.value, format!("{} takes {:.3} times as long{interval}", named(case), ratio.value)))
            })
        };
        match self {
            Self::Slower(own) => self.failure(judged(Verdict::Slower, own.unwrap_or(threshold))),
            Self::Unsure => self.failure(judged(Verdict::Unsure, threshold)),
            Self::Mean(own) => self.failure(geometric_mean(&comparison.cases).into_iter().filter_map(|mean| {
                let Mean { value, ci95: Some((low, high)), cases } = mean else { return None };
                let text = format!("the geometric mean of {cases} cases is {value:.3} ({low:.3} to {high:.3})");
                (low > own.unwrap_or(threshold).factor()).then_some((value, text))
            })),
            Self::Memory(most) => self.failure(cases().filter_map(|case| {
                let grown = |memory: &super::Memory| Some((memory.growth().filter(|&by| by > i128::from(most.0))?, *memory));
                let (by, memory) = case.memory.iter().filter_map(grown).max_by_key(|(by, _)| *by)?;
                let by_text = Grouped(u64::try_from(by).unwrap_or(u64::MAX));
                let (ledger, level) = (memory.ledger, memory.level.name());
                Some((by as f64, format!("{} has {by_text} B more in the {ledger} ledger, {level}", named(case))))
            })),
            Self::Status => self.failure(cases().filter(|case| worse(case)).map(|case| {
                let (was, is) = (case.status.baseline.name(), case.status.other.name());
                let reason = if case.reason.other.is_empty() { String::new() } else { format!(": {}", case.reason.other) };
                (0.0, format!("{} was {was}, is {is}{reason}", named(case)))
            })),
            Self::Missing => self.failure(comparison.lone.baseline.iter().map(|lone| {
                let name = format!("{} {}", lone.key.layer, lone.key.variant.qualify(&lone.key.algorithm));
                let why = match lone.why {
                    Missing::Absent => "is not in the other run",
                    Missing::Ambiguous => "could be several cases of the other run",
                };
                (0.0, format!("{name} {why}"))
            })),
        }
    }

    /// The first of the largest values, and how many others.
    fn failure(&self, found: impl Iterator<Item = (f64, String)>) -> Option<Failure> {
        let found: Vec<_> = found.collect();
        let worst = found.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Failure { rule: self.to_string(), worst: worst.1.clone(), more: found.len() - 1 })
    }
}

fn named(case: &Case) -> String {
    format!("{} {}", case.key.baseline.layer, case.algorithm())
}

/// Whether a change of status is one for the worse.
pub(super) fn worse(case: &Case) -> bool {
    let (was, is) = (case.status.baseline, case.status.other);
    was != is && (was == Status::Ok || is.is_failure())
}
