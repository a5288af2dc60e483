//! `tradeoff`: one layer, every algorithm and variant: time against workspace.

use super::{DemoError, Point, Row, Shown, times};
use crate::analysis::by_layer;
use crate::analysis::pareto::{price, trade_offs};
use crate::chart::{Axis, Chart, Kind, Mark, Scale, Series, Style, Unit};
use crate::conv::Conv;
use crate::record::Measurement;
use crate::units::{Bytes, Nanoseconds};

/// A 3x3 layer with half the channels that the first stage of residual networks has: small enough for a software driver.
const LAYER: &str = "n1c32h56w56_k32r3s3_p1";

pub(super) fn points(conv: Option<Conv>) -> Result<Vec<Point>, DemoError> {
    Ok(vec![match conv {
        Some(conv) => Point { sweep: "layer", value: 1, conv },
        None => Point::new("layer", 1, LAYER)?,
    }])
}

pub(super) fn show(rows: &[Row]) -> Shown {
    let measurements: Vec<Measurement> = rows.iter().map(|row| row.measurement.clone()).collect();
    Shown { sentences: sentences(&measurements), charts: vec![("", chart(&measurements))] }
}

fn name(row: &Measurement) -> String {
    row.case.variant.qualify(&row.case.algorithm)
}

fn sentences(rows: &[Measurement]) -> [String; 2] {
    /// A time within this of the least is nearly as good.
    const NEAR: f64 = 1.1;
    let groups = by_layer(rows);
    let Some((layer, price)) = groups.first().and_then(|layer| Some((layer, price(layer)?))) else {
        return ["No case was measured, so nothing can be said of time against workspace.".into(), "There is no curve.".into()];
    };
    let fastest = price.fastest;
    let costs = format!("The fastest, {}, takes {} with a workspace of {:#}", name(fastest.row), fastest.time, fastest.workspace);
    let first = match price.free {
        _ if fastest.workspace == Bytes(0) => {
            format!("The fastest, {}, takes {} and needs no workspace: more workspace buys no time here.", name(fastest.row), fastest.time)
        }
        Some(free) => {
            let gain = times(free.time.0 / fastest.time.0);
            format!("{costs}; without any, the fastest is {} at {}: the workspace buys a factor of {gain}.", name(free.row), free.time)
        }
        None => format!("{costs}; no case without workspace was measured to hold it against."),
    };
    let cases = trade_offs(layer);
    let front: Vec<_> = cases.iter().filter(|case| case.front).collect();
    let near = front.iter().find(|case| case.case.time.0 <= fastest.time.0 * NEAR).filter(|case| case.case.workspace < fastest.workspace);
    let are = if front.len() == 1 { "is" } else { "are" };
    let second = format!("{} of {} cases {are} worth having: no other is as good in both", front.len(), cases.len());
    let second = match near {
        Some(near) => {
            let share = 100.0 * near.case.workspace.0 as f64 / fastest.workspace.0 as f64;
            let slower = 100.0 * (near.case.time.0 / fastest.time.0 - 1.0);
            format!("{second}; {} is within {slower:.1} % of the fastest with {share:.0} % of its workspace.", name(near.case.row))
        }
        None if fastest.workspace == Bytes(0) => format!("{second}."),
        None => format!("{second}; nothing with less workspace comes within 10 % of the fastest."),
    };
    [first, second]
}

fn chart(rows: &[Measurement]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    let groups = by_layer(rows);
    let cases = groups.first().map(trade_offs).unwrap_or_default();
    let front: Vec<Mark> =
        cases.iter().filter(|case| case.front).map(|case| Mark::new(case.case.workspace.0 as f64, case.case.time.0, "")).collect();
    for case in &cases {
        let row = case.case.row;
        let (style, family) = Style::of_algorithm(&row.case.algorithm);
        let mut mark = Mark::new(
            case.case.workspace.0 as f64,
            case.case.time.0,
            format!("{}: {}, {}", name(row), Nanoseconds(case.case.time.0), case.case.workspace),
        );
        if case.front {
            mark = mark.labelled(name(row));
        }
        match series.iter_mut().find(|known| known.name == family) {
            Some(known) => known.marks.push(mark),
            None => series.push(Series { name: family.to_owned(), style, kind: Kind::Points, marks: vec![mark] }),
        }
    }
    if front.len() > 1 {
        series.insert(0, Series { name: "worth having".into(), style: Style::nth(7), kind: Kind::Line, marks: front });
    }
    let conv = rows.first().map_or_else(String::new, |row| row.case.conv.to_string());
    Chart {
        title: format!("{conv}: time against workspace"),
        x: Axis { label: "workspace".into(), unit: Unit::Bytes, scale: Scale::Log },
        y: Axis { label: "median time".into(), unit: Unit::Time, scale: Scale::Log },
        series,
    }
}
