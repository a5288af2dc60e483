//! The functions of expressions that need nothing measured.

use super::expression::{MOST, named, number};
use super::measured::Stop;
use super::network;
use crate::algorithm::{ALGORITHMS, Variant, find};
use crate::conv::{Conv, ElementType};
use crate::ledger::{self, Optimizer, Precision, Role};
use crate::plan::{Limits, Unsupported};
use crate::suite::{Layer, Suite, printable};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

type Bytes = Result<f64, Error>;

/// Adds them all.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_function("parameters", |conv: &str, options: Kwargs| typed(conv, &options, Conv::weight_elements));
    environment.add_function("input", |conv: &str, options: Kwargs| typed(conv, &options, Conv::input_elements));
    environment.add_function("output", |conv: &str, options: Kwargs| typed(conv, &options, Conv::output_elements));
    environment.add_function("activations", |conv: &str, options: Kwargs| {
        typed(conv, &options, |conv| conv.input_elements() + conv.output_elements())
    });
    environment.add_function("weights", |key: &str| -> Bytes { Ok(conv(key)?.weight_elements() as f64) });
    environment.add_function("operations", |key: &str| -> Bytes { Ok(ledger::operations(&conv(key)?).0 as f64) });
    environment.add_function("workspace", |case: &str, key: &str, options: Kwargs| -> Bytes {
        let kind = options.get::<Option<String>>("type")?.unwrap_or_else(|| "f32".into());
        options.assert_all_used()?;
        size(&kind)?;
        let element: ElementType = kind.parse().map_err(|_| Stop::NotHere(format!("no kernels in {kind} here")))?;
        let conv = conv(key)?.with_element(element).map_err(|error| Stop::Wrong(error.to_string()))?;
        Ok(workspace(case, &conv)?)
    });
    environment.add_function("workspaces", |key: &str| -> Result<BTreeMap<String, f64>, Error> { Ok(workspaces(&conv(key)?)) });
    environment.add_function("total", |case: &str, key: &str| -> Bytes {
        let conv = conv(key)?;
        Ok(ledger::least_traffic(&conv).0 as f64 + workspace(case, &conv)?)
    });
    environment.add_function("batch", |key: &str, batch: u64| -> Result<String, Error> {
        Ok(conv(key)?.with_batch(batch).map_err(|error| Stop::Wrong(error.to_string()))?.to_string())
    });
    environment.add_function("network", of_network);
    environment.add_function("training", training);
    environment.add_function("checkpoints", |layers: u32| -> Bytes {
        if layers == 0 || layers > 1_000_000 {
            return Err(Stop::Wrong(format!("checkpoints: {layers} is no number of layers from 1 to 1000000")).into());
        }
        Ok(ledger::of_equal_layers(layers) as f64)
    });
    environment.add_function("recomputed", |suite: &str, options: Kwargs| -> Bytes {
        let every = options.get::<Option<usize>>("every")?;
        options.assert_all_used()?;
        Ok(recomputed(suite, every).map_err(Stop::Wrong)?)
    });
    environment.add_function("align", |bytes: f64, to: f64| -> Bytes {
        if to > 0.0 { Ok((bytes / to).ceil() * to) } else { Err(Stop::Wrong(format!("align: {to} is not above 0")).into()) }
    });
    environment.add_function("growth", |before: f64, after: f64| -> Bytes {
        if before > 0.0 { Ok(100.0 * (after / before - 1.0)) } else { Err(Stop::Wrong(format!("growth: {before} is not above 0")).into()) }
    });
    environment.add_function("fit_exponent", |pairs: Value| fit_exponent(&pairs));
    environment.add_function("minimum", |values: Value| -> Bytes { Ok(numbers(&values)?.into_iter().fold(f64::INFINITY, f64::min)) });
    environment.add_function("maximum", |values: Value| -> Bytes { Ok(numbers(&values)?.into_iter().fold(f64::NEG_INFINITY, f64::max)) });
}

/// The convolution of a key.
pub(super) fn conv(key: &str) -> Result<Conv, Stop> {
    key.parse().map_err(|error: crate::conv::KeyError| Stop::Wrong(error.to_string()))
}

/// Bytes of one element of a type; types that no kernel has count too.
fn size(kind: &str) -> Result<u64, Stop> {
    match kind {
        "f64" => Ok(8),
        "f32" => Ok(4),
        "bf16" | "f16" => Ok(2),
        "int8" => Ok(1),
        other => Err(Stop::Wrong(format!("type '{other}' is not one of f64, f32, bf16, f16, int8"))),
    }
}

fn typed(key: &str, options: &Kwargs, elements: fn(&Conv) -> u64) -> Bytes {
    let kind = options.get::<Option<String>>("type")?.unwrap_or_else(|| "f32".into());
    options.assert_all_used()?;
    Ok(elements(&conv(key)?) as f64 * size(&kind)? as f64)
}

/// Workspace of a case, written `im2col:batch`, by closed form.
fn workspace(case: &str, conv: &Conv) -> Result<f64, Stop> {
    let (id, variant) = case.split_once(':').unwrap_or((case, ""));
    let algorithm = find(id).ok_or_else(|| Stop::NotHere(format!("no algorithm {} here", printable(id))))?;
    let variant: Variant = variant.parse().map_err(|error: crate::algorithm::VariantError| Stop::Wrong(error.to_string()))?;
    match algorithm.workspace(conv, &variant) {
        Ok(bytes) => Ok(bytes.0 as f64),
        Err(Unsupported::Variant(problem)) => Err(Stop::Wrong(problem)),
        Err(why) => Err(Stop::NotHere(why.to_string())),
    }
}

