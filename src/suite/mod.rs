//! Named lists of convolutions: built-in and user-made TOML files, CSV files with a layer a row, and the `Conv` nodes of ONNX models.

mod builtin;
mod error;
mod file;
mod layers;
mod network;
pub mod onnx;

pub use error::{Place, SuiteError, printable};
pub use layers::{LAYER_COLUMNS, conv_of_columns, layer_columns};
pub use network::{Feature, MAX_STEPS, Network, Topology};

use crate::conv::Conv;
use std::collections::HashMap;

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

impl Suite {
    /// The suite of the convolutions given on the command line. A layer is named by its key; a key given again only adds to
    /// the count of its layer.
    pub fn from_convs(convs: Vec<Conv>) -> Self {
        let mut at: HashMap<String, usize> = HashMap::new();
        let mut layers: Vec<Layer> = Vec::new();
        for conv in convs {
            let name = conv.to_string();
            if let Some(&i) = at.get(&name) {
                layers[i].count += 1;
            } else {
                at.insert(name.clone(), layers.len());
                layers.push(Layer { name, conv, count: 1 });
            }
        }
        Self { name: "command_line".into(), description: "convolutions given on the command line".into(), layers }
    }

    /// The same layers over `batch` images each.
    ///
    /// # Errors
    /// [`SuiteError::Batch`] names the first layer that is impossible with it.
    pub fn with_batch(mut self, batch: u64) -> Result<Self, SuiteError> {
        for layer in &mut self.layers {
            layer.conv = layer.conv.with_batch(batch).map_err(|source| SuiteError::Batch { layer: layer.name.clone(), batch, source })?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
