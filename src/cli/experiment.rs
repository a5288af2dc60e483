//! `convledger experiment`: what allocators and drivers do with memory, a question at a time.

mod chart;

use super::account::worker;
use super::table::{lines, table};
use super::tuning::TuningArgument;
use super::{Outcome, note, print};
use crate::device::{Identity, Source};
use crate::experiment::{Choice, EXPERIMENTS, Experiment, Measured, Settings};
use crate::record::replace;
use crate::runner::measure_apart;
use crate::units::{Bytes, Nanoseconds};
use anyhow::{Context, bail};
use jiff::{Timestamp, Unit};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
// Without a name nothing is run that an option could have an effect on.
#[command(after_long_help = after_help(), mut_args(|arg| if arg.is_positional() { arg } else { arg.requires("name") }))]
pub(super) struct Args {
    /// Which experiment, or `all`; without it they are listed
    #[arg(value_name = "NAME")]
    name: Option<String>,

    #[arg(help = size_help(), long, value_name = "BYTES", allow_hyphen_values = true)]
    size: Option<Bytes>,

    #[arg(help = range_help("How many buffers `pool` creates", Settings::COUNT, Settings::default().count), long, value_name = "N", allow_negative_numbers = true)]
    count: Option<u64>,

    #[arg(help = range_help("Iterations of each sequence of `shapes`", Settings::ITERATIONS, Settings::default().iterations), long, value_name = "N", allow_negative_numbers = true)]
    iterations: Option<u64>,

    #[arg(help = range_help("Executions of `soak`", Settings::EXECUTIONS, Settings::default().executions), long, value_name = "N", allow_negative_numbers = true)]
    executions: Option<u64>,

    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    #[command(flatten)]
    tuning: TuningArgument,

    /// Time each process of an experiment may take; past it there is an error and no rows. `soak` is one process: within the default
    /// 10,000 executions may take 30 ms each, 1,000,000 only 0.3 ms
    #[arg(long, value_name = "DURATION", value_parser = super::run::time_to_run, allow_hyphen_values = true, default_value = "5m")]
    timeout: Duration,

    /// Folder for NAME.csv, the rows; NAME.json, what they show, on which device and by which command; and NAME.svg, a chart
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// How to print
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// The rows of NAME.csv
    Csv,
    /// NAME.json with the rows, an object for each experiment
    Json,
}

/// `<name>.json`: what the rows are of, and what they show.
#[derive(Serialize)]
struct Provenance<'a> {
    experiment: &'a str,
    question: &'a str,
    sentences: &'a [String],
    grows: bool,
    version: &'a str,
    started: Timestamp,
    command_line: Vec<String>,
    os: Option<String>,
    settings: Map<String, Value>,
    tuning_file: Option<&'a Path>,
    device: &'a Identity,
    resident_source: Option<Source>,
    #[serde(skip_serializing_if = "str::is_empty")]
    refusals: &'a str,
    columns: Map<String, Value>,
    /// In print only: the file has them beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Map<String, Value>>>,
}

fn size_help() -> String {
    let default = Settings::default().size;
    let most = Settings::MOST_BYTES;
    format!("Size of the buffers of `pool`, such as 1MiB: at least 1 B, and times --count at most {most:#} [default: {default:#}]")
}

fn range_help(what: &str, range: RangeInclusive<u64>, default: u64) -> String {
    format!("{what}, from {} to {} [default: {default}]", range.start(), range.end())
}

