//! The charts of a report: one file and one line each.

mod accuracy;
mod blow_up;
mod ledgers;
mod roofline;
mod stages;
mod trade_off;

use super::Report;
use super::name::{case_name, layer_name, shortened};
use crate::analysis::LayerRows;
use crate::chart::{Axis, Chart, Kind, Mark, Scale, Series, Style, Unit};
use crate::record::{Measurement, slug};

/// A chart of each layer.
pub(super) struct LayerChart {
    /// Part of its files' names.
    pub(super) name: &'static str,
    /// What there is to say about it, below it.
    pub(super) note: fn(&Report<'_>, &LayerRows<'_>) -> String,
    /// Draws it; nothing where the layer has nothing to show.
    pub(super) draw: fn(&Report<'_>, &LayerRows<'_>) -> Option<Chart>,
}

/// A chart of the whole run.
pub(super) struct RunChart {
    /// Name of its files and of its place in the page.
    pub(super) name: &'static str,
    /// Its heading.
    pub(super) heading: &'static str,
    /// What there is to say about it, below it.
    pub(super) note: fn(&Report<'_>) -> String,
    /// Draws it; nothing where the run has nothing to show.
    pub(super) draw: fn(&Report<'_>) -> Option<Chart>,
}

/// The charts of each layer, in order.
pub(super) static OF_LAYER: &[LayerChart] = &[trade_off::CHART, ledgers::CHART, stages::CHART];

/// The charts of the run, in order.
pub(super) static OF_RUN: &[RunChart] = &[blow_up::CHART, roofline::CHART, accuracy::CHART];

/// Characters of a layer's name in a title.
const TITLE: usize = 48;

/// A chart and a name for its file.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedChart {
    /// Letters, digits and dashes.
    pub name: String,
    /// The chart.
    pub chart: Chart,
}

pub(super) fn all(report: &Report<'_>) -> Vec<NamedChart> {
    let of_run = OF_RUN.iter().filter_map(|chart| Some(NamedChart { name: chart.name.into(), chart: (chart.draw)(report)? }));
    let of_layers = report.layers.iter().enumerate().flat_map(|(i, layer)| {
        let name = move |chart: &LayerChart| format!("layer-{:03}-{}-{}", i + 1, slug(layer.layer()), chart.name);
        OF_LAYER.iter().filter_map(move |chart| Some(NamedChart { name: name(chart), chart: (chart.draw)(report, layer)? }))
    });
    of_run.chain(of_layers).collect()
}

impl Report<'_> {
    pub(super) fn many_suites(&self) -> bool {
        self.layers.iter().any(|layer| layer.suite() != self.layers[0].suite())
    }

    /// A layer's name as titles have it.
    fn title(&self, layer: &LayerRows<'_>) -> String {
        shortened(&layer_name(layer.suite(), layer.layer(), layer.cache(), self.many_suites()), TITLE)
    }
}

/// Marks of cases as one series for each family of algorithms, in the order these first appear.
fn by_family(marks: impl IntoIterator<Item = (String, Mark)>) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (algorithm, mark) in marks {
        let (style, family) = Style::of_algorithm(&algorithm);
        match series.iter_mut().find(|known| known.name == family) {
            Some(known) => known.marks.push(mark),
            None => series.push(Series { name: family.into(), style, kind: Kind::Points, marks: vec![mark] }),
        }
    }
    series
}

fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.into(), unit, scale }
}

fn categories(names: Vec<String>) -> Axis {
    axis("", Unit::Number(""), Scale::Categories(names))
}

/// What a hover says first: the layer and the case.
fn layer_and_case(report: &Report<'_>, row: &Measurement) -> String {
    let layer = layer_name(&row.case.suite, &row.case.layer, row.case.cache, report.many_suites());
    format!("{}\n{}", shortened(&layer, TITLE), case_name(row))
}
