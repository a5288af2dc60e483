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
    /// equal variance; in two dimensions the axes' ratios multiply. Rounding errors grow by this factor over those of the direct method, since
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
}

/// The transforms of two-dimensional tiles, `Y = Aₕᵀ·[(Gₕ·g·G_wᵀ) ⊙ (Bₕᵀ·d·B_w)]·A_w`. Along an axis without taps F(1, 1) leaves all as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planar {
    /// Along the height.
    pub(super) height: Transforms,
    /// Along the width.
    pub(super) width: Transforms,
}

impl Planar {
    /// Products of a tile, α along the height by α along the width.
    pub(super) fn points(&self) -> u64 {
        (self.height.bt.len() * self.width.bt.len()) as u64
    }

    /// Multiply-adds of transforming a filter.
    pub(super) fn filter_terms(&self) -> u64 {
        terms(&self.height.g, &self.width.g)
    }

    /// Multiply-adds of transforming a tile of the input.
    pub(super) fn input_terms(&self) -> u64 {
        terms(&self.height.bt, &self.width.bt)
    }

    /// Multiply-adds of transforming a tile of products back.
    pub(super) fn output_terms(&self) -> u64 {
        terms(&self.height.at, &self.width.at)
    }
}

/// Multiply-adds of `left·X·rightᵀ`, the left product first: the non-zero terms of `left` for each column of X, those of `right` for each
/// row that results. A single 1 needs none.
fn terms(left: &[Vec<Rational>], right: &[Vec<Rational>]) -> u64 {
    let one = Rational::from(1);
    let nonzero = |matrix: &[Vec<Rational>]| {
        let terms = matrix.iter().flatten().filter(|x| **x != Rational::from(0)).count();
        if matrix == [[one]] { 0 } else { terms }
    };
    (nonzero(left) * right[0].len() + nonzero(right) * left.len()) as u64
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
    use super::super::Winograd;
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
        fn transforms_are_exact(
            method in prop::sample::select(Winograd::ALL.to_vec()),
            d in prop::collection::vec(rational(), 8),
            f in prop::collection::vec(rational(), 7),
        ) {
            let transforms = method.transforms();
            let (m, alpha, r) = (transforms.at.len(), transforms.bt.len(), transforms.g[0].len());
            prop_assert_eq!(alpha, m + r - 1);
            let factors: Vec<Rational> =
                apply(&transforms.g, &f[..r]).into_iter().zip(apply(&transforms.bt, &d[..alpha])).map(|(a, b)| a * b).collect();
            let outputs = apply(&transforms.at, &factors);
            for i in 0..m {
                let direct: Rational = (0..r).map(|k| f[k] * d[i + k]).sum();
                prop_assert_eq!(outputs[i], direct);
            }
        }
    }

    #[test]
    fn an_axis_without_taps_is_left_as_it_is() {
        let (one, f2) = (Transforms::new(1, 1, &[]), Winograd::F2.transforms());
        assert_eq!([&one.at, &one.bt, &one.g].map(|matrix| literals(matrix)), [[["1.0"]]; 3]);
        assert!((one.amplification() - 1.0).abs() < 1e-12);
        // Two terms in each row of F(2,3)'s Bᵀ, over four columns and then four rows; alone, once.
        assert_eq!(Planar { height: f2.clone(), width: f2.clone() }.input_terms(), 8 * 4 + 8 * 4);
        assert_eq!(Planar { height: one, width: f2 }.input_terms(), 8);
    }

    /// The points in use round least among small fractions `0, ±a, ±b[, ±c]`.
    #[test]
    fn points_are_the_best_of_small_fractions() {
        let mut fractions: Vec<Rational> = (1..=5).flat_map(|n| (1..=5).map(move |d| Rational::new(n, d))).collect();
        fractions.sort_unstable();
        fractions.dedup();
        let amplification = |m: usize, r: usize, of: &[Rational]| {
            let points: Vec<Rational> = [Rational::from(0)].into_iter().chain(of.iter().flat_map(|&a| [a, -a])).collect();
            Transforms::new(m, r, &points).amplification()
        };
        for method in Winograd::ALL.iter().filter(|method| method.alpha() > 4) {
            let ours = method.transforms();
            let (m, r) = (ours.at.len(), ours.g[0].len());
            let mut best = f64::INFINITY;
            for (i, &a) in fractions.iter().enumerate() {
                for (j, &b) in fractions.iter().enumerate().skip(i + 1) {
                    if m + r - 1 == 6 {
                        best = best.min(amplification(m, r, &[a, b]));
                    } else {
                        best = fractions.iter().skip(j + 1).fold(best, |best, &c| best.min(amplification(m, r, &[a, b, c])));
                    }
                }
            }
            assert!((ours.amplification() / best - 1.0).abs() < 1e-9, "F({m},{r}): {} against {best}", ours.amplification());
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
