//! The answers of a run in words, computed from its records.

use super::name::{count, layer_name, shortened, times};
use crate::analysis::budget::{WorkspaceLimit, budgets};
use crate::analysis::pareto::price;
use crate::analysis::{LayerRows, by_layer};
use crate::record::{Cache, Run, Status};
use crate::stats::geometric_mean;
use crate::units::Bytes;

/// Characters of a layer's name in a sentence.
const NAME: usize = 60;
/// The limits told in words.
const LIMITS: [WorkspaceLimit; 3] = [WorkspaceLimit::Bytes(Bytes(0)), WorkspaceLimit::Input, WorkspaceLimit::Unlimited];

/// Sentences, the most important first: what im2col cost, what the fastest costs, what a limit on the workspace would cost, and what is missing
/// from the run. There is always one.
pub fn headline(run: &Run) -> Vec<String> {
    let layers = by_layer(&run.measurements);
    let many = layers.iter().any(|layer| layer.suite() != layers[0].suite());
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(im2col(&layers, many));
    sentences.extend(fastest(&layers, many));
    sentences.extend(limits(&layers));
    if layers.iter().all(|layer| layer.fastest().is_none()) {
        sentences.push("No case was verified and timed, so there are no times to compare.".into());
    }
    sentences.extend(doubtful(&layers, many));
    sentences.extend(missing(run));
    sentences
}

fn named(layer: &LayerRows<'_>, many: bool) -> String {
    shortened(&layer_name(layer.suite(), layer.layer(), layer.cache(), many), NAME)
}

