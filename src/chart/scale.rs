//! Where values lie along an axis, and its ticks.

use super::{Axis, Scale, Unit};
use crate::units::{Bytes, Nanoseconds};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// Share of the axis that the band of zero takes.
const ZERO_BAND: f64 = 0.1;
/// Share of the axis left free at its ends.
const MARGIN: f64 = 0.05;

/// An axis with its range and ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Map {
    kind: MapKind,
    ticks: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum MapKind {
    /// From 0 to a value.
    Linear { most: f64 },
    /// Between two logarithms to base 2, after the band of zero where there is one.
    Log { low: f64, high: f64, zero: bool },
    /// So many rows from top to bottom.
    Rows(usize),
}

impl Map {
    /// The axis over `values`, finite and not negative, with at most `ticks` ticks; `headroom` is the share to leave free at the end.
    pub(super) fn new(axis: &Axis, values: &[f64], ticks: usize, headroom: f64) -> Self {
        let most = values.iter().copied().fold(0.0, f64::max);
        match &axis.scale {
            Scale::Categories(names) => {
                Self { kind: MapKind::Rows(names.len().max(1)), ticks: (0..names.len()).map(|i| i as f64).collect() }
            }
            Scale::Linear => {
                let most = if most > 0.0 { most * (1.0 + headroom) } else { 1.0 };
                Self { kind: MapKind::Linear { most }, ticks: linear_ticks(most, ticks, axis.unit) }
            }
            Scale::Log => {
                let positive = || values.iter().copied().filter(|v| *v > 0.0);
                let least = positive().reduce(f64::min).unwrap_or(1.0);
                let (mut low, mut high) = (least.log2(), if most > 0.0 { most.log2() } else { 1.0 });
                // At least a decade, so that the ticks have something to stand on.
                let missing = (10_f64.log2() - (high - low)).max(0.0) / 2.0;
                let margin = MARGIN * (high - low + 2.0 * missing);
                (low, high) = (low - missing - margin, high + missing + margin + headroom * (high - low + 2.0 * missing));
                let zero = values.contains(&0.0);
                // Where all is zero there is nothing to be told after it.
                let mut at = if zero && most == 0.0 { Vec::new() } else { log_ticks(low, high, ticks, axis.unit) };
                if zero {
                    at.insert(0, 0.0);
                }
                Self { kind: MapKind::Log { low, high, zero }, ticks: at }
            }
        }
    }

    /// Where a value lies, from 0 at the axis' beginning to 1 at its end.
    pub(super) fn position(&self, value: f64) -> f64 {
        match self.kind {
            MapKind::Linear { most } => value / most,
            MapKind::Log { low, high, zero } => {
                let start = if zero { ZERO_BAND } else { 0.0 };
                if value > 0.0 { start + (value.log2() - low) / (high - low) * (1.0 - start) } else { start / 2.0 }
            }
            MapKind::Rows(rows) => 1.0 - (value + 0.5) / rows as f64,
        }
    }

    /// Where the band of zero ends, if there is one.
    pub(super) fn zero_band(&self) -> Option<f64> {
        matches!(self.kind, MapKind::Log { zero: true, .. }).then_some(ZERO_BAND)
    }

    pub(super) fn drop_tick(&mut self, place: usize) {
        self.ticks.remove(place);
    }

    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

impl Ranged for Map {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "a pixel, and the cast saturates")]
    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (from, to) = (f64::from(limit.0), f64::from(limit.1));
        (from + self.position(*value) * (to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // The grid has no lighter lines in between.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        match self.kind {
            MapKind::Linear { most } => 0.0..most,
            MapKind::Log { low, high, zero } => (if zero { 0.0 } else { low.exp2() })..high.exp2(),
            MapKind::Rows(rows) => -0.5..rows as f64 - 0.5,
        }
    }
}

