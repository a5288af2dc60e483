//! Why a model file yields no suite.

use crate::conv::ConvError;
use std::path::PathBuf;

/// A model that cannot be read: the file and what is wrong with it, on one line.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct OnnxError {
    /// The model file.
    pub file: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// What can be wrong with a model file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The operating system refuses the file.
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    /// The file holds something else.
    #[error("not an ONNX model: {found}")]
    Foreign {
        /// What the file looks like.
        found: String,
    },
    /// The file ends inside a field.
    #[error("cut short: the field at byte {at} promises {promised} bytes, {left} follow")]
    CutShort {
        /// Offset of the field's content.
        at: u64,
        /// Its length by its header.
        promised: u64,
        /// Bytes left in the file.
        left: u64,
    },
    /// The bytes break the protobuf or ONNX format.
    #[error("damaged: {what} at byte {at}")]
    Damaged {
        /// Offset of the trouble.
        at: u64,
        /// What is there.
        what: String,
    },
    /// The ONNX parser refuses the file.
    #[error("damaged: {0}")]
    Parser(String),
    /// No graph, or no operator set: required parts are missing.
    #[error("has no {part}, so it is no complete ONNX model")]
    Missing {
        /// The part.
        part: &'static str,
    },
    /// Nothing to convolve.
    #[error("has no Conv node that can be run: {found}")]
    NoConv {
        /// What the graph has instead.
        found: String,
    },
    /// `--input` does not fit the graph.
    #[error("--input {given}: {problem}; {inputs}")]
    Input {
        /// The flag's value.
        given: String,
        /// What is wrong with it.
        problem: String,
        /// The graph's inputs.
        inputs: String,
    },
    /// A shape that inference cannot find.
    #[error("shape of input '{value}' of node {node} stays unknown: {cause}")]
    UnknownShape {
        /// The tensor.
        value: String,
        /// The convolution that reads it.
        node: String,
        /// Why, and what to do.
        cause: String,
    },
    /// A tensor, or the stored ones together, of more elements than can be counted.
    #[error("tensor '{tensor}' brings its elements past 64 bits")]
    TooLarge {
        /// The tensor.
        tensor: String,
    },
    /// A convolution with attributes that contradict each other or its operands.
    #[error("node {node}: {problem}")]
    Node {
        /// The convolution.
        node: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A convolution whose sizes are impossible.
    #[error("node {node}: {source}")]
    Impossible {
        /// The convolution.
        node: String,
        /// Why.
        source: ConvError,
    },
}
