//! The tables that answer a layer at a time, and what limits cost.

use super::Report;
use super::charts::{LayerChart, OF_LAYER};
use super::name::{Name, exact_bytes, exact_time, full, layer_name, times};
use crate::analysis::budget::{LIMITS, SuiteBudget, budgets, within};
use crate::analysis::pareto::price;
use crate::analysis::{LayerRows, TimedRow};
use crate::chart::ChartError;
use crate::record::Cache;
use crate::units::{Bytes, Nanoseconds};
use serde::Serialize;

/// A quantity with its exact value on hovering.
#[derive(Serialize)]
pub(super) struct Quantity {
    text: String,
    exact: String,
}

/// A line of the summary, and the layer's own part of the page.
#[derive(Serialize)]
pub(super) struct Layer {
    name: Name,
    full_name: String,
    conv: String,
    dtype: String,
    count: Option<u64>,
    input: Quantity,
    im2col: Option<Quantity>,
    blow_up: Option<String>,
    fastest: Option<String>,
    time: Option<Quantity>,
    workspace: Option<Quantity>,
    free: Option<String>,
    free_time: Option<Quantity>,
    gain: Option<String>,
    limits: Vec<Limit>,
    charts: Vec<Figure>,
}

/// A drawn chart with its text.
#[derive(Serialize)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) svg: String,
    pub(super) note: String,
}

/// The fastest within a limit.
#[derive(Serialize)]
struct Limit {
    name: String,
    case: Option<String>,
    time: Option<Quantity>,
    workspace: Option<Quantity>,
    slowdown: Option<String>,
    /// Of a suite: how many layers have a case that keeps to it.
    within: usize,
}

/// What limits cost a suite.
#[derive(Serialize)]
pub(super) struct Budget {
    suite: String,
    cold: bool,
    layers: usize,
    counted: bool,
    limits: Vec<Limit>,
}

fn bytes(bytes: Bytes) -> Quantity {
    Quantity { text: format!("{bytes:#}"), exact: exact_bytes(bytes) }
}

fn time(time: Nanoseconds) -> Quantity {
    Quantity { text: time.to_string(), exact: exact_time(time.0) }
}

impl Layer {
    pub(super) fn of(report: &Report<'_>, layer: &LayerRows<'_>) -> Result<Self, ChartError> {
        let name = layer_name(layer.suite(), layer.layer(), layer.cache(), report.many_suites());
        let price = price(layer);
        let fastest = price.map(|price| price.fastest);
        let free = price.and_then(|price| price.free);
        let limit = |&limit| {
            let within = within(layer, limit);
            Limit {
                name: limit.to_string(),
                case: within.fastest.map(|case| case.name()),
                time: within.fastest.map(|case| time(case.time)),
                workspace: within.fastest.map(|case| bytes(case.workspace)),
                slowdown: within.slowdown.map(times),
                within: usize::from(within.fastest.is_some()),
            }
        };
        let figure = |chart: &LayerChart| {
            let drawn = (chart.draw)(report, layer)?;
            let figure = |svg| Figure { name: chart.name.into(), svg, note: (chart.note)(report, layer) };
            Some(drawn.to_html().map(figure))
        };
        Ok(Self {
            name: Name::new(&name),
            full_name: full(&name),
            conv: layer.conv().to_string(),
            dtype: layer.conv().element().to_string(),
            count: layer.count().filter(|count| *count > 1),
            input: bytes(layer.input()),
            im2col: layer.im2col().map(bytes),
            blow_up: layer.blow_up().map(times),
            fastest: fastest.map(|case| case.name()),
            time: fastest.map(|case| time(case.time)),
            workspace: fastest.map(|case| bytes(case.workspace)),
            free: free.as_ref().map(TimedRow::name),
            free_time: free.map(|case| time(case.time)),
            gain: price.and_then(|price| price.gain()).map(times),
            limits: if fastest.is_some() { LIMITS.iter().map(limit).collect() } else { Vec::new() },
            charts: OF_LAYER.iter().filter_map(figure).collect::<Result<_, _>>()?,
        })
    }
}

pub(super) fn of_suites(report: &Report<'_>) -> Vec<Budget> {
    let all = budgets(&report.layers, &LIMITS);
    let of_suites = all.chunk_by(|a, b| (a.suite, a.cache) == (b.suite, b.cache));
    let limit = |budget: &SuiteBudget<'_>| Limit {
        name: budget.limit.to_string(),
        case: None,
        time: budget.time.map(time),
        workspace: budget.workspace.map(bytes),
        slowdown: budget.slowdown.map(times),
        within: budget.within,
    };
    let of_suite = |suite: &[SuiteBudget<'_>]| Budget {
        suite: Name::new(suite[0].suite).short,
        cold: suite[0].cache == Cache::Cold,
        layers: suite[0].layers,
        counted: suite[0].repeated,
        limits: suite.iter().map(limit).collect(),
    };
    of_suites.map(of_suite).collect()
}
