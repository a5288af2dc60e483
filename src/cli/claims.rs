//! `convledger claims`: the figures that people repeat, audited.

use super::measuring::Measuring;
use super::table::{lines, table};
use super::{Outcome, note, print};
use crate::claims::{self, Claim, Contexts, Evidence, FUNCTIONS, Row, Verdict};
use crate::plan::DeviceClass;
use crate::record::Measurement;
use anyhow::Context;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_long_help = after_help())]
pub(super) struct Args {
    /// A TOML file of claims of your own, in place of those that come with the program; may be given several times
    #[arg(long, value_name = "FILE.toml")]
    claims: Vec<PathBuf>,

    /// Only claims whose id matches; may be given several times ('A0*')
    #[arg(long, value_name = "GLOB")]
    id: Vec<String>,

    /// Take what must be measured from this run
    #[arg(long, value_name = "DIR", conflicts_with = "measure")]
    run: Option<PathBuf>,

    /// Measure what must be measured now: a new run, of just the cases that the claims need
    #[arg(long)]
    measure: bool,

    /// Folder to write claims.csv to; with --measure that of the whole run, without it results/<date>-<device>
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// What to print on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    #[command(flatten)]
    measuring: Measuring,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// The rows of claims.csv
    Csv,
    /// A table for a page
    Markdown,
}

const RULE: &str = "\
The rule: a number holds when it is what rounding our figure to its digits gives, or cutting it off there, and within 5 % of it (zeros at \
the end of a whole number are no digits). A range holds when our figure lies in it, a bound when our figure is past it. KB, MB and GB are \
powers of ten; where only powers of two make it right, it holds_in_mib. Else it is off by up to 10 %, or fails. What this version cannot \
compute or measure is not_testable_here, what needs --measure or --run not_measured. A claim gets the worst verdict of its figures; those \
that were not measured count only where it has none by closed form. A claim that fails is a finding: the exit code stays 0.

