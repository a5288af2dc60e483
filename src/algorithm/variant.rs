//! A variant: the setting of an algorithm's memory knob, part of a case's identity.

use crate::conv::Conv;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How many points of a curve of time against workspace are proposed besides its end.
const POINTS: i32 = 4;
/// Most chunks a proposed setting cuts the work into: past that the host's dispatching would be measured.
const MOST_CHUNKS: u64 = 256;

/// Settings of a knob that handles so many of `all` at a time, below `all` itself: at most four, rising by about equal ratios from the least
/// that leaves no more than 256 chunks, in multiples of `multiple`. `outer` is how often `all` is gone through (the images of a batch, where
/// the knob cuts one image).
pub(super) fn spread(all: u64, outer: u64, multiple: u64) -> Vec<u64> {
    let least = all.div_ceil((MOST_CHUNKS / outer.max(1)).max(1)).next_multiple_of(multiple).max(multiple);
    let ratio = (all as f64 / least as f64).max(1.0).powf(1.0 / f64::from(POINTS));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1, and at most a number of things there are")]
    let mut points: Vec<u64> =
        (0..POINTS).map(|i| ((least as f64 * ratio.powi(i)).round() as u64).next_multiple_of(multiple)).filter(|&x| x < all).collect();
    points.dedup();
    points
}

/// `images=n` for numbers of images between one and all of a batch: the micro-batches worth measuring.
pub(super) fn micro_batches(conv: &Conv) -> Vec<Variant> {
    let root = conv.batch().isqrt();
    if root > 1 { vec![Variant::knob("images", root)] } else { Vec::new() }
}

/// The setting of a memory knob: nothing, a word (`batch`) or a number (`strip=8`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(try_from = "String", into = "String")]
pub struct Variant {
    name: String,
    value: Option<u64>,
}

impl Variant {
    /// The only variant of an algorithm without knobs; written as nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// A setting that is a word.
    pub fn word(name: &str) -> Self {
        Self { name: name.to_owned(), value: None }
    }

    /// A setting that is a number.
    pub fn knob(name: &str, value: u64) -> Self {
        Self { name: name.to_owned(), value: Some(value) }
    }

    /// Name and number, for matching: `("strip", Some(8))`, `("batch", None)`, `("", None)`.
    pub fn parts(&self) -> (&str, Option<u64>) {
        (&self.name, self.value)
    }

    /// How an algorithm of `id` with this variant is written: `im2col:strip=8`, `direct`.
    pub fn qualify(&self, id: &str) -> String {
        if self.name.is_empty() { id.to_owned() } else { format!("{id}:{self}") }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => f.pad(&format!("{}={value}", self.name)),
            None => f.pad(&self.name),
        }
    }
}

/// A text that is not a variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a variant: write a word such as batch, or a word with a number such as strip=8")]
pub struct VariantError {
    text: String,
}

impl FromStr for Variant {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || VariantError { text: text.to_owned() };
        let (name, value) = match text.split_once('=') {
            Some((name, number)) => (name, Some(number.parse().map_err(|_| error())?)),
            None => (text, None),
        };
        let word = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !word || (name.is_empty() && value.is_some()) {
            return Err(error());
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

impl TryFrom<String> for Variant {
    type Error = VariantError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Variant> for String {
    fn from(variant: Variant) -> Self {
        variant.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_rise_evenly_in_their_logarithm() {
        assert_eq!(spread(56, 1, 1), [1, 3, 7, 20]);
        assert_eq!(spread(56, 32, 1), [7, 12, 20, 33]);
        assert_eq!(spread(1000, 1, 4), [4, 16, 64, 252]);
        assert_eq!(spread(196, 1, 4), [4, 12, 28, 76]);
        assert_eq!(spread(3, 1, 1), [1, 2]);
        assert_eq!(spread(4, 1, 4), [0; 0]);
        assert_eq!(spread(1, 1, 1), [0; 0]);
        assert_eq!(spread(0, 1, 1), [0; 0]);
        assert_eq!(spread(7, u64::MAX, 1), [0; 0]);
        assert!(spread(u64::MAX, 1, 4).iter().all(|&x| x >= u64::MAX / 300));
    }

    #[test]
    fn micro_batches_lie_between_one_image_and_all() {
        let proposed = |key: &str| micro_batches(&key.parse().expect(key)).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(proposed("n32c1h1w1_k1r1s1"), "images=5");
        assert_eq!(proposed("n4c1h1w1_k1r1s1"), "images=2");
        assert_eq!(proposed("n3c1h1w1_k1r1s1"), "");
        assert_eq!(proposed("n0c1h1w1_k1r1s1"), "");
    }
}
