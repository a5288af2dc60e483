//! What is known of a tensor before any data exists: its dimensions, and the elements of small ones that compute shapes.

use rten_onnx::onnx::{DataType, TensorProto};
use rten_shape_inference::{InferShapes, InferShapesContext, InferShapesError, SymExpr, SymTensor, SymbolGen};

/// Elements beyond which a tensor's own values are not followed: far more than a shape has dimensions.
pub(super) const MAX_ELEMENTS: usize = 64;

/// A tensor during inference. Unknown parts are `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Value {
    /// Dimensions, outermost first.
    pub(super) dims: Option<Vec<Option<u64>>>,
    /// Elements of a small tensor, last dimension fastest. `f64` holds every number a shape is computed from.
    pub(super) elements: Option<Vec<Option<f64>>>,
    /// Elements are floating-point: division does not truncate.
    pub(super) float: bool,
}

/// Why a rule finds no outputs.
pub(super) enum Failure {
    /// They depend on what is not known here; a shape stored in the file may help.
    Unknown(String),
    /// No outputs exist: the operator cannot run on such inputs.
    Contradiction(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Unknown(reason)
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        Self::Unknown(reason.into())
    }
}

impl Value {
    pub(super) fn of_dims(dims: Vec<Option<u64>>) -> Self {
        Self { dims: Some(dims), ..Self::default() }
    }

    pub(super) fn of_shape(dims: &[u64]) -> Self {
        Self::of_dims(dims.iter().copied().map(Some).collect())
    }

    pub(super) fn vector(elements: Vec<Option<f64>>) -> Self {
        let length = elements.len();
        Self { elements: Some(elements).filter(|_| length <= MAX_ELEMENTS), ..Self::of_shape(&[length as u64]) }
    }

    pub(super) fn scalar(element: f64) -> Self {
        Self { elements: Some(vec![Some(element)]), ..Self::of_dims(Vec::new()) }
    }

    pub(super) fn integers(values: &[i64]) -> Self {
        Self::vector(values.iter().map(|&v| Some(v as f64)).collect())
    }

    /// The dimensions, if every one is known.
    pub(super) fn shape(&self) -> Option<Vec<u64>> {
        self.dims.as_ref()?.iter().copied().collect()
    }

    /// True for a scalar or a vector whose elements are followed: what the library takes as values.
    pub(super) fn is_list(&self) -> bool {
        self.elements.is_some() && self.dims.as_ref().is_some_and(|d| d.len() <= 1)
    }

    /// The elements, if every one is known.
    pub(super) fn known(&self) -> Option<Vec<f64>> {
        self.elements.as_ref()?.iter().copied().collect()
    }

    /// The value of a stored tensor; weights come out with dimensions alone.
    pub(super) fn of_tensor(tensor: &TensorProto) -> Self {
        let Ok(dims) = tensor.dims.iter().map(|&d| u64::try_from(d)).collect::<Result<Vec<_>, _>>() else {
            return Self::default();
        };
        let mut value = Self::of_shape(&dims);
        value.float = matches!(tensor.data_type, Some(DataType::FLOAT | DataType::DOUBLE | DataType::FLOAT16 | DataType::BFLOAT16));
        let count = dims.iter().try_fold(1_u64, |product, &d| product.checked_mul(d));
        if count.is_some_and(|c| c <= MAX_ELEMENTS as u64) {
            let elements = numbers(tensor).filter(|e| Some(e.len() as u64) == count);
            value.elements = elements.map(|e| e.into_iter().map(Some).collect());
        }
        value
    }

    /// The tensor whose element at each place comes from the place that `source` names, outermost dimension first; elements
    /// are dropped unless all of `dims` and of this tensor's dimensions are known.
    pub(super) fn rearranged(&self, dims: Vec<Option<u64>>, source: impl Fn(&[u64]) -> Vec<u64>) -> Self {
        let known: Option<Vec<u64>> = dims.iter().copied().collect();
        let elements = self.elements.as_ref().zip(self.shape()).zip(known).and_then(|((elements, from), to)| {
            let count = to.iter().try_fold(1_u64, |product, &d| product.checked_mul(d)).filter(|&c| c <= MAX_ELEMENTS as u64)?;
            let mut moved = Vec::new();
            for flat in 0..count {
                let mut place = vec![0; to.len()];
                let mut rest = flat;
                for (index, &dim) in place.iter_mut().zip(&to).rev() {
                    (*index, rest) = (rest % dim, rest / dim);
                }
                let at = source(&place).iter().zip(&from).fold(0_u64, |at, (&index, &dim)| at.saturating_mul(dim).saturating_add(index));
                moved.push(*elements.get(usize::try_from(at).ok()?)?);
            }
            Some(moved)
        });
        Self { dims: Some(dims), elements, float: self.float }
    }

