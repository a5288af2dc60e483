//! One row of a benchmark that several programs take part in: read from their CSV files, written for them.

use super::PeersError;
use crate::conv::{Conv, ElementType};
use crate::ledger;
use crate::record::{Cache, Measurement, Status, guarded};
use crate::suite::{LAYER_COLUMNS, conv_of_columns, layer_columns};
use crate::units::Nanoseconds;
use csv::{Position, StringRecord};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Bytes of the largest file of rows read.
const MAX_BYTES: u64 = 16 << 20;

/// What the peer's column begins with in rows of this program.
const OURS: &str = "convledger-";

/// The columns before those of the layer, and after them.
const BEFORE: [&str; 3] = ["peer", "version", "device"];
const AFTER: [&str; 3] = ["ms_median", "ms_min", "gflops"];

/// The times of one program for one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerRow {
    /// The program with its variant: `ncnn-vulkan`, `convledger-im2col:strip=7`.
    pub peer: String,
    /// Its version.
    pub version: String,
    /// What it ran on; `cpu…` where that is no GPU driver.
    pub device: String,
    /// Name of the layer.
    pub layer: String,
    /// The layer.
    pub conv: Conv,
    /// Median time.
    pub median: Nanoseconds,
    /// Least time.
    pub min: Nanoseconds,
    /// Slowest over fastest median of the passes it is the best of, where the file has it.
    pub noise: Option<f64>,
    /// Operations of the method, which a fast one has fewer of; known of this program's own only.
    pub operations: Option<u64>,
}

impl PeerRow {
    /// The row of a measured case. `None` where there is nothing to compare: no time, cold caches, or a problem that the columns cannot
    /// say.
    pub fn of(row: &Measurement, version: &str, device: &str) -> Option<Self> {
        layer_columns(&row.case.conv)?;
        let timed = row.status == Status::Ok && row.case.cache == Cache::Hot;
        let (median, min) = (Nanoseconds(row.time_median_ns?), Nanoseconds(row.time_min_ns?));
        // Others join cells by commas without quotes, and shorten a driver's own additions: "llvmpipe (LLVM 15.0.6, 256 bits)".
        let device = device.split('(').next().unwrap_or_default().replace(',', " ").trim().to_owned();
        timed.then(|| Self {
            peer: format!("{OURS}{}", row.case.variant.qualify(&row.case.algorithm)),
            version: version.to_owned(),
            device,
            layer: row.case.layer.clone(),
            conv: row.case.conv,
            median,
            min,
            noise: None,
            operations: row.algorithm_flops,
        })
    }

    /// Whether it is of a GPU's driver, a software one included, and not of code for the CPU.
    pub fn is_gpu(&self) -> bool {
        !self.device.to_ascii_lowercase().starts_with("cpu")
    }

    /// What the program is called without `convledger-`; `None` for others.
    pub fn ours(&self) -> Option<&str> {
        self.peer.strip_prefix(OURS)
    }

    /// Operations of the direct method over the median.
    pub fn gflops(&self) -> f64 {
        ledger::operations(&self.conv).gflops_in(self.median)
    }
}

/// Rows as CSV with a header; `noise` adds that column, as in files that are merged from several passes.
///
/// # Errors
/// [`PeersError::Inexpressible`] for a layer that the columns cannot say.
pub fn write_rows(rows: &[PeerRow], noise: bool) -> Result<String, PeersError> {
    let mut header: Vec<&str> = [&BEFORE[..], &LAYER_COLUMNS, &AFTER].concat();
    header.extend(noise.then_some("noise"));
    let mut records = vec![StringRecord::from(header)];
    for row in rows {
        let inexpressible = || PeersError::Inexpressible { layer: row.layer.clone(), conv: row.conv.to_string() };
        let mut record = StringRecord::from(vec![guarded(&row.peer), guarded(&row.version), guarded(&row.device), guarded(&row.layer)]);
        record.extend(layer_columns(&row.conv).ok_or_else(inexpressible)?);
        record.extend([row.median, row.min].map(|time| format!("{:.6}", time.0 / 1e6)));
        record.push_field(&format!("{:.3}", row.gflops()));
        if noise {
            record.push_field(&row.noise.map_or(String::new(), |noise| format!("{noise:.2}")));
        }
        records.push(record);
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = records.iter().try_for_each(|record| writer.write_record(record));
    // Writing to memory does not fail, and what is written are texts.
    let bytes = written.ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Reads a file of rows. Rows without a positive median, which say that there was no measurement, are left out; columns that are not
/// known are not looked at.
///
/// # Errors
/// [`PeersError`] names the file and, where its contents are at fault, line and column.
pub fn read_rows(path: &Path) -> Result<Vec<PeerRow>, PeersError> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(|source| PeersError::Unreadable { path: path.to_owned(), source })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(PeersError::TooLarge { path: path.to_owned(), most: MAX_BYTES });
    }
    parse_rows(&text, path)
}

