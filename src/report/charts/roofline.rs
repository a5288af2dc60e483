//! Every verified case under the device's roofline.

use super::{RunChart, axis, by_family, layer_and_case};
use crate::analysis::{RooflinePoint, roofline_points};
use crate::chart::{Chart, Color, Kind, Mark, Marker, Scale, Series, Style, Unit};
use crate::conv::ElementType;
use crate::peak::Peaks;
use crate::report::Report;
use crate::report::name::exact_time;
use crate::units::Bytes;

pub(super) const CHART: RunChart = RunChart { name: "roofline", heading: "Roofline", note, draw };

/// A copy faster than memory by so much shows what a cache gives.
const CACHE: f64 = 1.05;

fn note(report: &Report<'_>) -> String {
    let Some(peaks) = &report.run.environment.peaks else {
        return "The run did not measure its device's limits, so there is no roof.".into();
    };
    let by_minimum = roofline_points(&report.run.measurements, &report.run.steps).iter().any(|point| !point.by_stages);
    let least = if by_minimum { " Without steps.csv the bytes are input, weights and output once each." } else { "" };
    format!(
        "Measured on this device: π = {:.1} GFLOP/s (f32), β = {:.2} GB/s from memory, {:.2} GB/s for the fastest copy. Operations are those of the algorithm, \
         bytes the least its stages move; what finds its data in caches can pass β.{least}",
        peaks.gflops(ElementType::F32),
        peaks.memory_bandwidth(),
        fastest_copy(peaks),
    )
}

fn fastest_copy(peaks: &Peaks) -> f64 {
    peaks.bandwidth(Bytes(0))
}

fn draw(report: &Report<'_>) -> Option<Chart> {
    let points = roofline_points(&report.run.measurements, &report.run.steps);
    let (least, most) = points.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), p| (a.min(p.intensity), b.max(p.intensity)));
    if points.is_empty() {
        return None;
    }
    let mark = |point: &RooflinePoint<'_>| {
        let row = point.row;
        let share = row.utilisation.map_or(String::new(), |u| format!("\n{:.1} % of what the limits allow", u * 100.0));
        let hover = format!(
            "{}\n{:.2} GFLOP/s at {:.2} FLOP/B\nmedian {}{share}",
            layer_and_case(report, row),
            point.gflops,
            point.intensity,
            exact_time(row.time_median_ns.unwrap_or_default())
        );
        (row.case.algorithm.clone(), Mark::new(point.intensity, point.gflops, hover))
    };
    let mut series = report.run.environment.peaks.as_ref().map_or_else(Vec::new, |peaks| roofs(peaks, least, most));
    series.extend(by_family(points.iter().map(mark)));
    Some(Chart {
        title: "Cases under the roofline".into(),
        x: axis("operations a byte", Unit::Number("FLOP/B"), Scale::Log),
        y: axis("operations a second", Unit::Number("GFLOP/s"), Scale::Log),
        series,
    })
}

/// min(π, β·x) from the least to the greatest intensity, and the slope of the fastest copy where it is another.
fn roofs(peaks: &Peaks, least: f64, most: f64) -> Vec<Series> {
    let pi = peaks.gflops(ElementType::F32);
    let line = |name: String, beta: f64, color, to: f64| {
        let ridge = pi / beta;
        let mut at = vec![least.min(ridge), ridge];
        if to > ridge {
            at.push(to);
        }
        let marks = at.into_iter().map(|x| Mark { x, y: pi.min(beta * x), ..Mark::default() }).collect();
        Series { name, style: Style::new(color, Marker::Circle), kind: Kind::Line, marks }
    };
    let (beta, copy) = (peaks.memory_bandwidth(), fastest_copy(peaks));
    let mut roofs = vec![line(format!("π = {pi:.1} GFLOP/s, β = {beta:.2} GB/s"), beta, Color::Ink, most)];
    if copy > CACHE * beta {
        roofs.insert(0, line(format!("fastest copy, {copy:.2} GB/s"), copy, Color::Grey, 0.0));
    }
    roofs
}
