//! The rows of runs in other formats than their own: one table of any number of runs in one file.
//!
//! The columns are those of the CSV file, with the same names. JSON lines and Parquet have types, so texts stand there as they are, without
//! the `'` that guards a CSV cell, and what was not measured is null.

mod parquet;

use super::cell::{Kind, Value};
use super::table::{Row, RunColumns, encode, header, values};
use super::{RecordError, Run};
use serde_json::Map;
use std::io::Write;
use std::path::Path;

/// Which rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportTable {
    /// Those of `measurements.csv`.
    Measurements,
    /// Those of `ledger.csv`.
    Ledger,
    /// Those of `steps.csv`.
    Steps,
    /// Those of `samples.csv`.
    Samples,
}

/// How they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// RFC 4180, as the files of a run.
    Csv,
    /// One JSON object a line.
    JsonLines,
    /// Apache Parquet, compressed with Snappy, a row group for each run.
    Parquet,
}

/// Writes a table of several runs, run by run, to `sink`, which `place` names in errors.
///
/// # Errors
/// [`RecordError::Io`] where the sink refuses, [`RecordError::Parquet`] where the library does.
pub fn export(
    runs: &[Run],
    table: ExportTable,
    format: ExportFormat,
    sink: &mut (dyn Write + Send),
    place: &Path,
) -> Result<(), RecordError> {
    match table {
        ExportTable::Measurements => rows(runs, |run| &run.measurements, format, sink, place),
        ExportTable::Ledger => rows(runs, |run| &run.ledger, format, sink, place),
        ExportTable::Steps => rows(runs, |run| &run.steps, format, sink, place),
        ExportTable::Samples => rows(runs, |run| &run.samples, format, sink, place),
    }
}

fn rows<R: Row>(
    runs: &[Run],
    of: fn(&Run) -> &Vec<R>,
    format: ExportFormat,
    sink: &mut (dyn Write + Send),
    place: &Path,
) -> Result<(), RecordError> {
    let failed = || RecordError::io("write", place);
    let tables = runs.iter().map(|run| (RunColumns::of(&run.environment), of(run)));
    match format {
        ExportFormat::Csv => {
            let head = header::<R>()?;
            sink.write_all(&head).map_err(failed())?;
            for (run, rows) in tables {
                let lines = encode(rows, &run)?;
                sink.write_all(&lines).map_err(failed())?;
            }
        }
        ExportFormat::JsonLines => {
            for (run, rows) in tables {
                for row in rows {
                    let cells = R::COLUMNS.iter().map(|&column| column.to_owned()).zip(values(row, &run)?.into_iter().map(json));
                    let object = serde_json::Value::Object(cells.collect::<Map<_, _>>());
                    writeln!(sink, "{object}").map_err(failed())?;
                }
            }
        }
        ExportFormat::Parquet => {
            let columns: Vec<(&str, Kind)> = R::COLUMNS.iter().copied().zip(R::kinds()).collect();
            let mut file = parquet::File::create(&columns, &mut *sink)?;
            for (run, rows) in tables {
                let rows = rows.iter().map(|row| values(row, &run)).collect::<Result<Vec<_>, _>>()?;
                file.append(&rows)?;
            }
            file.finish()?;
        }
    }
    sink.flush().map_err(failed())
}

fn json(value: Value) -> serde_json::Value {
    match value {
        Value::Empty => serde_json::Value::Null,
        Value::Text(text) => text.into(),
        Value::Integer(number) => number.into(),
        Value::Number(number) => number.into(),
        Value::Flag(flag) => flag.into(),
    }
}
