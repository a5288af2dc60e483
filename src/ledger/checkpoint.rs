//! Checkpoints: feature maps kept only between segments of so many layers, and made again segment by segment in the backward pass.
//!
//! Source: Chen, Xu, Zhang, Guestrin 2016, *Training Deep Nets with Sublinear Memory Cost*, arXiv 1604.06174, section 4: of `n` equal
//! layers in segments of `k`, about `n/k + k` feature maps are in memory at once, least for `k = √n`.

use super::liveness::read;
use super::{LedgerError, operations};
use crate::suite::{MAX_STEPS, Network};
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
    let every = every.get();
    let steps = network.steps.len();
    // Segments are numbered from 1. The input comes before them all, and what reads the outputs after.
    let segments = steps.div_ceil(every);
    let segment = |moment: usize| if moment > steps { segments + 1 } else { moment.div_ceil(every) };
    let mut inside = vec![0_u128; segments + 1];
    let mut again = vec![false; steps + 1];
    let mut kept = 0;
    for feature in read(network) {
        if segment(feature.made) == segment(feature.last) {
            inside[segment(feature.made)] += u128::from(feature.elements);
            again[feature.made] = true;
        } else {
            kept += u128::from(feature.elements);
        }
    }
    let recomputed = network.steps.iter().zip(&again[1..]).filter(|(_, again)| **again).filter_map(|(conv, _)| conv.as_ref());
    let recomputed: u128 = recomputed.map(|conv| u128::from(operations(conv).0)).sum();
    let recomputed = u64::try_from(recomputed).map_err(|_| LedgerError::Overflow { network: network.name.clone(), what: "operations" })?;
    Ok(Checkpointed { every, kept, segment: inside.into_iter().max().unwrap_or_default(), recomputed: Ops(recomputed) })
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
