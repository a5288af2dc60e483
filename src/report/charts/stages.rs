//! The time of a layer's cases, stage by stage.

use super::{LayerChart, axis, categories};
use crate::analysis::{LayerRows, TimedRow};
use crate::chart::{Chart, Color, Kind, Mark, Marker, Scale, Series, Style, Unit};
use crate::record::StepRow;
use crate::report::Report;
use crate::report::name::{count, exact_time};
use crate::units::{Bytes, Ops};

pub(super) const CHART: LayerChart = LayerChart { name: "stages", note, draw };

/// The most cases drawn.
const MOST: usize = 30;
/// Cases that take longer than so many times the fastest would leave the others no room.
const SLOWEST: f64 = 12.0;
/// The series of cases that are one stage.
const WHOLE: &str = "all in one kernel";
/// Stages in the order they run, with the colours they have in every layer. Others come after them.
const STAGES: [(&str, Color); 7] = [
    ("filter_transform, once", Color::Purple),
    ("im2col", Color::Vermilion),
    ("input_transform", Color::Orange),
    ("gemm", Color::Blue),
    ("winograd_fused", Color::Sky),
    ("output_transform", Color::Green),
    (WHOLE, Color::Grey),
];

/// The cases that have stages and are not too slow to be drawn beside the others, the fastest first, and those that are.
fn shown<'a>(report: &Report<'_>, layer: &LayerRows<'a>) -> (Vec<TimedRow<'a>>, Vec<TimedRow<'a>>) {
    let mut cases: Vec<TimedRow<'a>> = layer.timed().filter(|case| report.stages(case).next().is_some()).collect();
    cases.sort_by(|a, b| a.time.0.total_cmp(&b.time.0));
    let most = cases.first().map_or(0.0, |fastest| fastest.time.0 * SLOWEST);
    let (mut shown, mut slow): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.time.0 <= most);
    if shown.len() > MOST {
        slow.splice(0..0, shown.split_off(MOST));
    }
    (shown, slow)
}

fn note(report: &Report<'_>, layer: &LayerRows<'_>) -> String {
    let (_, slow) = shown(report, layer);
    let mut text = "Stages are timed in passes of their own and need not add up to the whole.".to_owned();
    if let [first, rest @ ..] = &slow[..] {
        let others = if rest.is_empty() { String::new() } else { format!(" and {}", count(rest.len(), "more case")) };
        text = format!("{text} Left out because they take much longer: {} ({}){others}.", first.name(), first.time);
    }
    text
}

fn draw(report: &Report<'_>, layer: &LayerRows<'_>) -> Option<Chart> {
    let (cases, _) = shown(report, layer);
    if cases.is_empty() {
        return None;
    }
    let mut series: Vec<Series> = Vec::new();
    for (place, case) in cases.iter().enumerate() {
        let stages: Vec<&StepRow> = report.stages(case).collect();
        for (i, &stage) in stages.iter().enumerate() {
            let name = if stages.len() == 1 { WHOLE.to_owned() } else { series_name(stage) };
            let known = series.iter().position(|known| known.name == name).unwrap_or_else(|| {
                let color = STAGES.iter().find(|(known, _)| *known == name).map_or(Color::Black, |(_, color)| *color);
                let style = Style::new(color, Marker::Square);
                series.push(Series { name, style, kind: Kind::Bars, marks: Vec::new() });
                series.len() - 1
            });
            let first = if i == 0 { format!("{}, whole {}\n", case.name(), exact_time(case.time.0)) } else { String::new() };
            let hover = format!("{first}{}", told(stage));
            series[known].marks.push(Mark::new(stage.time_median_ns.unwrap_or_default(), place as f64, hover));
        }
    }
    series.sort_by_key(|series| STAGES.iter().position(|(known, _)| *known == series.name).unwrap_or(STAGES.len()));
    Some(Chart {
        title: format!("Time per stage: {}", report.title(layer)),
        x: axis("median time", Unit::Time, Scale::Linear),
        y: categories(cases.iter().map(TimedRow::name).collect()),
        series,
    })
}

/// What runs once for given weights has no share in the time of an execution.
fn series_name(stage: &StepRow) -> String {
    if stage.time_share.is_none() { format!("{}, once", stage.stage) } else { stage.stage.clone() }
}

fn told(stage: &StepRow) -> String {
    let share = stage.time_share.map_or_else(|| ", once for given weights".to_owned(), |share| format!(", {:.1} %", share * 100.0));
    let time = exact_time(stage.time_median_ns.unwrap_or_default());
    format!("{}: {time}{share}, {}, {} moved", stage.stage, Ops(stage.flops), format_args!("{:#}", Bytes(stage.bytes)))
}

impl Report<'_> {
    /// The stages of a case that were timed.
    fn stages(&self, case: &TimedRow<'_>) -> impl Iterator<Item = &StepRow> {
        let of_case = self.steps.get(&case.row.case).map_or(&[][..], Vec::as_slice);
        of_case.iter().copied().filter(|stage| stage.time_median_ns.is_some())
    }
}
