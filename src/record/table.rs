//! The four tables: which columns each has, in which order. The lists at the end are the only place that says so; header,
//! writer and reader follow from them.

use super::cell::{Cell, Kind, Problem, Value};
use super::{CaseKey, Environment, LedgerRow, Measurement, RecordError, SampleRow, StepRow};
use crate::conv::{Conv, ConvSpec, ElementType, Layout, Pass};
use csv::StringRecord;
use std::path::Path;

/// The columns that are the same in every row of a run.
#[derive(Debug, Clone)]
pub(super) struct RunColumns {
    pub(super) run_id: String,
    device: String,
    backend: String,
    driver: String,
}

impl RunColumns {
    pub(super) fn of(environment: &Environment) -> Self {
        let identity = &environment.device;
        Self {
            run_id: environment.run_id.clone(),
            device: identity.name.clone(),
            backend: identity.backend.clone(),
            driver: format!("{} {}", identity.driver, identity.driver_info).trim().to_owned(),
        }
    }
}

/// A row of a file.
pub(super) trait Row: Sized {
    /// Name of the file.
    const FILE: &'static str;
    /// Its header.
    const COLUMNS: &'static [&'static str];

    /// What the cells of each column hold.
    fn kinds() -> Vec<Kind>;

    fn write(&self, run: &RunColumns, cells: &mut CellWriter) -> Result<(), RecordError>;

    fn read(run: &RunColumns, cells: &mut CellReader<'_>) -> Result<Self, RecordError>;
}

/// The header line of a file.
pub(super) fn header<R: Row>() -> Result<Vec<u8>, RecordError> {
    lines::<R>([StringRecord::from(R::COLUMNS)])
}

/// Rows as the lines of their file.
pub(super) fn encode<R: Row>(rows: &[R], run: &RunColumns) -> Result<Vec<u8>, RecordError> {
    let records = rows.iter().map(|row| Ok(values(row, run)?.iter().map(Value::text).collect()));
    lines::<R>(records.collect::<Result<Vec<StringRecord>, RecordError>>()?)
}

/// The cells of a row.
pub(super) fn values<R: Row>(row: &R, run: &RunColumns) -> Result<Vec<Value>, RecordError> {
    let mut cells = CellWriter { file: R::FILE, columns: R::COLUMNS, values: Vec::with_capacity(R::COLUMNS.len()) };
    row.write(run, &mut cells)?;
    Ok(cells.values)
}

fn lines<R: Row>(records: impl IntoIterator<Item = StringRecord>) -> Result<Vec<u8>, RecordError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(&record).map_err(|error| RecordError::io("write", Path::new(R::FILE))(error.into()))?;
    }
    writer.into_inner().map_err(|error| RecordError::io("write", Path::new(R::FILE))(error.into_error()))
}

/// The rows of a whole file.
pub(super) fn decode<R: Row>(path: &Path, text: &str, run: &RunColumns) -> Result<Vec<R>, RecordError> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut records = reader.records().map(|record| record.map_err(|error| RecordError::io("read", path)(error.into())));
    check_header::<R>(path, &records.next().transpose()?.unwrap_or_default())?;
    records
        .map(|record| {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != R::COLUMNS.len() {
                let problem = format!("{} cells, the header has {}", record.len(), R::COLUMNS.len());
                return Err(RecordError::Line { path: path.to_owned(), line, problem });
            }
            R::read(run, &mut CellReader { path, line, columns: R::COLUMNS, record: &record, at: 0 })
        })
        .collect()
}

fn check_header<R: Row>(path: &Path, found: &StringRecord) -> Result<(), RecordError> {
    let count = found.len().max(R::COLUMNS.len());
    for at in 0..count {
        let problem = match (found.get(at), R::COLUMNS.get(at)) {
            (Some(found), Some(expected)) if found == *expected => continue,
            (Some(found), Some(expected)) => format!("column {} is {:?}, must be {expected}", at + 1, excerpt(found)),
            (None, Some(expected)) => format!("column {} is missing, must be {expected}", at + 1),
            (found, None) => format!("column {} is {:?}, which is not known", at + 1, excerpt(found.unwrap_or_default())),
        };
        return Err(RecordError::Header { path: path.to_owned(), problem });
    }
    Ok(())
}

/// As much of a text as an error message bears.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Collects the cells of a row.
pub(super) struct CellWriter {
    file: &'static str,
    columns: &'static [&'static str],
    values: Vec<Value>,
}

impl CellWriter {
    fn put(&mut self, value: &impl Cell) -> Result<(), RecordError> {
        let column = self.columns[self.values.len()];
        let value = value.write().map_err(|Problem(problem)| RecordError::Value { file: self.file, column, problem })?;
        self.values.push(value);
        Ok(())
    }
}

/// Hands out the cells of a row; there is one for every column.
pub(super) struct CellReader<'a> {
    path: &'a Path,
    line: u64,
    columns: &'static [&'static str],
    record: &'a StringRecord,
    at: usize,
}

