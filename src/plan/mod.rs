//! A plan: the buffers and dispatches an algorithm needs for one convolution, as plain data.
//!
//! The ledger sums the buffers of a plan and the executor creates exactly those, so what is predicted, allocated and run
//! cannot drift apart. Nothing here knows a device; [`Limits`] is a plain copy of what one allows.

mod arena;
mod kernel;
mod limits;
#[cfg(test)]
pub(crate) mod tests;
mod tuning;

pub use arena::{Slot, SlotId};
pub use kernel::{Binding, Constant, Kernel, Step};
pub use limits::{DeviceClass, Limits};
pub use tuning::{Rule, ShapeClass, Sharing, Tile, TileError, TiledKernel, Tuning, TuningError, TuningFile};

use crate::conv::{Conv, ElementType, Tensor};
use crate::ledger::Ledger;
use crate::units::{Bytes, Ops, product};
use serde::{Deserialize, Serialize};

/// What a buffer is to the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The feature map before the convolution, or its gradient.
    Input,
    /// The filter, or its gradient.
    Weights,
    /// One value for each output channel.
    Bias,
    /// The feature map after the convolution, or its gradient.
    Output,
    /// Anything an algorithm keeps in between.
    Workspace,
    /// The problem's sizes as the kernels read them.
    Uniform,
}

impl Role {
    /// The ledger a buffer of this role is booked to.
    pub const fn ledger(self) -> Ledger {
        match self {
            Self::Input | Self::Output => Ledger::Activation,
            Self::Weights | Self::Bias => Ledger::Parameter,
            Self::Workspace => Ledger::Computation,
            Self::Uniform => Ledger::Runtime,
        }
    }
}

/// How long a buffer's content is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Rewritten in every execution.
    Call,
    /// Written once and kept between executions.
    Cached,
}

/// Index of a buffer in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BufferId(pub usize);

/// A buffer a plan asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// What files call it: `input`, `weights`, `output`, or the workspace's own name such as `columns`.
    pub name: String,
    /// What it is to the plan; decides its ledger.
    pub role: Role,
    /// Type of its elements.
    pub element: ElementType,
    /// How many elements.
    pub elements: u64,
    /// How long its content is good for.
    pub lifetime: Lifetime,
}

impl Buffer {
    /// Its size.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.elements * self.element.bytes())
    }
}

/// Everything an algorithm needs for one convolution on a device with given limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The buffers; a step refers to them by index.
    pub buffers: Vec<Buffer>,
    /// The buffer that holds the result.
    pub result: BufferId,
    /// The dispatches, in order.
    pub steps: Vec<Step>,
    /// The device-dependent choices made (tile sizes, workgroup sizes), as recorded with a row.
    pub tuning: String,
    /// Memory that workspaces share; [`Plan::finish`] deals it out.
    pub slots: Vec<Slot>,
}

/// Why an algorithm does not compute a convolution here; the reason carries its numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Unsupported {
    /// The algorithm is not made for this problem.
    #[error("{0}")]
    Problem(String),
    /// The variant is not one of the algorithm's.
    #[error("{0}")]
    Variant(String),
    /// The device allows less than is needed.
    #[error("{what} {needed} > {limit_name} {limit}")]
    Limit {
        /// What is too large, with its unit written by the caller where it is not bytes.
        what: String,
        /// How much is needed.
        needed: String,
        /// The limit's name.
        limit_name: String,
        /// Its value.
        limit: String,
    },
}

impl Unsupported {
    /// `what` needs more bytes than the device allows.
    pub fn bytes(what: impl Into<String>, needed: Bytes, limit_name: &str, limit: Bytes) -> Self {
        Self::Limit { what: what.into(), needed: needed.to_string(), limit_name: limit_name.into(), limit: limit.to_string() }
    }

    /// A total of `what` does not fit 64 bits.
    pub fn overflow(what: &str, factors: &[u64]) -> Self {
        let needed = factors.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        Self::Limit { what: what.into(), needed, limit_name: "the 64-bit range".into(), limit: u64::MAX.to_string() }
    }
}

/// Bytes of a workspace of `factors` multiplied out, in elements of `element`.
///
/// # Errors
/// [`Unsupported::Limit`] past 64 bits, with the factors.
pub fn workspace_bytes(what: &str, factors: &[u64], element: ElementType) -> Result<Bytes, Unsupported> {
    let all = [factors, &[element.bytes()]].concat();
    product(&all).map(Bytes).ok_or_else(|| Unsupported::overflow(what, &all))
}

impl Plan {
    /// A plan with a convolution's three tensors and no steps yet: buffers 0, 1 and 2 are input, weights, output, or their gradients.
    pub fn new(conv: &Conv) -> Self {
        let buffer = |tensor: Tensor| Buffer {
            name: conv.tensor_name(tensor).into(),
            role: match conv.named(tensor) {
                Tensor::Input => Role::Input,
                Tensor::Weights => Role::Weights,
                Tensor::Output => Role::Output,
            },
            element: conv.element_of(tensor),
            elements: conv.elements(tensor),
            lifetime: Lifetime::Call,
        };
        Self { result: Self::of(conv.result()), ..Self::of_buffers(Tensor::ALL.map(buffer).to_vec()) }
    }

