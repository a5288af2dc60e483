//! How near each case's error comes to what it may be.

use super::{RunChart, axis, categories, layer_and_case};
use crate::chart::{Chart, Color, Kind, Mark, Marker, Scale, Series, Style, Unit};
use crate::record::{Measurement, Status};
use crate::report::Report;

pub(super) const CHART: RunChart = RunChart { name: "accuracy", heading: "Accuracy", note, draw };

fn note(_: &Report<'_>) -> String {
    "Relative L2 error against the f64 reference over the tolerance of the case. Right of 1 a result is wrong and its time is not published.".into()
}

fn draw(report: &Report<'_>) -> Option<Chart> {
    let checked: Vec<(&Measurement, f64)> = report
        .run
        .measurements
        .iter()
        .filter_map(|row| Some((row, row.error_rel_l2? / row.tolerance.filter(|tolerance| *tolerance > 0.0)?)))
        .filter(|(_, share)| share.is_finite())
        .collect();
    if checked.is_empty() {
        return None;
    }
    let mut algorithms: Vec<&str> = Vec::new();
    for (row, _) in &checked {
        if !algorithms.contains(&row.case.algorithm.as_str()) {
            algorithms.push(&row.case.algorithm);
        }
    }
    let limit = [-0.5, algorithms.len() as f64 - 0.5].map(|y| Mark { x: 1.0, y, ..Mark::default() });
    let mut series =
        vec![Series { name: "tolerance".into(), style: Style::new(Color::Ink, Marker::Circle), kind: Kind::Line, marks: limit.into() }];
    series.extend(algorithms.iter().enumerate().map(|(place, &algorithm)| {
        let own = checked.iter().filter(|(row, _)| row.case.algorithm == algorithm);
        let mark = |(row, share): &(&Measurement, f64)| {
            let wrong = if row.status == Status::Wrong { "\nwrong" } else { "" };
            let hover = format!(
                "{}\nerror {:.3e} of {:.3e} allowed\nlargest {:.3e} absolute, {} outputs compared{wrong}",
                layer_and_case(report, row),
                row.error_rel_l2.unwrap_or_default(),
                row.tolerance.unwrap_or_default(),
                row.error_max_abs.unwrap_or_default(),
                row.verified_points.unwrap_or_default(),
            );
            Mark { hollow: row.status == Status::Wrong, ..Mark::new(*share, place as f64, hover) }
        };
        Series { name: String::new(), style: Style::of_algorithm(algorithm).0, kind: Kind::Points, marks: own.map(mark).collect() }
    }));
    Some(Chart {
        title: "Error over tolerance".into(),
        x: axis("error over tolerance", Unit::Number(""), Scale::Log),
        y: categories(algorithms.into_iter().map(Into::into).collect()),
        series,
    })
}
