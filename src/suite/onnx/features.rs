//! A model's graph as a [`Network`]: which node makes each tensor, which reads it last, and what training changes.
//!
//! What depends on stored tensors alone is no feature: a runtime computes it once, when it loads the model. Such a constant is a
//! parameter where a node that does depend on the input reads it as a number to be learned, else a buffer. Integers, which hold shapes
//! and indices, are neither. Every output of a node is a tensor of its own, also where a runtime could work in place or only give a
//! tensor another shape.

use super::convolution::{convolution, operands};
use super::error::Problem;
use super::graph::Scope;
use super::node::{Node, printable};
use super::value::Value;
use crate::conv::Conv;
use crate::suite::{Feature, Network, Topology};
use rten_onnx::onnx::GraphProto;
use std::collections::HashMap;

/// The batch that the shapes of a graph are for, and the one asked for.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    pub(super) own: u64,
    pub(super) asked: u64,
}

impl Batch {
    /// What is a multiple of the model's own batch, over as many images as asked for; `None` past 64 bits.
    pub(super) fn scale(self, number: u64) -> Option<u64> {
        if number.is_multiple_of(self.own) { (number / self.own).checked_mul(self.asked) } else { Some(number) }
    }
}

/// What a name in the graph stands for.
#[derive(Clone, Copy)]
enum Kind {
    /// Known without the input; elements where it holds floating-point numbers of known shape.
    Constant { float: bool, scalar: bool, elements: Option<u64>, read: bool, learned: bool },
    /// The index of a feature.
    Feature(usize),
    /// It depends on the input and its shape is not known.
    Unknown,
}

/// Walks a graph whose tensors have the values in `scope`.
struct Builder<'a> {
    scope: &'a Scope<'a>,
    batch: Batch,
    kinds: HashMap<&'a str, Kind>,
    network: Network,
}

/// The network of a graph, with the shapes that inference found.
///
/// # Errors
/// [`Problem::TooLarge`] for a tensor, or weights together, of more elements than 64 bits count.
pub(super) fn network<'a>(name: String, graph: &'a GraphProto, scope: &'a Scope<'a>, batch: Batch) -> Result<Network, Problem> {
    let topology = Topology::Graph { bodies: 0 };
    let network = Network { name, topology, parameters: 0, buffers: 0, steps: Vec::new(), features: Vec::new(), unknown: 0 };
    let mut builder = Builder { scope, batch, kinds: HashMap::new(), network };
    for stored in graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref()) {
        builder.constant(stored)?;
    }
    for input in graph.input.iter().filter_map(|info| info.name.as_deref()) {
        if !builder.kinds.contains_key(input) {
            builder.feature(input)?;
        }
    }
    for node in &graph.node {
        builder.node(Node(node))?;
    }
    let end = builder.network.steps.len() + 1;
    for output in graph.output.iter().filter_map(|info| info.name.as_deref()) {
        builder.read(output, end);
    }
    builder.finish()
}

impl<'a> Builder<'a> {
    fn node(&mut self, node: Node<'a>) -> Result<(), Problem> {
        let mut inputs: Vec<&str> = node.0.input.iter().map(String::as_str).collect();
        node.graphs().for_each(|body| captured(body, &mut inputs));
        let outputs = || node.0.output.iter().map(String::as_str).filter(|name| !name.is_empty());
        let depends = inputs.iter().any(|name| matches!(self.kinds.get(name), Some(Kind::Feature(_) | Kind::Unknown)));
        // The shape of a feature is known when the model is loaded.
        let computed = outputs().all(|name| self.scope.value(name).is_some_and(|value| value.known().is_some()));
        if !depends || computed {
            return outputs().try_for_each(|name| self.constant(name));
        }
        let conv = self.convolution(node)?;
        self.network.steps.push(conv);
        if let (true, Topology::Graph { bodies }) = (node.graphs().next().is_some(), &mut self.network.topology) {
            *bodies += 1;
        }
        let step = self.network.steps.len();
        for (index, name) in inputs.iter().enumerate() {
            self.read(name, step);
            if let Some(Kind::Constant { scalar, read, learned, .. }) = self.kinds.get_mut(name) {
                *read = true;
                *learned |= !*scalar && is_learned(node.op(), index);
            }
        }
        outputs().try_for_each(|name| self.feature(name))
    }

