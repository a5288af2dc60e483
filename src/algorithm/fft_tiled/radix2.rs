//! A Fourier transform of a power of two as a list of butterflies, from which the kernels' text is unrolled.
//!
//! Decimation in frequency after Gentleman and Sande (1966): the stages take blocks of N, N/2, …, 2 values. In a block of `n` the values
//! `a` and `b`, half a block apart, become `a + b` and `(a − b)·e^(−2πi·j/n)`, j being the place of `a` in the block. The values stay where
//! they are, so frequency k ends at the place whose bits are those of k in reverse. The inverse transform, without its 1/N, is the same
//! one with real and imaginary parts exchanged before and after.

use crate::plan::Constant;
use std::f64::consts::TAU;

/// The factor of a butterfly's difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Twiddle {
    /// 1.
    One,
    /// −i, which exchanges real and imaginary part.
    Quarter,
    /// Real and imaginary part.
    Turn(f64, f64),
}

/// Two places, and the factor of their difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Butterfly {
    first: u32,
    second: u32,
    twiddle: Twiddle,
}

/// The butterflies of a transform of `length` values, in order.
pub(super) fn butterflies(length: u32) -> Vec<Butterfly> {
    let mut list = Vec::new();
    let mut block = length;
    while block > 1 {
        for start in (0..length).step_by(block as usize) {
            for j in 0..block / 2 {
                let twiddle = match 4 * j {
                    0 => Twiddle::One,
                    quarter if quarter == block => Twiddle::Quarter,
                    _ => {
                        let (sin, cos) = (TAU * f64::from(j) / f64::from(block)).sin_cos();
                        Twiddle::Turn(cos, -sin)
                    }
                };
                list.push(Butterfly { first: start + j, second: start + j + block / 2, twiddle });
            }
        }
        block /= 2;
    }
    list
}

/// At which place each frequency ends.
pub(super) fn order(length: u32) -> Vec<u32> {
    let bits = length.ilog2();
    (0..length).map(|k| k.reverse_bits() >> (u32::BITS - bits)).collect()
}

impl Butterfly {
    /// Additions and multiplications.
    pub(super) fn operations(&self) -> u64 {
        match self.twiddle {
            Twiddle::One | Twiddle::Quarter => 4,
            Twiddle::Turn(..) => 10,
        }
    }
}

/// The butterflies as the template takes them: both places, and the factor's real and imaginary part as the nearest f32 literals.
pub(super) fn literals(list: &[Butterfly]) -> Constant {
    #[expect(clippy::cast_possible_truncation, reason = "the kernels compute in f32")]
    let literal = |x: f64| format!("{:?}", x as f32);
    let row = |b: &Butterfly| {
        let (re, im) = match b.twiddle {
            Twiddle::One => (1.0, 0.0),
            Twiddle::Quarter => (0.0, -1.0),
            Twiddle::Turn(re, im) => (re, im),
        };
        vec![b.first.to_string(), b.second.to_string(), literal(re), literal(im)]
    };
    Constant::Matrix(list.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the kernels' text does, in f64.
    fn run(length: u32, values: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut x = values.to_vec();
        let Constant::Matrix(rows) = literals(&butterflies(length)) else { unreachable!("a matrix") };
        for (row, exact) in rows.iter().zip(butterflies(length)) {
            let (a, b): (usize, usize) = (row[0].parse().expect("a place"), row[1].parse().expect("a place"));
            let printed: (f64, f64) = (row[2].parse().expect("a literal"), row[3].parse().expect("a literal"));
            let (re, im) = match exact.twiddle {
                Twiddle::One => (1.0, 0.0),
                Twiddle::Quarter => (0.0, -1.0),
                Twiddle::Turn(re, im) => (re, im),
            };
            assert!((printed.0 - re).abs() < 6e-8 && (printed.1 - im).abs() < 6e-8, "{row:?} is not {re} {im}");
            let d = (x[a].0 - x[b].0, x[a].1 - x[b].1);
            x[a] = (x[a].0 + x[b].0, x[a].1 + x[b].1);
            x[b] = (d.0 * re - d.1 * im, d.0 * im + d.1 * re);
        }
        order(length).iter().map(|&place| x[place as usize]).collect()
    }

    fn naive(values: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let n = values.len();
        let term = |k: usize, j: usize| {
            let (sin, cos) = (-TAU * ((j * k) % n) as f64 / n as f64).sin_cos();
            (values[j].0 * cos - values[j].1 * sin, values[j].0 * sin + values[j].1 * cos)
        };
        (0..n).map(|k| (0..n).map(|j| term(k, j)).fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1))).collect()
    }

    proptest! {
        #[test]
        fn butterflies_make_the_transform(bits in 1_u32..7, values in prop::collection::vec((-1.0_f64..1.0, -1.0_f64..1.0), 64)) {
            let length = 1 << bits;
            let values = &values[..length as usize];
            for (found, expected) in run(length, values).iter().zip(naive(values)) {
                prop_assert!((found.0 - expected.0).abs() < 1e-12 && (found.1 - expected.1).abs() < 1e-12, "{found:?}, not {expected:?}");
            }
        }
    }
}
