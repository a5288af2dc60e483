//! The figures that people repeat, each held against ours.
//!
//! A claim is data ([`parse`]): what is said, in which unit, and by which expression our figure is computed, from the sizes of
//! convolutions and closed forms, or from the rows of a run. Nothing of ours is typed in. [`FUNCTIONS`] lists what an expression can
//! call.
//!
//! **The rule.** A claimed number *holds* when it is what rounding our figure to as many digits gives, or cutting it off there, and is
//! within 5 % of it; a whole number's trailing zeros are no digits. A range holds when our figure lies in it, a bound when our figure is
//! past it. `KB`, `MB`, `GB` and `TB` are read as powers of ten first; where that does not hold but powers of two do, the verdict is
//! `holds_in_mib`. Otherwise the reading that fits better counts, and the deviation is the claimed figure (of a range or bound: the end
//! that is missed) over ours, less 1: up to 10 % the claim is `off` by that, beyond it `fails`. Percentages, ratios and exponents are
//! numbers like others: a growth of 188 % against 194 % is off by 3 %. An order of several things is a bound for each pair that
//! follow each other: their difference is above 0, or their ratio above 1. Where several algorithms could be meant, the one that fits
//! best is taken. What needs something this version has not is `not_testable_here`, what needs a run that is not there `not_measured`.
//! A claim with several figures gets the worst of their verdicts ([`overall`]).
//!
//! The claims that come with the program are from three articles on why a small model takes gigabytes; their statements are in our
//! words.

mod audit;
mod claimed;
mod closed;
mod contexts;
mod error;
mod expression;
mod file;
mod measured;
mod network;
mod row;
#[cfg(test)]
mod tests;

pub use audit::{Evidence, audit, needed, overall, select};
pub use claimed::{Claimed, Judgement, is_of_bytes, judge};
pub use closed::exponent;
pub use contexts::Contexts;
pub use error::ClaimError;
pub use expression::FUNCTIONS;
pub use file::{Claim, Figure, Ours, builtin, parse, read_file};
pub use measured::Want;
pub use row::{COLUMNS, FILE, Row, Source, Verdict, read, to_csv};

/// How far a claimed figure may be from ours to be `off` and not to fail.
pub const OFF: f64 = 0.1;
