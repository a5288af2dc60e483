//! Shape rules that the library lacks, or has for some forms only: pools with any number of axes, sizes past 32 bits, fractional
//! scales, attributes of old operator sets. Each function cites nothing but its operator's page under
//! <https://onnx.ai/onnx/operators/>.

use super::node::Node;
use super::value::{Failure, MAX_ELEMENTS, Value};
use rten_shape_inference::ops::{self, Padding};

type Outputs = Result<Vec<Value>, Failure>;
type Inputs<'a> = [Option<&'a Value>];

fn input<'a>(inputs: &Inputs<'a>, index: usize) -> Result<&'a Value, Failure> {
    inputs.get(index).copied().flatten().ok_or_else(|| format!("input {index} is missing").into())
}

fn dims<'a>(inputs: &Inputs<'a>) -> Result<&'a [Option<u64>], Failure> {
    input(inputs, 0)?.dims.as_deref().ok_or_else(|| "the input's rank is unknown".into())
}

fn product(dims: &[Option<u64>]) -> Option<u64> {
    dims.iter().try_fold(1_u64, |product, &d| product.checked_mul(d?))
}

/// An attribute of one number from `from` for each of `count` places.
fn numbers(node: Node<'_>, name: &str, count: usize, from: i64) -> Result<Option<Vec<usize>>, Failure> {
    let Some(values) = node.ints(name) else { return Ok(None) };
    let in_range = |&v: &i64| usize::try_from(v).ok().filter(|_| (from..=i64::from(i32::MAX)).contains(&v));
    let numbers: Option<Vec<usize>> = values.iter().map(in_range).collect();
    match numbers {
        Some(numbers) if numbers.len() == count => Ok(Some(numbers)),
        _ => Err(format!("{name} is {values:?}, must be {count} numbers of at least {from}").into()),
    }
}

/// What pools and transposed convolutions share: strides, dilations and padding of each axis.
struct Window {
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// `None` stands for `SAME_UPPER` and `SAME_LOWER`.
    pads: Option<Vec<usize>>,
}

impl Window {
    fn of(node: Node<'_>, rank: usize) -> Result<Self, Failure> {
        let ones = || vec![1; rank];
        Ok(Self {
            strides: numbers(node, "strides", rank, 1)?.unwrap_or_else(ones),
            dilations: numbers(node, "dilations", rank, 1)?.unwrap_or_else(ones),
            pads: match node.string("auto_pad").unwrap_or("NOTSET") {
                "SAME_UPPER" | "SAME_LOWER" => None,
                "VALID" => Some(vec![0; 2 * rank]),
                _ => Some(numbers(node, "pads", 2 * rank, 0)?.unwrap_or_else(|| vec![0; 2 * rank])),
            },
        })
    }

    /// Padding of axis `i`, as the library takes it.
    fn padding(&self, i: usize) -> Option<[usize; 2]> {
        self.pads.as_ref().map(|p| [p[i], p[p.len() / 2 + i]])
    }
}

fn padding(sides: Option<&[usize; 2]>) -> Padding<'_> {
    sides.map_or(Padding::Same, |sides| Padding::Fixed(sides))
}

/// Pools: axis by axis, since the library's rule stops at two.
pub(super) fn pool(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let dims = dims(inputs)?;
    let rank = dims.len().checked_sub(2).filter(|&r| r > 0).ok_or("the input has no spatial axis")?;
    let window = Window::of(node, rank)?;
    let kernel = numbers(node, "kernel_shape", rank, 1)?.ok_or("kernel_shape is missing")?;
    let mut output = dims[..2].to_vec();
    for i in 0..rank {
        let sides = window.padding(i);
        let rule = ops::Pool {
            dilations: &window.dilations[i..=i],
            kernel_size: &kernel[i..=i],
            padding: padding(sides.as_ref()),
            strides: &window.strides[i..=i],
            ceil_mode: node.flag("ceil_mode"),
        };
        let pooled = Value::infer(&rule, &[Some(&Value::of_dims(vec![dims[0], dims[1], dims[2 + i]]))])?;
        output.push(pooled.first().and_then(|v| *v.dims.as_ref()?.get(2)?));
    }
    // The second output of `MaxPool` holds indices of the same shape.
    Ok(vec![Value::of_dims(output); 2])
}

