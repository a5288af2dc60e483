//! What is shown of each layer: time against workspace, ledgers, stages.

use super::Shown;
use super::plot::{Point, bar, scatter};
use crate::analysis::pareto::trade_offs;
use crate::analysis::{LayerRows, TimedRow, ledger_totals};
use crate::cli::table::clean;
use crate::record::StepRow;
use crate::units::{Bytes, Nanoseconds};
use std::fmt::Write;

/// Columns of a bar, where the screen has them.
const BAR: usize = 40;
/// The least.
const LEAST: usize = 10;
/// Columns of a number of bytes with the gap before it.
const NUMBER: usize = 10;
/// Algorithms whose stages are shown where no layer was asked for.
const FEW: usize = 3;
/// What the ledgers' parts of a bar are made of: parameter, activation, computation, runtime.
const LETTERS: [char; 4] = ['#', '=', '*', '.'];

impl Shown<'_> {
    /// A letter for each algorithm, in capitals on the Pareto front, and the front as a table.
    pub(super) fn pareto(&self, layer: &LayerRows<'_>) -> Option<String> {
        let cases = trade_offs(layer);
        if cases.is_empty() {
            return None;
        }
        let mut algorithms: Vec<&str> = Vec::new();
        for case in &cases {
            if !algorithms.contains(&case.case.row.case.algorithm.as_str()) {
                algorithms.push(&case.case.row.case.algorithm);
            }
        }
        let letter = |algorithm: &str| ('a'..='z').nth(algorithms.iter().position(|a| *a == algorithm).unwrap_or(0)).unwrap_or('?');
        let point = |case: &crate::analysis::pareto::TradeOff<'_>| {
            let small = letter(&case.case.row.case.algorithm);
            let letter = if case.front { small.to_ascii_uppercase() } else { small };
            Point { x: case.case.workspace.0 as f64, y: case.case.time.0, letter, front: case.front }
        };
        let points: Vec<Point> = cases.iter().map(point).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes that came from a u64")]
        let bytes = |x: f64| format!("{:#}", Bytes(x.round() as u64));
        let mut text = scatter(&points, self.width, bytes, |y| Nanoseconds(y).to_string());
        let legend: Vec<String> = algorithms.iter().map(|algorithm| format!("{} {}", letter(algorithm), clean(algorithm))).collect();
        text += &super::wrapped(
            &format!("Time over workspace; + several; capitals: on the front. {}", legend.join(", ")),
            "  ",
            "  ",
            self.width,
        );
        let fastest = layer.fastest()?.time.0;
        let front = cases.iter().filter(|case| case.front).map(|case| {
            let TimedRow { time, workspace, .. } = case.case;
            vec![clean(&case.case.name()), time.to_string(), format!("{:.2}x", time.0 / fastest), format!("{workspace:#}")]
        });
        text += &self.table(&["front", ">time", ">of the fastest", ">workspace"], front);
        Some(text)
    }

    /// The fastest case of each algorithm, the fastest algorithm first.
    fn best_of_each<'a>(layer: &LayerRows<'a>) -> Vec<TimedRow<'a>> {
        let mut cases: Vec<TimedRow<'a>> = layer.timed().collect();
        cases.sort_by(|a, b| a.time.0.total_cmp(&b.time.0).then(a.workspace.cmp(&b.workspace)));
        let mut best: Vec<TimedRow<'a>> = Vec::new();
        for case in cases {
            if best.iter().all(|known| known.row.case.algorithm != case.row.case.algorithm) {
                best.push(case);
            }
        }
        best
    }

    /// A bar for the fastest case of each algorithm, or for every case where the layer was asked for.
    pub(super) fn ledgers(&self, layer: &LayerRows<'_>) -> Option<String> {
        let mut cases = if self.chosen { layer.timed().collect() } else { Self::best_of_each(layer) };
        if cases.is_empty() {
            return None;
        }
        cases.sort_by_key(|case| case.workspace);
        let totals = ledger_totals(&self.run.measurements, &self.run.ledger);
        let bytes = |case: &TimedRow<'_>| {
            let each = totals.get(&case.row.case).copied().unwrap_or_default().each();
            each.map(|(_, levels)| levels.allocated.or(levels.requested).or(levels.predicted).unwrap_or_default().0)
        };
        let sum = |bytes: [u64; 4]| bytes.iter().fold(0_u64, |sum, &b| sum.saturating_add(b));
        let most = cases.iter().map(|case| sum(bytes(case))).max().unwrap_or_default() as f64;
        let name = cases.iter().map(|case| case.name().chars().count()).max().unwrap_or_default();
        let width = self.width.saturating_sub(name + 4 * (NUMBER + 1) + 4).clamp(LEAST, BAR);
        let rows = cases.iter().map(|case| {
            let parts = bytes(case);
            let drawn: Vec<(f64, char)> = parts.iter().zip(LETTERS).map(|(&b, letter)| (b as f64, letter)).collect();
            let mut cells = vec![clean(&case.name()), bar(&drawn, most, width)];
            cells.extend(parts.iter().map(|&b| format!("{:#}", Bytes(b))));
            cells
        });
        let legend = super::wrapped("# parameter, = activation, * computation, . runtime; as allocated", "  ", "  ", self.width);
        Some(self.table(&["algorithm", "", ">#", ">=", ">*", ">."], rows) + &legend)
    }

    /// The stages of the fastest case of each algorithm; of the first few where no layer was asked for.
    pub(super) fn stages(&self, layer: &LayerRows<'_>) -> Option<String> {
        let best = Self::best_of_each(layer);
        let shown = if self.chosen { best.len() } else { FEW };
        let of = |case: &TimedRow<'_>| -> Vec<&StepRow> {
            self.run.steps.iter().filter(|step| step.case == case.row.case && step.time_median_ns.is_some()).collect()
        };
        let mut rows = Vec::new();
        for case in best.iter().take(shown) {
            for (at, step) in of(case).into_iter().enumerate() {
                let name = if at == 0 { clean(&case.name()) } else { String::new() };
                let share = step.time_share.map_or_else(|| "once".to_owned(), |share| format!("{:.1} %", 100.0 * share));
                let time = step.time_median_ns.map_or_else(String::new, |ns| Nanoseconds(ns).to_string());
                let limit = step.limit.and_then(|limit| serde_json::to_value(limit).ok()?.as_str().map(str::to_owned)).unwrap_or_default();
                rows.push(vec![name, clean(&step.stage), time, share, bar(&[(step.time_share.unwrap_or(0.0), '█')], 1.0, LEAST), limit]);
            }
        }
        if rows.is_empty() {
            return None;
        }
        let mut text = self.table(&["algorithm", "stage", ">time", ">share", "", "bound by"], rows);
        let more = best.len().saturating_sub(shown);
        if more > 0 {
            let algorithms = if more == 1 { "algorithm" } else { "algorithms" };
            let _ = writeln!(text, "  {more} slower {algorithms} with --layer");
        }
        Some(text)
    }
}
