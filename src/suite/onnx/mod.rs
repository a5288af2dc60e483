//! Every `Conv` node of an ONNX model, with the shapes that reach it.
//!
//! `rten-onnx` parses, `rten-shape-inference` knows most operators' rules; this folder guards both against hostile files
//! (`file.rs`), walks the graph (`graph.rs`), and reads the convolutions (`convolution.rs`) and the tensors in time (`features.rs`).
//! Weights are never loaded, so models with external data need only the `.onnx` file.

mod arithmetic;
mod convolution;
mod error;
mod features;
mod file;
mod graph;
mod input;
mod node;
mod own_rules;
mod rules;
mod stored;
mod value;

pub use error::{OnnxError, Problem};
pub use input::{InputShape, InputShapeError};
pub use stored::Stored;

use super::{Layer, Network, Suite};
use crate::conv::Conv;
use crate::units::Bytes;
use features::Batch;
use graph::{Found, Scope, Walk, stored_dims};
use node::{Node, printable};
use rten_onnx::onnx::GraphProto;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use value::Value;

/// What a user sets beside the model file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// Images in a batch, instead of the model's own number.
    pub batch: Option<u64>,
    /// Shapes of graph inputs, for dimensions the model leaves open or to replace those it fixes.
    pub inputs: Vec<InputShape>,
}

/// What a model file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its convolutions; equal ones are one layer with a count, named after the first.
    pub suite: Suite,
    /// Convolution nodes that are not in the suite, one line each with the reason.
    pub skipped: Vec<String>,
    /// Size of the stored tensors, external ones included: the weights, and a few small constants.
    pub parameters: Bytes,
}

/// Reads the convolutions of an ONNX model.
///
/// Shapes are inferred from the graph inputs, as the file and `options` give them. A batch replaces the first dimension of the
/// main input (the first of at least three dimensions): each convolution whose `N` is a multiple of the model's own batch is
/// scaled with it, so that models with a batch written into a `Reshape` follow too.
///
/// # Errors
/// [`OnnxError`] names the file and what is wrong: not a model, damaged, without a `Conv` that can be run, `options` that do not
/// fit it, a `Conv` whose shape stays unknown or whose attributes make it impossible.
pub fn read(path: &Path, options: &ModelOptions) -> Result<Model, OnnxError> {
    read_model(path, options, |_, _, _| Ok(())).map(|(model, ())| model).map_err(|problem| OnnxError { file: path.to_owned(), problem })
}

/// Reads the same, and the model's whole graph as a network whose tensors have the shapes that inference finds, with what its files hold.
/// The network's batch is scaled as the convolutions are: each tensor whose elements are a multiple of the model's own batch.
///
/// # Errors
/// As [`read`], and for a tensor of more elements than 64 bits count.
pub fn read_network(path: &Path, options: &ModelOptions) -> Result<(Model, Network, Stored), OnnxError> {
    let read = read_model(path, options, |graph, scope, batch| {
        Ok((features::network(stem(path), graph, scope, batch)?, stored::stored(path, graph)?))
    });
    let (model, (network, stored)) = read.map_err(|problem| OnnxError { file: path.to_owned(), problem })?;
    Ok((model, network, stored))
}

