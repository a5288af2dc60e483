//! Whether a series of readings grows.
//!
//! The rule: the first tenth is warm-up and left out; the rest is cut into four quarters, each with its median. The *bound* is what noise
//! may be: six times the median of the differences between neighbouring readings, at least a floor. The series is *flat* where the last
//! quarter's median is not above the first one's by more than the bound. Otherwise it *grows* where at least two of the three quarters
//! are above the one before by more than a third of the bound, and has *stepped* where it rose in one place only: something was set
//! up once, or a leak is slower than the readings can show.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Readings of each quarter, at least.
const LEAST: usize = 4;

/// What a series does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does not rise beyond the noise.
    Flat,
    /// It rose once.
    Stepped,
    /// It rises on and on.
    Grows,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flat => "flat",
            Self::Stepped => "stepped once",
            Self::Grows => "grows",
        })
    }
}

/// What a series of readings does, and by how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trend {
    /// What it does.
    pub verdict: Verdict,
    /// Median of the last quarter less that of the first.
    pub rise: i64,
    /// What noise may be.
    pub bound: u64,
}

impl Trend {
    /// The trend of readings taken at even distances, with a bound of at least `floor`; none where there are too few.
    pub fn of(readings: &[u64], floor: u64) -> Option<Self> {
        let readings = &readings[readings.len() / 10..];
        if readings.len() < 4 * LEAST {
            return None;
        }
        let steps: Vec<u64> = readings.windows(2).map(|pair| pair[0].abs_diff(pair[1])).collect();
        let bound = median(&steps).saturating_mul(6).max(floor);
        let quarter = |n: usize| median(&readings[n * readings.len() / 4..(n + 1) * readings.len() / 4]);
        let medians: Vec<i64> = (0..4).map(|n| i64::try_from(quarter(n)).unwrap_or(i64::MAX)).collect();
        let above = |rise: i64, bound: u64| u64::try_from(rise).is_ok_and(|rise| rise > bound);
        let rise = medians[3] - medians[0];
        let rises = medians.windows(2).filter(|pair| above(pair[1] - pair[0], bound / 3)).count();
        let verdict = match (above(rise, bound), rises) {
            (false, _) => Verdict::Flat,
            (true, 0 | 1) => Verdict::Stepped,
            (true, _) => Verdict::Grows,
        };
        Some(Self { verdict, rise, bound })
    }
}

/// The middle of what is not empty, of two the lower.
fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: u64 = 64 << 10;
    const BASE: u64 = 100 << 20;

    fn verdict(reading: impl Fn(u64) -> u64) -> Verdict {
        let readings: Vec<u64> = (0..101).map(|n| BASE + reading(n)).collect();
        Trend::of(&readings, FLOOR).expect("enough readings").verdict
    }

    #[test]
    fn what_does_not_rise_is_flat() {
        assert_eq!(verdict(|_| 0), Verdict::Flat);
        // Warm-up, noise of a page or of many, a fall, a rise that is less than the floor.
        assert_eq!(verdict(|n| if n < 10 { 0 } else { 5 << 20 }), Verdict::Flat);
        assert_eq!(verdict(|n| n * 7919 % 13 * 4096), Verdict::Flat);
        assert_eq!(verdict(|n| n * 7919 % 13 * (1 << 20)), Verdict::Flat);
        assert_eq!(verdict(|n| (101 - n) * 4096), Verdict::Flat);
        assert_eq!(verdict(|n| n * FLOOR / 101), Verdict::Flat);
        // Up and down again.
        assert_eq!(verdict(|n| if (40..60).contains(&n) { 8 << 20 } else { 0 }), Verdict::Flat);
    }

    #[test]
    fn what_rises_on_and_on_grows() {
        assert_eq!(verdict(|n| n * 4096), Verdict::Grows);
        assert_eq!(verdict(|n| n * (1 << 20)), Verdict::Grows);
        assert_eq!(verdict(|n| n * 40_000 + n * 7919 % 13 * 4096), Verdict::Grows);
        // A leak that a heap covers in pieces of 132 KiB.
        assert_eq!(verdict(|n| n / 20 * (132 << 10)), Verdict::Grows);
    }

    #[test]
    fn what_rises_once_has_stepped() {
        // The medians of the first and the last quarter are the readings 20 and 89.
        for place in 1..101 {
            let expected = if (21..=89).contains(&place) { Verdict::Stepped } else { Verdict::Flat };
            assert_eq!(verdict(|n| if n < place { 0 } else { 1 << 20 }), expected, "{place}");
        }
    }

    #[test]
    fn an_exact_figure_has_no_floor() {
        let readings: Vec<u64> = (0..60).map(|n| BASE + n * 256).collect();
        let trend = Trend::of(&readings, 0).expect("enough readings");
        assert_eq!(trend.verdict, Verdict::Grows);
        assert_eq!(trend.bound, 6 * 256);
        // 54 readings after the warm-up: medians of quarters 40 apart, but for rounding.
        assert_eq!(trend.rise, 40 * 256);
        assert_eq!(Trend::of(&[BASE; 60], 0), Some(Trend { verdict: Verdict::Flat, rise: 0, bound: 0 }));
        let mut slow = vec![BASE; 60];
        slow[50..].fill(BASE + 256);
        assert_eq!(Trend::of(&slow, 0).map(|trend| trend.verdict), Some(Verdict::Stepped));
        assert_eq!(Trend::of(&[BASE; 17], 0).map(|trend| trend.verdict), Some(Verdict::Flat));
        assert_eq!(Trend::of(&[BASE; 16], 0), None);
    }
}
