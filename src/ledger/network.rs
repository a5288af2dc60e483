//! Totals of a whole network by ledger: what inference holds, and what a training step holds.
//!
//! **Parameter.** Weights, their gradients, and the state tensors an optimizer keeps for each weight: none for plain SGD, the
//! velocity for momentum, the sum of squares for Adagrad (Duchi, Hazan, Singer 2011), two moments for Adam (Kingma, Ba 2015). In f32 each is 4 bytes a
//! parameter. Mixed precision (Micikevicius et al. 2018, *Mixed Precision Training*, arXiv 1710.03740, section 3.1) computes with weights
//! and gradients of 2 bytes, and keeps an f32 master copy of the weights and the optimizer's state in f32.
//!
//! **Activation.** What the forward pass leaves for the backward pass: every tensor that something reads, at once. That is what the
//! literature calls activation memory. Of a model's graph it bounds the feature maps that frameworks keep from above, as some operators
//! need not keep their input and some work in place. Of a list of convolutions it bounds nothing: what stands between them is not in it.
//! With checkpoints ([`super::checkpointed`]) it is what is kept throughout and the largest segment.
//!
//! **Gradients of activations** are held as well, for as long as the backward pass needs them, and are a line of their own: the
//! most that are alive at once. As that need not be the moment at which the activations are most, a graph's sum bounds a step's peak
//! from above.
//!
//! Workspace is not in it: it belongs to the algorithm that each layer is computed with. Nor is what an operator saves beside its
//! outputs, such as where a pool found its maxima.

use super::liveness::{kept, peak, peak_of_gradients};
use super::{Checkpointed, Ledger, LedgerError, operations};
use crate::conv::ElementType;
use crate::suite::Network;
use crate::units::{Bytes, Ops};
use serde::Serialize;

/// How training turns gradients into steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Plain stochastic gradient descent.
    Sgd,
    /// Gradient descent with momentum.
    Momentum,
    /// Adam, and what keeps the same two moments, such as `AdamW`.
    Adam,
    /// Adagrad, and what keeps one such tensor, such as `RMSprop`.
    Adagrad,
}

impl Optimizer {
    /// State tensors of the weights' size.
    pub const fn states(self) -> u64 {
        match self {
            Self::Sgd => 0,
            Self::Momentum | Self::Adagrad => 1,
            Self::Adam => 2,
        }
    }
}

/// The types that training computes and stores in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Everything in 4 bytes.
    F32,
    /// Weights, gradients and activations in 2 bytes; a master copy of the weights and the optimizer's state in 4.
    Mixed,
}

impl Precision {
    /// Bytes of an element of what is computed with: weights, activations and the gradients of both.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::Mixed => 2,
        }
    }
}

/// How a network is trained.
#[derive(Debug, Clone, Copy)]
pub struct Training {
    /// What becomes of gradients.
    pub optimizer: Optimizer,
    /// Types.
    pub precision: Precision,
    /// Checkpoints in the network, where there are some.
    pub checkpoints: Option<Checkpointed>,
}

/// What bytes of a network are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What layers compute with.
    Weights,
    /// The f32 copy that an optimizer adds to.
    MasterWeights,
    /// Gradients of the weights.
    Gradients,
    /// Moments and the like.
    OptimizerState,
    /// Stored numbers that training does not change by gradients, in the type computed with; in f32 in mixed precision.
    Buffers,
    /// Feature maps: the most alive at once in inference, all that are kept in training.
    Activations,
    /// Feature maps kept from the forward pass at the ends of segments.
    Checkpoints,
    /// Feature maps of the largest segment, made again.
    Segment,
    /// Gradients of feature maps: the most alive at once.
    ActivationGradients,
}

impl Role {
    /// As files and tables write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::MasterWeights => "master_weights",
            Self::Gradients => "gradients",
            Self::OptimizerState => "optimizer_state",
            Self::Buffers => "buffers",
            Self::Activations => "activations",
            Self::Checkpoints => "checkpoints",
            Self::Segment => "segment",
            Self::ActivationGradients => "activation_gradients",
        }
    }

    /// The ledger it is booked to.
    pub const fn ledger(self) -> Ledger {
        match self {
            Self::Weights | Self::MasterWeights | Self::Gradients | Self::OptimizerState | Self::Buffers => Ledger::Parameter,
            Self::Activations | Self::Checkpoints | Self::Segment | Self::ActivationGradients => Ledger::Activation,
        }
    }
}

