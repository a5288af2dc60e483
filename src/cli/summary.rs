//! The table at the end of a run.

use super::table::{clean, lines, table};
use crate::analysis::{LayerSummary, layers};
use crate::record::{Cache, Expense, Measurement, Status};
use crate::runner::{Event, Observer};
use crate::suite::Suite;
use crate::units::{Bytes, Nanoseconds};
use comfy_table::Table;
use std::collections::BTreeMap;

/// Per layer the fastest algorithm, its workspace, and what im2col would blow the input up to; then how many cases ended how.
pub(super) fn text(rows: &[Measurement], suites: &[Suite]) -> String {
    let repeats = |layer: &LayerSummary| {
        let suite = suites.iter().find(|suite| suite.name == layer.suite);
        suite.and_then(|s| s.layers.iter().find(|l| l.name == layer.layer)).map_or(1, |l| l.count)
    };
    format!("\n{}\n{}", lines(&layers_table(rows, suites.len() > 1, repeats)), counts(rows))
}

/// A row for each layer, with how often `repeats` says a network has it.
pub(super) fn layers_table(rows: &[Measurement], many_suites: bool, repeats: impl Fn(&LayerSummary) -> u64) -> Table {
    let header = ["layer", ">input", ">im2col workspace", ">blow-up", "fastest", ">time", ">GFLOP/s", ">workspace", ">over direct"];
    table(&header, layers(rows).into_iter().map(|layer| summary_row(&layer, repeats(&layer), many_suites)))
}

/// How many cases ended how.
pub(super) fn counts(rows: &[Measurement]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.status.name()).or_default() += 1;
    }
    let counts = counts.iter().map(|(status, n)| format!("{n} {status}")).collect::<Vec<_>>().join(", ");
    let unmeasured = rows.iter().any(|row| row.status == Status::Skipped && !row.case.conv.is_empty());
    let caution = if unmeasured { "The fastest is of the cases that were measured before the time was spent.\n" } else { "" };
    let cases = if rows.len() == 1 { "case" } else { "cases" };
    format!("{} {cases}: {counts}\n{caution}", rows.len())
}

fn summary_row(layer: &LayerSummary, repeats: u64, many: bool) -> Vec<String> {
    let dash = || "-".to_owned();
    let mut name = if many { format!("{}/{}", layer.suite, layer.layer) } else { layer.layer.clone() };
    if repeats > 1 {
        name = format!("{name} (x{repeats})");
    }
    if layer.cache == Cache::Cold {
        name += " (cold)";
    }
    let input = layer.input;
    let blow_up = layer.im2col.map_or_else(dash, |columns| format!("{:.1}x", columns.0 as f64 / input.0.max(1) as f64));
    let columns = layer.im2col.map_or_else(dash, |columns| format!("{columns:#}"));
    let mut cells = vec![shortened(&name), format!("{input:#}"), columns, blow_up];
    match &layer.fastest {
        Some(fastest) => cells.extend([
            fastest.case.variant.qualify(&fastest.case.algorithm),
            fastest.time_median_ns.map_or_else(dash, |t| Nanoseconds(t).to_string()),
            fastest.effective_gflops.map_or_else(dash, |g| format!("{g:.2}")),
            fastest.computation_bytes.map_or_else(dash, |b| format!("{:#}", Bytes(b))),
            layer.over_direct.map_or_else(dash, |ratio| format!("{ratio:.2}x")),
        ]),
        None => cells.extend([dash(), dash(), dash(), dash(), dash()]),
    }
    cells
}

/// A name that does not push the numbers off the screen, on one line.
pub(super) fn shortened(name: &str) -> String {
    const MOST: usize = 48;
    let clean = clean(name);
    if clean.chars().count() <= MOST { clean } else { clean.chars().take(MOST - 1).chain(['…']).collect() }
}

/// Where the time of a run went, and how much of its shortest sample was the timer.
#[derive(Default)]
pub(super) struct Cost(Option<Expense>);

impl Observer for Cost {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Finished { expense, .. } = event {
            self.0 = Some((*expense).clone());
        }
    }
}

impl Cost {
    /// A line for the end of a run; nothing for one that ran no case.
    pub(super) fn text(&self) -> String {
        let Some(expense) = self.0.as_ref().filter(|expense| expense.shortest_sample_ns.is_some()) else { return String::new() };
        let share = |seconds: f64| format!("{:.0} %", 100.0 * seconds / expense.wall_s);
        let others = expense.wall_s - expense.device_s - expense.verification_s - expense.compiler_s;
        let timer = expense
            .timer_share
            .map_or(String::new(), |share| format!("; reading the clock is {:.2} % of the shortest sample", 100.0 * share));
        format!(
            "Time {}: device {}, verification {}, compiler {}, the rest {}{timer}\n",
            Nanoseconds(expense.wall_s * 1e9),
            share(expense.device_s),
            share(expense.verification_s),
            share(expense.compiler_s),
            share(others.max(0.0)),
        )
    }
}
