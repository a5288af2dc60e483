//! Why a problem is impossible, or a key unreadable.

use super::MAX_EXTENT;

/// The sizes do not make a convolution; names the size and its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConvError {
    /// A size that must be at least 1 is 0.
    #[error("{name} is 0, must be at least 1")]
    Zero {
        /// The size, by its name in the canonical key.
        name: String,
    },
    /// A single extent is past the 32-bit range that kernels index with.
    #[error("{name} is {value}, past the largest extent {MAX_EXTENT}")]
    Extent {
        /// The size, by its name in the canonical key.
        name: String,
        /// Its value.
        value: u128,
    },
    /// The groups do not divide a channel count.
    #[error("{groups} groups do not divide {name} = {value} channels")]
    Groups {
        /// `C` or `K`.
        name: &'static str,
        /// The channel count.
        value: u64,
        /// The groups.
        groups: u64,
    },
    /// The dilated kernel does not fit into the padded input.
    #[error("kernel {kernel} spans {span} elements but {axis} has only {padded} with its padding")]
    KernelTooLarge {
        /// Letter of the input axis.
        axis: char,
        /// Letter of the kernel axis.
        kernel: char,
        /// Dilated kernel extent.
        span: u64,
        /// Padded input extent.
        padded: u64,
    },
    /// A transposed convolution is asked for more output padding than its stride leaves open.
    #[error("output padding {padding} along {axis} is not below the stride {stride}")]
    OutputPadding {
        /// Letter of the axis.
        axis: char,
        /// The output padding.
        padding: u64,
        /// The stride.
        stride: u64,
    },
    /// A transposed convolution has not one output padding for each axis.
    #[error("{values} output paddings for {rank} spatial axes")]
    OutputPaddings {
        /// How many there are.
        values: usize,
        /// For so many axes.
        rank: usize,
    },
    /// The padding of a transposed convolution takes away more than there is.
    #[error("the output along {axis} has {without_padding} elements, of which the padding takes away {padding}")]
    NegativeOutput {
        /// Letter of the axis.
        axis: char,
        /// Extent of the output before padding is taken off.
        without_padding: u64,
        /// Padding before and after.
        padding: u64,
    },
    /// A total does not fit 64 bits.
    #[error("{what} overflow 64 bits: {factors}")]
    Overflow {
        /// Which total.
        what: &'static str,
        /// What it is made of.
        factors: String,
    },
    /// Not one, two or three spatial axes.
    #[error("{rank} spatial axes, must be 1, 2 or 3")]
    Rank {
        /// How many there are.
        rank: usize,
    },
}

/// A canonical key that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text breaks the grammar.
    #[error("'{key}', character {place}: {problem}")]
    Syntax {
        /// The whole key.
        key: String,
        /// 1-based character position.
        place: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The text is well-formed but the convolution is impossible.
    #[error("'{key}': {source}")]
    Impossible {
        /// The whole key.
        key: String,
        /// Why.
        source: ConvError,
    },
}