/// Reads a model, and what `more` makes of its graph, the tensors in it, and the batch that they are for and that is asked for.
fn read_model<T>(
    path: &Path,
    options: &ModelOptions,
    more: impl FnOnce(&GraphProto, &Scope<'_>, Batch) -> Result<T, Problem>,
) -> Result<(Model, T), Problem> {
    let file::Parsed { model, functions } = file::open(path)?;
    let graph = model.graph.as_ref().ok_or(Problem::Missing { part: "graph" })?;
    if model.opset_import.is_empty() {
        return Err(Problem::Missing { part: "operator set" });
    }
    let mut inputs = GraphInput::all(graph);
    let mut walk = Walk { trust_stored: true, ..Walk::default() };
    for given in &options.inputs {
        walk.trust_stored &= set(&mut inputs, given)?;
    }
    let own_batch = options.batch.map(|_| own_batch(&mut inputs));
    let scope = Scope::of_inputs(inputs.iter().map(|i| (i.name, Value { dims: i.dims.clone(), ..Value::default() })));
    let inner = walk.scope(graph, &scope).map_err(|problem| explain(problem, walk.open_input.as_deref(), &inputs))?;
    if functions > 0 {
        walk.skipped.push(format!("{functions} functions local to the model: nodes in them are not read"));
    }
    if walk.found.is_empty() {
        return Err(Problem::NoConv { found: inventory(graph, &walk.skipped) });
    }
    let batch = options.batch.zip(own_batch).map_or(Batch { own: 1, asked: 1 }, |(asked, own)| Batch { own, asked });
    for Found { name, conv } in &mut walk.found {
        *conv = batch.conv(*conv).map_err(|source| Problem::Impossible { node: format!("'{name}'"), source })?;
    }
    let more = more(graph, &inner, batch)?;
    let description = format!("{} Conv nodes of {}", walk.found.len(), printable(&path.to_string_lossy()));
    let suite = Suite { name: stem(path), description, layers: layers(walk.found) };
    Ok((Model { suite, skipped: walk.skipped, parameters: stored::parameters(graph) }, more))
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |s| printable(&s.to_string_lossy()))
}

/// A tensor that the graph is given, initializers excepted.
struct GraphInput<'a> {
    name: &'a str,
    /// Its dimensions, `None` for each that is open; all `None` if not even the rank is known.
    dims: Option<Vec<Option<u64>>>,
    /// What the file calls each dimension.
    symbols: Vec<Option<&'a str>>,
}

impl<'a> GraphInput<'a> {
    fn all(graph: &'a GraphProto) -> Vec<Self> {
        let stored: HashSet<&str> = graph.initializer.iter().filter_map(|t| t.name.as_deref()).collect();
        let given = graph.input.iter().filter_map(|info| Some((info.name.as_deref()?, info)));
        given
            .filter(|(name, _)| !stored.contains(name))
            .map(|(name, info)| {
                let shape = info.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()?.shape.as_ref());
                let symbols = shape.map_or_else(Vec::new, |s| s.dim.iter().map(|d| d.dim_param.as_deref()).collect());
                Self { name, dims: stored_dims(info), symbols }
            })
            .collect()
    }

    /// `[N, 3, 224, 224]`; an open dimension by its symbol or `?`.
    fn shape(&self) -> String {
        let Some(dims) = &self.dims else { return "of unknown rank".into() };
        let symbol = |i: usize| self.symbols.get(i).copied().flatten().filter(|s| !s.is_empty()).map_or("?".into(), printable);
        let dims: Vec<String> = dims.iter().enumerate().map(|(i, d)| d.map_or_else(|| symbol(i), |d| d.to_string())).collect();
        format!("[{}]", dims.join(", "))
    }

    fn is_open(&self) -> bool {
        self.dims.as_ref().is_none_or(|dims| dims.contains(&None))
    }

    /// A shape a person might give: what is known, one image, 224 elements along each open axis.
    fn example(&self, named: bool) -> String {
        let filled = |(i, d): (usize, &Option<u64>)| d.unwrap_or(if i == 0 { 1 } else { 224 });
        let dims = self.dims.as_ref().map_or_else(|| vec![1, 3, 224, 224], |dims| dims.iter().enumerate().map(filled).collect());
        InputShape { name: named.then(|| printable(self.name)), dims }.to_string()
    }
}

