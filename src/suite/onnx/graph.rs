//! Walks a graph in its order, follows every tensor's shape, and collects the convolutions.

use super::convolution::{Fault, convolution, operands};
use super::error::Problem;
use super::node::{Node, printable};
use super::rules;
use super::value::{Failure, Value};
use crate::conv::Conv;
use rten_onnx::onnx::{GraphProto, ValueInfoProto};
use std::collections::HashMap;
use std::rc::Rc;

/// One `Conv` node.
pub(super) struct Found {
    /// The node's name; empty where it has none.
    pub(super) name: String,
    pub(super) conv: Conv,
}

/// A tensor and why parts of it are unknown.
struct Tensor {
    value: Value,
    cause: Cause,
}

/// Why the shape of a tensor is unknown.
#[derive(Clone)]
enum Cause {
    /// This graph input is open.
    Input(Rc<str>),
    /// What a node does, or something else that no flag changes.
    Other(Rc<str>),
}

/// The tensors of a graph, and of the graphs around it.
pub(super) struct Scope<'a> {
    tensors: HashMap<&'a str, Tensor>,
    outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    /// The outermost scope: what the graph is given.
    pub(super) fn of_inputs(inputs: impl Iterator<Item = (&'a str, Value)>) -> Self {
        let tensors = inputs.map(|(name, value)| (name, Tensor { value, cause: Cause::Input(name.into()) })).collect();
        Self { tensors, outer: None }
    }

    /// What is known of a tensor.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.get(name).map(|tensor| &tensor.value)
    }

    fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name).or_else(|| self.outer?.get(name))
    }
}

/// What a walk collects.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) found: Vec<Found>,
    pub(super) skipped: Vec<String>,
    /// The open graph input behind a [`Problem::UnknownShape`].
    pub(super) open_input: Option<String>,
    /// Shapes stored in the file may be used where inference ends: no given shape contradicts them.
    pub(super) trust_stored: bool,
}

impl Walk {
    /// Walks `graph` inside `outer`; returns its outputs.
    pub(super) fn graph(&mut self, graph: &GraphProto, outer: &Scope<'_>) -> Result<Vec<Value>, Problem> {
        let scope = self.scope(graph, outer)?;
        let output = |info: &ValueInfoProto| scope.get(info.name.as_deref()?).map(|t| t.value.clone());
        Ok(graph.output.iter().map(|info| output(info).unwrap_or_default()).collect())
    }

