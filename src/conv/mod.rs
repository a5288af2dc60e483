//! One convolution problem: its sizes, validated once, and its canonical key.
//!
//! A [`Conv`] that exists is possible: its extents are positive, its groups divide its channels, its kernel fits the padded
//! input, and its tensors, operations and byte counts fit 64 bits. Nothing downstream checks these again.

mod axis;
mod element;
mod error;
mod key;
mod tensor;
mod values;

pub use axis::Axis;
pub use element::{ElementType, Layout, Pass};
pub use error::{ConvError, KeyError};
pub use tensor::Tensor;
pub use values::Values;

use crate::units::product;
use serde::{Deserialize, Serialize};

/// The largest extent of any one dimension, padded ones included: kernels index with 32-bit unsigned integers.
pub const MAX_EXTENT: u64 = u32::MAX as u64;

/// A convolution: batch `N`, channels `C` → `K` in `g` groups, and one to three spatial axes.
///
/// Tensors are dense, outermost first: input `N,C,[D,]H,W`, weights `K,C/g,[T,]R,S`, output `N,K,[O,]P,Q`.
///
/// A transposed convolution is held as the convolution that it mirrors, whose backward data pass it computes: all sizes here are that one's,
/// so that what a person calls its input is the output here. Its weights `C,K/g,[T,]R,S`, in its own terms, are the same tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "ConvSpec", into = "ConvSpec")]
pub struct Conv {
    batch: u64,
    channels_in: u64,
    channels_out: u64,
    groups: u64,
    rank: usize,
    axes: [Axis; 3],
    element: ElementType,
    pass: Pass,
    layout: Layout,
    transposed: bool,
}

/// The unvalidated sizes of a convolution, as a builder with the usual defaults: what readers of other notations fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvSpec {
    /// Number of images `N`; 0 is an empty problem.
    pub batch: u64,
    /// Input channels `C` over all groups.
    pub channels_in: u64,
    /// Output channels `K` over all groups.
    pub channels_out: u64,
    /// Groups `g`; divides both channel counts.
    pub groups: u64,
    /// One to three spatial axes, outermost (depth, height, width) first.
    pub axes: Vec<Axis>,
    /// Type of the stored elements.
    pub element: ElementType,
    /// Which of the three convolutions of training this is.
    pub pass: Pass,
    /// In which order feature maps lie on the device.
    #[serde(default)]
    pub layout: Layout,
    /// Of a transposed convolution what is added to its output's extents, axis by axis. All other sizes are in its own terms then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_padding: Option<Vec<u64>>,
}

impl ConvSpec {
    /// A forward f32 problem of one group over `axes`, outermost first.
    pub fn new(batch: u64, channels_in: u64, channels_out: u64, axes: &[Axis]) -> Self {
        Self {
            batch,
            channels_in,
            channels_out,
            groups: 1,
            axes: axes.to_vec(),
            element: ElementType::F32,
            pass: Pass::Forward,
            layout: Layout::Nchw,
            output_padding: None,
        }
    }

    /// The same as a transposed convolution, with its output larger by `output_padding`, axis by axis.
    #[must_use]
    pub fn transposed(mut self, output_padding: &[u64]) -> Self {
        self.output_padding = Some(output_padding.to_vec());
        self
    }

    /// The same with `groups` groups.
    #[must_use]
    pub fn groups(mut self, groups: u64) -> Self {
        self.groups = groups;
        self
    }