A file of claims:
  [[claim]]
  id = \"X1\"
  statement = \"The column matrix of a 3x3 layer on 64x56x56\"
  with = { conv = \"n1c64h56w56_k64r3s3_p1\" }      # names for the expressions
  figure = [{ claimed = \"7.2\", unit = \"MB\", ours = \"workspace('im2col:batch', conv)\" }]
claimed is 12.6, 1.2..1.8, '> 1000' or '<= 0'; unit is B, KB, MB, GB, TB, KiB, MiB, GiB, TiB, or any other text. An expression has \
numbers, + - * / // % **, comparisons, lists, names with numbers ({'a': 1}, of which the closest counts), and calls:";

fn after_help() -> String {
    let mut text = RULE.to_owned();
    for (form, what) in FUNCTIONS {
        let _ = write!(text, "\n  {form}\n      {what}");
    }
    text
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut all = Vec::new();
    for path in &args.claims {
        all.extend(claims::read_file(path)?);
    }
    if args.claims.is_empty() {
        all = claims::builtin()?;
    }
    let all = claims::select(all, &args.id)?;
    let (rows, outcome) = rows(args, &all)?;
    print(&match args.format {
        Format::Table => as_table(&rows),
        Format::Csv => claims::to_csv(&rows)?,
        Format::Markdown => as_markdown(&rows),
    })?;
    Ok(outcome)
}

fn rows(args: &Args, all: &[Claim]) -> anyhow::Result<(Vec<Row>, Outcome)> {
    let mut outcome = Outcome::Good;
    let mut folder = args.out.clone();
    let measurements: Option<(Vec<Measurement>, DeviceClass)> = if let Some(path) = &args.run {
        let run = super::read_run(path)?;
        Some((run.measurements, run.environment.device.class))
    } else if args.measure {
        let jobs = claims::needed(all);
        if jobs.is_empty() {
            note("nothing to measure: these claims are decided by closed forms");
            None
        } else {
            let measured = args.measuring.run(args.out.as_ref(), &jobs)?;
            if measured.failed() {
                outcome = Outcome::FellShort;
            }
            folder = Some(measured.path);
            Some((measured.rows, measured.class))
        }
    } else {
        None
    };
    let contexts = args.run.as_deref().or(folder.as_deref()).map_or_else(|| Ok(Contexts::default()), Contexts::read)?;
    let evidence = measurements.as_ref().map(|(rows, class)| Evidence { rows, class: *class, contexts: &contexts });
    let rows = claims::audit(all, evidence)?;
    if let Some(folder) = folder {
        let path = write(&folder, &rows)?;
        note(format!("claims   {}", path.display()));
    }
    Ok((rows, outcome))
}

fn write(folder: &Path, rows: &[Row]) -> anyhow::Result<PathBuf> {
    let path = folder.join(claims::FILE);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(&path, claims::to_csv(rows)?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// A number to four digits, without zeros at its end.
fn short(number: f64) -> String {
    let decimals = match number.abs() {
        n if n >= 1000.0 || n == 0.0 => 0,
        n if n >= 100.0 => 1,
        n if n >= 10.0 => 2,
        n if n >= 0.1 => 3,
        _ => 5,
    };
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// The cells that both tables have: claimed, ours, deviation, verdict.
fn cells(row: &Row) -> [String; 4] {
    let ours = row.ours_in_reading.map_or_else(|| "-".to_owned(), |ours| with_unit(&short(ours), &row.reading));
    let deviation = row.deviation_percent.map_or_else(String::new, |percent| format!("{percent:+.1} %"));
    [with_unit(&row.claimed, &row.unit), ours, deviation, row.verdict.name().to_owned()]
}

fn as_table(rows: &[Row]) -> String {
    const MOST: usize = 64;
    let mut before = "";
    let body = rows.iter().map(|row| {
        let same = row.id == before;
        before = &row.id;
        let id = if same { String::new() } else { row.id.clone() };
        let what = match (same, row.figure.as_str()) {
            (false, "") => row.statement.clone(),
            (false, figure) => format!("{}: {figure}", row.statement),
            (true, figure) => format!("  {figure}"),
        };
        // What is cut off is the statement, not the figure's name.
        let long = what.chars().count() > MOST;
        let tail = if same || row.figure.is_empty() { String::new() } else { format!(": {}", row.figure) };
        let room = MOST.saturating_sub(tail.chars().count() + 1);
        let what = if long { what.chars().take(room).chain(['…']).collect::<String>() + &tail } else { what };
        let [claimed, ours, deviation, verdict] = cells(row);
        vec![id, what, claimed, ours, deviation, verdict]
    });
    let header = ["id", "claim", ">claimed", ">ours", ">by", "verdict"];
    format!("{}\n{}", lines(&table(&header, body)), counts(rows))
}

fn as_markdown(rows: &[Row]) -> String {
    let mut text = "| id | claim | claimed | ours | by | verdict | how ours is computed, and what else there is to say |\n".to_owned();
    text += "|---|---|--:|--:|--:|---|---|\n";
    for row in rows {
        let [claimed, ours, deviation, verdict] = cells(row);
        let what = if row.figure.is_empty() { row.statement.clone() } else { format!("{} ({})", row.statement, row.figure) };
        let how = if row.how.is_empty() { String::new() } else { format!("`{}`", row.how.replace('`', "'").replace('|', "\\|")) };
        let why = match (how.is_empty(), row.reason.is_empty()) {
            (false, false) => format!("{how}; {}", safe(&row.reason)),
            _ => how + &safe(&row.reason),
        };
        let cells = [safe(&row.id), safe(&what), safe(&claimed), safe(&ours), deviation, format!("`{verdict}`"), why];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text + "\n" + &counts(rows)
}

/// A text that ends no cell and begins no markup.
fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '`' | '\\' | '*' | '[' | ']' | '_' => safe.extend(['\\', c]),
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '&' => safe += "&amp;",
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// How many claims got which verdict.
fn counts(rows: &[Row]) -> String {
    let mut claims: Vec<(&str, Verdict)> = rows.iter().map(|row| (row.id.as_str(), row.claim_verdict)).collect();
    claims.dedup_by_key(|claim| claim.0);
    let count = |verdict: Verdict| claims.iter().filter(|claim| claim.1 == verdict).count();
    let parts = Verdict::ALL.iter().rev().map(|verdict| (count(*verdict), verdict.name())).filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, name)| format!("{count} {name}")).collect::<Vec<_>>().join(", ");
    format!("{} {}: {parts}.\n", claims.len(), if claims.len() == 1 { "claim" } else { "claims" })
}