/// Reads the text of a file of rows; `path` is for errors.
pub(super) fn parse_rows(text: &str, path: &Path) -> Result<Vec<PeerRow>, PeersError> {
    let fault = |line, column: &str, problem| PeersError::Row { path: path.to_owned(), line, column: column.to_owned(), problem };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let unread = |error: csv::Error| {
        let line = error.position().map_or(1, Position::line);
        let problem = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!("{len} cells, the header has {expected_len}"),
            _ => error.to_string(),
        };
        fault(line, "", problem)
    };
    let header = reader.headers().map_err(unread)?.clone();
    let at = |name: &str| header.iter().position(|found| found == name);
    let mut columns = Vec::new();
    for name in [&BEFORE[..], &LAYER_COLUMNS, &AFTER].concat() {
        columns.push((name, at(name).ok_or_else(|| fault(1, name, "is missing".into()))?));
    }
    let noise = at("noise");
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unread)?;
        let line = record.position().map_or(1, |position| line_of(text, position));
        let cells = Cells { record: &record, columns: &columns, noise };
        rows.extend(cells.row().map_err(|(column, problem)| fault(line, column, problem))?);
    }
    Ok(rows)
}

/// The line that a record begins on: the reader leaves empty lines before it to the record.
fn line_of(text: &str, position: &Position) -> u64 {
    let rest = usize::try_from(position.byte()).ok().and_then(|byte| text.get(byte..)).unwrap_or_default();
    position.line() + rest.chars().take_while(|c| ['\r', '\n'].contains(c)).filter(|&c| c == '\n').count() as u64
}

/// The cells of a record, and in which column each of the known ones is.
struct Cells<'a> {
    record: &'a StringRecord,
    columns: &'a [(&'static str, usize)],
    noise: Option<usize>,
}

/// A column and what is wrong with its cell.
type Fault = (&'static str, String);

impl Cells<'_> {
    fn row(&self) -> Result<Option<PeerRow>, Fault> {
        if self.cell(AFTER[0]).is_empty() || self.cell(AFTER[2]).is_empty() {
            return Ok(None);
        }
        let median: f64 = self.number(AFTER[0], "a number")?;
        let min: f64 = self.number(AFTER[1], "a number")?;
        if !median.is_finite() || median <= 0.0 {
            // A difference of two noisy times can come out so.
            return Ok(None);
        }
        let mut numbers = [0_u64; 11];
        for (number, column) in numbers.iter_mut().zip(&LAYER_COLUMNS[1..12]) {
            *number = self.number(column, "a whole number")?;
        }
        let element: ElementType = self.number(LAYER_COLUMNS[12], "an element type")?;
        let conv = conv_of_columns(numbers, element).map_err(|error| (LAYER_COLUMNS[0], format!("is impossible: {error}")))?;
        let noise = self.noise.and_then(|at| self.record.get(at)).filter(|cell| !cell.is_empty());
        let noise = noise.map(|cell| cell.parse().map_err(|_| ("noise", format!("'{}' is not a number", excerpt(cell))))).transpose()?;
        Ok(Some(PeerRow {
            peer: self.text(BEFORE[0])?,
            version: self.text(BEFORE[1])?,
            device: self.text(BEFORE[2])?,
            layer: self.text(LAYER_COLUMNS[0])?,
            conv,
            median: Nanoseconds(median * 1e6),
            min: Nanoseconds(min * 1e6),
            noise,
            operations: None,
        }))
    }

    fn cell(&self, column: &str) -> &str {
        let at = self.columns.iter().find(|(name, _)| *name == column).map_or(usize::MAX, |(_, at)| *at);
        self.record.get(at).unwrap_or_default()
    }

    fn number<T: std::str::FromStr>(&self, column: &'static str, what: &str) -> Result<T, Fault> {
        let cell = self.cell(column);
        cell.parse().map_err(|_| (column, format!("'{}' is not {what}", excerpt(cell))))
    }

    /// A text on one line, without the `'` that keeps a spreadsheet from running it.
    fn text(&self, column: &'static str) -> Result<String, Fault> {
        let cell = self.cell(column);
        if cell.chars().any(char::is_control) {
            return Err((column, format!("'{}' has a control character", excerpt(cell))));
        }
        let bare = cell.strip_prefix('\'').filter(|bare| guarded(bare) == cell);
        Ok(bare.unwrap_or(cell).to_owned())
    }
}

/// As much of a cell as an error message bears, on one line.
fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let clean: String = text.escape_debug().collect();
    if clean.chars().count() <= MOST { clean } else { clean.chars().take(MOST - 1).chain(['…']).collect() }
}
