//! The rule by which a ratio is SAME, FASTER, SLOWER or UNSURE.
//!
//! With the threshold t, the 95 % interval (l, u) of the ratio, and the factor d ≥ 1 by which the interval is widened:
//!
//! * SLOWER where l/d > 1 + t,
//! * FASTER where u·d < 1/(1 + t),
//! * SAME where l/d ≥ 1/(1 + t) and u·d ≤ 1 + t,
//! * UNSURE otherwise, and where there is no interval, the clocks are of different kinds, or one of them throttled by nobody knows how much.
//!
//! Swapping the runs swaps FASTER and SLOWER and leaves the rest: the bounds are each other's inverse. d is what the interval does not know
//! of: the drift, or what repeats of the baseline differ by, whichever is more. The drift of a row is what its `noise` says, last third of the
//! samples over the first; that of a ratio is the product of both runs' (1 + |drift|). So a row that drifted by 10 % is at best UNSURE until its
//! ratio is beyond that drift.

use super::{Evidence, Ratio};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// How far a ratio must be from 1 to count: 0.05 is 5 %.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Threshold(f64);

/// Why a text is not a threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a percentage of 0% to 1000%, such as 5%")]
pub struct ThresholdError {
    text: String,
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        // Not `-0`, nor NaN.
        let percent = number.filter(|percent| percent.is_sign_positive() && *percent <= 1000.0);
        percent.map(|percent| Self(percent / 100.0)).ok_or_else(|| ThresholdError { text: text.to_owned() })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 100 times what was divided by 100 may have a last digit too many.
        f.pad(&format!("{}%", (1e8 * self.0).round() / 1e6))
    }
}

impl Threshold {
    /// 1 + t.
    pub fn factor(self) -> f64 {
        1.0 + self.0
    }
}

/// What a ratio amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Surely slower than the baseline by more than the threshold.
    Slower,
    /// Surely faster by more than the threshold.
    Faster,
    /// It cannot be told.
    Unsure,
    /// Surely neither.
    Same,
}

impl Verdict {
    /// All, in the order they are listed in.
    pub const ALL: [Self; 4] = [Self::Slower, Self::Faster, Self::Unsure, Self::Same];

    /// The verdict as it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slower => "SLOWER",
            Self::Faster => "FASTER",
            Self::Unsure => "UNSURE",
            Self::Same => "SAME",
        }
    }
}

/// Why a verdict is UNSURE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The interval reaches across a bound.
    Interval,
    /// It does not, but it does when widened by the drift.
    Drift,
    /// It does not, but it does when widened by what repeats of the baseline differ by.
    Repeats,
    /// One run throttled by an unknown amount.
    Throttling,
    /// Fewer than 6 samples on a side, or no interval recorded.
    NoInterval,
    /// One was timed by the device, the other by the host.
    Clocks,
}

impl Doubt {
    /// The reason in a few words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Interval => "wide interval",
            Self::Drift => "drift",
            Self::Repeats => "repeats differ",
            Self::Throttling => "throttling",
            Self::NoInterval => "too few samples",
            Self::Clocks => "different clocks",
        }
    }
}

/// A verdict and what stands against a surer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is UNSURE; `None` where it is not.
    pub doubt: Option<Doubt>,
}

impl Ratio {
    /// Applies the rule.
    pub fn judge(&self, threshold: Threshold) -> Judgement {
        let unsure = |doubt| Judgement { verdict: Verdict::Unsure, doubt: Some(doubt) };
        if self.evidence == Evidence::Identical {
            return Judgement { verdict: Verdict::Same, doubt: None };
        }
        if !self.same_clock {
            return unsure(Doubt::Clocks);
        }
        let Some((low, high)) = self.ci95 else { return unsure(Doubt::NoInterval) };
        if self.throttled {
            return unsure(Doubt::Throttling);
        }
        let wide = self.widening();
        match (within(low / wide, high * wide, threshold), within(low, high, threshold)) {
            (Some(verdict), _) => Judgement { verdict, doubt: None },
            (None, Some(_)) => unsure(if self.drift >= self.repeats { Doubt::Drift } else { Doubt::Repeats }),
            (None, None) => unsure(Doubt::Interval),
        }
    }
}

fn within(low: f64, high: f64, threshold: Threshold) -> Option<Verdict> {
    let most = threshold.factor();
    if low > most {
        Some(Verdict::Slower)
    } else if high < 1.0 / most {
        Some(Verdict::Faster)
    } else if low >= 1.0 / most && high <= most {
        Some(Verdict::Same)
    } else {
        None
    }
}
