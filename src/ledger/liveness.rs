//! How many elements of a network's feature maps are in memory at once: those that live in inference, those kept in training.

use crate::suite::{Feature, Network};

/// Elements alive at once, at most, in inference: a tensor lives from the step that makes it to the last one that reads it, both
/// included. What skips ahead stays alive meanwhile. Of a chain it is the largest input and output of one step.
pub fn peak(network: &Network) -> u128 {
    most_alive(network, network.features.iter())
}

/// Elements of the feature maps' gradients alive at once, at most, in the backward pass. It is the forward pass mirrored: a gradient
/// lives from the last reader of its tensor, the first to add to it, back to the step that made the tensor. The network's input has none.
pub fn peak_of_gradients(network: &Network) -> u128 {
    most_alive(network, network.features.iter().filter(|feature| feature.made > 0))
}

/// Elements that training without checkpoints keeps from the forward pass for the backward pass: every tensor that something reads, the
/// network's input and outputs among them.
pub fn kept(network: &Network) -> u128 {
    read(network).map(|feature| u128::from(feature.elements)).sum()
}

/// The tensors that something reads.
pub(super) fn read(network: &Network) -> impl Iterator<Item = &Feature> {
    network.features.iter().filter(|feature| feature.last > feature.made)
}

fn most_alive<'a>(network: &Network, features: impl Iterator<Item = &'a Feature>) -> u128 {
    // What comes to life at each step, and what is gone after it.
    let mut changes = vec![(0_u128, 0_u128); network.steps.len() + 2];
    for feature in features {
        changes[feature.made].0 += u128::from(feature.elements);
        changes[feature.last].1 += u128::from(feature.elements);
    }
    let mut alive = 0;
    let mut most = 0;
    for (born, gone) in changes {
        alive += born;
        most = most.max(alive);
        alive -= gone;
    }
    most
}
