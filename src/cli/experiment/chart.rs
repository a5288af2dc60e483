//! An experiment's chart. `contexts`, whose rows are no series, has none.

use crate::chart::{Axis, Chart, Kind, Mark, Scale, Series, Style, Unit};
use crate::experiment::{AlignmentRow, Held, Moment, Rows, Sequence};

/// What is drawn over x: the name of a line, and its values.
type Line = (String, Vec<(f64, Option<u64>)>);

/// The chart of some rows; none where there is nothing to draw.
pub(super) fn chart(rows: &Rows) -> Option<Chart> {
    let (title, x, lines) = match rows {
        Rows::Alignment(rows) => {
            let tax = |of: fn(&AlignmentRow) -> bool| {
                rows.iter().filter(|row| of(row)).map(|row| (row.size_bytes as f64, row.tax_bytes)).collect()
            };
            let first = ("the first of a size".to_owned(), tax(|row| row.buffer == 1));
            let second = ("the second, behind it in its block".to_owned(), tax(|row| row.buffer == 2 && row.is_behind()));
            let x = Axis { label: "what is to be stored".into(), unit: Unit::Bytes, scale: Scale::Log };
            ("allocated beyond that", x, vec![first, second])
        }
        Rows::Pool(rows) => ("held", counted("buffers created, then dropped"), levels(rows.iter().map(|row| row.held).enumerate())),
        Rows::Soak(rows) => {
            ("held", counted("executions"), levels(rows.iter().map(|row| (usize::try_from(row.executions).unwrap_or(0), row.held))))
        }
        Rows::Shapes(rows) => {
            let of = |sequence| rows.iter().filter(move |row| row.sequence == sequence);
            let line = |sequence: Sequence| {
                (sequence.to_string(), of(sequence).map(|row| (row.iteration as f64, row.held.reserved_bytes)).collect())
            };
            ("reserved", counted("iteration"), Sequence::ALL.map(line).to_vec())
        }
        Rows::Drop(rows) => {
            let of = |round| rows.iter().filter(move |row| row.round == round);
            let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
            let moment = |moment: Moment| f64::from(moment as u8);
            let line = |round| (format!("round {round}"), of(round).map(|row| (moment(row.moment), row.held.resident_bytes)).collect());
            ("resident", counted("moment, from start (0) to device dropped (6)"), (1..=rounds).map(line).collect())
        }
        Rows::Contexts(_) => return None,
    };
    let series: Vec<Series> = lines.into_iter().enumerate().map(series).filter(|series| !series.marks.is_empty()).collect();
    let y = Axis { label: String::new(), unit: Unit::Bytes, scale: Scale::Linear };
    (!series.is_empty()).then(|| Chart { title: format!("{}: {title}", rows.experiment().name), x, y, series })
}

fn counted(label: &str) -> Axis {
    Axis { label: label.into(), unit: Unit::Number(""), scale: Scale::Linear }
}

/// Allocated, reserved, and resident above its least: the process holds much besides.
fn levels(readings: impl Iterator<Item = (usize, Held)>) -> Vec<Line> {
    let readings: Vec<(f64, Held)> = readings.map(|(x, held)| (x as f64, held)).collect();
    let least = readings.iter().filter_map(|(_, held)| held.resident_bytes).min().unwrap_or(0);
    let line =
        |name: &str, read: &dyn Fn(&Held) -> Option<u64>| (name.to_owned(), readings.iter().map(|(x, held)| (*x, read(held))).collect());
    vec![
        line("allocated", &|held| held.allocated_bytes),
        line("reserved", &|held| held.reserved_bytes),
        line("resident above its least", &|held| held.resident_bytes.map(|bytes| bytes - least)),
    ]
}

fn series((place, (name, values)): (usize, Line)) -> Series {
    let mark = |(x, bytes): (f64, Option<u64>)| Some(Mark::new(x, bytes? as f64, String::new()));
    Series { style: Style::nth(place), kind: Kind::Line, marks: values.into_iter().filter_map(mark).collect(), name }
}
