//! The layers file: CSV with a 2-D convolution a row, as benchmarks of several programs share one.
//!
//! ```csv
//! layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype
//! conv1,1,3,224,224,64,7,7,2,3,1,1,f32
//! ```
//!
//! The header names the columns, in any order. Stride, padding and dilation are those of both axes. The suite is named after the file.

use super::file::{MAX_NAME, read_text, stem};
use super::{Layer, Place, Suite, SuiteError, printable};
use crate::conv::{Axis, Conv, ConvError, ConvSpec, ElementType, Pass};
use csv::{ReaderBuilder, StringRecord, Trim};
use std::collections::HashMap;
use std::path::Path;

/// The columns of a layers file, in the order they are written.
pub const LAYER_COLUMNS: [&str; 13] = ["layer", "n", "c", "h", "w", "k", "r", "s", "stride", "pad", "dilation", "groups", "dtype"];

/// What the columns after the name say of a convolution; `None` of one they cannot say: not 2-D, not the forward pass, or with a
/// stride, padding or dilation that differs between axes or sides.
#[expect(clippy::many_single_char_names, reason = "the columns have these names")]
pub fn layer_columns(conv: &Conv) -> Option<[String; 12]> {
    let &[height, width] = conv.axes() else { return None };
    let uniform = (height.stride, height.dilation) == (width.stride, width.dilation)
        && [height.pad_after, width.pad_before, width.pad_after].iter().all(|&pad| pad == height.pad_before);
    if !uniform || conv.pass() != Pass::Forward || conv.is_transposed() {
        return None;
    }
    let [n, c, h, w, k, r, s, stride, pad, dilation, groups] = [
        conv.batch(),
        conv.channels_in(),
        height.size,
        width.size,
        conv.channels_out(),
        height.kernel,
        width.kernel,
        height.stride,
        height.pad_before,
        height.dilation,
        conv.groups(),
    ]
    .map(|number| number.to_string());
    Some([n, c, h, w, k, r, s, stride, pad, dilation, groups, conv.element().to_string()])
}

/// The convolution of the numbers in the columns `n` to `groups`: what [`layer_columns`] writes.
///
/// # Errors
/// [`ConvError`] for one that is impossible.
#[expect(clippy::many_single_char_names, reason = "the columns have these names")]
pub fn conv_of_columns(numbers: [u64; 11], element: ElementType) -> Result<Conv, ConvError> {
    let [n, c, h, w, k, r, s, stride, pad, dilation, groups] = numbers;
    let axis = |size, kernel| Axis::new(size, kernel).stride(stride).pad(pad, pad).dilation(dilation);
    ConvSpec { element, ..ConvSpec::new(n, c, k, &[axis(h, r), axis(w, s)]).groups(groups) }.build()
}

impl Suite {
    /// Reads a layers file.
    ///
    /// # Errors
    /// [`SuiteError`] names the file and, where its contents are at fault, line and column.
    pub fn read_layers(path: &Path) -> Result<Self, SuiteError> {
        let (file, text) = read_text(path)?;
        Self::parse_layers(&text, &file)
    }

    /// Reads the text of a layers file; `file` is its name, for errors and for the suite.
    ///
    /// # Errors
    /// [`SuiteError`] with file, line and column.
    pub fn parse_layers(text: &str, file: &str) -> Result<Self, SuiteError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(text.as_bytes());
        let mut records = reader.records();
        let row = |record: Result<StringRecord, csv::Error>| match record {
            Ok(record) => {
                let start = record.position().and_then(|p| usize::try_from(p.byte()).ok()).unwrap_or(0);
                Ok(Row { text, file, start, record })
            }
            Err(error) => Err(SuiteError::Table { place: Place::of(file, text, 0), problem: printable(&error.to_string()) }),
        };
        let Some(header) = records.next() else {
            return Err(SuiteError::Table {
                place: Place::of(file, text, 0),
                problem: format!("no header; it is {}", LAYER_COLUMNS.join(",")),
            });
        };
        let columns = row(header)?.header()?;
        let mut lines = HashMap::new();
        let mut layers = Vec::new();
        for record in records {
            let row = row(record)?;
            let layer = row.layer(&columns)?;
            let place = row.place(columns[0]);
            if let Some(first) = lines.insert(layer.name.clone(), place.line) {
                return Err(SuiteError::Duplicate { place, name: layer.name, first });
            }
            layers.push(layer);
        }
        if layers.is_empty() {
            return Err(SuiteError::Table { place: Place::of(file, text, 0), problem: "no layer follows the header".into() });
        }
        let name = stem(file);
        let description = format!("layers of {name}");
        Ok(Self { name, description, layers })
    }
}

