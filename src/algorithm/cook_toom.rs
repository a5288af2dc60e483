//! Winograd matrices by the Cook–Toom method, in exact rational arithmetic.
//!
//! A linear convolution of an `r`-term filter with `m` values is a product of polynomials of degree `r−1` and `m−1`. It is found by
//! evaluating both at `m+r−2` points and at infinity, multiplying, and interpolating. Transposing that algorithm with respect to the
//! values gives the `m` outputs of a correlation over `m+r−1` inputs, `y = Aᵀ[(G·g) ⊙ (Bᵀ·d)]`, with
//!
//! * `Aᵀ[i][j] = aⱼⁱ` (evaluation of the values), `G[j][k] = aⱼᵏ / Nⱼ(aⱼ)` (evaluation of the filter),
//! * `Bᵀ[j]` = coefficients of `Nⱼ(x) = Π_{i≠j}(x − aᵢ)`, the interpolation polynomial freed of its denominator, which `G` carries;
//!
//! and for the point at infinity the highest coefficient alone and `M(x) = Π(x − aᵢ)`. Source: A. Lavin and S. Gray, *Fast Algorithms
//! for Convolutional Neural Networks* (2016), after S. Winograd, *Arithmetic Complexity of Computations* (1980).

use num_rational::Ratio;

/// An exact number; the matrices in use stay far within 64 bits.
pub(super) type Rational = Ratio<i64>;

/// The three matrices of `F(m, r)`, with α = m + r − 1 columns or rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transforms {
    /// Aᵀ, m×α: products to outputs.
    pub(super) at: Vec<Vec<Rational>>,
    /// Bᵀ, α×α: inputs to factors.
    pub(super) bt: Vec<Vec<Rational>>,
    /// G, α×r: filter to factors.
    pub(super) g: Vec<Vec<Rational>>,
}

impl Transforms {
    /// The matrices of `F(m, r)` over the finite `points`, of which there are m + r − 2, all different.
    pub(super) fn new(m: usize, r: usize, points: &[Rational]) -> Self {
        assert_eq!(points.len(), m + r - 2, "F({m},{r}) needs {} points", m + r - 2);
        let alpha = m + r - 1;
        let at = (0..m).map(|i| points.iter().map(|&a| power(a, i)).chain([Rational::from(i64::from(i == m - 1))]).collect()).collect();
        let mut bt = Vec::with_capacity(alpha);
        let mut g = Vec::with_capacity(alpha);
        for (j, &a) in points.iter().enumerate() {
            let others: Vec<Rational> = points.iter().enumerate().filter(|&(i, _)| i != j).map(|(_, &b)| b).collect();
            let scale: Rational = others.iter().map(|&b| a - b).product();
            let mut row = from_roots(&others);
            row.resize(alpha, Rational::from(0));
            bt.push(row);
            g.push((0..r).map(|k| power(a, k) / scale).collect());
        }
        bt.push(from_roots(points));
        g.push((0..r).map(|k| Rational::from(i64::from(k == r - 1))).collect());
        Self { at, bt, g }
    }

    /// Ratio of the root mean square of the terms that add up to an output, to that of the output itself, for independent inputs of
    /// equal variance; in two dimensions it is squared. Rounding errors grow by this factor over those of the direct method, since
    /// what is rounded is larger by it: `√( Σᵢⱼ Aᵀ[i][j]²·|G[j]|²·|Bᵀ[j]|² / (m·r) )`.
    pub(super) fn amplification(&self) -> f64 {
        let norm = |row: &[Rational]| row.iter().map(|&x| real(x) * real(x)).sum::<f64>();
        let terms: f64 = self
            .at
            .iter()
            .map(|row| row.iter().enumerate().map(|(j, &a)| real(a) * real(a) * norm(&self.g[j]) * norm(&self.bt[j])).sum::<f64>())
            .sum();
        (terms / (self.at.len() * self.g[0].len()) as f64).sqrt()
    }

    /// Multiply-adds of applying `matrix` to a square of as many columns on both sides: its non-zero terms, once for each column and
    /// once for each resulting row.
    pub(super) fn terms(matrix: &[Vec<Rational>]) -> u64 {
        let nonzero = matrix.iter().flatten().filter(|x| **x != Rational::from(0)).count();
        (nonzero * (matrix[0].len() + matrix.len())) as u64
    }
}

/// A matrix as the nearest WGSL `f32` literals; zero is written `0.0`.
pub(super) fn literals(matrix: &[Vec<Rational>]) -> Vec<Vec<String>> {
    #[expect(clippy::cast_possible_truncation, reason = "the kernels compute in f32")]
    let literal = |&x: &Rational| format!("{:?}", real(x) as f32);
    matrix.iter().map(|row| row.iter().map(literal).collect()).collect()
}

fn real(x: Rational) -> f64 {
    *x.numer() as f64 / *x.denom() as f64
}

fn power(a: Rational, exponent: usize) -> Rational {
    std::iter::repeat_n(a, exponent).product()
}

/// Coefficients, lowest first, of the monic polynomial with these roots.
fn from_roots(roots: &[Rational]) -> Vec<Rational> {
    let mut coefficients = vec![Rational::from(1)];
    for &root in roots {
        let mut next = vec![Rational::from(0); coefficients.len() + 1];
        for (i, &c) in coefficients.iter().enumerate() {
            next[i + 1] += c;
            next[i] -= root * c;
        }
        coefficients = next;
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rational() -> impl Strategy<Value = Rational> {
        (-20_i64..20, 1_i64..6).prop_map(|(n, d)| Rational::new(n, d))
    }

    fn apply(matrix: &[Vec<Rational>], vector: &[Rational]) -> Vec<Rational> {
        matrix.iter().map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
    }

    proptest! {
        /// The 1-D identity holds exactly, not nearly, for random rationals.
        #[test]
        fn transforms_are_exact(m in prop::sample::select(vec![2_usize, 4, 6]), d in prop::collection::vec(rational(), 8), f in prop::collection::vec(rational(), 3)) {
            let transforms = super::super::Winograd::of(m).transforms();
            let alpha = m + 2;
            let factors: Vec<Rational> =
                apply(&transforms.g, &f).into_iter().zip(apply(&transforms.bt, &d[..alpha])).map(|(a, b)| a * b).collect();
            let outputs = apply(&transforms.at, &factors);
            for i in 0..m {
                let direct: Rational = (0..3).map(|k| f[k] * d[i + k]).sum();
                prop_assert_eq!(outputs[i], direct);
            }
        }
    }

    #[test]
    fn f2_has_the_published_shape() {
        let transforms = Transforms::new(2, 3, &[0, 1, -1].map(Rational::from));
        // Up to the signs of rows, Lavin and Gray's matrices: the products of a row's signs in G and Bᵀ cancel.
        assert_eq!(literals(&transforms.at), [["1.0", "1.0", "1.0", "0.0"], ["0.0", "1.0", "-1.0", "1.0"]]);
        assert_eq!(literals(&transforms.g)[1], ["0.5", "0.5", "0.5"]);
        assert_eq!(literals(&transforms.bt)[3], ["0.0", "-1.0", "0.0", "1.0"]);
    }
}
