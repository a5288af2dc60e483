//! `blowup`: im2col's column matrix over the input is `R·S·(P·Q)/(H·W)`: it grows with the kernel's area and, but for the edges, with nothing else.

use super::{DemoError, Point, Row, Shown, extent, times};
use crate::chart::{Axis, Chart, Kind, Mark, Scale, Series, Style, Unit};
use crate::stats::geometric_mean;
use crate::units::{Bytes, Nanoseconds};

const UNFOLDED: &str = "im2col:batch";
const IN_PLACE: &str = "implicit_gemm";
/// What it is measured with; of the algorithm in place the variant without parts.
pub(super) const PATTERNS: [&str; 2] = [UNFOLDED, "implicit_gemm:"];
#[cfg(test)]
pub(super) const ALGORITHMS: [&str; 2] = [UNFOLDED, IN_PLACE];

const KERNEL: &str = "kernel size";

pub(super) fn points() -> Result<Vec<Point>, DemoError> {
    let mut points = Vec::new();
    for r in [1, 3, 5, 7] {
        points.push(Point::new(KERNEL, r, &format!("n1c32h28w28_k32r{r}s{r}_p{}", r / 2))?);
    }
    for c in [8, 16, 32, 64] {
        points.push(Point::new("channels", c, &format!("n1c{c}h28w28_k32r3s3_p1"))?);
    }
    for h in [14, 28, 56] {
        points.push(Point::new("resolution", h, &format!("n1c32h{h}w{h}_k32r3s3_p1"))?);
    }
    for n in [1, 2, 4] {
        points.push(Point::new("batch", n, &format!("n{n}c32h28w28_k32r3s3_p1"))?);
    }
    Ok(points)
}

/// The sweeps in order, each with its rows of an algorithm.
fn sweeps<'a>(rows: &'a [Row], name: &str) -> Vec<(&'static str, Vec<&'a Row>)> {
    let mut sweeps: Vec<(&'static str, Vec<&Row>)> = Vec::new();
    for row in rows.iter().filter(|row| row.name() == name) {
        match sweeps.last_mut() {
            Some((sweep, own)) if *sweep == row.sweep => own.push(row),
            _ => sweeps.push((row.sweep, vec![row])),
        }
    }
    sweeps
}

/// The row of the other algorithm at the same place.
fn partner<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    rows.iter().find(|other| other.name() == IN_PLACE && (other.sweep, other.value) == (row.sweep, row.value))
}

/// Times of im2col over the times in place, with both rows.
fn ratios<'a>(rows: &'a [Row]) -> Vec<(&'a Row, f64)> {
    let unfolded = rows.iter().filter(|row| row.name() == UNFOLDED);
    let ratio = |row: &'a Row| Some((row, row.measurement.time_median_ns? / partner(rows, row)?.measurement.time_median_ns?));
    unfolded.filter_map(ratio).collect()
}

pub(super) fn show(rows: &[Row]) -> Shown {
    Shown { sentences: [workspace(rows), time(rows)], charts: vec![("", chart(rows)), ("-time", time_chart(rows))] }
}

fn workspace(rows: &[Row]) -> String {
    /// Within this of each other is the same.
    const SAME: f64 = 1.15;
    let told = sweeps(rows, UNFOLDED).into_iter().filter_map(|(sweep, own)| {
        let (least, most) = extent(own.iter().filter_map(|row| row.blow_up()))?;
        let [start, .., end] = &own[..] else { return None };
        let over = format!("{sweep} {} to {}", start.value, end.value);
        Some(if most <= least * SAME {
            format!("stays at {} over {over}", times(end.blow_up()?))
        } else {
            format!("goes from {} to {} over {over}", times(start.blow_up()?), times(end.blow_up()?))
        })
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return "No case of im2col says what its column matrix would be.".into();
    }
    let most = rows.iter().filter(|row| row.name() == IN_PLACE).filter_map(|row| row.measurement.computation_bytes).max();
    let other = match most {
        Some(0) => format!("; {IN_PLACE} needs none at any of them"),
        Some(bytes) => format!("; {IN_PLACE} needs up to {:#}", Bytes(bytes)),
        None => String::new(),
    };
    format!("The workspace of {UNFOLDED}, as a multiple of the input, {}{other}.", told.join(", "))
}

fn time(rows: &[Row]) -> String {
    let ratios = ratios(rows);
    let values: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
    let (Some(mean), Some((least, most))) = (geometric_mean(&values), extent(values.iter().copied())) else {
        return format!("No point has a time of both {UNFOLDED} and {IN_PLACE}, so nothing can be said of time.");
    };
    let slower = values.iter().filter(|ratio| **ratio > 1.0).count();
    let bought = match (slower, values.len() - slower) {
        (_, 0) => "the workspace buys no time here".to_owned(),
        (0, _) => "here the workspace buys time everywhere".to_owned(),
        (_, faster) => format!("the workspace buys time at {faster} of them"),
    };
    format!(
        "{UNFOLDED} is slower than {IN_PLACE} at {slower} of {} points, {} times its time in the mean, from {} to {}: {bought}.",
        values.len(),
        times(mean),
        times(least),
        times(most)
    )
}

fn lines(rows: &[Row], label: &str, value: impl Fn(&Row) -> Option<f64>, hover: impl Fn(&Row) -> String) -> Vec<Series> {
    let series = sweeps(rows, UNFOLDED).into_iter().enumerate().map(|(place, (sweep, own))| {
        let base = own.first().map_or(1.0, |row| row.value as f64);
        let mark = |row: &&Row| {
            let text = format!("{sweep} {}: {} times {label}; {}", row.value, times(value(row)?), hover(row));
            Some(Mark::new(row.value as f64 / base, value(row)?, text))
        };
        Series { name: sweep.to_owned(), style: Style::nth(place), kind: Kind::Line, marks: own.iter().filter_map(mark).collect() }
    });
    series.collect()
}

fn axis(label: &str) -> Axis {
    Axis { label: label.into(), unit: Unit::Times, scale: Scale::Log }
}

fn chart(rows: &[Row]) -> Chart {
    let hover = |row: &Row| row.measurement.computation_bytes.map_or_else(String::new, |bytes| Bytes(bytes).to_string());
    Chart {
        title: "im2col: workspace over input".into(),
        x: axis("what is varied, over its least"),
        y: axis("workspace over input"),
        series: lines(rows, "the input", Row::blow_up, hover),
    }
}

fn time_chart(rows: &[Row]) -> Chart {
    let ratio = |row: &Row| ratios(rows).into_iter().find(|(own, _)| std::ptr::eq(*own, row)).map(|(_, ratio)| ratio);
    let hover = |row: &Row| row.measurement.time_median_ns.map_or_else(String::new, |time| Nanoseconds(time).to_string());
    Chart {
        title: format!("{UNFOLDED}: time over that of {IN_PLACE}"),
        x: axis("what is varied, over its least"),
        y: axis("time over time without workspace"),
        series: lines(rows, &format!("the time of {IN_PLACE}"), ratio, hover),
    }
}
