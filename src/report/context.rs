//! What the template is given.

use super::charts::OF_RUN;
use super::name::Name;
use super::rows::{Ended, Row, not_ok};
use super::summary::{Budget, Figure, Layer, of_suites};
use super::{Report, environment, headline};
use crate::account::{self, Filed, signed_text};
use crate::chart::ChartError;
use crate::claims;
use crate::units::{Bytes, Grouped};
use serde::Serialize;

/// The page.
#[derive(Serialize)]
pub(super) struct Page {
    device: String,
    driver: String,
    started: String,
    run_id: String,
    cases: usize,
    statuses: Vec<(&'static str, usize)>,
    headline: Vec<String>,
    budgets: Vec<Budget>,
    layers: Vec<Layer>,
    figures: Vec<Section>,
    ended: Vec<Ended>,
    algorithms: Vec<String>,
    rows: Vec<Row>,
    account: Option<Account>,
    claims: Vec<Claim>,
    verdicts: Vec<(&'static str, usize)>,
    environment: Vec<(String, String)>,
}

/// A chart of the run with its heading.
#[derive(Serialize)]
struct Section {
    heading: &'static str,
    figure: Figure,
}

/// The memory of one case, from predicted to resident.
#[derive(Serialize)]
struct Account {
    case: String,
    verdict: String,
    source: String,
    /// Kind, sign, name, bytes, where the figure is from.
    lines: Vec<[String; 5]>,
    /// Stage, resident, growth, allocated, reserved.
    stages: Vec<[String; 5]>,
}

impl Account {
    fn of(filed: &Filed) -> Self {
        let number = |n: Option<u64>| n.map_or("–".to_owned(), |n| Grouped(n).to_string());
        let line = |line: &account::Line| {
            [line.kind.to_string(), line.sign().replace('-', "−"), line.name.clone(), line.amount().replace('-', "−"), line.how.clone()]
        };
        let stage = |row: &account::RuntimeRow| {
            let growth = row.growth_bytes.map_or("–".to_owned(), |bytes| signed_text(bytes).replace('-', "−"));
            [row.stage.to_string(), number(row.resident_bytes), growth, number(row.allocated_bytes), number(row.reserved_bytes)]
        };
        Self {
            case: filed.case(),
            verdict: filed.verdict(),
            source: filed.source().map_or_else(String::new, |source| source.to_string()),
            lines: filed.bridge().lines.iter().map(line).collect(),
            stages: filed.runtime.iter().map(stage).collect(),
        }
    }
}

/// A claimed figure beside ours.
#[derive(Serialize)]
struct Claim {
    id: String,
    article: String,
    statement: String,
    figure: String,
    claimed: String,
    ours: String,
    exact: String,
    deviation: String,
    verdict: &'static str,
    how: Name,
    reason: String,
}

impl Page {
    pub(super) fn of(report: &Report<'_>) -> Result<Self, ChartError> {
        let (run, many) = (report.run, report.many_suites());
        let rows = &run.measurements;
        let mut algorithms: Vec<String> = rows.iter().map(|row| row.case.algorithm.clone()).collect();
        algorithms.sort();
        algorithms.dedup();
        let identity = &run.environment.device;
        let section = |chart: &super::charts::RunChart| {
            let drawn = (chart.draw)(report)?;
            let section =
                |svg| Section { heading: chart.heading, figure: Figure { name: chart.name.into(), svg, note: (chart.note)(report) } };
            Some(drawn.to_html().map(section))
        };
        Ok(Self {
            device: identity.name.clone(),
            driver: format!("{} {}", identity.driver, identity.driver_info),
            started: run.environment.started.to_string(),
            run_id: run.environment.run_id.clone(),
            cases: rows.len(),
            statuses: counted(rows.iter().map(|row| row.status.name())),
            headline: headline(run),
            budgets: of_suites(report),
            layers: report.layers.iter().map(|layer| Layer::of(report, layer)).collect::<Result<_, _>>()?,
            figures: OF_RUN.iter().filter_map(section).collect::<Result<_, _>>()?,
            ended: not_ok(rows, many),
            algorithms,
            rows: rows.iter().map(|row| Row::of(row, many)).collect(),
            account: report.account.map(Account::of),
            claims: report.claims.iter().map(claim).collect(),
            verdicts: counted(report.claims.iter().map(|row| row.verdict.name())),
            environment: environment::facts(&run.environment),
        })
    }
}

/// How often each comes up, in the order they first do.
fn counted(names: impl Iterator<Item = &'static str>) -> Vec<(&'static str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts
}

fn claim(row: &claims::Row) -> Claim {
    let unit = |number: String, unit: &str| if unit.is_empty() { number } else { format!("{number} {unit}") };
    let reading = row.ours_in_reading.map(|ours| unit(digits(ours), if row.reading.is_empty() { &row.unit } else { &row.reading }));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and not negative")]
    let exact = match row.ours {
        Some(bytes) if row.ours_unit == "B" && bytes >= 0.0 && bytes.fract() == 0.0 && bytes < 1e18 => Bytes(bytes as u64).to_string(),
        Some(ours) => unit(digits(ours), &row.ours_unit),
        None => String::new(),
    };
    Claim {
        id: row.id.clone(),
        article: row.article.clone(),
        statement: row.statement.clone(),
        figure: row.figure.clone(),
        claimed: unit(row.claimed.clone(), &row.unit),
        ours: reading.unwrap_or_else(|| exact.clone()),
        exact,
        deviation: row.deviation_percent.map_or(String::new(), |percent| format!("{percent:+.1} %")),
        verdict: row.verdict.name(),
        how: Name::new(&row.how),
        reason: row.reason.clone(),
    }
}

/// Four digits of a number, and no exponent where it is of a usual size.
fn digits(x: f64) -> String {
    if x == 0.0 || x.fract() == 0.0 && x.abs() < 1e6 {
        return format!("{x}");
    }
    match x.abs() {
        size if !(1e-3..1e9).contains(&size) => format!("{x:.3e}"),
        size if size >= 1000.0 => format!("{x:.0}"),
        size if size >= 100.0 => format!("{x:.1}"),
        size if size >= 10.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}