    /// Validates the sizes.
    ///
    /// # Errors
    /// [`ConvError`] names the first size that makes the problem impossible, with its value.
    pub fn build(&self) -> Result<Conv, ConvError> {
        let rank = self.axes.len();
        if !(1..=3).contains(&rank) {
            return Err(ConvError::Rank { rank });
        }
        for (name, value) in [("C", self.channels_in), ("K", self.channels_out), ("g", self.groups)] {
            if value == 0 {
                return Err(ConvError::Zero { name: name.into() });
            }
        }
        for (name, value) in [("N", self.batch), ("C", self.channels_in), ("K", self.channels_out), ("g", self.groups)] {
            if value > MAX_EXTENT {
                return Err(ConvError::Extent { name: name.into(), value: value.into() });
            }
        }
        for (name, value) in [("C", self.channels_in), ("K", self.channels_out)] {
            if !value.is_multiple_of(self.groups) {
                return Err(ConvError::Groups { name, value, groups: self.groups });
            }
        }
        let mut axes = [Axis::POINT; 3];
        axes[3 - rank..].copy_from_slice(&self.axes);
        let mut channels = [self.channels_in, self.channels_out];
        if let Some(output_padding) = &self.output_padding {
            if output_padding.len() != rank {
                return Err(ConvError::OutputPaddings { values: output_padding.len(), rank });
            }
            for ((axis, names), &padding) in axes[3 - rank..].iter_mut().zip(&axis::NAMES[3 - rank..]).zip(output_padding) {
                *axis = axis.mirrored(names, padding)?;
            }
            channels.reverse();
        } else {
            for (axis, names) in axes.iter().zip(axis::NAMES) {
                axis.check(&names)?;
            }
        }
        let conv = Conv {
            batch: self.batch,
            channels_in: channels[0],
            channels_out: channels[1],
            groups: self.groups,
            rank,
            axes,
            element: self.element,
            pass: self.pass,
            layout: self.layout,
            transposed: self.output_padding.is_some(),
        };
        conv.check_totals()?;
        Ok(conv)
    }
}

impl TryFrom<ConvSpec> for Conv {
    type Error = ConvError;

    fn try_from(spec: ConvSpec) -> Result<Self, Self::Error> {
        spec.build()
    }
}

impl From<Conv> for ConvSpec {
    fn from(conv: Conv) -> Self {
        let mut axes = conv.axes().to_vec();
        let mut channels = [conv.channels_in, conv.channels_out];
        let output_padding = conv.transposed.then(|| axes.iter().map(Axis::output_padding).collect());
        if conv.transposed {
            for axis in &mut axes {
                axis.size = axis.output();
            }
            channels.reverse();
        }
        Self {
            batch: conv.batch,
            channels_in: channels[0],
            channels_out: channels[1],
            groups: conv.groups,
            axes,
            element: conv.element,
            pass: conv.pass,
            layout: conv.layout,
            output_padding,
        }
    }
}

impl Conv {
    /// Number of images `N`.
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// Input channels `C` over all groups.
    pub fn channels_in(&self) -> u64 {
        self.channels_in
    }

    /// Output channels `K` over all groups.
    pub fn channels_out(&self) -> u64 {
        self.channels_out
    }

    /// Groups `g`.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Input channels of one group, `C/g`.
    pub fn group_channels_in(&self) -> u64 {
        self.channels_in / self.groups
    }

    /// Output channels of one group, `K/g`.
    pub fn group_channels_out(&self) -> u64 {
        self.channels_out / self.groups
    }

    /// Number of spatial axes a person named: 1, 2 or 3.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The named spatial axes, outermost first; `rank()` of them.
    pub fn axes(&self) -> &[Axis] {
        &self.axes[3 - self.rank..]
    }

    /// Depth, height and width; axes that were not named are points (size 1, kernel 1).
    pub fn axes_3d(&self) -> [Axis; 3] {
        self.axes
    }

    /// Type of the stored elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Which of the three convolutions of training this is, as a person names it.
    pub fn pass(&self) -> Pass {
        self.pass
    }

    /// Which of the three is computed with the sizes held here: of a transposed convolution forward and backward data change places.
    pub fn computes(&self) -> Pass {
        match (self.transposed, self.pass) {
            (true, Pass::Forward) => Pass::BackwardData,
            (true, Pass::BackwardData) => Pass::Forward,
            (_, same) => same,
        }
    }

    /// Whether a person named it as a transposed convolution.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// In which order feature maps lie on the device.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The same problem with feature maps in another order.
    #[must_use]
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// The same problem with elements of another type.
    ///
    /// # Errors
    /// [`ConvError::Overflow`] when its bytes no longer fit 64 bits.
    pub fn with_element(self, element: ElementType) -> Result<Self, ConvError> {
        let conv = Self { element, ..self };
        conv.check_totals()?;
        Ok(conv)
    }

    /// Another of the three convolutions over the same tensors.
    #[must_use]
    pub fn with_pass(self, pass: Pass) -> Self {
        Self { pass, ..self }
    }

    /// The same problem over `batch` images.
    ///
    /// # Errors
    /// [`ConvError`] when the batch or what follows from it is too large.
    pub fn with_batch(self, batch: u64) -> Result<Self, ConvError> {
        ConvSpec { batch, ..ConvSpec::from(self) }.build()
    }