impl CellReader<'_> {
    fn next<T: Cell>(&mut self) -> Result<T, RecordError> {
        let value = T::read(&self.record[self.at]).map_err(|problem| self.error(problem))?;
        self.at += 1;
        Ok(value)
    }

    /// A cell that the run has decided.
    fn same(&mut self, expected: &String) -> Result<(), RecordError> {
        if self.next::<String>()? == *expected {
            return Ok(());
        }
        self.at -= 1;
        Err(self.error(Problem(format!("is of another run: environment.json says {expected:?}"))))
    }

    /// The columns `conv`, `pass`, `dtype` and `layout`, which are one value.
    fn conv(&mut self) -> Result<Conv, RecordError> {
        let conv: Conv = self.next()?;
        let pass: Pass = self.next()?;
        let element: ElementType = self.next()?;
        let layout: Layout = self.next()?;
        ConvSpec { element, pass, layout, ..conv.into() }.build().map_err(|error| {
            self.at -= 1;
            self.error(Problem(format!("is impossible: {error}")))
        })
    }

    /// The error of the cell that is next.
    fn error(&self, Problem(problem): Problem) -> RecordError {
        let (column, value) = (self.columns[self.at], excerpt(&self.record[self.at]));
        RecordError::Cell { path: self.path.to_owned(), line: self.line, column, value, problem }
    }
}

/// The kind of a field.
fn kind_of<R, T: Cell>(_: fn(&R) -> &T) -> Kind {
    T::KIND
}

/// Defines a table: its file, the columns of the run it begins with, and its own columns before and after `cache`, each
/// named like its field. The case's columns stand in between.
macro_rules! table {
    ($row:ident in $file:literal: $($run:ident)*; $($before:ident)*; cache $($after:ident)*) => {
        impl Row for $row {
            const FILE: &'static str = $file;
            const COLUMNS: &'static [&'static str] = &[
                $(stringify!($run),)*
                "suite", "layer", "conv", "pass", "dtype", "layout", "algorithm", "variant",
                $(stringify!($before),)*
                "cache",
                $(stringify!($after),)*
            ];

            fn kinds() -> Vec<Kind> {
                // The columns of the run and of the case are texts.
                vec![
                    $({ let _ = stringify!($run); Kind::Text },)*
                    Kind::Text, Kind::Text, Kind::Text, Kind::Text, Kind::Text, Kind::Text, Kind::Text, Kind::Text,
                    $(kind_of(|row: &Self| &row.$before),)*
                    Kind::Text,
                    $(kind_of(|row: &Self| &row.$after),)*
                ]
            }

            fn write(&self, run: &RunColumns, cells: &mut CellWriter) -> Result<(), RecordError> {
                let CaseKey { suite, layer, conv, algorithm, variant, cache } = &self.case;
                $(cells.put(&run.$run)?;)*
                cells.put(suite)?;
                cells.put(layer)?;
                cells.put(conv)?;
                cells.put(&conv.pass())?;
                cells.put(&conv.element())?;
                cells.put(&conv.layout())?;
                cells.put(algorithm)?;
                cells.put(variant)?;
                $(cells.put(&self.$before)?;)*
                cells.put(cache)?;
                $(cells.put(&self.$after)?;)*
                Ok(())
            }

            fn read(run: &RunColumns, cells: &mut CellReader<'_>) -> Result<Self, RecordError> {
                $(cells.same(&run.$run)?;)*
                let (suite, layer) = (cells.next()?, cells.next()?);
                let conv = cells.conv()?;
                let (algorithm, variant) = (cells.next()?, cells.next()?);
                $(let $before = cells.next()?;)*
                let case = CaseKey { suite, layer, conv, algorithm, variant, cache: cells.next()? };
                $(let $after = cells.next()?;)*
                Ok(Self { case, $($before,)* $($after,)* })
            }
        }
    };
}

table!(Measurement in "measurements.csv": run_id device backend driver;
    tuning status reason
    parameter_bytes activation_bytes computation_bytes
    parameter_requested_bytes activation_requested_bytes computation_requested_bytes
    parameter_allocated_bytes activation_allocated_bytes computation_allocated_bytes
    peak_resident_bytes peak_accounted_bytes flops flops_without_padding algorithm_flops min_bytes clock;
    cache samples executions_per_sample
    time_median_ns time_min_ns time_mean_ns time_p05_ns time_p95_ns time_ci95_low_ns time_ci95_high_ns time_preparation_ns
    noise effective_gflops utilisation error_rel_l2 error_max_abs tolerance verified_points);

table!(LedgerRow in "ledger.csv": run_id;;
    cache ledger buffer role elements buffer_dtype predicted_bytes requested_bytes allocated_bytes
    lifetime first_step last_step slot);

table!(StepRow in "steps.csv": run_id;; cache stage dispatches workgroups time_median_ns time_share flops bytes limit);

table!(SampleRow in "samples.csv": run_id;; cache clock sample executions time_ns outlier);
