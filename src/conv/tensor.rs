//! The three tensors of a convolution: which of them a pass reads and which it writes, their shapes and names.

use super::{Conv, ElementType, Pass};

/// One of the tensors `y = conv(x, w)` is about, or its gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tensor {
    /// x, of shape N,C,\[D,\]H,W.
    Input,
    /// w, of shape K,C/g,\[T,\]R,S.
    Weights,
    /// y, of shape N,K,\[O,\]P,Q.
    Output,
}

impl Tensor {
    /// All of them, in the order plans hold them.
    pub const ALL: [Self; 3] = [Self::Input, Self::Weights, Self::Output];
}

impl Conv {
    /// The tensor that the pass writes.
    pub fn result(&self) -> Tensor {
        match self.computes() {
            Pass::Forward => Tensor::Output,
            Pass::BackwardData => Tensor::Input,
            Pass::BackwardWeights => Tensor::Weights,
        }
    }

    /// The tensors that the pass reads, in the order of [`Tensor::ALL`].
    pub fn operands(&self) -> [Tensor; 2] {
        match self.result() {
            Tensor::Output => [Tensor::Input, Tensor::Weights],
            Tensor::Input => [Tensor::Weights, Tensor::Output],
            Tensor::Weights => [Tensor::Input, Tensor::Output],
        }
    }

    /// The same tensor as a person names it, or the other way round: what a transposed convolution reads is what the one it mirrors writes.
    pub fn named(&self, tensor: Tensor) -> Tensor {
        match (self.is_transposed(), tensor) {
            (true, Tensor::Input) => Tensor::Output,
            (true, Tensor::Output) => Tensor::Input,
            (_, same) => same,
        }
    }

    /// What files and flags call a tensor: `input`, or `input_gradient` where the pass is about its gradient.
    pub fn tensor_name(&self, tensor: Tensor) -> &'static str {
        match (self.pass(), self.named(tensor)) {
            (Pass::BackwardData, Tensor::Input) => "input_gradient",
            (_, Tensor::Input) => "input",
            (Pass::BackwardWeights, Tensor::Weights) => "weight_gradient",
            (_, Tensor::Weights) => "weights",
            (Pass::Forward, Tensor::Output) => "output",
            (_, Tensor::Output) => "output_gradient",
        }
    }

    /// Shape of a tensor, outermost axis first, channels second: the order of values on the host, whatever the layout on the device.
    pub fn shape(&self, tensor: Tensor) -> Vec<u64> {
        match tensor {
            Tensor::Input => self.input_shape(),
            Tensor::Weights => self.weight_shape(),
            Tensor::Output => self.output_shape(),
        }
    }

    /// Elements of a tensor.
    pub fn elements(&self, tensor: Tensor) -> u64 {
        match tensor {
            Tensor::Input => self.input_elements(),
            Tensor::Weights => self.weight_elements(),
            Tensor::Output => self.output_elements(),
        }
    }

    /// Type of a tensor's elements.
    pub fn element_of(&self, tensor: Tensor) -> ElementType {
        if tensor == self.result() { self.element().result() } else { self.element() }
    }

    /// Elements of what the pass writes.
    pub fn result_elements(&self) -> u64 {
        self.elements(self.result())
    }

    /// Extents along depth, height and width of what the pass writes.
    pub fn result_extents(&self) -> [u64; 3] {
        match self.result() {
            Tensor::Input => self.axes_3d().map(|a| a.size),
            Tensor::Weights => self.axes_3d().map(|a| a.kernel),
            Tensor::Output => self.axes_3d().map(|a| a.output()),
        }
    }

    /// The two outer extents of what the pass writes, and into how many groups the first and the second of them falls.
    pub fn result_outer(&self) -> [(u64, u64); 2] {
        match self.result() {
            Tensor::Input => [(self.batch(), 1), (self.channels_in(), self.groups())],
            Tensor::Weights => [(self.channels_out(), self.groups()), (self.group_channels_in(), 1)],
            Tensor::Output => [(self.batch(), 1), (self.channels_out(), self.groups())],
        }
    }

    /// Most products summed into one element of the result.
    pub fn summed(&self) -> u64 {
        match self.result() {
            Tensor::Output => self.reduction(),
            Tensor::Input => self.group_channels_out() * self.axes_3d().iter().map(super::Axis::most_taps).product::<u64>(),
            Tensor::Weights => self.batch() * self.output_points(),
        }
    }

    /// Whether there is nothing to multiply: no image, or a transposed convolution whose output is empty.
    pub fn is_empty(&self) -> bool {
        self.batch() == 0 || self.input_points() == 0
    }
}
