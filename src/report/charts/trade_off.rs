//! Time against workspace of a layer's cases, with the Pareto front.

use super::{LayerChart, axis, by_family};
use crate::analysis::LayerRows;
use crate::analysis::pareto::{TradeOff, trade_offs};
use crate::chart::{Chart, Color, Kind, Mark, Marker, Scale, Series, Style, Unit};
use crate::record::Measurement;
use crate::report::Report;
use crate::report::name::{exact_bytes, exact_time};
use crate::units::Nanoseconds;

pub(super) const CHART: LayerChart = LayerChart { name: "time-against-workspace", note, draw };

fn note(_: &Report<'_>, layer: &LayerRows<'_>) -> String {
    let all = trade_offs(layer);
    let front = all.iter().filter(|t| t.front).count();
    format!(
        "Filled: the Pareto front, {front} of {} cases, that no other beats in both time and workspace. Outlined: the others. 0 has a band of its own.",
        all.len()
    )
}

fn draw(report: &Report<'_>, layer: &LayerRows<'_>) -> Option<Chart> {
    let all = trade_offs(layer);
    if all.is_empty() {
        return None;
    }
    let mark = |t: &TradeOff<'_>| {
        let (bytes, time) = (t.case.workspace, t.case.time.0);
        let hover = format!("{}\nworkspace {}\nmedian {}{}", t.case.name(), exact_bytes(bytes), exact_time(time), interval(t.case.row));
        // Only what is on the front is named: the rest is told on hovering.
        let label = if t.front { t.case.name() } else { String::new() };
        (t.case.row.case.algorithm.clone(), Mark { hollow: !t.front, ..Mark::new(bytes.0 as f64, time, hover).labelled(label) })
    };
    let mut series = vec![front(&all)];
    series.extend(by_family(all.iter().map(mark)));
    Some(Chart {
        title: format!("Time against workspace: {}", report.title(layer)),
        x: axis("workspace", Unit::Bytes, Scale::Log),
        y: axis("median time", Unit::Time, Scale::Log),
        series,
    })
}

/// The front as stairs: what is least in time so far, over all workspaces up to the largest.
fn front(all: &[TradeOff<'_>]) -> Series {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for t in all.iter().filter(|t| t.front) {
        let (x, y) = (t.case.workspace.0 as f64, t.case.time.0);
        if let Some(&(_, before)) = corners.last() {
            corners.push((x, before));
        }
        corners.push((x, y));
    }
    let last = all.iter().map(|t| t.case.workspace.0).max().unwrap_or_default() as f64;
    corners.extend(corners.last().map(|&(_, y)| (last, y)));
    let marks = corners.into_iter().map(|(x, y)| Mark { x, y, ..Mark::default() }).collect();
    Series { name: "Pareto front".into(), style: Style::new(Color::Grey, Marker::Circle), kind: Kind::Line, marks }
}

/// The interval of the median, and what its samples are held against.
fn interval(row: &Measurement) -> String {
    let ends = row.time_ci95_low_ns.zip(row.time_ci95_high_ns);
    let mut text = ends.map_or(String::new(), |(low, high)| format!("\n95 % interval {} to {}", Nanoseconds(low), Nanoseconds(high)));
    if let Some(preparation) = row.time_preparation_ns {
        text = format!("{text}\npreparation, once for given weights: {}", Nanoseconds(preparation));
    }
    text
}