pub(super) fn conv_transpose(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let dims = dims(inputs)?;
    let rank = dims.len().checked_sub(2).filter(|&r| r > 0).ok_or("the input has no spatial axis")?;
    let window = Window::of(node, rank)?;
    let groups = node.int("group").unwrap_or(1);
    let groups = usize::try_from(groups).ok().filter(|&g| (1..=1 << 20).contains(&g)).ok_or_else(|| format!("group is {groups}"))?;
    let output_padding = numbers(node, "output_padding", rank, 0)?;
    let rule = ops::ConvTranspose {
        groups,
        padding: window.pads.as_deref().map_or(Padding::Same, Padding::Fixed),
        strides: &window.strides,
        dilations: &window.dilations,
        output_padding: output_padding.as_deref(),
    };
    let mut outputs = Value::infer(&rule, inputs)?;
    if let Some(shape) = numbers(node, "output_shape", rank, 1)?
        && let Some(dims) = outputs.first_mut().and_then(|v| v.dims.as_mut())
    {
        dims.splice(2.., shape.iter().map(|&s| Some(s as u64)));
    }
    Ok(outputs)
}

/// Slices, with the elements of small tensors: exporters reverse the order of `Pad`'s arguments that way.
pub(super) fn slice(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let dims = dims(inputs)?;
    let operand = |index: usize, name| node.ints(name).map(Value::integers).or_else(|| inputs.get(index).copied().flatten().cloned());
    let (starts, ends) = (operand(1, "starts").ok_or("starts are missing")?, operand(2, "ends").ok_or("ends are missing")?);
    let axes: Vec<usize> = match operand(3, "axes") {
        None => (0..dims.len()).collect(),
        Some(axes) => {
            let known = integers(&axes).ok_or("the axes are unknown")?;
            known.into_iter().map(|a| axis(a, dims.len())).collect::<Result<_, _>>()?
        }
    };
    let steps = operand(4, "steps");
    let at = |value: &Value, i: usize| value.elements.as_ref().and_then(|e| *e.get(i)?).map(saturated);
    let mut output = dims.to_vec();
    let mut ranges: Vec<(i64, i64)> = vec![(0, 1); dims.len()];
    for (i, &axis) in axes.iter().enumerate() {
        let step = steps.as_ref().map_or(Some(1), |s| at(s, i));
        if step == Some(0) {
            return Err("a step is 0".into());
        }
        let range = (|| {
            let (size, step) = (i64::try_from(dims[axis]?).ok()?, step?);
            let from_start = |v: i64| if v < 0 { v.saturating_add(size) } else { v };
            let (start, end) = (from_start(at(&starts, i)?), from_start(at(&ends, i)?));
            // Places before the first and after the last element count as just outside.
            let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
            let (start, end) = (start.clamp(low.max(0), high.max(0)), end.clamp(low, high.max(low)));
            let count = if size == 0 {
                0
            } else {
                (i128::from(end) - i128::from(start) + i128::from(step) - i128::from(step.signum())) / i128::from(step)
            };
            Some((start, step, u64::try_from(count.max(0)).ok()?))
        })();
        output[axis] = range.map(|(.., count)| count);
        ranges[axis] = range.map_or((0, 1), |(start, step, _)| (start, step));
    }
    let source = |place: &[u64]| {
        let index = |(&i, &(start, step)): (&u64, &(i64, i64))| {
            let offset = i64::try_from(i).ok().and_then(|i| i.checked_mul(step)?.checked_add(start));
            offset.and_then(|at| u64::try_from(at).ok()).unwrap_or(u64::from(u32::MAX))
        };
        place.iter().zip(&ranges).map(index).collect()
    };
    Ok(vec![input(inputs, 0)?.rearranged(output, source)])
}

pub(super) fn transpose(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let dims = dims(inputs)?;
    let axes: Vec<usize> = match node.ints("perm") {
        Some(perm) => perm.iter().map(|&p| axis(p, dims.len())).collect::<Result<_, _>>()?,
        None => (0..dims.len()).rev().collect(),
    };
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..dims.len()) {
        return Err(format!("{axes:?} does not permute {} dimensions", dims.len()).into());
    }
    let source = |place: &[u64]| {
        let mut from = vec![0; place.len()];
        for (&index, &axis) in place.iter().zip(&axes) {
            from[axis] = index;
        }
        from
    };
    Ok(vec![input(inputs, 0)?.rearranged(axes.iter().map(|&a| dims[a]).collect(), source)])
}

