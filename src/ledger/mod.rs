//! Which ledger a byte belongs to, and the closed forms that need no algorithm: parameters, activations, operations,
//! least traffic, and the totals of whole networks for inference and training. What an algorithm adds is its own closed form,
//! [`crate::algorithm::Algorithm::native_workspace`].

mod checkpoint;
mod error;
mod liveness;
mod network;
#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpointed, best, checkpointed, of_equal_layers};
pub use error::LedgerError;
pub use liveness::{kept, peak, peak_of_gradients};
pub use network::{Line, Optimizer, Precision, Role, Training, forward, inference, parameter_bytes, training};

use crate::conv::{Axis, Conv, Tensor};
use crate::units::{Bytes, Ops};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The account a byte is booked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ledger {
    /// Weights and bias; in training also gradients and optimizer state.
    Parameter,
    /// Input, output and saved tensors.
    Activation,
    /// Workspace: all else an algorithm allocates.
    Computation,
    /// What the device, driver, allocator and this harness hold that no algorithm asked for.
    Runtime,
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Parameter => "parameter",
            Self::Activation => "activation",
            Self::Computation => "computation",
            Self::Runtime => "runtime",
        })
    }
}

/// Bytes of a tensor, or of its gradient where the pass is about that.
pub fn tensor(conv: &Conv, tensor: Tensor) -> Bytes {
    Bytes(conv.elements(tensor) * conv.element_of(tensor).bytes())
}

/// Bytes of the weights, `K·C/g·T·R·S·b`.
pub fn parameters(conv: &Conv) -> Bytes {
    tensor(conv, Tensor::Weights)
}

/// Bytes of input and output together.
pub fn activations(conv: &Conv) -> Bytes {
    Bytes(tensor(conv, Tensor::Input).0 + tensor(conv, Tensor::Output).0)
}

/// Operations of the direct method, `2·N·K·O·P·Q·C/g·T·R·S`; taps that fall in the padding are counted.
pub fn operations(conv: &Conv) -> Ops {
    Ops(2 * conv.output_elements() * conv.reduction())
}

/// The same without the taps that fall in the padding.
pub fn operations_without_padding(conv: &Conv) -> Ops {
    let taps: u64 = conv.axes_3d().iter().map(Axis::taps_inside).product();
    Ops(2 * conv.batch() * conv.channels_out() * conv.group_channels_in() * taps)
}

/// The least any algorithm moves: input, weights and output once each.
pub fn least_traffic(conv: &Conv) -> Bytes {
    Bytes(parameters(conv).0 + activations(conv).0)
}
