//! How far im2col blows up the input of each layer.

use super::{RunChart, axis, categories};
use crate::analysis::LayerRows;
use crate::chart::{Chart, Kind, Mark, Scale, Series, Style, Unit};
use crate::record::Cache;
use crate::report::Report;
use crate::report::name::{exact_bytes, layer_name, times};

pub(super) const CHART: RunChart = RunChart { name: "im2col-blow-up", heading: "What im2col makes of the input", note, draw };

/// The most layers drawn.
const MOST: usize = 60;

fn note(report: &Report<'_>) -> String {
    let cut = shown(report).len().saturating_sub(MOST);
    let more = if cut > 0 { format!(" {cut} more in the table above.") } else { String::new() };
    format!(
        "Bytes of the whole column matrix over bytes of the input: C·R·S·P·Q over C·H·W for each image, whether or not the case ran here.{more}"
    )
}

/// Hot and cold caches are the same to it.
fn shown<'a, 'r>(report: &'r Report<'a>) -> Vec<(&'r LayerRows<'a>, f64)> {
    let cold_too = |layer: &LayerRows<'_>| {
        layer.cache() == Cache::Cold
            && report.layers.iter().any(|hot| {
                hot.cache() == Cache::Hot && (hot.suite(), hot.layer(), hot.conv()) == (layer.suite(), layer.layer(), layer.conv())
            })
    };
    report.layers.iter().filter(|layer| !cold_too(layer)).filter_map(|layer| Some((layer, layer.blow_up()?))).collect()
}

fn draw(report: &Report<'_>) -> Option<Chart> {
    let mut layers = shown(report);
    layers.truncate(MOST);
    if layers.is_empty() {
        return None;
    }
    let name = |layer: &LayerRows<'_>| layer_name(layer.suite(), layer.layer(), Cache::Hot, report.many_suites());
    let mark = |(place, (layer, ratio)): (usize, &(&LayerRows<'_>, f64))| {
        let columns = exact_bytes(layer.im2col().unwrap_or_default());
        let title = report.title(layer);
        let hover = format!("{title}\n{}\ninput {}\ncolumn matrix {columns}\n{}", layer.conv(), exact_bytes(layer.input()), times(*ratio));
        Mark::new(*ratio, place as f64, hover).labelled(times(*ratio))
    };
    let marks = layers.iter().enumerate().map(mark).collect();
    Some(Chart {
        title: "im2col's column matrix over the input".into(),
        x: axis("times the input's bytes", Unit::Times, Scale::Linear),
        y: categories(layers.iter().map(|(layer, _)| name(layer)).collect()),
        series: vec![Series { name: String::new(), style: Style::of_algorithm("im2col").0, kind: Kind::Bars, marks }],
    })
}
