//! Which row of one run is which of the other.

use crate::algorithm::Variant;
use crate::conv::Conv;
use crate::record::{Cache, CaseKey, Measurement};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// How two rows were found to be of the same case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// The whole key agrees.
    Key,
    /// Suite or layer are named otherwise; the problem, algorithm, variant and cache agree, and no other row has them.
    Problem,
}

/// Why a row has no counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The other run has no such case.
    Absent,
    /// Rows of other names could be it, and nothing tells which.
    Ambiguous,
}

/// Positions of rows in both runs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Matches {
    /// Of both, in the baseline's order.
    pub(super) pairs: Vec<(usize, usize, MatchedBy)>,
    pub(super) only_baseline: Vec<(usize, Missing)>,
    pub(super) only_other: Vec<(usize, Missing)>,
}

/// What remains of a key without names.
type Problem<'a> = (Conv, &'a str, &'a Variant, Cache);

fn problem(case: &CaseKey) -> Problem<'_> {
    (case.conv, &case.algorithm, &case.variant, case.cache)
}

/// Matches by whole keys, then by problems among the rows that are left. Rows of the same key, which no run writes, go in their order.
pub(super) fn matches(a: &[Measurement], b: &[Measurement]) -> Matches {
    let mut by_key: HashMap<&CaseKey, VecDeque<usize>> = HashMap::new();
    for (at, row) in b.iter().enumerate() {
        by_key.entry(&row.case).or_default().push_back(at);
    }
    let mut found = Matches::default();
    let mut left: HashMap<Problem<'_>, [Vec<usize>; 2]> = HashMap::new();
    let mut taken = vec![false; b.len()];
    for (at, row) in a.iter().enumerate() {
        match by_key.get_mut(&row.case).and_then(VecDeque::pop_front) {
            Some(other) => {
                taken[other] = true;
                found.pairs.push((at, other, MatchedBy::Key));
            }
            None => left.entry(problem(&row.case)).or_default()[0].push(at),
        }
    }
    for (at, row) in b.iter().enumerate().filter(|&(at, _)| !taken[at]) {
        left.entry(problem(&row.case)).or_default()[1].push(at);
    }
    for [ours, theirs] in left.into_values() {
        if let ([one], [other]) = (&ours[..], &theirs[..]) {
            found.pairs.push((*one, *other, MatchedBy::Problem));
            continue;
        }
        let why = if ours.is_empty() || theirs.is_empty() { Missing::Absent } else { Missing::Ambiguous };
        found.only_baseline.extend(ours.into_iter().map(|at| (at, why)));
        found.only_other.extend(theirs.into_iter().map(|at| (at, why)));
    }
    found.pairs.sort_by_key(|&(at, ..)| at);
    found.only_baseline.sort_by_key(|&(at, _)| at);
    found.only_other.sort_by_key(|&(at, _)| at);
    found
}
