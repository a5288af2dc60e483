//! The strict reader: a run is read whole or an error names file, line, column and value.

use super::table::{Row, RunColumns, decode, encode};
use super::{CaseKey, Environment, LedgerRow, Measurement, RecordError, SampleRow, StepRow, files};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A run as its files tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Where and how it was made.
    pub environment: Environment,
    /// One for each case, in the order they ended.
    pub measurements: Vec<Measurement>,
    /// The buffers of the cases.
    pub ledger: Vec<LedgerRow>,
    /// The stages of the cases; none where `steps.csv` was not kept.
    pub steps: Vec<StepRow>,
    /// The samples of the cases; none where `samples.csv` was not kept.
    pub samples: Vec<SampleRow>,
    /// What was left out of it or is odd about it, in words.
    pub remarks: Vec<String>,
}

impl Run {
    /// Reads a run directory, also one that is being written or whose run was interrupted: a last line that was cut off and
    /// rows of a case that has no measurement yet are left out.
    ///
    /// # Errors
    /// [`RecordError`] for a missing `environment.json`, `measurements.csv` or `ledger.csv`, and for whatever in the files
    /// this version would not have written.
    pub fn read(directory: &Path) -> Result<Self, RecordError> {
        let (environment, mut tables) = Tables::load(directory, false)?;
        let mut remarks = tables.cut_off();
        tables.drop_unfinished();
        let Tables { measurements, ledger, steps, samples } = tables;
        let mut known = HashSet::new();
        let twice = measurements.rows.iter().filter(|row| !known.insert(&row.case)).count();
        if twice > 0 {
            remarks.push(format!("{twice} rows of {} are of cases that stand there before", Measurement::FILE));
        }
        if let Some((row, column, value)) = measurements.rows.iter().find_map(impossible) {
            let case = format!("{} {}", row.case.layer, row.case.variant.qualify(&row.case.algorithm));
            return Err(RecordError::Time { path: directory.join(Measurement::FILE), case, column, value });
        }
        Ok(Self { environment, measurements: measurements.rows, ledger: ledger.rows, steps: steps.rows, samples: samples.rows, remarks })
    }
}

/// Longer than any case is let run, in nanoseconds: a year.
const LONGEST: f64 = 366.0 * 86_400e9;

/// A time that no case takes.
fn impossible(row: &Measurement) -> Option<(&Measurement, &'static str, f64)> {
    let times = [
        ("time_median_ns", row.time_median_ns),
        ("time_min_ns", row.time_min_ns),
        ("time_mean_ns", row.time_mean_ns),
        ("time_p05_ns", row.time_p05_ns),
        ("time_p95_ns", row.time_p95_ns),
    ];
    times.into_iter().find_map(|(column, time)| Some((row, column, time.filter(|&time| time <= 0.0 || time > LONGEST)?)))
}

/// The four tables of a run.
pub(super) struct Tables {
    pub(super) measurements: Table<Measurement>,
    ledger: Table<LedgerRow>,
    steps: Table<StepRow>,
    samples: Table<SampleRow>,
}

impl Tables {
    /// Reads everything and changes nothing. Details, `steps.csv` and `samples.csv`, can be optional.
    pub(super) fn load(directory: &Path, details: bool) -> Result<(Environment, Self), RecordError> {
        if !directory.join(Measurement::FILE).exists() {
            return Err(RecordError::NoRun { path: directory.to_owned() });
        }
        let environment = Environment::read(directory)?;
        let run = RunColumns::of(&environment);
        let tables = Self {
            measurements: Table::load(directory, &run, true)?,
            ledger: Table::load(directory, &run, true)?,
            steps: Table::load(directory, &run, details)?,
            samples: Table::load(directory, &run, details)?,
        };
        Ok((environment, tables))
    }

    /// The cases that have a measurement.
    pub(super) fn cases(&self) -> HashSet<CaseKey> {
        self.measurements.rows.iter().map(|row| row.case.clone()).collect()
    }

    /// What is told of files whose last line is not whole.
    fn cut_off(&self) -> Vec<String> {
        let files = [
            (Measurement::FILE, self.measurements.changed),
            (LedgerRow::FILE, self.ledger.changed),
            (StepRow::FILE, self.steps.changed),
            (SampleRow::FILE, self.samples.changed),
        ];
        let told = |file: &str| format!("the last line of {file} is not whole and is left out");
        files.into_iter().filter(|(_, cut)| *cut).map(|(file, _)| told(file)).collect()
    }

    /// Leaves out rows of cases that have no measurement.
    pub(super) fn drop_unfinished(&mut self) {
        let cases = self.cases();
        self.ledger.retain(|row| cases.contains(&row.case));
        self.steps.retain(|row| cases.contains(&row.case));
        self.samples.retain(|row| cases.contains(&row.case));
    }

    /// Writes the files whose rows are not what they hold.
    pub(super) fn save(&self, run: &RunColumns) -> Result<(), RecordError> {
        self.samples.save(run)?;
        self.steps.save(run)?;
        self.ledger.save(run)?;
        self.measurements.save(run)
    }
}

/// One file and its rows.
pub(super) struct Table<R> {
    path: PathBuf,
    pub(super) rows: Vec<R>,
    /// Whether the file holds something else than the rows.
    changed: bool,
}

impl<R: Row> Table<R> {
    fn load(directory: &Path, run: &RunColumns, required: bool) -> Result<Self, RecordError> {
        let path = directory.join(R::FILE);
        if !required && !path.exists() {
            return Ok(Self { path, rows: Vec::new(), changed: false });
        }
        let bytes = fs::read(&path).map_err(RecordError::io("read", &path))?;
        let whole = whole_rows(&path, &bytes, &run.run_id)?;
        let text = std::str::from_utf8(whole).map_err(|error| {
            let line = line_at(whole, error.valid_up_to());
            RecordError::Line { path: path.clone(), line, problem: "is not UTF-8".into() }
        })?;
        let rows = decode(&path, text, run)?;
        Ok(Self { changed: whole.len() < bytes.len(), path, rows })
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&R) -> bool) {
        let before = self.rows.len();
        self.rows.retain(keep);
        self.changed |= self.rows.len() < before;
    }

    fn save(&self, run: &RunColumns) -> Result<(), RecordError> {
        if !self.changed {
            return Ok(());
        }
        let mut bytes = super::table::header::<R>()?;
        bytes.extend(encode(&self.rows, run)?);
        files::replace(&self.path, &bytes)
    }
}

/// The file up to the end of its last whole row: what an interrupted write left after it does not count.
///
/// A row ends at a line break outside quotes; quotes inside a cell come in pairs. A quote that opened and never closed
/// hides all rows after it, so rows found there are an error, not a loss.
fn whole_rows<'a>(path: &Path, bytes: &'a [u8], run_id: &str) -> Result<&'a [u8], RecordError> {
    let (mut quoted, mut end) = (false, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => end = at + 1,
            _ => {}
        }
    }
    let (whole, rest) = bytes.split_at(end);
    let next_row = format!("\n{run_id},");
    if rest.windows(next_row.len()).any(|window| window == next_row.as_bytes()) {
        let problem = "a quote opens in this row and does not close".into();
        return Err(RecordError::Line { path: path.to_owned(), line: line_at(bytes, end), problem });
    }
    Ok(whole)
}

/// The line, from 1, of a byte.
fn line_at(bytes: &[u8], at: usize) -> u64 {
    bytes[..at].split(|&byte| byte == b'\n').count() as u64
}
