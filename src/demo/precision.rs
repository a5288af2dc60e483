//! `precision`: relative L2 errors against the f64 reference over the reduction length `C·R·S`, and what other element types would save.

use super::{DemoError, Point, Row, Shown, times};
use crate::chart::{Axis, Chart, Kind, Mark, Scale, Series, Style, Unit};
use crate::conv::ElementType;
use crate::record::Status;
use crate::units::Bytes;

const DIRECT: &str = "direct";
pub(super) const ALGORITHMS: [&str; 4] = [DIRECT, "winograd_f2:batch", "winograd_f4:batch", "winograd_f6:batch"];

pub(super) fn points() -> Result<Vec<Point>, DemoError> {
    let mut points = Vec::new();
    for element in [ElementType::F32, ElementType::F16] {
        for c in [4, 16, 64, 256] {
            let point = Point::new("reduction", 9 * c, &format!("n1c{c}h12w12_k16r3s3_p1"))?;
            points.push(Point { conv: point.conv.with_element(element)?, ..point });
        }
    }
    Ok(points)
}

/// Errors of an algorithm in an element type.
fn errors<'a>(rows: &'a [Row], name: &str, element: ElementType) -> Vec<(&'a Row, f64)> {
    let own = rows.iter().filter(|row| row.name() == name && row.measurement.case.conv.element() == element);
    own.filter(|row| row.measurement.status == Status::Ok).filter_map(|row| Some((row, row.measurement.error_rel_l2?))).collect()
}

pub(super) fn show(rows: &[Row]) -> Shown {
    Shown { sentences: [error(rows), types(rows)], charts: vec![("", chart(rows))] }
}

fn error(rows: &[Row]) -> String {
    let direct = errors(rows, DIRECT, ElementType::F32);
    let (Some(first), Some(last)) = (direct.first(), direct.last()) else {
        return "The error of direct was not measured, so there is nothing to hold the others against.".into();
    };
    let others = ALGORITHMS[1..].iter().filter_map(|name| {
        let own = errors(rows, name, ElementType::F32);
        let (_, error) = own.iter().find(|(row, _)| row.value == last.0.value)?;
        Some((*name, error / last.1))
    });
    let others: Vec<(&str, f64)> = others.collect();
    let told = others.iter().map(|(name, ratio)| format!("{name} {}", times(*ratio))).collect::<Vec<_>>().join(", ");
    let smaller = others.iter().filter(|(_, ratio)| *ratio <= 1.0).count();
    let verdict = match (others.len(), smaller) {
        (0, _) => "; no other algorithm was measured there".to_owned(),
        (_, 0) => format!("; in multiples of that, {told}"),
        (all, smaller) => format!("; in multiples of that, {told}: {smaller} of {all} no larger"),
    };
    format!(
        "Between sums of {} and {} products the relative error of direct goes from {:.1e} to {:.1e}{verdict}.",
        first.0.value, last.0.value, first.1, last.1
    )
}

fn types(rows: &[Row]) -> String {
    let f32_rows = rows.iter().filter(|row| row.measurement.case.conv.element() == ElementType::F32);
    let Some(largest) = f32_rows.max_by_key(|row| row.value) else { return "No case in f32 was planned.".into() };
    let bytes = largest.measurement.min_bytes;
    let int8 = bytes / ElementType::F32.bytes();
    let f16 = int8 * ElementType::F16.bytes();
    let saved = format!(
        "By closed form the tensors of the longest sum take {:#} in f32, {:#} in f16 and {:#} in int8",
        Bytes(bytes),
        Bytes(f16),
        Bytes(int8)
    );
    let ratio = errors(rows, DIRECT, ElementType::F16).last().and_then(|(row, error)| {
        let single = errors(rows, DIRECT, ElementType::F32);
        Some(error / single.iter().find(|(other, _)| other.value == row.value)?.1)
    });
    let unmeasured =
        rows.iter().find(|row| row.measurement.case.conv.element() == ElementType::F16 && row.measurement.status != Status::Ok);
    match (ratio, unmeasured) {
        (Some(ratio), _) => format!("{saved}; the error of {DIRECT} in f16 is {} times that in f32.", times(ratio)),
        (None, Some(row)) => format!("{saved}; errors in f16 were not measured ({}).", row.measurement.reason),
        (None, None) => format!("{saved}; errors in f16 were not measured."),
    }
}

fn chart(rows: &[Row]) -> Chart {
    let mut series = Vec::new();
    for (place, name) in ALGORITHMS.iter().enumerate() {
        for element in [ElementType::F32, ElementType::F16] {
            let own = errors(rows, name, element);
            let title = format!("{name} in {element}");
            let mark = |(row, error): &(&Row, f64)| Mark {
                hollow: element == ElementType::F16,
                ..Mark::new(row.value as f64, *error, format!("{title}, {} products: {error:.2e}", row.value))
            };
            let marks: Vec<Mark> = own.iter().map(mark).collect();
            if !marks.is_empty() {
                series.push(Series { name: title, style: Style::nth(place), kind: Kind::Line, marks });
            }
        }
    }
    Chart {
        title: "Rounding errors over the length of the sum".into(),
        x: Axis { label: "products in a sum".into(), unit: Unit::Number(""), scale: Scale::Log },
        y: Axis { label: "relative L2 error".into(), unit: Unit::Number(""), scale: Scale::Log },
        series,
    }
}
