//! Operators on the known elements of small tensors: the arithmetic between `Shape` and `Reshape`.

use super::node::Node;
use super::value::Value;
use rten_onnx::onnx::DataType;

/// The result of an elementwise operator, where the elements of its operands are followed.
pub(super) fn arithmetic(node: Node<'_>, inputs: &[Option<&Value>]) -> Option<Value> {
    let first = (*inputs.first()?)?;
    if let Some(function) = unary(node.op()) {
        let elements = first.elements.as_ref()?.iter().map(|e| e.map(function)).collect();
        return Some(Value { elements: Some(elements), ..first.clone() });
    }
    if node.op() == "Cast" {
        let to = node.int("to").and_then(|t| i32::try_from(t).ok()).map(DataType)?;
        let float = matches!(to, DataType::FLOAT | DataType::DOUBLE | DataType::FLOAT16 | DataType::BFLOAT16);
        let convert = |e: f64| match to {
            DataType::BOOL => f64::from(e != 0.0),
            _ if float => e,
            _ => e.trunc(),
        };
        let elements = first.elements.as_ref()?.iter().map(|e| e.map(convert)).collect();
        return Some(Value { elements: Some(elements), float, dims: first.dims.clone() });
    }
    let second = (*inputs.get(1)?)?;
    if inputs.len() > 2 {
        return None;
    }
    let function = binary(node.op(), first.float || second.float)?;
    let (a, b) = (first.elements.as_ref()?, second.elements.as_ref()?);
    let (a_dims, b_dims) = (first.dims.as_ref()?, second.dims.as_ref()?);
    // One element against many of no lower rank, or equal shapes: all that shape computations use.
    let dims = match (a.len(), b.len()) {
        (_, 1) if b_dims.len() <= a_dims.len() => a_dims,
        (1, _) if a_dims.len() <= b_dims.len() => b_dims,
        _ if a_dims == b_dims => a_dims,
        _ => return None,
    };
    let element = |values: &[Option<f64>], i: usize| *values.get(if values.len() == 1 { 0 } else { i })?;
    let elements = 0..a.len().max(b.len()).min(a.len() * b.len());
    let elements = elements.map(|i| function(element(a, i)?, element(b, i)?).filter(|n| n.is_finite())).collect();
    Some(Value { dims: Some(dims.clone()), elements: Some(elements), float: first.float || second.float })
}

fn unary(op: &str) -> Option<fn(f64) -> f64> {
    Some(match op {
        "Identity" => |a| a,
        "Neg" => |a| -a,
        "Abs" => f64::abs,
        "Floor" => f64::floor,
        "Ceil" => f64::ceil,
        "Round" => f64::round_ties_even,
        "Not" => |a| f64::from(a == 0.0),
        _ => return None,
    })
}

#[expect(clippy::float_cmp, reason = "`Equal` compares exactly")]
fn binary(op: &str, float: bool) -> Option<fn(f64, f64) -> Option<f64>> {
    Some(match op {
        "Add" => |a, b| Some(a + b),
        "Sub" => |a, b| Some(a - b),
        "Mul" => |a, b| Some(a * b),
        "Div" if float => |a, b| Some(a / b),
        "Div" => |a, b| Some((a / b).trunc()),
        // `Mod` takes the divisor's sign for integers; its float form is rare in shapes and left unknown.
        "Mod" if !float => |a, b| Some(a - b * (a / b).floor()),
        "Min" => |a, b| Some(a.min(b)),
        "Max" => |a, b| Some(a.max(b)),
        "Equal" => |a, b| Some(f64::from(a == b)),
        "Greater" => |a, b| Some(f64::from(a > b)),
        "GreaterOrEqual" => |a, b| Some(f64::from(a >= b)),
        "Less" => |a, b| Some(f64::from(a < b)),
        "LessOrEqual" => |a, b| Some(f64::from(a <= b)),
        "And" => |a, b| Some(f64::from(a != 0.0 && b != 0.0)),
        "Or" => |a, b| Some(f64::from(a != 0.0 || b != 0.0)),
        _ => return None,
    })
}