    /// A plan of these buffers, the last of which holds the result, and no steps yet.
    pub const fn of_buffers(buffers: Vec<Buffer>) -> Self {
        let result = BufferId(buffers.len().saturating_sub(1));
        Self { buffers, result, steps: Vec::new(), tuning: String::new(), slots: Vec::new() }
    }

    /// The buffer of a tensor, in the plan of a convolution.
    pub const fn of(tensor: Tensor) -> BufferId {
        match tensor {
            Tensor::Input => Self::INPUT,
            Tensor::Weights => Self::WEIGHTS,
            Tensor::Output => Self::OUTPUT,
        }
    }

    /// The input every plan begins with.
    pub const INPUT: BufferId = BufferId(0);
    /// The weights every plan begins with.
    pub const WEIGHTS: BufferId = BufferId(1);
    /// The output every plan begins with.
    pub const OUTPUT: BufferId = BufferId(2);

    /// Adds a workspace of `factors` multiplied out.
    ///
    /// # Errors
    /// [`Unsupported::Limit`] when its bytes do not fit 64 bits.
    pub fn workspace(&mut self, name: &str, factors: &[u64], element: ElementType) -> Result<BufferId, Unsupported> {
        let bytes = workspace_bytes(name, factors, element)?;
        self.buffers.push(Buffer {
            name: name.into(),
            role: Role::Workspace,
            element,
            elements: bytes.0 / element.bytes(),
            lifetime: Lifetime::Call,
        });
        Ok(BufferId(self.buffers.len() - 1))
    }

    /// The same workspace, written once for given weights and kept between executions.
    ///
    /// # Errors
    /// As [`Plan::workspace`].
    pub fn cached_workspace(&mut self, name: &str, factors: &[u64], element: ElementType) -> Result<BufferId, Unsupported> {
        let id = self.workspace(name, factors, element)?;
        self.buffers[id.0].lifetime = Lifetime::Cached;
        Ok(id)
    }

    /// The buffer of an id of this plan.
    ///
    /// # Panics
    /// When the id is of another plan.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0]
    }

    /// Bytes of a ledger's buffers, each counted in full; [`Plan::arena_bytes`] is what the workspaces take where they share memory.
    pub fn bytes(&self, ledger: Ledger) -> Bytes {
        Bytes(self.buffers.iter().filter(|b| b.role.ledger() == ledger).map(|b| b.bytes().0).sum())
    }

    /// Operations of all steps.
    pub fn operations(&self) -> Ops {
        Ops(self.steps.iter().map(|s| s.operations.0).sum())
    }

    /// The buffers with the ids by which steps refer to them.
    pub fn numbered(&self) -> impl Iterator<Item = (BufferId, &Buffer)> {
        self.buffers.iter().enumerate().map(|(index, buffer)| (BufferId(index), buffer))
    }

    /// First and last step that uses a buffer, or `None` if none does.
    pub fn live_range(&self, id: BufferId) -> Option<(usize, usize)> {
        let uses = |step: &Step| step.bindings.iter().any(|b| b.buffer == id);
        Some((self.steps.iter().position(uses)?, self.steps.iter().rposition(uses)?))
    }

    /// Holds the finished plan against a device's limits, has workspaces share memory that are not in use together, and adds the uniform buffer
    /// its steps read, which no algorithm asks for by hand. Steps that run once come first from then on: they run before all others.
    ///
    /// # Errors
    /// [`Unsupported::Limit`] names the first limit that is too small, with the numbers.
    pub fn finish(mut self, limits: &Limits) -> Result<Self, Unsupported> {
        self.steps.sort_by_key(|step| !step.once);
        let mut tiles: Vec<String> = Vec::new();
        for kernel in self.steps.iter().map(|step| &step.kernel) {
            let text = kernel.tile.map(|tile| format!("{} {tile}", kernel.shader));
            tiles.extend(text.filter(|text| !tiles.contains(text)));
        }
        if !tiles.is_empty() {
            self.tuning = tiles.join("; ");
        }
        for buffer in &self.buffers {
            if buffer.bytes().0 > limits.max_buffer_bytes {
                let what = format!("{} buffer", buffer.name);
                return Err(Unsupported::bytes(what, buffer.bytes(), "buffer size limit", Bytes(limits.max_buffer_bytes)));
            }
        }
        for step in &self.steps {
            step.check(&self, limits)?;
        }
        self.share();
        let steps = self.steps.len() as u64;
        let words: u64 = self.steps.iter().map(|s| s.uniform_slot_bytes(limits) / 4).max().unwrap_or(0) * steps;
        self.buffers.push(Buffer {
            name: "problem".into(),
            role: Role::Uniform,
            element: ElementType::U32,
            elements: words,
            lifetime: Lifetime::Cached,
        });
        if words * 4 > limits.max_buffer_bytes {
            let needed = Bytes(words * 4);
            return Err(Unsupported::bytes("uniforms of all steps", needed, "buffer size limit", Bytes(limits.max_buffer_bytes)));
        }
        Ok(self)
    }

    /// Bytes from one step's uniforms to the next in the buffer that [`Plan::finish`] adds.
    pub fn uniform_stride(&self, limits: &Limits) -> u64 {
        self.steps.iter().map(|s| s.uniform_slot_bytes(limits)).max().unwrap_or(0)
    }
}
