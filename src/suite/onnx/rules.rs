//! One operator's output shapes from its inputs: which rule of the library applies, with which attributes.
//!
//! Operators differ between operator sets mostly in what moved from an attribute to an input; both are read, so the version
//! is not asked for. Source: <https://onnx.ai/onnx/operators/>. Where the library's rule is missing, unchecked on large sizes,
//! or covers two spatial axes only, the rule is in [`super::own_rules`].

use super::arithmetic::arithmetic;
use super::node::{Node, printable};
use super::own_rules;
use super::value::{Failure, MAX_ELEMENTS, Value};
use rten_shape_inference::{BinaryOp, InferShapes, ReductionOp, UnaryOp, VariadicOp, ops};

/// Outputs of `node`, as many as the rule knows; `Err` says why nothing is known.
#[expect(clippy::too_many_lines, reason = "a table, an operator a line")]
pub(super) fn outputs(node: Node<'_>, inputs: &[Option<&Value>]) -> Result<Vec<Value>, Failure> {
    if !node.is_standard() {
        let domain = node.0.domain.as_deref().unwrap_or_default();
        return Err(format!("operator '{}' of domain '{}' is not known", printable(node.op()), printable(domain)).into());
    }
    if let Some(value) = arithmetic(node, inputs) {
        return Ok(vec![value]);
    }
    let first = |n: usize| inputs.get(..n.min(inputs.len())).unwrap_or(inputs);
    let axis = |default: i64| i32::try_from(node.int("axis").unwrap_or(default)).map_err(|_| "axis is out of range");
    let rule: &dyn InferShapes = match node.op() {
        // The legacy form of a binary operator broadcasts into the first operand.
        "Add" | "Sub" | "Mul" | "Div" | "Pow" if node.flag("broadcast") => return Value::infer(&UnaryOp, first(1)),
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "And" | "Or" | "Xor" | "Equal" | "Greater" | "GreaterOrEqual" | "Less"
        | "LessOrEqual" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" => &BinaryOp,
        "Sum" | "Min" | "Max" | "Mean" => &VariadicOp,
        "Where" => &ops::Where,
        "MaxPool" | "AveragePool" | "LpPool" => return own_rules::pool(node, inputs),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => &ops::GlobalPool,
        "ConvTranspose" => return own_rules::conv_transpose(node, inputs),
        "Concat" => &ops::Concat { axis: axis(1)? },
        "Gather" => &ops::Gather { axis: axis(0)? },
        "GatherElements" => &ops::GatherElements,
        "GatherND" => &ops::GatherND { batch_dims: small(node.int("batch_dims").unwrap_or(0))? },
        "Slice" => return own_rules::slice(node, inputs),
        "Split" => return own_rules::split(node, inputs),
        "Squeeze" => return with_axes(&ops::Squeeze, node, inputs),
        "Unsqueeze" => return own_rules::unsqueeze(node, inputs),
        "Transpose" => return own_rules::transpose(node, inputs),
        "Flatten" => return own_rules::flatten(node, inputs),
        "Reshape" => return own_rules::reshape(node, inputs),
        "Resize" | "Upsample" => return own_rules::resize(node, inputs),
        "Size" => return own_rules::size(inputs),
        "Shape" => {
            let bound = |name| node.int(name).map(|v| i32::try_from(v.clamp(-64, 64)).unwrap_or(0));
            return integers(Value::infer(&ops::Shape { start: bound("start"), end: bound("end") }, inputs));
        }
        // The rule allocates by a length that only the file knows where the elements are unknown.
        "Expand" if inputs.get(1).is_some_and(|v| v.is_some_and(Value::is_list)) => &ops::Expand,
        "Tile" => &ops::Tile,
        "Pad" => return own_rules::pad(node, inputs),
        "DepthToSpace" | "SpaceToDepth" => return own_rules::depth_and_space(node, inputs),
        "ConstantOfShape" => return own_rules::constant_of_shape(node, inputs),
        "Constant" => return own_rules::constant(node),
        // The rule indexes the first element of all three.
        "Range" if inputs.len() == 3 && inputs.iter().all(|v| v.is_some_and(|v| v.elements.as_ref().is_some_and(|e| e.len() == 1))) => {
            &ops::Range
        }
        "OneHot" => &ops::OneHot { axis: axis(-1)? },
        "TopK" => &ops::TopK { axis: Some(axis(-1)?) },
        "NonZero" => &ops::NonZero,
        "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2" | "ReduceSumSquare"
        | "ReduceLogSum" | "ReduceLogSumExp" => return reduce(node, inputs),
        "ArgMax" | "ArgMin" => {
            let op = ReductionOp { axes: Some(&[axis(0)?]), keep_dims: node.int("keepdims") != Some(0) };
            return integers(Value::infer(&op, first(1)));
        }
        "Gemm" => &ops::Gemm { transpose_a: node.flag("transA"), transpose_b: node.flag("transB") },
        "MatMul" => &ops::MatMul,
        "Einsum" => return Value::infer(&ops::Einsum { equation: node.string("equation").unwrap_or_default() }, inputs),
        "LSTM" => &ops::LSTM { direction: direction(node) },
        "GRU" => &ops::GRU { direction: direction(node) },
        "GridSample" => &ops::GridSample,
        "Dropout" => &ops::Dropout,
        // Outputs the shape of the first input; further inputs are parameters.
        "Abs"
        | "Acos"
        | "Acosh"
        | "Asin"
        | "Asinh"
        | "Atan"
        | "Atanh"
        | "BatchNormalization"
        | "Bernoulli"
        | "BitwiseNot"
        | "Cast"
        | "CastLike"
        | "Ceil"
        | "Celu"
        | "Clip"
        | "Cos"
        | "Cosh"
        | "CumSum"
        | "DequantizeLinear"
        | "Elu"
        | "Erf"
        | "Exp"
        | "EyeLike"
        | "Floor"
        | "Gelu"
        | "GroupNormalization"
        | "HardSigmoid"
        | "HardSwish"
        | "Hardmax"
        | "Identity"
        | "InstanceNormalization"
        | "IsInf"
        | "IsNaN"
        | "LRN"
        | "LayerNormalization"
        | "LeakyRelu"
        | "Log"
        | "LogSoftmax"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "Mish"
        | "Neg"
        | "Not"
        | "PRelu"
        | "QuantizeLinear"
        | "RMSNormalization"
        | "RandomNormalLike"
        | "RandomUniformLike"
        | "Reciprocal"
        | "Relu"
        | "ReverseSequence"
        | "Round"
        | "ScatterElements"
        | "ScatterND"
        | "Scatter"
        | "Selu"
        | "Shrink"
        | "Sigmoid"
        | "Sign"
        | "Sin"
        | "Sinh"
        | "Softmax"
        | "Softplus"
        | "Softsign"
        | "Sqrt"
        | "Swish"
        | "Tan"
        | "Tanh"
        | "ThresholdedRelu"
        | "Trilu" => &UnaryOp,
        op => return Err(format!("operator '{}' is not followed here", printable(op)).into()),
    };
    Value::infer(rule, inputs)
}

