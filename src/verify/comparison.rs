//! The outcome of a comparison and the verdict on it.

use super::ELEMENT_FACTOR;
use crate::conv::{Conv, Tensor};
use crate::reference::ResultIndex;
use crate::units::Grouped;
use std::fmt;

/// Where an element of the result lies, for a person: `n0 k3 y0 x17`, with `z` first in three dimensions and `x` alone in one; of a
/// gradient `n0 c3 y0 x17` or `k3 c0 r1 s2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    index: ResultIndex,
    rank: usize,
    /// Names of the two outer indices and of the position along depth, height and width.
    names: [char; 5],
}

impl Place {
    /// The place of the element at a flat C-order index.
    ///
    /// # Panics
    /// When `flat` is not below the number of results.
    pub fn of(conv: &Conv, flat: u64) -> Self {
        let names = match conv.named(conv.result()) {
            Tensor::Input => ['n', 'c', 'z', 'y', 'x'],
            Tensor::Weights => ['k', 'c', 't', 'r', 's'],
            Tensor::Output => ['n', 'k', 'z', 'y', 'x'],
        };
        Self { index: ResultIndex::of(conv, flat), rank: conv.rank(), names }
    }

    /// The indices.
    pub fn index(&self) -> ResultIndex {
        self.index
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, position @ ..] = self.names;
        write!(f, "{first}{} {second}{}", self.index.outer[0], self.index.outer[1])?;
        position.iter().zip(self.index.at).skip(3 - self.rank).try_for_each(|(name, at)| write!(f, " {name}{at}"))
    }
}

/// An output that is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mismatch {
    /// Where.
    pub place: Place,
    /// What is there.
    pub found: f64,
    /// What should be there.
    pub expected: f64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, expected {}", self.place, Shown(self.found), Shown(self.expected))
    }
}

/// A value with the digits of an f32, or all of a whole number.
struct Shown(f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_possible_truncation, reason = "as many digits as a found float has")]
        if self.0.fract() == 0.0 { self.0.fmt(f) } else { (self.0 as f32).fmt(f) }
    }
}

/// How an output compares with the reference. Errors are infinite, never NaN, where an output is NaN or infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// L2 norm of the error over that of the expected values, over the compared points.
    pub rel_l2: f64,
    /// Largest absolute error of a compared point.
    pub max_abs: f64,
    /// Largest error of a compared point over the sum of its expected size and the root mean square of all.
    pub max_element: f64,
    /// How many outputs were compared.
    pub points: u64,
    /// How many outputs there are.
    pub outputs: u64,
    /// Whether they are integers.
    pub integers: bool,
    /// How many of all outputs are NaN: never written, or computed from what was never written. Of integers those never written: they
    /// are the least there is, which is no right result.
    pub unwritten: u64,
    /// The first of them.
    pub first_unwritten: Option<Place>,
    /// How many of all outputs are infinite.
    pub infinite: u64,
    /// The first of them.
    pub first_infinite: Option<Place>,
    /// The compared point with the largest error by the measure of `max_element`; `None` when all are exact.
    pub worst: Option<Mismatch>,
}

/// A result that is not right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WrongResult {
    /// Outputs that are no number.
    #[error("{} of {} outputs are {kind}, first at {first}", Grouped(*count), Grouped(*outputs))]
    NotFinite {
        /// `NaN`, of integers `not written`, or `infinite`.
        kind: &'static str,
        /// How many.
        count: u64,
        /// Of how many.
        outputs: u64,
        /// Where the first is.
        first: Place,
    },
    /// The outputs as a whole are off.
    #[error("relative L2 error {rel_l2:.1e} > tolerance {tolerance:.1e}, worst at {worst}")]
    Error {
        /// Their error.
        rel_l2: f64,
        /// What it must not pass.
        tolerance: f64,
        /// The output that is off most.
        worst: Mismatch,
    },
    /// The outputs as a whole are right, but one is off by more than rounding explains.
    #[error("one output is off by {error:.1e} of its scale > {allowed:.1e}, at {worst}")]
    Element {
        /// Its error over the sum of its expected size and the root mean square of all.
        error: f64,
        /// What that must not pass.
        allowed: f64,
        /// The output.
        worst: Mismatch,
    },
}

impl Comparison {
    /// Whether the output passes for right: finite everywhere, `rel_l2` within `tolerance`, no compared point further off
    /// than [`ELEMENT_FACTOR`] times it.
    ///
    /// # Errors
    /// [`WrongResult`], the first of these that fails.
    pub fn verdict(&self, tolerance: f64) -> Result<(), WrongResult> {
        let unwritten = if self.integers { "not written" } else { "NaN" };
        for (kind, count, first) in [(unwritten, self.unwritten, self.first_unwritten), ("infinite", self.infinite, self.first_infinite)] {
            if let Some(first) = first {
                return Err(WrongResult::NotFinite { kind, count, outputs: self.outputs, first });
            }
        }
        // No mismatch means that every compared point is exact.
        let Some(worst) = self.worst else { return Ok(()) };
        let (rel_l2, error, allowed) = (self.rel_l2, self.max_element, ELEMENT_FACTOR * tolerance);
        if rel_l2 > tolerance {
            return Err(WrongResult::Error { rel_l2, tolerance, worst });
        }
        if error > allowed {
            return Err(WrongResult::Element { error, allowed, worst });
        }
        Ok(())
    }
}