/// A record and where it stands.
struct Row<'a> {
    text: &'a str,
    file: &'a str,
    /// Byte where the reader began to look for it.
    start: usize,
    record: StringRecord,
}

impl Row<'_> {
    /// For each of [`LAYER_COLUMNS`] the cell it is in.
    fn header(&self) -> Result<[usize; 13], SuiteError> {
        for (at, found) in self.record.iter().enumerate() {
            if !LAYER_COLUMNS.contains(&found) {
                return Err(
                    self.error(at, format!("column '{}' is not known; the columns are {}", excerpt(found), LAYER_COLUMNS.join(",")))
                );
            }
            if self.record.iter().take(at).any(|before| before == found) {
                return Err(self.error(at, format!("a second column '{found}'")));
            }
        }
        let mut columns = [0; 13];
        for (column, name) in columns.iter_mut().zip(LAYER_COLUMNS) {
            let found = self.record.iter().position(|found| found == name);
            *column = found.ok_or_else(|| self.error(self.record.len(), format!("column '{name}' is missing")))?;
        }
        Ok(columns)
    }

    fn layer(&self, columns: &[usize; 13]) -> Result<Layer, SuiteError> {
        if self.record.len() != columns.len() {
            let (count, expected) = (self.record.len(), columns.len());
            return Err(self.error(count.min(expected), format!("{count} cells, the header has {expected}")));
        }
        let name = self.name(columns[0])?;
        let mut numbers = [0; 11];
        for ((number, &at), column) in numbers.iter_mut().zip(&columns[1..12]).zip(&LAYER_COLUMNS[1..12]) {
            let cell = &self.record[at];
            *number = cell
                .parse()
                .map_err(|_| self.error(at, format!("{column} of layer '{name}' is '{}', not a whole number", excerpt(cell))))?;
        }
        let element: ElementType = self.record[columns[12]].parse().map_err(|_| {
            let cell = excerpt(&self.record[columns[12]]);
            self.error(columns[12], format!("dtype of layer '{name}' is '{cell}', must be f32 or f16"))
        })?;
        let impossible = |source| SuiteError::Impossible { place: self.place(0), name: name.clone(), source };
        let conv = conv_of_columns(numbers, element).map_err(impossible)?;
        Ok(Layer { name, conv, count: 1 })
    }

    fn name(&self, at: usize) -> Result<String, SuiteError> {
        let (name, field) = (&self.record[at], "layer");
        let length = name.chars().count();
        if length == 0 {
            return Err(SuiteError::NoText { place: self.place(at), field });
        }
        if length > MAX_NAME {
            return Err(SuiteError::TooLong { place: self.place(at), field, length, limit: MAX_NAME });
        }
        if name.chars().any(char::is_control) {
            return Err(SuiteError::Control { place: self.place(at), field, text: printable(name) });
        }
        Ok(name.to_owned())
    }

    fn error(&self, cell: usize, problem: String) -> SuiteError {
        SuiteError::Table { place: self.place(cell), problem }
    }

    /// Where a cell begins; for one past the last, where the record ends.
    fn place(&self, cell: usize) -> Place {
        let rest = self.text.get(self.start..).unwrap_or_default();
        // The reader leaves the line break before a record, and empty lines, to the record.
        let begin = self.start + rest.len() - rest.trim_start_matches(['\r', '\n']).len();
        let (mut at, mut fresh, mut quoted) = (0, true, false);
        for (byte, c) in self.text.get(begin..).unwrap_or_default().char_indices() {
            if at == cell && !(fresh && c == ' ') {
                return Place::of(self.file, self.text, begin + byte);
            }
            match c {
                '"' if quoted || fresh => quoted = !quoted,
                ',' if !quoted => at += 1,
                '\r' | '\n' if !quoted => return Place::of(self.file, self.text, begin + byte),
                _ => {}
            }
            fresh = c == ',' && !quoted || fresh && c == ' ';
        }
        Place::of(self.file, self.text, self.text.len())
    }
}

/// As much of a cell as an error message bears, on one line.
fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let clean = printable(text);
    if clean.chars().count() <= MOST { clean } else { clean.chars().take(MOST - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests;
