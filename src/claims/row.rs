//! `claims.csv`: a row for each figure of each claim, and its strict reader.
//!
//! The form is that of the files of a run (see [`crate::record`]): RFC 4180 with a header, an empty cell where there is no figure,
//! a `'` before a text that a spreadsheet would run.

use super::ClaimError;
use crate::record::guarded;
use crate::suite::Place;
use serde::de::DeserializeOwned;
use serde::de::value::{Error as NameError, StrDeserializer};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// What the figures computed or measured here say of a claimed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is wrong by more than [`super::OFF`].
    Fails,
    /// It is wrong by no more than that.
    Off,
    /// It needs what this version has not.
    NotTestableHere,
    /// It needs measurements that are not there.
    NotMeasured,
    /// It is right with the prefix read as a power of two: `MB` as `MiB`.
    HoldsInMib,
    /// It is right as written.
    Holds,
}

impl Verdict {
    /// Every verdict, the worst first.
    pub const ALL: [Self; 6] = [Self::Fails, Self::Off, Self::NotTestableHere, Self::NotMeasured, Self::HoldsInMib, Self::Holds];

    /// The verdict as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Off => "off",
            Self::NotTestableHere => "not_testable_here",
            Self::NotMeasured => "not_measured",
            Self::HoldsInMib => "holds_in_mib",
            Self::Holds => "holds",
        }
    }

    /// Whether a figure was held against the claimed one.
    pub const fn is_decided(self) -> bool {
        !matches!(self, Self::NotTestableHere | Self::NotMeasured)
    }
}

/// Where our figure is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Sizes of convolutions and closed forms alone.
    ClosedForm,
    /// The rows of a run, at least in part.
    Measured,
}

impl Source {
    /// The source as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClosedForm => "closed_form",
            Self::Measured => "measured",
        }
    }
}

/// One claimed figure and ours beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The claim.
    pub id: String,
    /// Where it is from.
    pub article: String,
    /// What it says.
    pub statement: String,
    /// Which of its figures; empty where it has one only.
    pub figure: String,
    /// Where ours is from.
    pub source: Source,
    /// The figure as claimed: a number, a range, a bound.
    pub claimed: String,
    /// Its unit as claimed; empty for a plain number.
    pub unit: String,
    /// Our figure: in bytes where the unit is one of bytes, else in the unit; empty where there is none.
    pub ours: Option<f64>,
    /// The unit of `ours`.
    pub ours_unit: String,
    /// The reading of the unit that fits best: `MB` or `MiB`; other units read one way only.
    pub reading: String,
    /// Our figure in that reading.
    pub ours_in_reading: Option<f64>,
    /// How much larger the claimed figure is than ours in that reading, in percent; empty where it is right or either is 0.
    pub deviation_percent: Option<f64>,
    /// The verdict on this figure.
    pub verdict: Verdict,
    /// The verdict on the claim, the same in all of its rows; see [`super::overall`].
    pub claim_verdict: Verdict,
    /// How our figure is computed.
    pub how: String,
    /// What else there is to say, or why there is no figure.
    pub reason: String,
}

/// Name of the file.
pub const FILE: &str = "claims.csv";

/// Its header.
pub const COLUMNS: [&str; 16] = [
    "id",
    "article",
    "statement",
    "figure",
    "source",
    "claimed",
    "unit",
    "ours",
    "ours_unit",
    "reading",
    "ours_in_reading",
    "deviation_percent",
    "verdict",
    "claim_verdict",
    "how",
    "reason",
];

/// The rows as the text of the file.
///
/// # Errors
/// [`ClaimError::Io`] never in practice: the text is made in memory.
pub fn to_csv(rows: &[Row]) -> Result<String, ClaimError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let broken = |error: csv::Error| ClaimError::io("write", Path::new(FILE))(error.into());
    writer.write_record(COLUMNS).map_err(broken)?;
    // A plain number runs as what it is; all other texts are guarded.
    let text = |text: &str| if text.parse::<f64>().is_ok() { text.to_owned() } else { guarded(text) };
    let number = |number: Option<f64>| number.filter(|n| n.is_finite()).map_or_else(String::new, |n| format!("{n:?}"));
    for row in rows {
        let cells = [
            text(&row.id),
            text(&row.article),
            text(&row.statement),
            text(&row.figure),
            row.source.name().to_owned(),
            text(&row.claimed),
            text(&row.unit),
            number(row.ours),
            text(&row.ours_unit),
            text(&row.reading),
            number(row.ours_in_reading),
            number(row.deviation_percent),
            row.verdict.name().to_owned(),
            row.claim_verdict.name().to_owned(),
            text(&row.how),
            text(&row.reason),
        ];
        writer.write_record(&cells).map_err(broken)?;
    }
    let bytes = writer.into_inner().map_err(|error| ClaimError::io("write", Path::new(FILE))(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a `claims.csv`.
///
/// # Errors
/// [`ClaimError`] names file, line, column and value of the first thing that [`to_csv`] would not have written.
pub fn read(path: &Path) -> Result<Vec<Row>, ClaimError> {
    let bytes = fs::read(path).map_err(ClaimError::io("read", path))?;
    let file = crate::suite::printable(&path.display().to_string());
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|&byte| byte == b'\n').count();
        ClaimError::Content { place: Place { file: file.clone(), line, column: 1 }, problem: "is not UTF-8 text".into() }
    })?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut rows = Vec::new();
    let mut columns = format!("the columns are not those of {FILE}: {}", COLUMNS.join(","));
    if text.is_empty() {
        return Err(ClaimError::Row { file, line: 1, problem: columns });
    }
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| ClaimError::io("read", path)(error.into()))?;
        let line = record.position().map_or(1, csv::Position::line);
        let fault = |problem: String| ClaimError::Row { file: file.clone(), line, problem };
        if index == 0 {
            if record.iter().ne(COLUMNS) {
                return Err(fault(std::mem::take(&mut columns)));
            }
            continue;
        }
        if record.len() != COLUMNS.len() {
            return Err(fault(format!("{} cells, the header has {}", record.len(), COLUMNS.len())));
        }
        rows.push(row(&record).map_err(|(column, problem)| fault(format!("column {column}: {problem}")))?);
    }
    Ok(rows)
}

