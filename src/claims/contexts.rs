//! What `experiment contexts` measured, for claims on several models at once.

use super::ClaimError;
use crate::experiment::Experiment;
use std::collections::BTreeMap;
use std::path::Path;

/// The figures of a `contexts.csv`, summed over the processes of each arrangement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contexts(BTreeMap<(String, String), f64>);

impl Contexts {
    /// Reads the `contexts.csv` of a folder; nothing where it has none.
    ///
    /// # Errors
    /// [`ClaimError::Row`] with line and column for what is no number, or not in every row.
    pub fn read(folder: &Path) -> Result<Self, ClaimError> {
        let path = folder.join("contexts.csv");
        if !path.is_file() {
            return Ok(Self::default());
        }
        let wrong = |line: u64, problem: String| ClaimError::Row { file: path.display().to_string(), line, problem };
        let told = |error: csv::Error| wrong(error.position().map_or(0, csv::Position::line), error.to_string());
        let mut reader = csv::Reader::from_path(&path).map_err(told)?;
        let header = reader.headers().map_err(told)?.clone();
        let columns: Vec<&str> =
            Experiment::find("contexts").map(|found| found.columns().map(|column| column.name).collect()).unwrap_or_default();
        if !header.iter().eq(columns) {
            return Err(wrong(1, "its columns are not those of `experiment contexts`".into()));
        }
        let mut figures = Self::default();
        for record in reader.records() {
            let record = record.map_err(told)?;
            let line = record.position().map_or(0, csv::Position::line);
            for (column, cell) in header.iter().zip(&record).skip(1).filter(|(_, cell)| !cell.is_empty()) {
                let value: f64 = cell.parse().map_err(|_| wrong(line, format!("column {column}: {cell:?} is not a number")))?;
                *figures.0.entry((record[0].to_owned(), column.to_owned())).or_default() += value;
            }
        }
        Ok(figures)
    }

    /// A column of an arrangement; none where it was not measured.
    pub(super) fn get(&self, arrangement: &str, column: &str) -> Option<f64> {
        self.0.get(&(arrangement.to_owned(), column.to_owned())).copied()
    }
}
