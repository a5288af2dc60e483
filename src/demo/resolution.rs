//! `resolution`: activations, workspaces and times grow with the area of the input, parameters not at all.

use super::{DemoError, Point, Row, Shown, times};
use crate::chart::{Axis, Chart, Kind, Mark, Scale, Series, Style, Unit};
use crate::claims::exponent;
use crate::units::{Bytes, Nanoseconds};

pub(super) const ALGORITHMS: [&str; 3] = ["implicit_gemm", "im2col:batch", "winograd_f4:batch"];
/// The same, of the algorithm in place the variant without parts.
pub(super) const PATTERNS: [&str; 3] = ["implicit_gemm:", "im2col:batch", "winograd_f4:batch"];

pub(super) fn points() -> Result<Vec<Point>, DemoError> {
    [14, 28, 56, 112].into_iter().map(|h| Point::new("resolution", h, &format!("n1c32h{h}w{h}_k32r3s3_p1"))).collect()
}

/// The rows of an algorithm with a value each.
fn curve<'a>(rows: &'a [Row], name: &str, value: impl Fn(&Row) -> Option<f64>) -> Vec<(&'a Row, f64)> {
    rows.iter().filter(|row| row.name() == name).filter_map(|row| Some((row, value(row)?))).collect()
}

/// The exponent of a curve over the resolution, to two digits.
fn growth(curve: &[(&Row, f64)]) -> Option<f64> {
    exponent(&curve.iter().map(|(row, value)| (row.value as f64, *value)).collect::<Vec<_>>())
}

fn workspace(row: &Row) -> Option<f64> {
    row.measurement.computation_bytes.map(|bytes| bytes as f64).filter(|bytes| *bytes > 0.0)
}

pub(super) fn show(rows: &[Row]) -> Shown {
    Shown { sentences: [bytes(rows), time(rows)], charts: vec![("", chart(rows)), ("-time", time_chart(rows))] }
}

fn bytes(rows: &[Row]) -> String {
    let one = ALGORITHMS.map(|name| curve(rows, name, |row| Some(row.measurement.activation_bytes as f64)));
    let Some(activations) = one.into_iter().find(|curve| curve.len() > 1) else {
        return "Fewer than two sizes were planned, so nothing can be said of growth.".into();
    };
    let (first, last) = (activations[0].0, activations[activations.len() - 1].0);
    let factor = |values: &[(&Row, f64)]| values[values.len() - 1].1 / values[0].1;
    let mut parts = vec![format!("the activations grow {} times", times(factor(&activations)))];
    for name in ALGORITHMS {
        let own = curve(rows, name, workspace);
        if own.len() > 1 {
            parts.push(format!("the workspace of {name} {} times", times(factor(&own))));
        }
    }
    let (before, after) = (first.measurement.parameter_bytes, last.measurement.parameter_bytes);
    parts.push(if before == after {
        format!("the parameters stay at {:#}", Bytes(after))
    } else {
        format!("the parameters go from {:#} to {:#}", Bytes(before), Bytes(after))
    });
    let area = (last.value as f64 / first.value as f64).powi(2);
    format!("From {0}x{0} to {1}x{1}, {2} times the area, {3}.", first.value, last.value, times(area), parts.join(", "))
}

fn time(rows: &[Row]) -> String {
    let told = ALGORITHMS.iter().filter_map(|name| {
        let own = curve(rows, name, |row| row.measurement.time_median_ns);
        Some((*name, growth(&own)?))
    });
    let told: Vec<(&str, f64)> = told.collect();
    if told.is_empty() {
        return "No algorithm has times at two sizes, so nothing can be said of time.".into();
    }
    let parts: Vec<String> = told.iter().map(|(name, exponent)| format!("{exponent:.2} for {name}")).collect();
    let (slow, fast) = (told.iter().filter(|(_, e)| *e < 1.9).count(), told.iter().filter(|(_, e)| *e > 2.1).count());
    let verdict = match (slow, fast) {
        (0, 0) => "as fast as the area",
        (_, 0) if slow == told.len() => "slower than the area",
        (0, _) if fast == told.len() => "faster than the area",
        _ => "not with the area alone",
    };
    format!("Time grows with the size to the power of {}: {verdict}.", parts.join(", "))
}

fn line(name: &str, place: Option<usize>, values: &[(&Row, f64)], hover: impl Fn(f64) -> String) -> Series {
    let style = place.map_or_else(|| Style::of_algorithm(name).0, Style::nth);
    let mark = |(row, value): &(&Row, f64)| Mark::new(row.value as f64, *value, format!("{name} at {}: {}", row.value, hover(*value)));
    Series { name: name.to_owned(), style, kind: Kind::Line, marks: values.iter().map(mark).collect() }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole bytes, as they were")]
fn chart(rows: &[Row]) -> Chart {
    let exact = |bytes: f64| Bytes(bytes as u64).to_string();
    let mut series = vec![
        line("activations", Some(6), &curve(rows, ALGORITHMS[0], |row| Some(row.measurement.activation_bytes as f64)), exact),
        line("parameters", Some(7), &curve(rows, ALGORITHMS[0], |row| Some(row.measurement.parameter_bytes as f64)), exact),
    ];
    for name in ALGORITHMS {
        let own = curve(rows, name, workspace);
        if !own.is_empty() {
            series.push(Series { name: format!("workspace of {name}"), ..line(name, None, &own, exact) });
        }
    }
    Chart {
        title: "Bytes over the resolution".into(),
        x: resolution(),
        y: Axis { label: "bytes".into(), unit: Unit::Bytes, scale: Scale::Log },
        series,
    }
}

fn time_chart(rows: &[Row]) -> Chart {
    let series = ALGORITHMS
        .map(|name| line(name, None, &curve(rows, name, |row| row.measurement.time_median_ns), |time| Nanoseconds(time).to_string()));
    let y = Axis { label: "median time".into(), unit: Unit::Time, scale: Scale::Log };
    Chart { title: "Time over the resolution".into(), x: resolution(), y, series: series.into() }
}

fn resolution() -> Axis {
    Axis { label: "height and width".into(), unit: Unit::Number(""), scale: Scale::Log }
}