    fn convolution(&self, node: Node<'_>) -> Result<Option<Conv>, Problem> {
        let Some((input, weights)) = operands(node.op()).filter(|_| node.op() == "Conv" && node.is_standard()) else { return Ok(None) };
        let shape = |index| self.scope.value(node.input(index)?)?.shape();
        let (Some(input), Some(weights)) = (shape(input), shape(weights)) else { return Ok(None) };
        // What is no convolution was told when the layers were read.
        let Ok(conv) = convolution(node, &input, &weights) else { return Ok(None) };
        self.batch.conv(conv).map(Some).map_err(|source| Problem::Impossible { node: node.label(), source })
    }

    /// The elements of a tensor; `None` where its shape is not known.
    fn elements(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(dims) = self.scope.value(name).and_then(Value::shape) else { return Ok(None) };
        crate::units::product(&dims).map(Some).ok_or_else(|| too_large(name))
    }

    fn constant(&mut self, name: &'a str) -> Result<(), Problem> {
        let elements = self.elements(name)?;
        let value = self.scope.value(name);
        let float = value.is_some_and(|value| value.float);
        let scalar = value.and_then(|value| value.dims.as_ref()).is_some_and(Vec::is_empty);
        self.kinds.insert(name, Kind::Constant { float, scalar, elements, read: false, learned: false });
        Ok(())
    }

    fn feature(&mut self, name: &'a str) -> Result<(), Problem> {
        let made = self.network.steps.len();
        let kind = if let Some(elements) = self.elements(name)? {
            let elements = self.batch.scale(elements).ok_or_else(|| too_large(name))?;
            self.network.features.push(Feature { elements, made, last: made });
            Kind::Feature(self.network.features.len() - 1)
        } else {
            self.network.unknown += 1;
            Kind::Unknown
        };
        self.kinds.insert(name, kind);
        Ok(())
    }

    fn read(&mut self, name: &str, step: usize) {
        if let Some(&Kind::Feature(index)) = self.kinds.get(name) {
            self.network.features[index].last = step;
        }
    }

    /// Adds up the constants that a node reads.
    fn finish(mut self) -> Result<Network, Problem> {
        for (name, kind) in self.kinds {
            let Kind::Constant { float: true, read: true, elements, learned, .. } = kind else { continue };
            let Some(elements) = elements else {
                self.network.unknown += 1;
                continue;
            };
            let sum = if learned { &mut self.network.parameters } else { &mut self.network.buffers };
            *sum = sum.checked_add(elements).ok_or_else(|| too_large(name))?;
        }
        Ok(self.network)
    }
}

impl Batch {
    /// The convolution over as many images as asked for.
    pub(super) fn conv(self, conv: Conv) -> Result<Conv, crate::conv::ConvError> {
        // What wraps is refused as past the largest extent.
        conv.with_batch(self.scale(conv.batch()).unwrap_or(u64::MAX))
    }
}

/// Names that the nodes of a body read, from wherever.
fn captured<'a>(body: &'a GraphProto, names: &mut Vec<&'a str>) {
    for node in &body.node {
        names.extend(node.input.iter().map(String::as_str));
        Node(node).graphs().for_each(|inner| captured(inner, names));
    }
    names.extend(body.output.iter().filter_map(|info| info.name.as_deref()));
}

/// Whether a floating-point operand with dimensions is one that training changes: not the statistics of a normalisation, which are
/// averaged, and not bounds, scales and the like.
fn is_learned(op: &str, index: usize) -> bool {
    match op {
        "BatchNormalization" => index < 3,
        "Resize" | "Upsample" | "Clip" | "Pad" | "Dropout" | "Pow" | "Min" | "Max" | "Where" | "QuantizeLinear" | "DequantizeLinear" => {
            false
        }
        _ => true,
    }
}

fn too_large(name: &str) -> Problem {
    Problem::TooLarge { tensor: printable(name) }
}