fn after_help() -> String {
    let mut text = "\
Each part of an experiment runs in a process of its own. Exit code 1: something grows in `soak`, by this rule: the first tenth of the \
readings is left out, the rest cut into four quarters, each with its median. The bound is six times the median difference of neighbouring \
readings, for resident at least 64 KiB. A figure grows where the last quarter is above the first by more than the bound, and at least two \
quarters above the one before by more than a third of it; where only one is, it stepped once.

Columns of the files:"
        .to_owned();
    for experiment in EXPERIMENTS {
        let _ = write!(text, "\n  {}: {}", experiment.name, experiment.question);
        for column in experiment.columns() {
            let _ = write!(text, "\n    {}: {}", column.name, column.meaning);
        }
    }
    text
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Some(name) = &args.name else {
        print(&list())?;
        return Ok(Outcome::Good);
    };
    let experiments: Vec<&'static Experiment> = if name == "all" { EXPERIMENTS.to_vec() } else { vec![Experiment::find(name)?] };
    if args.format == Format::Csv && experiments.len() > 1 {
        bail!("--format csv: the experiments have different columns; name one, or take --out");
    }
    let choice = Choice { size: args.size, count: args.count, iterations: args.iterations, executions: args.executions };
    let settings = choice.settings(&experiments)?;
    args.tuning.read()?;
    if let Some(out) = &args.out {
        fs::create_dir_all(out).with_context(|| format!("--out {}", out.display()))?;
    }
    let mut grows = false;
    let mut objects = Vec::new();
    for experiment in experiments {
        let started = Timestamp::now().round(Unit::Second)?;
        let measured = args.measure(experiment, &settings)?;
        let conclusion = measured.rows.conclude();
        grows |= conclusion.grows;
        let mut told = Provenance {
            experiment: experiment.name,
            question: experiment.question,
            sentences: &conclusion.sentences,
            grows: conclusion.grows,
            version: env!("CARGO_PKG_VERSION"),
            started,
            command_line: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
            os: sysinfo::System::long_os_version().ok(),
            settings: settings.of(experiment),
            tuning_file: args.tuning.path(),
            device: &measured.device,
            resident_source: measured.source,
            refusals: &measured.refusals,
            columns: experiment.columns().map(|column| (column.name.to_owned(), column.meaning.into())).collect(),
            rows: None,
        };
        if let Some(out) = &args.out {
            if let Some(chart) = chart::chart(&measured.rows) {
                replace(&out.join(format!("{}.svg", experiment.name)), chart.to_svg()?.as_bytes())?;
            }
            replace(&out.join(format!("{}.csv", experiment.name)), measured.rows.to_csv().as_bytes())?;
            replace(&out.join(format!("{}.json", experiment.name)), (serde_json::to_string_pretty(&told)? + "\n").as_bytes())?;
        }
        if measured.source.is_none() || !measured.refusals.is_empty() {
            let source = measured.source.map_or("nobody", Source::name);
            note(format!("{}: resident is told by {source}: {}", experiment.name, measured.refusals));
        }
        match args.format {
            Format::Table => print(&text(experiment, &measured, &conclusion.sentences))?,
            Format::Csv => print(&measured.rows.to_csv())?,
            Format::Json => {
                told.rows = Some(measured.rows.objects());
                objects.push(serde_json::to_value(&told)?);
            }
        }
    }
    if args.format == Format::Json {
        let whole = if name == "all" { Value::Array(objects) } else { objects.pop().unwrap_or_default() };
        print(&(serde_json::to_string_pretty(&whole)? + "\n"))?;
    }
    Ok(if grows { Outcome::FellShort } else { Outcome::Good })
}

impl Args {
    /// Runs the parts, each in a process of its own, and puts their rows together.
    fn measure(&self, experiment: &Experiment, settings: &Settings) -> anyhow::Result<Measured> {
        let mut whole: Option<Measured> = None;
        for part in (experiment.parts)(settings) {
            let measured = measure_apart(worker(self.device.as_deref(), &self.tuning)?, &part, self.timeout)?;
            match &mut whole {
                None => whole = Some(measured),
                Some(whole) => whole.rows.append(measured.rows)?,
            }
        }
        whole.with_context(|| format!("experiment {} has no parts", experiment.name))
    }
}

fn list() -> String {
    let rows = EXPERIMENTS.iter().map(|experiment| {
        let options: Vec<String> = experiment.options.iter().map(|option| format!("--{option}")).collect();
        vec![experiment.name.into(), experiment.question.into(), options.join(", ")]
    });
    lines(&table(&["experiment", "question", "options"], rows))
}

fn text(experiment: &Experiment, measured: &Measured, sentences: &[String]) -> String {
    let names: Vec<&str> = experiment.columns().map(|column| column.name).collect();
    let header: Vec<String> = names.iter().map(|name| heading(name)).collect();
    let cells = measured.rows.cells().into_iter();
    let rows = cells.map(|row| names.iter().zip(row).map(|(name, cell)| shown(name, cell)).collect());
    let table = lines(&table(&header, rows));
    format!("{}: {}\n\n{table}\n{}\n\n", experiment.name, experiment.question, sentences.join("\n"))
}

/// Columns of texts are set left, those of numbers right.
fn heading(column: &str) -> String {
    let text = matches!(column, "event" | "moment" | "arrangement" | "sequence" | "conv");
    let unit = ["_bytes", "_ns"].iter().find_map(|suffix| column.strip_suffix(suffix)).unwrap_or(column);
    format!("{}{}", if text { "" } else { ">" }, unit.replace('_', " "))
}

/// A cell as people read it, by the unit that its column's name ends with.
fn shown(column: &str, cell: String) -> String {
    if cell.is_empty() {
        return "-".into();
    }
    match (cell.parse::<i64>(), cell.parse::<f64>()) {
        (Ok(bytes), _) if column.ends_with("_bytes") => {
            format!("{}{:#}", if bytes < 0 { "-" } else { "" }, Bytes(bytes.unsigned_abs()))
        }
        (Ok(_), Ok(ns)) if column.ends_with("_ns") => Nanoseconds(ns).to_string(),
        (_, Ok(share)) if column.ends_with("_share") || column == "fragmentation" => format!("{:.1} %", 100.0 * share),
        _ => cell,
    }
}
