//! The comparison for people at a terminal.

use super::{Held, Report, caution, cut, described, interval, layer_name, many_suites, plural, remarks, why};
use crate::analysis::compare::{Case, Lone, Memory, Verdict};
use crate::cli::summary::shortened;
use crate::cli::table::{clean, lines, table};
use crate::units::{Bytes, Grouped, Nanoseconds};
use std::fmt::Write;

/// Longer values of the surroundings are cut.
const VALUE: usize = 72;

/// So many memory differences are listed without `--all`.
const MEMORY_ROWS: usize = 20;

pub(super) fn text(report: &Report<'_>) -> String {
    let mut text = format!("baseline: {} ({})\n", clean(&report.baseline.path), described(&report.baseline.run));
    for held in &report.held {
        let _ = write!(text, "\n{}", section(report, held));
    }
    text
}

fn section(report: &Report<'_>, held: &Held<'_>) -> String {
    let many = many_suites(&report.baseline.run);
    let mut text = format!("compared: {} ({})\n\n", clean(held.path), described(held.run));
    text += &surroundings(held);
    text += &caution(held, &report.baseline.run, report.threshold).map_or(String::new(), |line| line + "\n\n");
    text += &times(report, held, many);
    text += &memory(report, held, many);
    text += &statuses(held, many);
    text += &lone("Only in the baseline", &held.comparison.lone.baseline, many);
    text += &lone("Only in the run compared", &held.comparison.lone.other, many);
    let _ = writeln!(text, "{}", held.tally(report.threshold));
    if let Some(mean) = &held.mean {
        let ci95 = mean.ci95.map_or_else(|| "no interval below 6 cases".into(), |ends| format!("95 % interval {}", interval(ends)));
        let _ = writeln!(text, "Geometric mean of {}: {:.3} ({ci95})", plural(mean.cases, "ratio"), mean.value);
    }
    text
}

fn surroundings(held: &Held<'_>) -> String {
    let dash = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), |text| cut(text, VALUE));
    let differ = held.differences.iter().map(|d| vec![clean(&d.what), dash(&d.values.baseline), dash(&d.values.other)]);
    let peaks = held.peaks.iter().map(|peak| {
        let value = |x: f64| format!("{x:.2} {}", peak.unit);
        vec![peak.what.to_owned(), value(peak.values.baseline), format!("{} ({:.3} of it)", value(peak.values.other), peak.ratio())]
    });
    let rows: Vec<Vec<String>> = differ.chain(peaks).collect();
    let count = match held.differences.len() {
        0 => "The surroundings are the same.".to_owned(),
        n => format!("{} between the surroundings:", plural(n, "difference")),
    };
    if rows.is_empty() { count + "\n\n" } else { format!("{count}\n{}\n", lines(&table(&["", "baseline", "compared"], rows))) }
}

fn times(report: &Report<'_>, held: &Held<'_>, many: bool) -> String {
    let shown = held.ranked(report.threshold).into_iter().filter(|(_, verdict)| report.all || *verdict != Verdict::Same);
    let rows: Vec<Vec<String>> = shown.map(|(case, verdict)| row(report, case, verdict, many)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = ["layer", "algorithm", ">baseline", ">compared", ">ratio", ">95 % interval", "from", "verdict", ""];
    lines(&table(&header, rows)) + "\n"
}

fn row(report: &Report<'_>, case: &Case, verdict: Verdict, many: bool) -> Vec<String> {
    let remarks = remarks(case, report.threshold);
    [vec![name(case, many), case.algorithm()], time_cells(case, verdict), vec![remarks]].concat()
}

/// Both times, their ratio with its interval and what that is from, the verdict.
pub(super) fn time_cells(case: &Case, verdict: Verdict) -> Vec<String> {
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| Nanoseconds(ns).to_string());
    let ratio = case.ratio.as_ref();
    vec![
        time(case.median_ns.baseline),
        time(case.median_ns.other),
        ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.3}", ratio.value)),
        ratio.and_then(|ratio| ratio.ci95).map_or_else(|| "-".to_owned(), interval),
        ratio.map_or("-", |ratio| ratio.evidence.name()).to_owned(),
        verdict.name().to_owned(),
    ]
}

fn name(case: &Case, many: bool) -> String {
    shortened(&clean(&layer_name(&case.key.baseline, many)))
}

/// A difference of bytes with its sign.
pub(super) fn signed(bytes: i128) -> String {
    let size = Grouped(u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX));
    format!("{}{size} B", if bytes < 0 { "-" } else { "+" })
}

/// The memory that differs, as baseline, other and difference.
pub(super) fn memory_cells(memory: &Memory) -> Option<Vec<String>> {
    let by = memory.growth().filter(|&by| by != 0)?;
    let size = |bytes: Option<u64>| Bytes(bytes.unwrap_or_default()).to_string();
    let (ledger, level) = (memory.ledger.to_string(), memory.level.name().to_owned());
    Some(vec![ledger, level, size(memory.bytes.baseline), size(memory.bytes.other), signed(by)])
}

fn memory(report: &Report<'_>, held: &Held<'_>, many: bool) -> String {
    let differ = held.comparison.cases.iter().flat_map(|case| {
        let named = move |cells: Vec<String>| [vec![name(case, many), case.algorithm()], cells].concat();
        case.memory.iter().filter_map(memory_cells).map(named)
    });
    let mut rows: Vec<Vec<String>> = differ.collect();
    if rows.is_empty() {
        return String::new();
    }
    let found = rows.len();
    if !report.all {
        rows.truncate(MEMORY_ROWS);
    }
    let total = |cells: Vec<String>| [vec!["all cases".to_owned(), String::new()], cells].concat();
    rows.extend(held.comparison.memory_totals().iter().filter_map(memory_cells).map(total));
    let header = ["memory of", "", "ledger", "level", ">baseline", ">compared", ">difference"];
    let more = if found > MEMORY_ROWS && !report.all { format!("{} more, with --all\n", found - MEMORY_ROWS) } else { String::new() };
    format!("{}{more}\n", lines(&table(&header, rows)))
}

fn statuses(held: &Held<'_>, many: bool) -> String {
    let row = |case: &Case| {
        let (was, is) = (case.status.baseline.name().to_owned(), case.status.other.name().to_owned());
        vec![name(case, many), case.algorithm(), was, is, shortened(&clean(&case.reason.other))]
    };
    let rows: Vec<_> = held.status_changes().map(row).collect();
    if rows.is_empty() { String::new() } else { lines(&table(&["status of", "", "baseline", "compared", "reason"], rows)) + "\n" }
}

fn lone(title: &str, found: &[Lone], many: bool) -> String {
    let row = |lone: &Lone| {
        let layer = shortened(&clean(&layer_name(&lone.key, many)));
        vec![layer, lone.key.variant.qualify(&lone.key.algorithm), lone.status.name().to_owned(), why(lone).to_owned()]
    };
    if found.is_empty() {
        return String::new();
    }
    format!("{title}, {}:\n{}\n", plural(found.len(), "case"), lines(&table(&["layer", "algorithm", "status", ""], found.iter().map(row))))
}
