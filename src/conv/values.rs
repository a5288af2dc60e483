//! The values of a tensor on the host.

/// Values as they came from a device, exact: floats in f32, which holds every f16, integers in i32, which f32 does not hold past 2²⁴.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Floats.
    F32(Vec<f32>),
    /// Integers.
    I32(Vec<i32>),
}

impl Values {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I32(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    ///
    /// # Panics
    /// When `index` is not below their number.
    pub fn at(&self, index: usize) -> f64 {
        match self {
            Self::F32(values) => values[index].into(),
            Self::I32(values) => values[index].into(),
        }
    }

    /// Drops all but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::F32(values) => values.truncate(len),
            Self::I32(values) => values.truncate(len),
        }
    }

    /// All of them as floats; integers past 2²⁴ are rounded.
    pub fn into_floats(self) -> Vec<f32> {
        match self {
            Self::F32(values) => values,
            #[expect(clippy::cast_precision_loss, reason = "rounding is what is meant")]
            Self::I32(values) => values.into_iter().map(|x| x as f32).collect(),
        }
    }
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        Self::F32(values)
    }
}

impl From<Vec<i32>> for Values {
    fn from(values: Vec<i32>) -> Self {
        Self::I32(values)
    }
}
