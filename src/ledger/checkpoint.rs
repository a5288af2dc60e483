//! Checkpoints: feature maps kept only between segments of so many layers, and made again segment by segment in the backward pass.
//!
//! Source: Chen, Xu, Zhang, Guestrin 2016, *Training Deep Nets with Sublinear Memory Cost*, arXiv 1604.06174, section 4: of `n` equal
//! layers in segments of `k`, about `n/k + k` feature maps are in memory at once, least for `k = √n`.

use super::liveness::read;
use super::{LedgerError, operations};
use crate::suite::{Feature, MAX_STEPS, Network};
use crate::units::Ops;
use std::num::NonZeroUsize;

/// What checkpoints come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpointed {
    /// Steps in a segment; the last segment may have fewer.
    pub every: usize,
    /// Elements kept throughout: the network's input and outputs, and what one segment makes and a later one reads.
    pub kept: u128,
    /// Elements of the largest segment's other tensors, all in memory while the backward pass goes through it.
    pub segment: u128,
    /// Operations of the convolutions that run a second time: those whose output is not kept. The step that ends a segment makes what is
    /// kept and need not run again.
    pub recomputed: Ops,
}

impl Checkpointed {
    /// Elements in memory at once.
    pub fn elements(&self) -> u128 {
        self.kept + self.segment
    }
}

/// What checkpoints after every `every` steps come to. With 1, all is kept and nothing runs again; with as many as there are steps or more,
/// everything is made again from the input, and nothing is saved.
///
/// # Errors
/// [`LedgerError::Overflow`] for operations past 64 bits.
pub fn checkpointed(network: &Network, every: NonZeroUsize) -> Result<Checkpointed, LedgerError> {
    let segments = Segments { steps: network.steps.len(), every: every.get() };
    let (kept, segment) = segments.sums(network).last().unwrap_or_default();
    let mut again = vec![false; network.steps.len() + 1];
    read(network).filter(|feature| segments.are_one(feature)).for_each(|feature| again[feature.made] = true);
    let recomputed = network.steps.iter().zip(&again[1..]).filter(|(_, again)| **again).filter_map(|(conv, _)| conv.as_ref());
    let recomputed: u128 = recomputed.map(|conv| u128::from(operations(conv).0)).sum();
    let recomputed = u64::try_from(recomputed).map_err(|_| LedgerError::Overflow { network: network.name.clone(), what: "operations" })?;
    Ok(Checkpointed { every: every.get(), kept, segment, recomputed: Ops(recomputed) })
}

/// Segments of a network's steps, numbered from 1. The input comes before them all, and what reads the outputs after.
#[derive(Clone, Copy)]
struct Segments {
    steps: usize,
    every: usize,
}

impl Segments {
    fn of(self, moment: usize) -> usize {
        if moment > self.steps { self.steps.div_ceil(self.every) + 1 } else { moment.div_ceil(self.every) }
    }

    /// Whether one segment makes a tensor and reads it last.
    fn are_one(self, feature: &Feature) -> bool {
        self.of(feature.made) == self.of(feature.last)
    }

    /// Elements kept and those inside the largest segment, after each further tensor: both only grow.
    fn sums(self, network: &Network) -> impl Iterator<Item = (u128, u128)> {
        let mut inside = vec![0_u128; self.of(self.steps) + 1];
        let (mut kept, mut largest) = (0, 0);
        read(network).map(move |feature| {
            let elements = u128::from(feature.elements);
            if self.are_one(feature) {
                let inside = &mut inside[self.of(feature.made)];
                *inside += elements;
                largest = largest.max(*inside);
            } else {
                kept += elements;
            }
            (kept, largest)
        })
    }
}

/// The checkpoints with the fewest elements in memory at once, of all segment lengths; of equal ones those with the fewest operations.
///
/// # Errors
/// [`LedgerError::TooManySteps`] past [`MAX_STEPS`], since every length is tried; [`LedgerError::Overflow`] as in [`checkpointed`].
pub fn best(network: &Network) -> Result<Checkpointed, LedgerError> {
    let steps = network.steps.len();
    if steps > MAX_STEPS {
        return Err(LedgerError::TooManySteps { network: network.name.clone(), steps, limit: MAX_STEPS });
    }
    let mut best = checkpointed(network, NonZeroUsize::MIN)?;
    for every in (2..=steps).filter_map(NonZeroUsize::new) {
        // Long segments are past the best after few tensors, so that not every length costs a walk through them all.
        let segments = Segments { steps, every: every.get() };
        if segments.sums(network).any(|(kept, segment)| kept + segment > best.elements()) {
            continue;
        }
        let other = checkpointed(network, every)?;
        if (other.elements(), other.recomputed) < (best.elements(), best.recomputed) {
            best = other;
        }
    }
    Ok(best)
}

/// Tensors in memory at once with the best checkpoints in a chain of `layers` equal ones, its input and output included:
/// the least `⌈n/k⌉ + k`, which is `⌈2·√n⌉`.
pub fn of_equal_layers(layers: u32) -> u64 {
    let square = 4 * u64::from(layers);
    let root = square.isqrt();
    root + u64::from(root * root < square)
}
