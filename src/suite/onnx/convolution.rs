//! One `Conv` node as a [`Conv`]: <https://onnx.ai/onnx/operators/onnx__Conv.html>.

use super::node::Node;
use crate::conv::{Axis, Conv, ConvError, ConvSpec};

/// Why a node is no convolution.
pub(super) enum Fault {
    /// Attributes and operands contradict each other.
    Contradiction(String),
    /// The sizes are impossible.
    Impossible(ConvError),
    /// Possible, but not something this program runs.
    Unsupported(String),
}

/// Input and weight positions among the operands of an operator that convolves like `Conv`; `None` for any other operator.
pub(super) fn operands(op: &str) -> Option<(usize, usize)> {
    match op {
        "Conv" | "ConvInteger" | "DeformConv" | "FusedConv" => Some((0, 1)),
        "QLinearConv" => Some((0, 3)),
        _ => None,
    }
}

/// The convolution of a node over an input `N,C,[D,[H,]]W` and weights `K,C/g,[T,[R,]]S`.
pub(super) fn convolution(node: Node<'_>, input: &[u64], weights: &[u64]) -> Result<Conv, Fault> {
    let contradiction = |text: String| Err(Fault::Contradiction(text));
    if input.len() != weights.len() || input.len() < 3 {
        return contradiction(format!("input {input:?} and weights {weights:?} are not N,C,… and K,C/g,… of equal rank"));
    }
    let rank = input.len() - 2;
    if rank > 3 {
        return Err(Fault::Unsupported(format!("{rank} spatial axes")));
    }
    let per_axis = |name: &str| positive(node, name, rank);
    let (strides, dilations) = (per_axis("strides")?, per_axis("dilations")?);
    let kernel = &weights[2..];
    if let Some(named) = node.ints("kernel_shape")
        && !named.iter().copied().eq(kernel.iter().map(|&k| i64::try_from(k).unwrap_or(i64::MAX)))
    {
        return contradiction(format!("kernel_shape is {named:?} but the weights are {weights:?}"));
    }
    let groups = match node.int("group").unwrap_or(1) {
        groups @ 1.. => groups.unsigned_abs(),
        groups => return contradiction(format!("group is {groups}, must be at least 1")),
    };
    if weights[1].checked_mul(groups) != Some(input[1]) {
        return contradiction(format!(
            "input has {} channels, weights {weights:?} take {} in each of {groups} groups",
            input[1], weights[1]
        ));
    }
    let mut axes: Vec<Axis> = (0..rank).map(|i| Axis::new(input[2 + i], kernel[i]).stride(strides[i]).dilation(dilations[i])).collect();
    match node.string("auto_pad").unwrap_or("NOTSET") {
        "NOTSET" => {
            let pads = node.ints("pads").map_or_else(|| vec![0; 2 * rank], <[i64]>::to_vec);
            let sides: Option<Vec<u64>> = pads.iter().map(|&p| u64::try_from(p).ok()).collect();
            match sides {
                Some(sides) if sides.len() == 2 * rank => {
                    for (i, axis) in axes.iter_mut().enumerate() {
                        *axis = axis.pad(sides[i], sides[rank + i]);
                    }
                }
                Some(_) => return contradiction(format!("pads is {pads:?}, {rank} axes need {} values", 2 * rank)),
                None => return contradiction(format!("pads is {pads:?}, padding cannot be negative")),
            }
        }
        "VALID" => {}
        mode @ ("SAME_UPPER" | "SAME_LOWER") => {
            for axis in &mut axes {
                let total = same_padding(axis);
                let (half, rest) = (total / 2, total - total / 2);
                *axis = if mode == "SAME_UPPER" { axis.pad(half, rest) } else { axis.pad(rest, half) };
            }
        }
        mode => return contradiction(format!("auto_pad is '{}', known are NOTSET, SAME_UPPER, SAME_LOWER, VALID", mode.escape_debug())),
    }
    ConvSpec::new(input[0], input[1], weights[0], &axes).groups(groups).build().map_err(Fault::Impossible)
}

/// Padding that makes the output `ceil(size / stride)`, on both sides together.
fn same_padding(axis: &Axis) -> u64 {
    // Sizes that would wrap are refused when the convolution is built.
    let span = (axis.kernel.saturating_sub(1)).saturating_mul(axis.dilation).saturating_add(1);
    let outputs = axis.size.div_ceil(axis.stride);
    (outputs.saturating_sub(1)).saturating_mul(axis.stride).saturating_add(span).saturating_sub(axis.size)
}

/// An attribute of one positive number for each axis; ones where it is left out.
fn positive(node: Node<'_>, name: &str, rank: usize) -> Result<Vec<u64>, Fault> {
    let Some(values) = node.ints(name) else { return Ok(vec![1; rank]) };
    let positive: Option<Vec<u64>> = values.iter().map(|&v| u64::try_from(v).ok().filter(|&v| v > 0)).collect();
    match positive {
        Some(positive) if positive.len() == rank => Ok(positive),
        Some(_) => Err(Fault::Contradiction(format!("{name} is {values:?}, {rank} axes need {rank} values"))),
        None => Err(Fault::Contradiction(format!("{name} is {values:?}, every value must be at least 1"))),
    }
}
