//! `convledger export`: the rows of runs in the formats of other tools.

use super::{Outcome, keep_run_files, note, print, read_run};
use crate::record::{ExportFormat, ExportTable, export};
use anyhow::{Context, bail};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  convledger export results/* --format parquet --out all.parquet
  duckdb -c \"SELECT device, conv, arg_min(algorithm, time_median_ns) AS fastest, min(time_median_ns) / 1e6 AS ms
             FROM 'all.parquet' WHERE status = 'ok' GROUP BY ALL ORDER BY conv, ms\"
  convledger export DIR --table ledger --format jsonl | jq 'select(.ledger == \"computation\")'")]
pub(super) struct Args {
    /// Folders of runs; their rows follow each other
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,

    /// Which rows
    #[arg(long, value_name = "TABLE", default_value = "measurements")]
    table: Table,

    /// How to write them
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: Format,

    /// File to write instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Table {
    /// A row for each case
    Measurements,
    /// A row for each buffer
    Ledger,
    /// A row for each stage
    Steps,
    /// A row for each sample
    Samples,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A JSON object a line
    Jsonl,
    /// Apache Parquet
    Parquet,
    /// CSV as in the files of a run
    Csv,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let runs = args.runs.iter().map(|path| read_run(path)).collect::<Result<Vec<_>, _>>()?;
    let table = match args.table {
        Table::Measurements => ExportTable::Measurements,
        Table::Ledger => ExportTable::Ledger,
        Table::Steps => ExportTable::Steps,
        Table::Samples => ExportTable::Samples,
    };
    for (path, run) in args.runs.iter().zip(&runs) {
        let empty = match args.table {
            Table::Measurements => run.measurements.is_empty(),
            Table::Ledger => run.ledger.is_empty(),
            Table::Steps => run.steps.is_empty(),
            Table::Samples => run.samples.is_empty(),
        };
        if empty {
            note(format!("{}: no rows of that table", path.display()));
        }
    }
    let format = match args.format {
        Format::Jsonl => ExportFormat::JsonLines,
        Format::Parquet => ExportFormat::Parquet,
        Format::Csv => ExportFormat::Csv,
    };
    if args.out.is_none() && matches!(args.format, Format::Parquet) && io::stdout().is_terminal() {
        bail!("Parquet is not for terminals: name a file with --out, or pipe it on");
    }
    let mut bytes = Vec::new();
    let place = args.out.as_deref().unwrap_or(Path::new("standard output"));
    export(&runs, table, format, &mut bytes, place)?;
    match &args.out {
        Some(path) => {
            keep_run_files(path)?;
            fs::write(path, bytes).with_context(|| format!("cannot write --out {}", path.display()))?;
        }
        None => print(&bytes)?,
    }
    Ok(Outcome::Good)
}