pub(super) fn split(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let dims = dims(inputs)?;
    let axis = axis(node.int("axis").unwrap_or(0), dims.len())?;
    let count = node.0.output.len();
    let given = match node.ints("split") {
        Some(sizes) => Some(Value::integers(sizes)),
        None => inputs.get(1).copied().flatten().cloned(),
    };
    let sizes: Vec<Option<u64>> = match given.map(|given| given.elements) {
        Some(Some(sizes)) if sizes.len() == count => sizes.into_iter().map(whole).collect(),
        Some(Some(sizes)) => return Err(format!("{} sizes for {count} outputs", sizes.len()).into()),
        Some(None) => vec![None; count],
        None => {
            // Equal parts, the last one smaller if they do not divide.
            let part = dims[axis].map(|d| d.div_ceil(count.max(1) as u64));
            (0..count as u64).map(|i| Some(dims[axis]?.saturating_sub(i.saturating_mul(part?)).min(part?))).collect()
        }
    };
    Ok(sizes
        .into_iter()
        .map(|size| {
            let mut part = dims.to_vec();
            part[axis] = size;
            Value::of_dims(part)
        })
        .collect())
}

/// New axes, each named once: the library's rule takes that for granted.
pub(super) fn unsqueeze(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let rank = dims(inputs)?.len();
    let axes = match node.ints("axes") {
        Some(axes) => Value::integers(axes),
        None => input(inputs, 1)?.clone(),
    };
    let known = integers(&axes).ok_or("the axes are unknown")?;
    let mut resolved: Vec<usize> = known.iter().map(|&a| axis(a, rank + known.len())).collect::<Result<_, _>>()?;
    resolved.sort_unstable();
    resolved.dedup();
    if resolved.len() != known.len() {
        return Err("an axis is named twice".into());
    }
    Value::infer(&ops::Unsqueeze, &[Some(input(inputs, 0)?), Some(&axes)])
}

pub(super) fn flatten(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let dims = dims(inputs)?;
    let given = node.int("axis").unwrap_or(1);
    let at = if usize::try_from(given) == Ok(dims.len()) { dims.len() } else { axis(given, dims.len())? };
    Ok(vec![Value::of_dims(vec![product(&dims[..at]), product(&dims[at..])])])
}

pub(super) fn reshape(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let data = input(inputs, 0)?;
    // A fixed target says nothing about a tensor of which nothing is known: it may not fit.
    let from = dims(inputs)?;
    let attribute = node.ints("shape").map(Value::integers);
    let target = match &attribute {
        Some(shape) => shape,
        None => input(inputs, 1)?,
    };
    let Some(target) = &target.elements else { return Err("the new shape is computed from unknown values".into()) };
    let copies = !node.flag("allowzero");
    let mut rest = None;
    let mut output = Vec::with_capacity(target.len());
    for (i, size) in target.iter().enumerate() {
        output.push(match size {
            Some(-1.0) if rest.is_none() => {
                rest = Some(i);
                Some(1)
            }
            Some(0.0) if copies => from.get(i).copied().flatten(),
            size => whole(*size),
        });
    }
    if let Some(rest) = rest {
        // Everything else divides what there is; anything unknown leaves the rest unknown.
        let (have, named) = (product(from), product(&output));
        output[rest] = have.zip(named).and_then(|(have, named)| have.checked_div(named).filter(|q| q * named == have));
    } else if let (Some(have), Some(want)) = (product(from), product(&output))
        && have != want
    {
        return Err(Failure::Contradiction(format!("{have} elements do not reshape into {want}")));
    }
    let elements = data.elements.clone().filter(|e| product(&output) == Some(e.len() as u64));
    Ok(vec![Value { dims: Some(output), elements, float: data.float }])
}

/// `Resize` and its forerunner `Upsample`: sizes, or scales that round down.
pub(super) fn resize(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let dims = dims(inputs)?;
    if !matches!(node.string("keep_aspect_ratio_policy"), None | Some("stretch")) {
        return Err("keep_aspect_ratio_policy is not followed".into());
    }
    let present = |index: usize| inputs.get(index).copied().flatten().filter(|v| v.dims != Some(vec![Some(0)]));
    let attribute = node.attribute("scales").filter(|a| !a.floats.is_empty());
    let attribute = attribute.map(|a| Value::vector(a.floats.iter().map(|&f| Some(f64::from(f))).collect()));
    // `Upsample` and the first `Resize` take scales as second input, later ones the region of interest.
    let scales_at = if node.op() == "Upsample" || inputs.len() == 2 { 1 } else { 2 };
    let axes: Vec<usize> = match node.ints("axes") {
        Some(axes) => axes.iter().map(|&a| axis(a, dims.len())).collect::<Result<_, _>>()?,
        None => (0..dims.len()).collect(),
    };
    let (values, scaled) = match (present(3), attribute.as_ref().or_else(|| present(scales_at))) {
        (Some(sizes), _) => (sizes, false),
        (None, Some(scales)) => (scales, true),
        (None, None) => return Err("neither scales nor sizes are given".into()),
    };
    let mut output = dims.to_vec();
    let elements = values.elements.as_ref().filter(|e| e.len() == axes.len());
    for (i, &axis) in axes.iter().enumerate() {
        output[axis] = elements.and_then(|e| if scaled { whole(Some((dims[axis]? as f64 * e[i]?).floor())) } else { whole(e[i]) });
    }
    Ok(vec![Value::of_dims(output)])
}

