//! The comparison for a pull request: what changed in sight, the rest folded.
//!
//! GitHub-flavoured: tables, `<details>`. Names come from users; they are set as code, so that they mention nobody, link nowhere and end no
//! cell ([`code`]).

use super::text::{memory_cells, time_cells};
use super::{Held, Report, caution, cut, described, interval, layer_name, many_suites, plural, remarks, why};
use crate::analysis::compare::{Case, Lone, Verdict};
use std::fmt::Write;

/// Longer names are cut.
const LONGEST: usize = 80;

pub(super) fn markdown(report: &Report<'_>) -> String {
    let mut text = String::new();
    for held in &report.held {
        if !text.is_empty() {
            text += "\n";
        }
        text += &section(report, held);
    }
    if !report.failures.is_empty() {
        text += "\n**Broken rules**\n\n";
        for failure in &report.failures {
            let _ = writeln!(text, "- {}", plain(failure));
        }
    }
    text
}

fn section(report: &Report<'_>, held: &Held<'_>) -> String {
    let many = many_suites(&report.baseline.run);
    let mut text = format!("### convledger: {} against {}\n\n", code(held.path), code(&report.baseline.path));
    let _ = writeln!(text, "Baseline: {}.\nCompared: {}.\n", plain(&described(&report.baseline.run)), plain(&described(held.run)));
    text += &surroundings(held);
    text += &caution(held, &report.baseline.run, report.threshold).map_or(String::new(), |line| line + "\n\n");
    let _ = writeln!(text, "**{}** (threshold {}).", held.tally(report.threshold), report.threshold);
    if let Some(mean) = &held.mean {
        let ci95 = mean.ci95.map_or_else(|| "no interval below 6 cases".into(), |ends| format!("95 % interval {}", interval(ends)));
        let _ = writeln!(text, "Geometric mean of {}: {:.3} ({ci95}); above 1 is slower.", plural(mean.cases, "ratio"), mean.value);
    }
    text += "\n";
    let ranked = held.ranked(report.threshold);
    let rows = |of: &dyn Fn(Verdict) -> bool| -> Vec<Vec<String>> {
        ranked.iter().filter(|(_, verdict)| of(*verdict)).map(|(case, verdict)| row(report, case, *verdict, many)).collect()
    };
    let header = ["layer", "algorithm", ">baseline", ">compared", ">ratio", ">95 % interval", "from", "verdict", "remark"];
    text += &table(&header, &rows(&|verdict| matches!(verdict, Verdict::Slower | Verdict::Faster)));
    text += &folded("status that changed", &["case", "algorithm", "baseline", "compared", "reason"], &statuses(held, many), true);
    text += &folded(
        "memory that differs",
        &["case", "algorithm", "ledger", "level", ">baseline", ">compared", ">difference"],
        &memory(held, many),
        false,
    );
    text += &folded("UNSURE", &header, &rows(&|verdict| verdict == Verdict::Unsure), false);
    if report.all {
        text += &folded("SAME", &header, &rows(&|verdict| verdict == Verdict::Same), false);
    }
    let lone = |lone: &Lone| {
        vec![
            code(&layer_name(&lone.key, many)),
            code(&lone.key.variant.qualify(&lone.key.algorithm)),
            lone.status.name().into(),
            why(lone).into(),
        ]
    };
    for (title, found) in
        [("only in the baseline", &held.comparison.lone.baseline), ("only in the run compared", &held.comparison.lone.other)]
    {
        text += &folded(title, &["layer", "algorithm", "status", ""], &found.iter().map(lone).collect::<Vec<_>>(), false);
    }
    text
}

fn surroundings(held: &Held<'_>) -> String {
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), code);
    let mut rows: Vec<Vec<String>> =
        held.differences.iter().map(|d| vec![plain(&d.what), value(&d.values.baseline), value(&d.values.other)]).collect();
    for peak in &held.peaks {
        let value = |x: f64| format!("{x:.2} {}", peak.unit);
        rows.push(vec![
            peak.what.to_owned(),
            value(peak.values.baseline),
            format!("{} ({:.3} of it)", value(peak.values.other), peak.ratio()),
        ]);
    }
    let count = match held.differences.len() {
        0 => "The surroundings are the same.".to_owned(),
        n => format!("{} between the surroundings:", plural(n, "difference")),
    };
    format!("{count}\n\n{}", table(&["", "baseline", "compared"], &rows))
}

fn row(report: &Report<'_>, case: &Case, verdict: Verdict, many: bool) -> Vec<String> {
    let names = vec![code(&layer_name(&case.key.baseline, many)), code(&case.algorithm())];
    [names, time_cells(case, verdict), vec![plain(&remarks(case, report.threshold))]].concat()
}

fn memory(held: &Held<'_>, many: bool) -> Vec<Vec<String>> {
    let totals = held.comparison.memory_totals();
    let total = totals.iter().filter_map(memory_cells).map(|cells| [vec!["all cases".to_owned(), String::new()], cells].concat());
    let each = held.comparison.cases.iter().flat_map(|case| {
        let named = move |cells: Vec<String>| [vec![code(&layer_name(&case.key.baseline, many)), code(&case.algorithm())], cells].concat();
        case.memory.iter().filter_map(memory_cells).map(named)
    });
    total.chain(each).collect()
}

fn statuses(held: &Held<'_>, many: bool) -> Vec<Vec<String>> {
    let row = |case: &Case| {
        let (was, is) = (case.status.baseline.name().to_owned(), case.status.other.name().to_owned());
        vec![code(&layer_name(&case.key.baseline, many)), code(&case.algorithm()), was, is, plain(&case.reason.other)]
    };
    held.status_changes().map(row).collect()
}

/// A table whose columns are set right where the header begins with `>`; nothing where there are no rows.
pub(in crate::cli) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let names: Vec<String> = header.iter().map(|name| name.trim_start_matches('>').to_owned()).collect();
    let rule: Vec<String> = header.iter().map(|name| if name.starts_with('>') { "--:" } else { "---" }.to_owned()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{body}\n", line(&names), line(&rule))
}

fn folded(title: &str, header: &[&str], rows: &[Vec<String>], open: bool) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let open = if open { " open" } else { "" };
    format!("<details{open}><summary>{} {title}</summary>\n\n{}</details>\n\n", rows.len(), table(header, rows))
}

/// A name as code. One of plain characters goes between backticks. In any other all that could be markup is a numeric reference, which ends
/// no cell, opens no tag and is not read as a mention within `<code>`.
pub(in crate::cli) fn code(text: &str) -> String {
    let name = cut(text, LONGEST);
    let harmless = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '=' | ',' | '(' | ')' | '+' | ' ');
    if !name.trim().is_empty() && name.chars().all(harmless) {
        return format!("`{}`", name.trim());
    }
    format!("<code>{}</code>", referenced(&name))
}

/// A sentence of ours that may have a name in it.
pub(in crate::cli) fn plain(text: &str) -> String {
    referenced(&cut(text, LONGEST))
}

pub(in crate::cli) fn referenced(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '-' | '/' | '(' | ')' | '%' | '=' | ';') {
            let _ = write!(safe, "&#{};", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}
