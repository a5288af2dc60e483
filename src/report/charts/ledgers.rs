//! The bytes of a layer's cases, stacked by ledger.

use super::{LayerChart, axis, categories};
use crate::analysis::{LayerRows, LedgerTotals, Levels};
use crate::chart::{Chart, Color, Kind, Mark, Marker, Scale, Series, Style, Unit};
use crate::ledger::Ledger;
use crate::record::{Measurement, Status};
use crate::report::Report;
use crate::report::name::{case_name, exact_bytes};
use crate::units::Bytes;

pub(super) const CHART: LayerChart = LayerChart { name: "ledgers", note, draw };

/// The most cases drawn.
const MOST: usize = 40;

fn note(_: &Report<'_>, layer: &LayerRows<'_>) -> String {
    let rows = shown(layer);
    let cut = layer.rows().iter().filter(|row| row.computation_bytes.is_some()).count() - rows.len();
    let more = if cut > 0 { format!(" {cut} more in the table.") } else { String::new() };
    format!("Bytes as allocated, or as predicted where the case did not run.{more}")
}

/// The cases whose bytes are known, the smallest first.
fn shown<'a>(layer: &LayerRows<'a>) -> Vec<&'a Measurement> {
    let mut rows: Vec<&Measurement> = layer.rows().iter().copied().filter(|row| row.computation_bytes.is_some()).collect();
    rows.sort_by_key(|row| row.computation_bytes);
    rows.truncate(MOST);
    rows
}

fn draw(report: &Report<'_>, layer: &LayerRows<'_>) -> Option<Chart> {
    let rows = shown(layer);
    if rows.is_empty() {
        return None;
    }
    let of = |row: &Measurement| report.ledgers.get(&row.case).copied().unwrap_or_default();
    let colours = [Color::Blue, Color::Sky, Color::Vermilion, Color::Grey];
    let series = (0..4).map(|i| {
        let mark = |(place, row): (usize, &&Measurement)| {
            let (ledger, levels) = of(row).each()[i];
            let first = if i == 0 { format!("{}, {}\n", case_name(row), told(row.status)) } else { String::new() };
            let hover = best(levels).map_or(first.trim_end().to_owned(), |_| format!("{first}{}", levels_text(ledger, levels)));
            let last = if i == 3 { total(&of(row)) } else { String::new() };
            let hover = [hover, last].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
            Mark::new(best(levels).unwrap_or_default().0 as f64, place as f64, hover)
        };
        let (ledger, _) = LedgerTotals::default().each()[i];
        let style = Style::new(colours[i], Marker::Square);
        Series { name: ledger.to_string(), style, kind: Kind::Bars, marks: rows.iter().enumerate().map(mark).collect() }
    });
    Some(Chart {
        title: format!("Bytes by ledger: {}", report.title(layer)),
        x: axis("bytes", Unit::Bytes, Scale::Linear),
        y: categories(rows.iter().map(|row| case_name(row)).collect()),
        series: series.collect(),
    })
}

fn told(status: Status) -> &'static str {
    if status == Status::Ok { "ran" } else { status.name() }
}

/// The highest level that is known.
fn best(levels: Levels) -> Option<Bytes> {
    levels.allocated.or(levels.requested).or(levels.predicted)
}

fn levels_text(ledger: Ledger, levels: Levels) -> String {
    let known = [("predicted", levels.predicted), ("requested", levels.requested), ("allocated", levels.allocated)];
    let known: Vec<(&str, Bytes)> = known.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))).collect();
    match &known[..] {
        [(_, first), rest @ ..] if rest.iter().all(|(_, bytes)| bytes == first) => format!("{ledger} {}", exact_bytes(*first)),
        _ => {
            let each: Vec<String> = known.iter().map(|(name, bytes)| format!("{bytes} {name}")).collect();
            format!("{ledger} {}", each.join(", "))
        }
    }
}

fn total(totals: &LedgerTotals) -> String {
    let sum = totals.each().iter().filter_map(|(_, levels)| best(*levels)).fold(0_u64, |sum, bytes| sum.saturating_add(bytes.0));
    format!("together {}", exact_bytes(Bytes(sum)))
}