type Fault = (&'static str, String);

fn row(record: &csv::StringRecord) -> Result<Row, Fault> {
    let text = |at: usize| {
        let cell = &record[at];
        // Only what `guarded` would have put there is taken off.
        cell.strip_prefix('\'').filter(|rest| guarded(rest) == cell).unwrap_or(cell).to_owned()
    };
    let number = |at: usize| match &record[at] {
        "" => Ok(None),
        cell => match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err((COLUMNS[at], format!("{:?} is not a number", excerpt(cell)))),
        },
    };
    Ok(Row {
        id: text(0),
        article: text(1),
        statement: text(2),
        figure: text(3),
        source: named(record, 4)?,
        claimed: text(5),
        unit: text(6),
        ours: number(7)?,
        ours_unit: text(8),
        reading: text(9),
        ours_in_reading: number(10)?,
        deviation_percent: number(11)?,
        verdict: named(record, 12)?,
        claim_verdict: named(record, 13)?,
        how: text(14),
        reason: text(15),
    })
}

/// A cell that holds one of an enumeration's names.
fn named<T: DeserializeOwned>(record: &csv::StringRecord, at: usize) -> Result<T, Fault> {
    let deserializer: StrDeserializer<'_, NameError> = serde::de::IntoDeserializer::into_deserializer(&record[at]);
    T::deserialize(deserializer).map_err(|error| {
        let known = error.to_string().rsplit_once(", expected ").map_or(String::new(), |(_, known)| known.to_owned());
        (COLUMNS[at], format!("{:?} is not known, must be {known}", excerpt(&record[at])))
    })
}

/// As much of a text as an error message bears.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::claims) fn example() -> Row {
        Row {
            id: "A1".into(),
            article: "x".into(),
            statement: "a \"quoted\", split\nstatement".into(),
            figure: String::new(),
            source: Source::ClosedForm,
            claimed: "-30..-20".into(),
            unit: "%".into(),
            ours: Some(-50.0),
            ours_unit: "%".into(),
            reading: "%".into(),
            ours_in_reading: Some(-50.0),
            deviation_percent: Some(-40.0),
            verdict: Verdict::Fails,
            claim_verdict: Verdict::Fails,
            how: "=1+1".into(),
            reason: "'@".into(),
        }
    }

    fn read_text(text: &str) -> Result<Vec<Row>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("claims.csv");
        fs::write(&path, text).expect("written");
        read(&path).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), "F"))
    }

    #[test]
    fn rows_round_trip_and_formulas_are_guarded() {
        let empty = Row { ours: None, deviation_percent: None, claimed: "-75".into(), verdict: Verdict::NotMeasured, ..example() };
        let text = to_csv(&[example(), empty.clone()]).expect("text");
        assert!(text.contains(",'-30..-20,") && text.contains(",'=1+1,") && text.contains(",-75,"), "{text}");
        assert_eq!(read_text(&text), Ok(vec![example(), empty]));
    }

    #[test]
    fn what_was_not_written_here_is_told_with_its_place() {
        let good = to_csv(&[example()]).expect("text");
        let faults = [
            ("", "F/claims.csv, line 1: the columns are not those of claims.csv"),
            ("id,article\n", "F/claims.csv, line 1: the columns are not those of claims.csv"),
            (&good.replace(",fails,fails,", ",fine,fails,"), "F/claims.csv, line 2: column verdict: \"fine\" is not known, must be one of"),
            (&good.replace(",-50.0,%,%", ",NaN,%,%"), "F/claims.csv, line 2: column ours: \"NaN\" is not a number"),
            (&good.replace(",closed_form,", ",guess,"), "F/claims.csv, line 2: column source: \"guess\" is not known"),
            (&(good.clone() + "a,b\n"), "F/claims.csv, line 4: 2 cells, the header has 16"),
        ];
        for (text, message) in &faults {
            let error = read_text(text).expect_err(text);
            assert!(error.starts_with(message), "{error}");
        }
        assert!(Verdict::ALL.is_sorted());
    }
}