/// A rule whose `axes` are an attribute in old operator sets and the second input in new ones.
fn with_axes(rule: &dyn InferShapes, node: Node<'_>, inputs: &[Option<&Value>]) -> Result<Vec<Value>, Failure> {
    match node.ints("axes") {
        Some(axes) => Value::infer(rule, &[inputs.first().copied().flatten(), Some(&Value::integers(axes))]),
        None => Value::infer(rule, inputs),
    }
}

fn reduce(node: Node<'_>, inputs: &[Option<&Value>]) -> Result<Vec<Value>, Failure> {
    let axes = inputs.get(1).copied().flatten();
    let none_given = node.ints("axes").is_none() && axes.is_none_or(|a| a.elements.as_ref().is_some_and(Vec::is_empty));
    if none_given && node.flag("noop_with_empty_axes") {
        return Value::infer(&UnaryOp, inputs);
    }
    let rule = ReductionOp { axes: None, keep_dims: node.int("keepdims") != Some(0) };
    if none_given {
        return Value::infer(&rule, inputs.get(..1).unwrap_or_default());
    }
    with_axes(&rule, node, inputs)
}

/// Outputs that hold integers, whatever the inputs hold.
fn integers(outputs: Result<Vec<Value>, Failure>) -> Result<Vec<Value>, Failure> {
    Ok(outputs?.into_iter().map(|v| Value { float: false, ..v }).collect())
}

fn direction(node: Node<'_>) -> ops::Direction {
    match node.string("direction") {
        Some("bidirectional") => ops::Direction::Bidirectional,
        _ => ops::Direction::Unidirectional,
    }
}

/// An attribute that counts or numbers dimensions.
fn small(value: i64) -> Result<usize, Failure> {
    usize::try_from(value).ok().filter(|&v| v <= MAX_ELEMENTS).ok_or_else(|| format!("{value} is out of range").into())
}