/// How far it blows the input up, and how it fares in time.
fn im2col(layers: &[LayerRows<'_>], many: bool) -> Option<String> {
    let by_ratio = |a: &&(f64, &LayerRows<'_>), b: &&(f64, &LayerRows<'_>)| a.0.total_cmp(&b.0);
    let ratios: Vec<(f64, &LayerRows<'_>)> = layers.iter().filter_map(|layer| Some((layer.blow_up()?, layer))).collect();
    let (least, most) = (ratios.iter().min_by(by_ratio)?, ratios.iter().max_by(by_ratio)?);
    let range = if least.0.to_bits() == most.0.to_bits() { times(most.0) } else { format!("{} to {}", times(least.0), times(most.0)) };
    let bytes = most.1.im2col().unwrap_or_default();
    let mut text = format!(
        "im2col's whole column matrix takes {range} the bytes of the layer's input; the most for {}: {bytes:#} for an input of {:#}.",
        named(most.1, many),
        most.1.input()
    );
    let own = |layer: &LayerRows<'_>| {
        let best = layer.timed().filter(|case| case.row.case.algorithm == "im2col").map(|case| case.time.0).reduce(f64::min)?;
        Some(best / layer.fastest()?.time.0)
    };
    let losses: Vec<f64> = layers.iter().filter_map(own).collect();
    if let Some(mean) = geometric_mean(&losses) {
        let first = losses.iter().filter(|loss| **loss <= 1.0).count();
        text = format!(
            "{text} The fastest im2col takes {} the time of the fastest algorithm in the geometric mean, and is the fastest itself on {first} of {}.",
            times(mean),
            count(losses.len(), "layer")
        );
    }
    Some(text)
}

fn fastest(layers: &[LayerRows<'_>], many: bool) -> Option<String> {
    let prices: Vec<_> = layers.iter().filter_map(|layer| Some((layer, price(layer)?))).collect();
    let dearest = prices.iter().max_by_key(|(_, price)| price.fastest.workspace)?;
    let free = prices.iter().filter(|(_, price)| price.fastest.workspace == Bytes(0)).count();
    let mut text = if dearest.1.fastest.workspace == Bytes(0) {
        format!("The fastest case needs no workspace on any of {}.", count(prices.len(), "layer"))
    } else {
        format!(
            "The fastest case needs no workspace on {free} of {}, and {:#} at most ({} for {}).",
            count(prices.len(), "layer"),
            dearest.1.fastest.workspace,
            dearest.1.fastest.name(),
            named(dearest.0, many)
        )
    };
    let over_direct = |layer: &LayerRows<'_>| {
        let direct = layer.timed().find(|case| case.row.case.algorithm == "direct")?;
        Some(direct.time.0 / layer.fastest()?.time.0)
    };
    let gains: Vec<f64> = layers.iter().filter_map(over_direct).collect();
    if let Some(mean) = geometric_mean(&gains).filter(|mean| *mean > 1.0) {
        text = format!("{text} The direct method takes {} its time in the geometric mean.", times(mean));
    }
    Some(text)
}

/// Fewer samples than this say little of how a time scatters.
const FEW: u64 = 3;

/// Fastest cases whose time is uncertain.
fn doubtful(layers: &[LayerRows<'_>], many: bool) -> Option<String> {
    let uncertain = |layer: &&LayerRows<'_>| {
        layer.fastest().is_some_and(|best| {
            let row = best.row;
            row.noise.contains("throttling_suspected") || row.samples.is_some_and(|samples| samples < FEW)
        })
    };
    let found: Vec<&LayerRows<'_>> = layers.iter().filter(uncertain).collect();
    let first = named(found.first()?, many);
    let others = if found.len() > 1 { format!(" and of {}", count(found.len() - 1, "more layer")) } else { String::new() };
    Some(format!(
        "The time of the fastest case of {first}{others} is uncertain: the device slowed down meanwhile (throttling_suspected), or there are \
         fewer than {FEW} samples."
    ))
}

/// What limits cost each suite.
fn limits(layers: &[LayerRows<'_>]) -> Vec<String> {
    let all = budgets(layers, &LIMITS);
    let mut sentences = Vec::new();
    for of_suite in all.chunk_by(|a, b| (a.suite, a.cache) == (b.suite, b.cache)) {
        let first = &of_suite[0];
        let cold = if first.cache == Cache::Cold { " with cold caches" } else { "" };
        let often = if first.counted && first.repeated { ", each as often as the network has it" } else { "" };
        let mut parts = Vec::new();
        for budget in of_suite.iter().filter(|budget| budget.limit != WorkspaceLimit::Unlimited) {
            let limit = match budget.limit {
                WorkspaceLimit::Bytes(Bytes(0)) => "without any workspace".to_owned(),
                WorkspaceLimit::Input => "with no more workspace than a layer's input".to_owned(),
                other => format!("within {other}"),
            };
            parts.push(match (budget.time, budget.slowdown) {
                (Some(time), Some(slowdown)) => format!("{limit} {time}, {} of that", times(slowdown)),
                _ => format!("{limit} only {} of them {} a verified case", budget.within, if budget.within == 1 { "has" } else { "have" }),
            });
        }
        let what = format!("{} of {}{often}{cold}", count(first.layers, "layer"), shortened(first.suite, NAME));
        let best = all.iter().find(|b| (b.suite, b.cache, b.limit) == (first.suite, first.cache, WorkspaceLimit::Unlimited));
        let best = best.and_then(|best| best.time).map_or(String::new(), |time| format!(" take {time} by the fastest of each"));
        sentences.push(format!("The {what}{best}: {}.", parts.join("; ")));
    }
    sentences
}

fn missing(run: &Run) -> Option<String> {
    let rows = &run.measurements;
    if rows.is_empty() {
        return Some("The run has no case yet.".into());
    }
    let failed = rows.iter().filter(|row| row.status.is_failure()).count();
    let skipped = rows.iter().filter(|row| row.status == Status::Skipped).count();
    let mut parts = Vec::new();
    if failed > 0 {
        parts.push(format!("{} failed", count(failed, "case")));
    }
    if skipped > 0 {
        parts.push(format!(
            "{} skipped, so the fastest is that of the others",
            if skipped == 1 { "1 was".into() } else { format!("{skipped} were") }
        ));
    }
    if run.environment.expense.is_none() {
        parts.push("the run did not come to its end".into());
    }
    (!parts.is_empty()).then(|| format!("What is missing: {}.", parts.join("; ")))
}
