//! Which outputs of a large problem are compared.

use super::inputs::generator;
use crate::conv::Conv;
use crate::reference::ResultIndex;
use rand::RngExt;
use std::collections::BTreeSet;

/// Outputs at random places.
pub const RANDOM_POINTS: usize = 4096;

/// Outputs at random places of each corner, edge and face of the output box.
const BORDER_POINTS: usize = 192;

/// Never more outputs than this are chosen: 4096 + 27·192 + 8·8 = 9344 in three dimensions, 5952 in two.
pub const MAX_POINTS: usize = 10_000;

/// Flat indices, ascending and distinct, of the outputs to compare in a problem of more than [`MAX_POINTS`]:
///
/// * all corners of the result's box, for the first and last image and the first and last channel of the first and last group;
/// * on every corner, edge and face of the box [`BORDER_POINTS`] at random images, channels and positions along it;
/// * [`RANDOM_POINTS`] others anywhere.
pub(super) fn choose(conv: &Conv, seed: u64) -> Vec<u64> {
    let mut rng = generator(seed, conv, "points", 0);
    let extents = conv.result_extents();
    let [outer, inner] = conv.result_outer();
    // First and last, of the first and of the last group.
    let ends = |(count, groups): (u64, u64)| [0, count / groups - 1, count - count / groups, count - 1];
    let mut chosen = BTreeSet::new();
    for pins in pin_patterns(extents) {
        if let [Some(z), Some(y), Some(x)] = pins {
            for n in ends(outer) {
                for k in ends(inner) {
                    chosen.insert(ResultIndex { outer: [n, k], at: [z, y, x] }.flat(conv));
                }
            }
        }
        for _ in 0..BORDER_POINTS {
            let (n, k) = (rng.random_range(0..outer.0), rng.random_range(0..inner.0));
            let at = [0, 1, 2].map(|i| pins[i].unwrap_or_else(|| rng.random_range(0..extents[i])));
            chosen.insert(ResultIndex { outer: [n, k], at }.flat(conv));
        }
    }
    let enough = chosen.len() + RANDOM_POINTS;
    while chosen.len() < enough {
        chosen.insert(rng.random_range(0..conv.result_elements()));
    }
    chosen.into_iter().collect()
}

/// All ways to hold each axis at its first or last position or to leave it free: corners, edges, faces and the inside.
fn pin_patterns(extents: [u64; 3]) -> impl Iterator<Item = [Option<u64>; 3]> {
    let pins = |extent: u64| if extent == 1 { vec![Some(0)] } else { vec![None, Some(0), Some(extent - 1)] };
    let [z, y, x] = extents.map(pins);
    z.into_iter().flat_map(move |z| {
        let x = x.clone();
        y.clone().into_iter().flat_map(move |y| x.clone().into_iter().map(move |x| [z, y, x]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_points_borders_and_all_corners_are_chosen() {
        for key in ["n2c1h200w200_k6r1s1", "n3c4d20h20w20_k8t1r1s1_g2", "n1c1w60000_k2s1", "n70c1h1w1_k300r1s1"] {
            let conv: Conv = key.parse().expect(key);
            let points = choose(&conv, 1);
            assert!((RANDOM_POINTS..=MAX_POINTS).contains(&points.len()), "{key}: {}", points.len());
            assert!(points.is_sorted_by(|a, b| a < b) && points.iter().all(|&p| p < conv.output_elements()), "{key}");
            assert_eq!(points, choose(&conv, 1), "{key}");
            assert_ne!(points, choose(&conv, 2), "{key}");
            let extents = conv.axes_3d().map(|a| a.output());
            for n in [0, conv.batch() - 1] {
                for k in [0, conv.channels_out() - 1] {
                    for corner in 0..8_u64 {
                        let at = [0, 1, 2].map(|i| (corner >> i & 1) * (extents[i] - 1));
                        assert!(points.binary_search(&ResultIndex { outer: [n, k], at }.flat(&conv)).is_ok(), "{key} n{n} k{k} {at:?}");
                    }
                }
            }
            // Each side of each axis has its share of points, or all there are.
            for axis in (0..3).filter(|&i| extents[i] > 1) {
                for side in [0, extents[axis] - 1] {
                    let there = points.iter().filter(|&&p| ResultIndex::of(&conv, p).at[axis] == side).count();
                    let all = usize::try_from(conv.output_elements() / extents[axis]).expect("small");
                    assert!(there >= all.min(BORDER_POINTS / 2), "{key} axis {axis} at {side}: {there}");
                }
            }
        }
    }
}