/// One entry of a network's totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub role: Role,
    /// Elements; an optimizer's state has as many as all its tensors together.
    pub elements: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

/// Bytes a parameter of what training holds for each of them, by role; roles of which nothing is held are left out.
pub fn parameter_bytes(optimizer: Optimizer, precision: Precision) -> Vec<(Role, u64)> {
    let master = if precision == Precision::Mixed { 4 } else { 0 };
    let all = [
        (Role::Weights, precision.bytes()),
        (Role::MasterWeights, master),
        (Role::Gradients, precision.bytes()),
        (Role::OptimizerState, 4 * optimizer.states()),
    ];
    all.into_iter().filter(|(_, bytes)| *bytes > 0).collect()
}

/// What inference holds, in elements of one type: weights, and the most feature maps alive at once.
///
/// # Errors
/// [`LedgerError::Overflow`] for bytes past 64 bits, of a line or all together.
pub fn inference(network: &Network, element: ElementType) -> Result<Vec<Line>, LedgerError> {
    let size = element.bytes();
    let mut book = Book { network, lines: Vec::new(), bytes: 0 };
    book.add(Role::Weights, network.parameters.into(), size)?;
    book.add(Role::Buffers, network.buffers.into(), size)?;
    book.add(Role::Activations, peak(network), size)?;
    Ok(book.lines)
}

/// What a training step holds.
///
/// # Errors
/// [`LedgerError::Overflow`] for bytes past 64 bits, of a line or all together.
pub fn training(network: &Network, training: &Training) -> Result<Vec<Line>, LedgerError> {
    let size = training.precision.bytes();
    let mut book = Book { network, lines: Vec::new(), bytes: 0 };
    for (role, bytes) in parameter_bytes(training.optimizer, training.precision) {
        // State tensors are 4 bytes an element each.
        let tensors = if role == Role::OptimizerState { training.optimizer.states() } else { 1 };
        book.add(role, u128::from(network.parameters) * u128::from(tensors), bytes / tensors)?;
    }
    book.add(Role::Buffers, network.buffers.into(), ElementType::F32.bytes())?;
    match &training.checkpoints {
        None => book.add(Role::Activations, kept(network), size)?,
        Some(checkpoints) => {
            book.add(Role::Checkpoints, checkpoints.kept, size)?;
            book.add(Role::Segment, checkpoints.segment, size)?;
        }
    }
    book.add(Role::ActivationGradients, peak_of_gradients(network), size)?;
    Ok(book.lines)
}

/// Operations of a forward pass: those of the convolutions, by the direct method.
///
/// # Errors
/// [`LedgerError::Overflow`] past 64 bits.
pub fn forward(network: &Network) -> Result<Ops, LedgerError> {
    let sum: u128 = network.steps.iter().flatten().map(|conv| u128::from(operations(conv).0)).sum();
    u64::try_from(sum).map(Ops).map_err(|_| LedgerError::Overflow { network: network.name.clone(), what: "operations" })
}

struct Book<'a> {
    network: &'a Network,
    lines: Vec<Line>,
    bytes: u64,
}

impl Book<'_> {
    /// Adds a line; buffers only where there are some.
    fn add(&mut self, role: Role, elements: u128, size: u64) -> Result<(), LedgerError> {
        if role == Role::Buffers && elements == 0 {
            return Ok(());
        }
        let overflow = || LedgerError::Overflow { network: self.network.name.clone(), what: "bytes" };
        let elements = u64::try_from(elements).map_err(|_| overflow())?;
        let bytes = elements.checked_mul(size).ok_or_else(overflow)?;
        self.bytes = self.bytes.checked_add(bytes).ok_or_else(overflow)?;
        self.lines.push(Line { role, elements, bytes: Bytes(bytes) });
        Ok(())
    }
}