    /// Walks `graph` inside `outer`; returns its tensors.
    pub(super) fn scope<'a>(&mut self, graph: &'a GraphProto, outer: &'a Scope<'a>) -> Result<Scope<'a>, Problem> {
        let mut scope = Scope { tensors: HashMap::new(), outer: Some(outer) };
        for tensor in &graph.initializer {
            if let Some(name) = &tensor.name {
                let cause = Cause::Other("it is stored without a shape".into());
                scope.tensors.insert(name, Tensor { value: Value::of_tensor(tensor), cause });
            }
        }
        let stored: HashMap<&str, &ValueInfoProto> =
            graph.value_info.iter().chain(&graph.output).filter_map(|info| Some((info.name.as_deref()?, info))).collect();
        for node in &graph.node {
            let node = Node(node);
            let because = |reason: String| Some(Cause::Other(format!("node {}: {reason}", node.label()).into()));
            let (outputs, mut cause, runs) = match self.node(node, &scope)? {
                Ok(outputs) => (outputs, None, true),
                Err(Failure::Unknown(reason)) => (Vec::new(), because(reason), true),
                Err(Failure::Contradiction(reason)) => (Vec::new(), because(reason), false),
            };
            // An unknown input explains an unknown output better than the rule that met it.
            if let Some(first) = node.0.input.iter().filter_map(|n| scope.get(n)).find(|t| t.value.shape().is_none()) {
                cause = Some(first.cause.clone());
            }
            let cause = cause.unwrap_or_else(|| {
                Cause::Other(
                    format!("the output of node {} ({}) follows from values, not shapes", node.label(), printable(node.op())).into(),
                )
            });
            let mut outputs = outputs.into_iter();
            for name in &node.0.output {
                let mut value = outputs.next().unwrap_or_default();
                if let Some(info) = stored.get(name.as_str()).filter(|_| self.trust_stored && runs && value.shape().is_none()) {
                    complete(&mut value, info);
                }
                scope.tensors.insert(name, Tensor { value, cause: cause.clone() });
            }
        }
        Ok(scope)
    }

    /// Outputs of one node; the inner error says why they are unknown.
    fn node(&mut self, node: Node<'_>, scope: &Scope<'_>) -> Result<Result<Vec<Value>, Failure>, Problem> {
        if let Some((input, weights)) = operands(node.op()) {
            return self.convolution(node, scope, input, weights);
        }
        if node.op() == "If" && node.is_standard() {
            return self.branches(node, scope);
        }
        let inside: usize = node.graphs().map(convolutions).sum();
        if inside > 0 {
            self.skip(node, &format!("{inside} convolutions in its body"));
        }
        if node.op() == "ConvTranspose" {
            self.skip(node, "a transposed convolution");
        } else if node.op().contains("Conv") {
            self.skip(node, "not a plain Conv");
        }
        let inputs: Vec<Option<&Value>> = (0..node.0.input.len()).map(|i| Some(&scope.get(node.input(i)?)?.value)).collect();
        Ok(rules::outputs(node, &inputs))
    }

    fn convolution(
        &mut self,
        node: Node<'_>,
        scope: &Scope<'_>,
        input: usize,
        weights: usize,
    ) -> Result<Result<Vec<Value>, Failure>, Problem> {
        let runs = node.op() == "Conv" && node.is_standard();
        let shape = |index| {
            let name = node.input(index).unwrap_or_default();
            let tensor = scope.get(name);
            tensor.and_then(|t| t.value.shape()).ok_or((name, tensor.map(|t| &t.cause)))
        };
        if !runs {
            self.skip(node, "not a plain Conv");
        }
        let conv = match (shape(input), shape(weights)) {
            (Ok(input), Ok(weights)) => convolution(node, &input, &weights),
            (Err((name, cause)), _) | (_, Err((name, cause))) if runs => {
                let cause = match cause {
                    Some(Cause::Input(input)) => {
                        self.open_input = Some(input.to_string());
                        format!("graph input '{}' is open", printable(input))
                    }
                    Some(Cause::Other(cause)) => cause.to_string(),
                    None => "nothing in the graph makes it".into(),
                };
                return Err(Problem::UnknownShape { value: printable(name), node: node.label(), cause });
            }
            _ => return Ok(Err("its operands are unknown".into())),
        };
        match conv {
            Ok(conv) => {
                if runs {
                    self.found.push(Found { name: node.name(), conv });
                }
                Ok(Ok(vec![Value::of_shape(&conv.output_shape())]))
            }
            Err(Fault::Unsupported(reason)) => {
                self.skip(node, &reason);
                Ok(Err(reason.into()))
            }
            Err(Fault::Contradiction(problem)) if runs => Err(Problem::Node { node: node.label(), problem }),
            Err(Fault::Impossible(source)) if runs => Err(Problem::Impossible { node: node.label(), source }),
            Err(_) => Ok(Err("its operands do not fit".into())),
        }
    }

    /// `If`: the branch that a known condition takes, else what both branches agree on.
    fn branches(&mut self, node: Node<'_>, scope: &Scope<'_>) -> Result<Result<Vec<Value>, Failure>, Problem> {
        let condition = node.input(0).and_then(|name| scope.get(name)?.value.known()?.first().copied());
        let branch = |name| node.attribute(name).and_then(|a| a.g.as_ref());
        let (Some(then), Some(other)) = (branch("then_branch"), branch("else_branch")) else {
            return Ok(Err("a branch is missing".into()));
        };
        if let Some(condition) = condition {
            return self.graph(if condition == 0.0 { other } else { then }, scope).map(Ok);
        }
        // Convolutions that may not run are no part of the suite; their shapes still serve what follows.
        let inside = convolutions(then) + convolutions(other);
        if inside > 0 {
            self.skip(node, &format!("{inside} convolutions in branches whose condition is not a constant"));
        }
        let mut aside = Self { trust_stored: self.trust_stored, ..Self::default() };
        let (Ok(then), Ok(other)) = (aside.graph(then, scope), aside.graph(other, scope)) else {
            return Ok(Err("a branch is not followed".into()));
        };
        Ok(Ok(then.into_iter().zip(other).map(|(a, b)| if a == b { a } else { Value::default() }).collect()))
    }

    fn skip(&mut self, node: Node<'_>, reason: &str) {
        self.skipped.push(format!("{} {}: {reason}", printable(node.op()), node.label()));
    }
}

/// Convolutions of any kind in a graph and the graphs inside it.
fn convolutions(graph: &GraphProto) -> usize {
    let of = |node| usize::from(Node(node).op().contains("Conv")) + Node(node).graphs().map(convolutions).sum::<usize>();
    graph.node.iter().map(of).sum()
}

/// Dimensions that a file stores for a tensor; `None` for each that is a name, absent or not positive, as old exporters write it.
pub(super) fn stored_dims(info: &ValueInfoProto) -> Option<Vec<Option<u64>>> {
    let shape = info.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
    Some(shape.dim.iter().map(|d| d.dim_value.and_then(|v| u64::try_from(v).ok()).filter(|&v| v > 0)).collect())
}

/// Fills unknown dimensions from the shape that the file stores for the tensor.
fn complete(value: &mut Value, info: &ValueInfoProto) {
    let Some(stored) = stored_dims(info) else { return };
    match &mut value.dims {
        Some(dims) if dims.len() == stored.len() => {
            for (dim, stored) in dims.iter_mut().zip(stored) {
                *dim = dim.or(stored);
            }
        }
        Some(_) => {}
        dims @ None => *dims = Some(stored),
    }
}