/// Workspace of every algorithm and variant that is made for a convolution.
fn workspaces(conv: &Conv) -> BTreeMap<String, f64> {
    let cases = ALGORITHMS.iter().flat_map(|algorithm| {
        let variants = algorithm.variants(conv, &Limits::UNLIMITED);
        variants.into_iter().filter_map(|variant| Some((variant.qualify(algorithm.id()), algorithm.workspace(conv, &variant).ok()?)))
    });
    cases.map(|(name, bytes)| (name, bytes.0 as f64)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "functions of expressions take their options by value")]
fn training(parameters: f64, options: Kwargs) -> Bytes {
    let gradients = options.get::<Option<bool>>("gradients")?.unwrap_or(true);
    let optimizer = options.get::<Option<String>>("optimizer")?.unwrap_or_else(|| "adam".into());
    let precision = options.get::<Option<String>>("precision")?.unwrap_or_else(|| "f32".into());
    options.assert_all_used()?;
    let optimizer = match optimizer.as_str() {
        "sgd" => Optimizer::Sgd,
        "momentum" => Optimizer::Momentum,
        "adam" => Optimizer::Adam,
        "adagrad" => Optimizer::Adagrad,
        other => return Err(Stop::Wrong(format!("optimizer '{}' is not one of sgd, momentum, adam, adagrad", printable(other))).into()),
    };
    let precision = match precision.as_str() {
        "f32" => Precision::F32,
        "mixed" => Precision::Mixed,
        other => return Err(Stop::Wrong(format!("precision '{}' is not one of f32, mixed", printable(other))).into()),
    };
    let each = ledger::parameter_bytes(optimizer, precision).into_iter().filter(|(role, _)| gradients || *role != Role::Gradients);
    Ok(parameters * each.map(|(_, bytes)| bytes).sum::<u64>() as f64)
}

/// Operations that checkpoints in a built-in suite, as a chain of its layers, run again; of those with the fewest bytes where no number of
/// layers is given.
fn recomputed(suite: &str, every: Option<usize>) -> Result<f64, String> {
    let network = Suite::builtin(suite).and_then(|suite| suite.network()).map_err(|error| error.to_string())?;
    let checkpoints = match every.map(|every| NonZeroUsize::new(every).ok_or("recomputed: every is 0, must be at least 1")) {
        Some(every) => ledger::checkpointed(&network, every?),
        None => ledger::best(&network),
    };
    Ok(checkpoints.map_err(|error| error.to_string())?.recomputed.0 as f64)
}

#[expect(clippy::needless_pass_by_value, reason = "functions of expressions take their options by value")]
fn of_network(suite: &str, what: &str, options: Kwargs) -> Bytes {
    let batch = options.get::<Option<u64>>("batch")?.unwrap_or(1);
    let size = options.get::<Option<u64>>("size")?;
    let align = options.get::<Option<u64>>("align")?.unwrap_or(1);
    options.assert_all_used()?;
    if align == 0 {
        return Err(Stop::Wrong("align 0 is not above 0".into()).into());
    }
    let layers = network::layers(suite, batch, size).map_err(Stop::Wrong)?;
    let first = layers.first().map_or(0, |layer| layer.conv.input_elements());
    let sum = |of: fn(&Conv) -> u64| layers.iter().map(|Layer { conv, count, .. }| of(conv) as f64 * *count as f64).sum::<f64>();
    let bytes = |of: fn(&Conv) -> u64| {
        let aligned = |conv: &Conv| (4 * of(conv)).next_multiple_of(align) as f64;
        layers.iter().map(|Layer { conv, count, .. }| aligned(conv) * *count as f64).sum::<f64>()
    };
    match what {
        "weights" => Ok(sum(Conv::weight_elements)),
        "channels" => Ok(sum(Conv::channels_out)),
        "operations" => Ok(sum(|conv| ledger::operations(conv).0)),
        "parameters" => Ok(bytes(Conv::weight_elements)),
        "outputs" => Ok(bytes(Conv::output_elements)),
        "activations" => Ok(bytes(Conv::output_elements) + (4 * first).next_multiple_of(align) as f64),
        other => {
            let known = "weights, parameters, channels, outputs, activations, operations";
            Err(Stop::Wrong(format!("'{}' of a network is not one of {known}", printable(other))).into())
        }
    }
}

/// The numbers of a list or of a map.
fn numbers(values: &Value) -> Result<Vec<f64>, Stop> {
    if values.kind() == ValueKind::Map {
        return Ok(named(values).map_err(Stop::Wrong)?.into_iter().map(|(_, number)| number).collect());
    }
    let items = values.try_iter().map_err(|error| Stop::Wrong(error.to_string()))?;
    items.take(MOST).map(|item| number(&item).map_err(Stop::Wrong)).collect()
}

fn fit_exponent(pairs: &Value) -> Bytes {
    let wrong = |problem: String| Stop::Wrong(format!("fit_exponent: {problem}"));
    let mut points = Vec::new();
    for pair in pairs.try_iter()?.take(MOST) {
        let [x, y] = numbers(&pair)?[..] else { return Err(wrong(format!("{pair} is not a pair [x, y]")).into()) };
        if let Some(value) = [x, y].into_iter().find(|value| *value <= 0.0) {
            return Err(wrong(format!("{value} is not above 0")).into());
        }
        points.push((x, y));
    }
    Ok(exponent(&points).ok_or_else(|| wrong("fewer than two different points".into()))?)
}

/// The exponent `b` of `y = a·x^b` by least squares in logarithms; `None` for fewer than two different `x`, and for what is not above 0.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let (x, y) = logs.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let spread: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    (spread > 0.0 && slope.is_finite()).then_some(slope)
}