/// Sets the shape of one graph input; false if it replaces a dimension that the file fixes.
fn set(inputs: &mut [GraphInput<'_>], given: &InputShape) -> Result<bool, Problem> {
    let fail = |problem: &str, inputs: &[GraphInput<'_>]| {
        let list: Vec<String> = inputs.iter().map(|i| format!("'{}' {}", printable(i.name), i.shape())).collect();
        let inputs = if list.is_empty() { "the graph has no inputs".into() } else { format!("graph inputs are {}", list.join(", ")) };
        Err(Problem::Input { given: printable(&given.to_string()), problem: problem.into(), inputs })
    };
    let index = match &given.name {
        Some(name) => inputs.iter().position(|i| i.name == name),
        None if inputs.len() > 1 => return fail("the graph has several inputs, name the one that is meant", inputs),
        None => (!inputs.is_empty()).then_some(0),
    };
    let Some(index) = index else { return fail("there is no such input", inputs) };
    let new: Vec<Option<u64>> = given.dims.iter().copied().map(Some).collect();
    let mut agrees = true;
    if let Some(old) = &inputs[index].dims {
        if old.len() != new.len() {
            return fail(&format!("{} dimensions for an input of {}", new.len(), old.len()), inputs);
        }
        agrees = old.iter().zip(&new).all(|(old, new)| old.is_none() || old == new);
    }
    inputs[index].dims = Some(new);
    Ok(agrees)
}

/// The model's own batch, 1 where it leaves it open: then the batch's symbol is filled in wherever it occurs.
fn own_batch(inputs: &mut [GraphInput<'_>]) -> u64 {
    let of_rank = |rank| inputs.iter().position(|i: &GraphInput<'_>| i.dims.as_ref().is_some_and(|d| d.len() >= rank));
    let Some(main) = of_rank(3).or_else(|| of_rank(1)) else { return 1 };
    let first = inputs[main].dims.as_ref().and_then(|d| *d.first()?);
    if let Some(batch) = first {
        return batch;
    }
    let symbol = inputs[main].symbols.first().copied().flatten().filter(|s| !s.is_empty());
    for (index, input) in inputs.iter_mut().enumerate() {
        for (i, dim) in input.dims.iter_mut().flatten().enumerate() {
            let same = symbol.is_some() && input.symbols.get(i).copied().flatten() == symbol;
            if dim.is_none() && (same || (index == main && i == 0)) {
                *dim = Some(1);
            }
        }
    }
    1
}

/// Adds to a shape that is unknown because of an open graph input what the user can set to make it known.
fn explain(problem: Problem, input: Option<&str>, inputs: &[GraphInput<'_>]) -> Problem {
    let Problem::UnknownShape { value, node, cause } = problem else { return problem };
    let Some(open) = inputs.iter().find(|i| Some(i.name) == input && i.is_open()) else {
        return Problem::UnknownShape { value, node, cause };
    };
    let only_batch = open.dims.as_ref().is_some_and(|d| d.first() == Some(&None) && !d[1..].contains(&None));
    let flag = format!("--input {}", open.example(inputs.len() > 1));
    let flag = if only_batch { format!("--batch 1 or {flag}") } else { flag };
    let cause = format!("graph input '{}' is {}; set it with {flag}", printable(open.name), open.shape());
    Problem::UnknownShape { value, node, cause }
}

/// One layer for each different convolution, under unique names, in the network's order.
fn layers(found: Vec<Found>) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut seen: HashMap<Conv, usize> = HashMap::new();
    let mut names: HashSet<String> = HashSet::new();
    for (ordinal, Found { name, conv }) in found.into_iter().enumerate() {
        if let Some(&index) = seen.get(&conv) {
            layers[index].count += 1;
            continue;
        }
        let base = if name.is_empty() { format!("conv_{}", ordinal + 1) } else { name };
        let mut name = base.clone();
        // Counts from the ordinal, so that a file full of one name does not cost a search each.
        let mut copy = ordinal + 1;
        while !names.insert(name.clone()) {
            name = format!("{base}_{copy}");
            copy += 1;
        }
        seen.insert(conv, layers.len());
        layers.push(Layer { name, conv, count: 1 });
    }
    layers
}

/// What a graph without convolutions consists of, most frequent first, and what was left out of it.
fn inventory(graph: &GraphProto, skipped: &[String]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for node in &graph.node {
        *counts.entry(printable(Node(node).op())).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut parts: Vec<String> = counts.iter().take(6).map(|(op, count)| format!("{count} {op}")).collect();
    if counts.len() > 6 {
        parts.push("…".into());
    }
    let left_out = if skipped.is_empty() { String::new() } else { format!("; left out: {}", skipped.join(", ")) };
    format!("{} nodes ({}){left_out}", graph.node.len(), parts.join(", "))
}