/// Multiples of a round step: 1, 2 or 5 times a power of ten, a power of two for bytes.
fn linear_ticks(most: f64, count: usize, unit: Unit) -> Vec<f64> {
    let least_step = most / count.max(1) as f64;
    let step = if unit == Unit::Bytes {
        least_step.log2().ceil().max(0.0).exp2()
    } else {
        let decade = 10_f64.powf(least_step.log10().floor());
        [1.0, 2.0, 5.0, 10.0].map(|n| n * decade).into_iter().find(|step| *step >= least_step * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
    };
    (0..=count).map(|i| i as f64 * step).take_while(|tick| *tick <= most).collect()
}

/// Powers of ten, of two for bytes, at a stride that leaves at most `count`; with 2 and 5 in between where these fit.
fn log_ticks(low: f64, high: f64, count: usize, unit: Unit) -> Vec<f64> {
    let inside = |tick: &f64| tick.log2() >= low - 1e-9 && tick.log2() <= high + 1e-9;
    let (base, least) = if unit == Unit::Bytes { (2_f64, 0) } else { (10_f64, i32::MIN) };
    let exponent = |binary: f64| binary / base.log2();
    #[expect(clippy::cast_possible_truncation, reason = "a finite number's exponent, and the cast saturates")]
    let (from, to) = (exponent(low).floor() as i32, exponent(high).ceil() as i32);
    let powers = |stride: i32| -> Vec<f64> {
        let multiples = (from..=to).filter(|e| e.rem_euclid(stride) == 0 && *e >= least);
        multiples.map(|e| base.powi(e)).filter(inside).collect()
    };
    if base > 2.0 {
        let finer: Vec<f64> = (from..=to).flat_map(|e| [1.0, 2.0, 5.0].map(|n| n * base.powi(e))).filter(inside).collect();
        if finer.len() <= count {
            return finer;
        }
    }
    let strides = if base > 2.0 { [1, 2, 3, 4, 6] } else { [1, 2, 3, 5, 10] };
    strides.into_iter().map(powers).find(|ticks| ticks.len() <= count).unwrap_or_default()
}

/// A value at a tick.
pub(super) fn tick_text(value: f64, unit: Unit) -> String {
    match unit {
        _ if value == 0.0 => "0".into(),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ticks are not negative, and the cast saturates")]
        Unit::Bytes => short(&format!("{:#}", Bytes(value.round() as u64))),
        Unit::Time => short(&Nanoseconds(value).to_string()),
        Unit::Times => format!("{}×", number(value)),
        Unit::Number(_) => number(value),
    }
}

fn number(value: f64) -> String {
    if (1e-3..1e6).contains(&value) { short(&format!("{value:.4}")) } else { format!("{value:.0e}") }
}

/// Without zeros at the end of a number's decimals: `1.00 MiB` is `1 MiB`.
fn short(text: &str) -> String {
    let (number, unit) = text.split_once(' ').map_or((text, ""), |(number, unit)| (number, unit));
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: Unit, scale: Scale) -> Axis {
        Axis { label: String::new(), unit, scale }
    }

    #[test]
    fn zero_stands_before_the_first_decade() {
        let map = Map::new(&axis(Unit::Bytes, Scale::Log), &[0.0, 1024.0, 1_048_576.0], 6, 0.0);
        let at: Vec<f64> = [0.0, 1024.0, 32768.0, 1_048_576.0].iter().map(|v| map.position(*v)).collect();
        assert!(at.windows(2).all(|pair| pair[0] < pair[1]), "{at:?}");
        assert!(at[0] < ZERO_BAND && at[1] > ZERO_BAND && at[3] < 1.0, "{at:?}");
        assert!(((at[2] - at[1]) - (at[3] - at[2])).abs() < 1e-12, "equal ratios are equally far apart");
        assert_eq!(
            map.ticks().iter().map(|t| tick_text(*t, Unit::Bytes)).collect::<Vec<_>>(),
            ["0", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"]
        );
    }

    #[test]
    fn ticks_are_round_and_few() {
        let texts = |unit, scale, values: &[f64], count| {
            let map = Map::new(&axis(unit, scale), values, count, 0.0);
            assert!(map.ticks().len() <= count + 1, "{map:?}");
            map.ticks().iter().map(|t| tick_text(*t, unit)).collect::<Vec<_>>()
        };
        assert_eq!(texts(Unit::Time, Scale::Log, &[2e6, 4e8], 6), ["10 ms", "100 ms"]);
        assert_eq!(
            texts(Unit::Time, Scale::Log, &[2e6, 4e8], 8),
            ["2 ms", "5 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms"]
        );
        assert_eq!(texts(Unit::Times, Scale::Linear, &[27.0], 4), ["0", "10×", "20×"]);
        assert_eq!(texts(Unit::Bytes, Scale::Linear, &[7e6], 4), ["0", "2 MiB", "4 MiB", "6 MiB"]);
        assert_eq!(texts(Unit::Number("FLOP/B"), Scale::Log, &[0.25], 5).len(), 3);
        assert_eq!(texts(Unit::Number(""), Scale::Log, &[1e-9, 1.0], 6), ["1e-8", "1e-6", "1e-4", "0.01", "1"]);
    }

    #[test]
    fn axes_of_nothing_or_of_one_value_have_a_range() {
        assert_eq!(Map::new(&axis(Unit::Bytes, Scale::Log), &[0.0, 0.0], 6, 0.0).ticks(), [0.0]);
        for scale in [Scale::Linear, Scale::Log] {
            for values in [&[][..], &[0.0], &[5.0], &[f64::MAX], &[f64::MIN_POSITIVE]] {
                let map = Map::new(&axis(Unit::Time, scale.clone()), values, 6, 0.1);
                for value in values {
                    assert!((0.0..=1.0).contains(&map.position(*value)), "{scale:?} {value}: {map:?}");
                }
            }
        }
    }
}
