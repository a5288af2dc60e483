//! How far a right result may be from the reference.
//!
//! **Model.** A sum of `L` products of independent, centred values with a common variance σ², added one after another in
//! f32: the partial sum after `i` terms has variance `i·σ²`, and rounding it adds an independent error of relative root
//! mean square `c·u`. Summed over the `L` additions the error has variance `c²u²σ²·L²/2`; the roundings of the products add
//! `c²u²σ²·L`. The result's own variance is `L·σ²`, so
//!
//! ```text
//! ρ = c · √( (a·u)²·(L/2 + 1) + s² ),     c = √(0.541/3) = 0.425
//! ```
//!
//! where `u = 2⁻²⁴` is the unit roundoff of the f32 accumulator and `s` that of storing the result in a narrower type (f16:
//! `2⁻¹¹`; f32: 0, the accumulator is the result). `a` is the algorithm's amplification: how much larger than those of the direct sum the
//! roundings are on the way to the result, all of them in f32, so that the last one, to the stored type, is not amplified. `c` is the root mean square of one rounding in units of `u`: the absolute
//! error is uniform over half an ulp (hence √⅓), relative to a mantissa that is log-uniform over [1, 2), whose mean inverse
//! square is `3/(8·ln 2) = 0.541`. This is the probabilistic analysis of Higham and Mary (2019), doi:10.1137/18M1226312, with
//! its constant worked out for random data; worst-case bounds, linear in `L`, would let real errors pass.
//!
//! The model gives 4.3e-7 for 64 channels × 3×3 and 8.6e-7 for 256 in f32, and 2.1e-4 in f16; 4.3e-7, 8.7e-7 and 2.0e-4 were
//! measured on uniform random data. Blocked or pairwise summation and fused multiply-adds err less.
//!
//! **Tolerance.** `4·(1 + 2/√n)·ρ`: four for what the model leaves out, the bracket because a root mean square
//! over few outputs `n` fluctuates. A single output missing from `n` makes a relative L2 error of about `1/√n`: above a
//! tolerance of 1e-6 up to 10¹² outputs. Integers are exact: their tolerance is 0.

use crate::conv::{Conv, ElementType};

/// How many tolerances, relative to the root mean square of the outputs plus the size of the output itself, a single output
/// may be off.
///
/// A tolerance is at least four times the root mean square error, so this is at least 32 of them. Errors of a single output
/// are nearly normal with a spread that itself varies with the course of the partial sums and with the size of the terms; the
/// largest of 10⁸ normal errors is 6 root mean squares, and the extremes of the terms (5.7 for an input, as much for a
/// weight) carry over to the result's own size where `L` is so small that they matter.
pub const ELEMENT_FACTOR: f64 = 8.0;

/// Root mean square of the relative error of one rounding, in units of the unit roundoff.
const ROUNDING_RMS: f64 = 0.425;

/// Allowance for what the model leaves out.
const SAFETY: f64 = 4.0;

/// The largest relative L2 error of a right result of `conv` on standard-normal data, for an algorithm whose root mean square
/// error, before the result is stored, is `amplification` times that of the direct sum (1 for direct, im2col and the like).
pub fn tolerance(conv: &Conv, amplification: f64) -> f64 {
    let accumulate = amplification * ElementType::F32.unit_roundoff();
    let store = match conv.element().result() {
        ElementType::F32 => 0.0,
        ElementType::I8 | ElementType::I32 | ElementType::U32 => return 0.0,
        narrow @ ElementType::F16 => narrow.unit_roundoff(),
    };
    let rms = ROUNDING_RMS * (accumulate.powi(2) * (conv.summed() as f64 / 2.0 + 1.0) + store.powi(2)).sqrt();
    let few_outputs = 1.0 + 2.0 / (conv.result_elements().max(1) as f64).sqrt();
    SAFETY * few_outputs * rms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &str, element: ElementType) -> f64 {
        tolerance(&key.parse::<Conv>().expect(key).with_element(element).expect("fits"), 1.0)
    }

    #[test]
    fn lies_three_to_six_times_above_measured_errors() {
        for (key, element, measured) in [
            ("n1c64h56w56_k64r3s3_p1", ElementType::F32, 4.3e-7),
            ("n1c256h28w28_k256r3s3_p1", ElementType::F32, 8.7e-7),
            ("n1c64h56w56_k64r3s3_p1", ElementType::F16, 2.0e-4),
        ] {
            let ratio = of(key, element) / measured;
            assert!((3.0..6.0).contains(&ratio), "{key} {element}: {ratio}");
        }
    }

    #[test]
    fn grows_with_length_element_and_amplification_and_shrinks_with_outputs() {
        let one = of("n1c1h1w1_k1r1s1", ElementType::F32);
        assert!(one > ElementType::F32.unit_roundoff() && one < 1e-6, "{one}");
        assert!(of("n1c16h1w1_k1r1s1", ElementType::F32) > one);
        assert!(of("n1c1h1w1_k1r1s1", ElementType::F16) > one);
        assert!(of("n1c1h9w9_k1r1s1", ElementType::F32) < one);
        assert!(of("n0c1h1w1_k1r1s1", ElementType::F32).is_finite());
        let conv: Conv = "n1c64h56w56_k64r3s3_p1".parse().expect("key");
        assert!((tolerance(&conv, 7.9) / tolerance(&conv, 1.0) - 7.9).abs() < 1e-9);
    }

    #[test]
    fn storing_in_f16_is_not_amplified() {
        let conv: Conv = "n1c64h56w56_k64r3s3_p1".parse().expect("key");
        let half = conv.with_element(ElementType::F16).expect("fits");
        // Sums in f32 that err eight times as much are still far more exact than what they are stored in.
        let ratio = tolerance(&half, 8.0) / tolerance(&half, 1.0);
        assert!((1.0..1.001).contains(&ratio), "{ratio}");
        // Errors that are independent add up in squares.
        let added = tolerance(&conv, 1e4).hypot(tolerance(&half, 0.0));
        assert!((tolerance(&half, 1e4) / added - 1.0).abs() < 1e-12);
    }

    #[test]
    fn integers_are_exact() {
        let conv: Conv = "n1c64h56w56_k64r3s3_p1".parse().expect("key");
        let value = tolerance(&conv.with_element(ElementType::I8).expect("fits"), 8.0);
        assert!(value.abs() < f64::MIN_POSITIVE, "{value}");
    }
}