    /// The forward convolution that computes the gradient of this one's input: of the output's gradient with the kernel turned by half a
    /// turn, its channels exchanged, and padding of the dilated kernel's extent less one less the padding. `None` where a stride or more
    /// padding than that makes it none.
    pub fn turned(&self) -> Option<Self> {
        let mut axes = Vec::with_capacity(self.rank);
        for axis in self.axes() {
            let padding = |padding: u64| (axis.span() - 1).checked_sub(padding);
            let (before, after) = padding(axis.pad_before).zip(padding(axis.pad_after))?;
            axes.push(Axis { size: axis.output(), pad_before: before, pad_after: after, ..*axis });
        }
        if axes.iter().any(|axis| axis.stride != 1) {
            return None;
        }
        let spec = ConvSpec::new(self.batch, self.channels_out, self.channels_in, &axes).groups(self.groups);
        ConvSpec { element: self.element, layout: self.layout, ..spec }.build().ok()
    }

    /// Points of one output channel of one image, `O·P·Q`.
    pub fn output_points(&self) -> u64 {
        self.axes.iter().map(Axis::output).product()
    }

    /// Points of one input channel of one image, `D·H·W`.
    pub fn input_points(&self) -> u64 {
        self.axes.iter().map(|a| a.size).product()
    }

    /// Taps of one kernel plane, `T·R·S`.
    pub fn taps(&self) -> u64 {
        self.axes.iter().map(|a| a.kernel).product()
    }

    /// Elements of the input, `N·C·D·H·W`.
    pub fn input_elements(&self) -> u64 {
        self.batch * self.channels_in * self.input_points()
    }

    /// Elements of the weights, `K·C/g·T·R·S`.
    pub fn weight_elements(&self) -> u64 {
        self.channels_out * self.reduction()
    }

    /// Elements of the output, `N·K·O·P·Q`.
    pub fn output_elements(&self) -> u64 {
        self.batch * self.channels_out * self.output_points()
    }

    /// Products summed into one output element, `C/g·T·R·S`.
    pub fn reduction(&self) -> u64 {
        self.group_channels_in() * self.taps()
    }

    /// Shape of the input array, `N,C,[D,]H,W` with as many spatial axes as were named.
    pub fn input_shape(&self) -> Vec<u64> {
        [self.batch, self.channels_in].into_iter().chain(self.axes().iter().map(|a| a.size)).collect()
    }

    /// Shape of the weight array, `K,C/g,[T,]R,S`.
    pub fn weight_shape(&self) -> Vec<u64> {
        [self.channels_out, self.group_channels_in()].into_iter().chain(self.axes().iter().map(|a| a.kernel)).collect()
    }

    /// Shape of the output array, `N,K,[O,]P,Q`.
    pub fn output_shape(&self) -> Vec<u64> {
        [self.batch, self.channels_out].into_iter().chain(self.axes().iter().map(Axis::output)).collect()
    }

    /// Everything the accessors multiply without a check is checked here, once, for the case of one image as well: an
    /// empty batch must not hide a product that overflows.
    fn check_totals(&self) -> Result<(), ConvError> {
        let batch = self.batch.max(1);
        let sizes = self.axes.map(|a| a.size);
        let kernels = self.axes.map(|a| a.kernel);
        let outputs = self.axes.map(|a| a.output());
        let bytes = self.element.result().bytes();
        let cg = self.group_channels_in();
        let totals: [(&'static str, Vec<u64>); 4] = [
            ("bytes of the input", [&[batch, self.channels_in, bytes][..], &sizes].concat()),
            ("bytes of the weights", [&[self.channels_out, cg, bytes][..], &kernels].concat()),
            ("bytes of the output", [&[batch, self.channels_out, bytes][..], &outputs].concat()),
            ("operations", [&[2, batch, self.channels_out, cg][..], &outputs, &kernels].concat()),
        ];
        for (what, factors) in totals {
            if product(&factors).is_none() {
                let factors = factors.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
                return Err(ConvError::Overflow { what, factors });
            }
        }
        let whole = [
            product(&[batch, self.channels_in, bytes, self.input_points()]),
            product(&[self.channels_out, bytes, self.reduction()]),
            product(&[batch, self.channels_out, bytes, self.output_points()]),
        ];
        if whole.iter().try_fold(0_u64, |sum, part| sum.checked_add((*part)?)).is_none() {
            return Err(ConvError::Overflow { what: "bytes of all tensors", factors: "input + weights + output".into() });
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