    /// Applies one of the library's rules.
    ///
    /// The library computes in `i32`: what fits is passed as a number, all else as an opaque symbol that comes back as what
    /// it stood for where the rule only moves it.
    pub(super) fn infer(rule: &dyn InferShapes, inputs: &[Option<&Self>]) -> Result<Vec<Self>, Failure> {
        let mut symbols = Symbols::default();
        let float = inputs.iter().flatten().any(|v| v.float);
        let tensors: Vec<Option<SymTensor>> = inputs.iter().map(|v| v.map(|v| symbols.tensor(v))).collect();
        let outputs = rule.infer_shapes(InferShapesContext::new(&tensors), &mut SymbolGen::new()).map_err(|error| match error {
            InferShapesError::IncompatibleShapes => Failure::Contradiction(error.to_string()),
            _ => Failure::Unknown(error.to_string()),
        })?;
        Ok(outputs.iter().map(|tensor| symbols.value(tensor, float)).collect())
    }
}

/// The symbols of one call of a rule, by their number.
#[derive(Default)]
struct Symbols(Vec<Option<f64>>);

impl Symbols {
    fn expression(&mut self, number: Option<f64>) -> SymExpr {
        if let Some(number) = number
            && number.fract() == 0.0
            && number.abs() <= f64::from(i32::MAX)
        {
            #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
            return SymExpr::Value(number as i32);
        }
        self.0.push(number);
        SymExpr::pos_var(&format!("#{}", self.0.len() - 1))
    }

    fn tensor(&mut self, value: &Value) -> SymTensor {
        match (&value.dims, &value.elements) {
            (None, _) => SymTensor::unknown("unknown"),
            (Some(dims), Some(elements)) if dims.is_empty() && elements.len() == 1 => SymTensor::from_scalar(self.expression(elements[0])),
            (Some(dims), Some(elements)) if dims.len() == 1 => SymTensor::from_vec(elements.iter().map(|&e| self.expression(e)).collect()),
            (Some(dims), _) => SymTensor::from_shape(dims.iter().map(|d| self.expression(d.map(|d| d as f64))).collect()),
        }
    }

    fn value(&self, tensor: &SymTensor, float: bool) -> Value {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in range by the filter")]
        let dimension = |e: SymExpr| self.number(&e).filter(|n| (0.0..=2_f64.powi(53)).contains(n) && n.fract() == 0.0).map(|n| n as u64);
        let dims = tensor.shape().map(|dims| dims.map(dimension).collect());
        let elements = tensor.values().filter(|v| v.len() <= MAX_ELEMENTS);
        Value { dims, elements: elements.map(|v| v.iter().map(|e| self.number(e)).collect()), float }
    }

    /// Evaluates what a rule returned; divisions round down. Exact up to 2^53, far past any dimension.
    #[expect(clippy::float_cmp, reason = "dimensions are whole numbers")]
    fn number(&self, expression: &SymExpr) -> Option<f64> {
        let binary = |a, b, f: fn(f64, f64) -> f64| Some(f(self.number(a)?, self.number(b)?));
        let number = match expression {
            SymExpr::Value(value) => Some(f64::from(*value)),
            SymExpr::Var(symbol) => *self.0.get(symbol.name.strip_prefix('#')?.parse::<usize>().ok()?)?,
            SymExpr::Neg(a) => Some(-self.number(a)?),
            SymExpr::Add(a, b) => binary(a, b, |a, b| a + b),
            SymExpr::Sub(a, b) => binary(a, b, |a, b| a - b),
            SymExpr::Mul(a, b) => binary(a, b, |a, b| a * b),
            SymExpr::Div(a, b) => binary(a, b, |a, b| (a / b).floor()),
            SymExpr::DivCeil(a, b) => binary(a, b, |a, b| (a / b).ceil()),
            SymExpr::Max(a, b) => binary(a, b, f64::max),
            SymExpr::Min(a, b) => binary(a, b, f64::min),
            SymExpr::Broadcast(a, b) => match (self.number(a)?, self.number(b)?) {
                (1.0, n) | (n, 1.0) => Some(n),
                (a, b) => (a == b).then_some(a),
            },
        };
        number.filter(|n| n.is_finite())
    }
}

/// The numbers of a stored tensor of a type that shapes are computed in; `None` if they are elsewhere or of another type.
fn numbers(tensor: &TensorProto) -> Option<Vec<f64>> {
    fn raw<const N: usize>(bytes: &[u8], read: fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok()).map(read).collect()
    }
    let bytes = tensor.raw_data.as_ref().map(|data| data.borrow());
    let numbers = match (tensor.data_type?, bytes.as_deref()) {
        (DataType::INT64, Some(bytes)) => raw(bytes, |b| i64::from_le_bytes(b) as f64),
        (DataType::INT32, Some(bytes)) => raw(bytes, |b| f64::from(i32::from_le_bytes(b))),
        (DataType::FLOAT, Some(bytes)) => raw(bytes, |b| f64::from(f32::from_le_bytes(b))),
        (DataType::DOUBLE, Some(bytes)) => raw(bytes, f64::from_le_bytes),
        (DataType::BOOL | DataType::UINT8, Some(bytes)) => raw(bytes, |[b]: [u8; 1]| f64::from(b)),
        (DataType::INT64, None) => tensor.int64_data.iter().map(|&v| v as f64).collect(),
        (DataType::INT32 | DataType::BOOL | DataType::UINT8, None) => tensor.int32_data.iter().map(|&v| f64::from(v)).collect(),
        (DataType::FLOAT, None) => tensor.float_data.iter().map(|&v| f64::from(v)).collect(),
        (DataType::DOUBLE, None) => tensor.double_data.clone(),
        _ => return None,
    };
    Some(numbers)
}
