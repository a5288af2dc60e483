//! The shape a user gives to a graph input: `1x3x224x224` or `name=1x3x224x224`.

use crate::conv::MAX_EXTENT;
use std::fmt;
use std::str::FromStr;

/// Dimensions for one graph input, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputShape {
    /// The graph input; may be left out where the graph has only one.
    pub name: Option<String>,
    /// Every dimension, each at least 1.
    pub dims: Vec<u64>,
}

/// A text that is no input shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an input shape: {problem}; write 1x3x224x224 or name=1x3x224x224")]
pub struct InputShapeError {
    text: String,
    problem: String,
}

impl FromStr for InputShape {
    type Err = InputShapeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem| InputShapeError { text: text.to_owned(), problem };
        // A tensor's name may hold anything, '=' included; a shape cannot.
        let (name, shape) = match text.rsplit_once('=') {
            Some(("", _)) => return Err(error("the name before '=' is empty".into())),
            Some((name, shape)) => (Some(name.to_owned()), shape),
            None => (None, text),
        };
        let dims = shape.split('x').map(|dim| match dim.parse() {
            Ok(value @ 1..=MAX_EXTENT) if dim.bytes().all(|b| b.is_ascii_digit()) => Ok(value),
            _ => Err(error(format!("dimension '{dim}' is not a whole number from 1 to {MAX_EXTENT}"))),
        });
        Ok(Self { name, dims: dims.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for InputShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        match &self.name {
            Some(name) => f.pad(&format!("{name}={}", dims.join("x"))),
            None => f.pad(&dims.join("x")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_round_trip() {
        for text in ["1x3x224x224", "data=1x3x224x224", "a=b=8x16", "x=7", "4294967295"] {
            assert_eq!(text.parse::<InputShape>().expect(text).to_string(), text);
        }
        let shape: InputShape = "a=b=8x16".parse().expect("name with '='");
        assert_eq!((shape.name.as_deref(), shape.dims), (Some("a=b"), vec![8, 16]));
    }

    #[test]
    fn bad_shapes_name_the_dimension() {
        for (text, problem) in [
            ("", "dimension '' is not a whole number from 1 to 4294967295"),
            ("1x3xHxW", "dimension 'H' is not a whole number from 1 to 4294967295"),
            ("1x0", "dimension '0' is not a whole number from 1 to 4294967295"),
            ("1x+3", "dimension '+3' is not a whole number from 1 to 4294967295"),
            ("1,3", "dimension '1,3' is not a whole number from 1 to 4294967295"),
            ("4294967296", "dimension '4294967296' is not a whole number from 1 to 4294967295"),
            ("=1x3", "the name before '=' is empty"),
        ] {
            let message = format!("'{text}' is not an input shape: {problem}; write 1x3x224x224 or name=1x3x224x224");
            assert_eq!(text.parse::<InputShape>().expect_err(text).to_string(), message);
        }
    }
}
