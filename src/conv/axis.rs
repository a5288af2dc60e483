//! One spatial axis of a convolution.

use super::{ConvError, MAX_EXTENT};
use serde::{Deserialize, Serialize};

/// What the axes, outermost first, are called in the canonical key: input letter, kernel letter.
pub(super) const NAMES: [AxisNames; 3] =
    [AxisNames { input: 'd', kernel: 't' }, AxisNames { input: 'h', kernel: 'r' }, AxisNames { input: 'w', kernel: 's' }];

/// The letters of one axis in the canonical key.
pub(super) struct AxisNames {
    pub(super) input: char,
    pub(super) kernel: char,
}

/// One spatial axis: input extent, kernel extent, stride, zero padding on both sides, dilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Input extent.
    pub size: u64,
    /// Kernel extent in taps.
    pub kernel: u64,
    /// Step between outputs.
    pub stride: u64,
    /// Zeros before the first element.
    pub pad_before: u64,
    /// Zeros after the last element.
    pub pad_after: u64,
    /// Step between taps; 1 is a dense kernel.
    pub dilation: u64,
}

impl Axis {
    /// The axis of a lower-dimensional problem: one element, one tap.
    pub const POINT: Self = Self::new(1, 1);

    /// An axis of `size` elements under `kernel` taps; stride 1, no padding, dilation 1.
    pub const fn new(size: u64, kernel: u64) -> Self {
        Self { size, kernel, stride: 1, pad_before: 0, pad_after: 0, dilation: 1 }
    }

    /// The same with another stride.
    #[must_use]
    pub const fn stride(self, stride: u64) -> Self {
        Self { stride, ..self }
    }

    /// The same with padding on both sides.
    #[must_use]
    pub const fn pad(self, before: u64, after: u64) -> Self {
        Self { pad_before: before, pad_after: after, ..self }
    }

    /// The same with another dilation.
    #[must_use]
    pub const fn dilation(self, dilation: u64) -> Self {
        Self { dilation, ..self }
    }

    /// Extent of the dilated kernel, `(kernel − 1)·dilation + 1`.
    pub fn span(&self) -> u64 {
        (self.kernel - 1) * self.dilation + 1
    }

    /// Input extent with its padding.
    pub fn padded(&self) -> u64 {
        self.size + self.pad_before + self.pad_after
    }

    /// Output extent, `(padded − span) / stride + 1`.
    pub fn output(&self) -> u64 {
        (self.padded() - self.span()) / self.stride + 1
    }

    /// Most taps that reach one input element: those whose distances are multiples of the stride.
    pub(super) fn most_taps(&self) -> u64 {
        // Taps t and t' reach the same element from whole outputs where (t − t')·dilation is a multiple of the stride.
        let period = self.stride / gcd(self.stride, self.dilation);
        self.kernel.div_ceil(period).min(self.output())
    }

    /// Pairs of an output and a tap whose input element exists, summed over all outputs: the taps that do not fall in the
    /// padding. A multi-dimensional kernel's count is the product over its axes.
    pub fn taps_inside(&self) -> u64 {
        // An output o and a tap t meet an element where pad_before <= o·stride + t·dilation < pad_before + size.
        self.pairs_below(self.pad_before + self.size) - self.pairs_below(self.pad_before)
    }

    /// Pairs of an output o and a tap t with `o·stride + t·dilation < end`, in logarithmic time: kernels of billions of taps are possible.
    fn pairs_below(&self, end: u64) -> u64 {
        let (outputs, stride) = (u128::from(self.output()), u128::from(self.stride));
        let (taps, dilation) = (u128::from(self.kernel), u128::from(self.dilation));
        let Some(x) = u128::from(end).checked_sub(1) else { return 0 };
        // Taps 0..some reach at least one output, of them 0..all reach every output.
        let some = taps.min(x / dilation + 1);
        let all = x.checked_sub((outputs - 1) * stride).map_or(0, |rest| some.min(rest / dilation + 1));
        // The others, last one first, reach floor((x − t·dilation) / stride) + 1 outputs each.
        let others = some - all;
        let sum = if others == 0 { 0 } else { floor_sum(others, stride, dilation, x - (some - 1) * dilation) + others };
        // At most outputs times taps, which fit 64 bits in every convolution that is built.
        u64::try_from(all * outputs + sum).unwrap_or(u64::MAX)
    }

    /// The axis of the convolution that a transposed one over this axis mirrors: its input extent is what the transposed one puts out,
    /// `(size − 1)·stride + span + output_padding − padding`.
    pub(super) fn mirrored(&self, names: &AxisNames, output_padding: u64) -> Result<Self, ConvError> {
        self.check_range(names)?;
        let name = names.input;
        if output_padding >= self.stride {
            return Err(ConvError::OutputPadding { axis: name, padding: output_padding, stride: self.stride });
        }
        let (wide, taken) = ((self.size - 1) * self.stride + self.span() + output_padding, self.pad_before + self.pad_after);
        let Some(size) = wide.checked_sub(taken) else {
            return Err(ConvError::NegativeOutput { axis: name, without_padding: wide, padding: taken });
        };
        if wide > MAX_EXTENT {
            return Err(ConvError::Extent { name: format!("output extent along {name}"), value: wide.into() });
        }
        Ok(Self { size, ..*self })
    }

    /// What was added to the output of the transposed convolution that this axis mirrors.
    pub(super) fn output_padding(&self) -> u64 {
        self.padded() - self.span() - (self.output() - 1) * self.stride
    }

    pub(super) fn check(&self, names: &AxisNames) -> Result<(), ConvError> {
        let AxisNames { input, kernel } = names;
        self.check_range(names)?;
        let (span, padded) = (self.span(), self.padded());
        if span > padded {
            return Err(ConvError::KernelTooLarge { axis: *input, kernel: *kernel, span, padded });
        }
        Ok(())
    }

    fn check_range(&self, names: &AxisNames) -> Result<(), ConvError> {
        let AxisNames { input, kernel } = names;
        let fields = [
            (format!("{input}"), self.size),
            (format!("{kernel}"), self.kernel),
            (format!("stride along {input}"), self.stride),
            (format!("dilation along {input}"), self.dilation),
        ];
        let padding = [(format!("padding before {input}"), self.pad_before), (format!("padding after {input}"), self.pad_after)];
        for (name, value) in fields.iter().chain(&padding) {
            if *value > MAX_EXTENT {
                return Err(ConvError::Extent { name: name.clone(), value: (*value).into() });
            }
        }
        for (name, value) in &fields {
            if *value == 0 {
                return Err(ConvError::Zero { name: name.clone() });
            }
        }
        // All factors are at most 2^32, so neither expression can wrap 64 bits.
        let (span, padded) = (self.span(), self.padded());
        for (name, value) in [(format!("dilated extent of {kernel}"), span), (format!("padded extent of {input}"), padded)] {
            if value > MAX_EXTENT {
                return Err(ConvError::Extent { name, value: value.into() });
            }
        }
        Ok(())
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `Σ floor((a·i + b) / m)` over i from 0 to n − 1, by the Euclidean algorithm.
fn floor_sum(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> u128 {
    let mut sum = 0;
    loop {
        sum += (n - 1) * n / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        let top = a * n + b;
        if top < m {
            return sum;
        }
        // The remaining lattice points are counted along the other axis.
        (n, b) = (top / m, top % m);
        std::mem::swap(&mut m, &mut a);
    }
}
