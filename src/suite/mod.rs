//! Named lists of convolutions: built-in and user-made TOML files, and the `Conv` nodes of ONNX models.

pub mod onnx;

use crate::conv::Conv;

/// One convolution of a network, and how often the network runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What people call it, unique in its suite.
    pub name: String,
    /// The problem.
    pub conv: Conv,
    /// How many times the network has this very layer; at least 1.
    pub count: u64,
}

/// A named list of convolutions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Short name, as given to `--suite` or taken from the file's name.
    pub name: String,
    /// One line on what it is and where its layers come from.
    pub description: String,
    /// The layers in the network's order.
    pub layers: Vec<Layer>,
}