pub(super) fn size(inputs: &Inputs<'_>) -> Outputs {
    Ok(vec![product(dims(inputs)?).map_or_else(|| Value::of_dims(Vec::new()), |size| Value::scalar(size as f64))])
}

pub(super) fn pad(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    match node.ints("pads").or_else(|| node.ints("paddings")) {
        Some(pads) => Value::infer(&ops::Pad, &[Some(input(inputs, 0)?), Some(&Value::integers(pads))]),
        None => Value::infer(&ops::Pad, inputs),
    }
}

pub(super) fn depth_and_space(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let &[batch, channels, height, width] = dims(inputs)? else { return Err("the input is not N,C,H,W".into()) };
    let block =
        node.int("blocksize").and_then(|b| u64::try_from(b).ok()).filter(|&b| (1..=1 << 16).contains(&b)).ok_or("blocksize is missing")?;
    let times = |dim: Option<u64>, by: u64| dim.and_then(|d| d.checked_mul(by));
    let divided = |dim: Option<u64>, by: u64| dim.map(|d| d / by);
    let output = match node.op() {
        "DepthToSpace" => vec![batch, divided(channels, block * block), times(height, block), times(width, block)],
        _ => vec![batch, times(channels, block * block), divided(height, block), divided(width, block)],
    };
    Ok(vec![Value::of_dims(output)])
}

pub(super) fn constant_of_shape(node: Node<'_>, inputs: &Inputs<'_>) -> Outputs {
    let Some(shape) = &input(inputs, 0)?.elements else { return Err("the shape is computed from unknown values".into()) };
    let dims: Vec<Option<u64>> = shape.iter().map(|&s| whole(s)).collect();
    let value = node.tensor("value").map_or_else(|| Value { float: true, ..Value::scalar(0.0) }, Value::of_tensor);
    let count = product(&dims).filter(|&c| c <= MAX_ELEMENTS as u64).and_then(|c| usize::try_from(c).ok());
    let element = value.known().and_then(|v| v.first().copied());
    let elements = count.zip(element).map(|(count, element)| vec![Some(element); count]);
    Ok(vec![Value { dims: Some(dims), elements, float: value.float }])
}

pub(super) fn constant(node: Node<'_>) -> Outputs {
    let float = |v: Value| Value { float: true, ..v };
    let attribute = |name| node.attribute(name);
    let value = if let Some(tensor) = node.tensor("value") {
        Value::of_tensor(tensor)
    } else if let Some(int) = node.int("value_int") {
        Value::scalar(int as f64)
    } else if let Some(ints) = attribute("value_ints") {
        Value::integers(&ints.ints)
    } else if let Some(number) = attribute("value_float").and_then(|a| a.f) {
        float(Value::scalar(number.into()))
    } else if let Some(numbers) = attribute("value_floats") {
        float(Value::vector(numbers.floats.iter().map(|&f| Some(f.into())).collect()))
    } else {
        return Err("it holds no dense number".into());
    };
    Ok(vec![value])
}

/// The elements as integers, if every one is known.
fn integers(value: &Value) -> Option<Vec<i64>> {
    Some(value.known()?.into_iter().map(saturated).collect())
}

/// A number as an integer: models write the ends of `i64` for "to the end".
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, which is what is meant")]
fn saturated(number: f64) -> i64 {
    number as i64
}

/// A dimension: a whole number from 0.
fn whole(number: Option<f64>) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in range by the filter")]
    number.filter(|n| (0.0..=2_f64.powi(53)).contains(n) && n.fract() == 0.0).map(|n| n as u64)
}

/// An axis that may count from the end.
fn axis(axis: i64, rank: usize) -> Result<usize, Failure> {
    let rank_signed = i64::try_from(rank).unwrap_or(i64::MAX);
    let resolved = if axis < 0 { axis.saturating_add(rank_signed) } else { axis };
    usize::try_from(resolved).ok().filter(|&a| a < rank).ok_or_else(|| format!("axis {axis} of {rank} dimensions").into())
}
