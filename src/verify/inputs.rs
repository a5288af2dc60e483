//! Reproducible random inputs.

use super::order;
use crate::conv::{Conv, ElementType, Tensor};
use half::f16;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use std::borrow::Cow;

/// Elements drawn from one generator; part of what makes the values reproducible, so it never changes.
const CHUNK: usize = 1 << 16;

/// The tensors a convolution reads; the one it writes is empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    /// `N,C,[D,]H,W` in C order.
    pub input: Vec<f32>,
    /// `K,C/g,[T,]R,S` in C order.
    pub weights: Vec<f32>,
    /// `N,K,[O,]P,Q` in C order: the gradient that backward passes read.
    pub output: Vec<f32>,
}

impl Inputs {
    /// Fresh standard normals. The same `seed` and canonical key give the same values on every platform and with any number
    /// of threads; another key, seed or tensor gives unrelated ones. For f16 problems they are rounded to f16, since that is
    /// what the device will read: the rounding of inputs is no error of an algorithm. For i8 problems they are all 256 values alike.
    ///
    /// (One reservation: for a small share of draws the ziggurat of `rand_distr` calls the platform's `exp` or `ln`. A library
    /// that rounds these differently changes a value only where a comparison or the rounding to f32 hangs on f64's last place.)
    ///
    /// # Panics
    /// When a tensor does not fit the address space.
    pub fn random(conv: &Conv, seed: u64) -> Self {
        let fill = |purpose: &str, elements: u64| {
            let mut values = vec![0.0; usize::try_from(elements).expect("a tensor that fits memory")];
            values.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, values)| {
                let mut rng = generator(seed, conv, purpose, chunk as u64);
                match conv.element() {
                    ElementType::F16 => values.fill_with(|| f16::from_f32(StandardNormal.sample(&mut rng)).to_f32()),
                    ElementType::I8 => values.fill_with(|| f32::from(rng.random::<i8>())),
                    _ => values.fill_with(|| StandardNormal.sample(&mut rng)),
                }
            });
            values
        };
        let mut inputs = Self::default();
        for tensor in conv.operands() {
            let purpose = match tensor {
                Tensor::Input => "input",
                Tensor::Weights => "weights",
                Tensor::Output => "output",
            };
            *inputs.values_mut(tensor) = fill(purpose, conv.elements(tensor));
        }
        inputs
    }

    /// The values of a tensor.
    pub fn values(&self, tensor: Tensor) -> &[f32] {
        match tensor {
            Tensor::Input => &self.input,
            Tensor::Weights => &self.weights,
            Tensor::Output => &self.output,
        }
    }

    /// The values of a tensor, to be set.
    pub fn values_mut(&mut self, tensor: Tensor) -> &mut Vec<f32> {
        match tensor {
            Tensor::Input => &mut self.input,
            Tensor::Weights => &mut self.weights,
            Tensor::Output => &mut self.output,
        }
    }

    /// The tensors that are read, each in the order in which it lies on the device.
    pub fn on_device(&self, conv: &Conv) -> [(Tensor, Cow<'_, [f32]>); 2] {
        conv.operands().map(|tensor| (tensor, order::on_device(conv, tensor, self.values(tensor))))
    }
}

/// The generator for one purpose: seeded by a stable hash of everything that names it.
pub(super) fn generator(seed: u64, conv: &Conv, purpose: &str, chunk: u64) -> impl Rng + use<> {
    let name = format!("{seed} {conv} {purpose} {chunk}");
    Xoshiro256PlusPlus::seed_from_u64(fnv1a(name.as_bytes()))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): a hash that is the same everywhere and for ever, which std's does not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of the FNV authors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn values_depend_on_seed_key_and_tensor_and_on_nothing_else() {
        let conv: Conv = "n1c8h32w32_k32r3s3_p1".parse().expect("key");
        let inputs = Inputs::random(&conv, 1);
        assert_eq!(inputs, Inputs::random(&conv, 1));
        let other: Conv = "n1c8h32w32_k32r3s3".parse().expect("key");
        assert_ne!(inputs.input, Inputs::random(&other, 1).input);
        assert_ne!(inputs.input, Inputs::random(&conv, 2).input);
        assert_ne!(inputs.input[..100], inputs.weights[..100]);
        // Values a user can hold another platform against.
        insta::assert_debug_snapshot!(&inputs.input[..4], @r"
        [
            -0.78024465,
            0.862501,
            0.523576,
            0.27001864,
        ]
        ");
    }

    #[test]
    fn values_are_standard_normal() {
        let conv: Conv = "n4c64h56w56_k1r1s1".parse().expect("key");
        let Inputs { input, .. } = Inputs::random(&conv, 7);
        let n = input.len() as f64;
        let mean = input.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let variance = input.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n;
        // Standard errors for 802,816 values: 0.0011 and 0.0016; five of them.
        assert!(mean.abs() < 0.0056, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.008, "variance {variance}");
    }

    #[test]
    fn f16_problems_get_f16_values() {
        let conv: Conv = "n1c8h32w32_k32r3s3_p1".parse().expect("key");
        let exact = Inputs::random(&conv, 1);
        let rounded = Inputs::random(&conv.with_element(ElementType::F16).expect("fits"), 1);
        assert!(rounded.input.iter().all(|&x| f16::from_f32(x).to_f32().to_bits() == x.to_bits()));
        assert!(exact.input.iter().zip(&rounded.input).all(|(x, y)| (x - y).abs() <= x.abs() / 2048.0 + 3e-8));
        assert_ne!(exact.input, rounded.input);
    }
}
