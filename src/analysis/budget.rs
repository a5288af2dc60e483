//! What a limit on the workspace would cost: per layer, and over all layers of a suite.

use super::group::{LayerRows, TimedRow};
use crate::record::Cache;
use crate::units::{Bytes, Nanoseconds};
use std::fmt;

/// A limit on the workspace of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceLimit {
    /// So many bytes.
    Bytes(Bytes),
    /// As much as the layer's input.
    Input,
    /// None at all.
    Unlimited,
}

/// The limits that reports ask about, tightest first.
pub const LIMITS: [WorkspaceLimit; 6] = [
    WorkspaceLimit::Bytes(Bytes(0)),
    WorkspaceLimit::Bytes(Bytes(1 << 20)),
    WorkspaceLimit::Input,
    WorkspaceLimit::Bytes(Bytes(16 << 20)),
    WorkspaceLimit::Bytes(Bytes(64 << 20)),
    WorkspaceLimit::Unlimited,
];

/// The fastest case of a layer within a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithinLimit<'a> {
    /// The limit.
    pub limit: WorkspaceLimit,
    /// The fastest case that keeps to it; `None` where no verified case does.
    pub fastest: Option<TimedRow<'a>>,
    /// Its time over that of the layer's fastest case without a limit.
    pub slowdown: Option<f64>,
}

/// A suite's layers, each by its fastest case within a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteBudget<'a> {
    /// Name of the suite.
    pub suite: &'a str,
    /// Whether times found their inputs in the caches.
    pub cache: Cache,
    /// The limit.
    pub limit: WorkspaceLimit,
    /// Layers with a verified case, each counted once.
    pub layers: usize,
    /// Of these, layers with a verified case that keeps to the limit.
    pub within: usize,
    /// Whether a layer counts as often as its network has it; otherwise once, since the files do not tell.
    pub counted: bool,
    /// Whether it has any of them more than once.
    pub repeated: bool,
    /// Sum of the layers' times within the limit; `None` where a layer has no verified case that keeps to it.
    pub time: Option<Nanoseconds>,
    /// The most workspace that any of these cases needs: layers run one after the other.
    pub workspace: Option<Bytes>,
    /// `time` over the sum without a limit.
    pub slowdown: Option<f64>,
}

impl WorkspaceLimit {
    /// The limit in bytes for a layer; `None` for no limit.
    pub fn bytes(self, layer: &LayerRows<'_>) -> Option<Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Input => Some(layer.input()),
            Self::Unlimited => None,
        }
    }
}

/// `0 B`, `16.0 MiB`, `the input's size`, `no limit`.
impl fmt::Display for WorkspaceLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.pad(&format!("{bytes:#}")),
            Self::Input => f.pad("the input's size"),
            Self::Unlimited => f.pad("no limit"),
        }
    }
}

/// The fastest case of a layer that keeps to a limit.
pub fn within<'a>(layer: &LayerRows<'a>, limit: WorkspaceLimit) -> WithinLimit<'a> {
    let most = limit.bytes(layer);
    let fastest = layer.timed().filter(|case| most.is_none_or(|most| case.workspace <= most)).min_by(TimedRow::faster);
    let slowdown = fastest.zip(layer.fastest()).map(|(here, best)| here.time.0 / best.time.0);
    WithinLimit { limit, fastest, slowdown }
}

/// What each of `limits` costs each suite, hot and cold apart: suites in the order they first appear, limits as given. Suites in which nothing
/// was timed are left out, and so are layers of which nothing was.
pub fn budgets<'a>(layers: &[LayerRows<'a>], limits: &[WorkspaceLimit]) -> Vec<SuiteBudget<'a>> {
    let mut suites: Vec<(&str, Cache)> = Vec::new();
    for layer in layers.iter().filter(|layer| layer.fastest().is_some()) {
        let suite = (layer.suite(), layer.cache());
        if !suites.contains(&suite) {
            suites.push(suite);
        }
    }
    let of_suite = |(suite, cache)| {
        let layers: Vec<&LayerRows<'a>> =
            layers.iter().filter(|l| (l.suite(), l.cache()) == (suite, cache) && l.fastest().is_some()).collect();
        let counts: Option<Vec<u64>> = layers.iter().map(|layer| layer.count()).collect();
        limits.iter().map(|&limit| budget(&layers, counts.as_deref(), limit)).collect::<Vec<_>>()
    };
    suites.into_iter().flat_map(of_suite).collect()
}

fn budget<'a>(layers: &[&LayerRows<'a>], counts: Option<&[u64]>, limit: WorkspaceLimit) -> SuiteBudget<'a> {
    let sum = |limit: WorkspaceLimit| -> Option<(f64, Bytes)> {
        let (mut time, mut workspace) = (0.0, Bytes(0));
        for (i, layer) in layers.iter().enumerate() {
            let case = within(layer, limit).fastest?;
            time += case.time.0 * counts.map_or(1, |counts| counts[i]) as f64;
            workspace = workspace.max(case.workspace);
        }
        Some((time, workspace))
    };
    let (here, best) = (sum(limit), sum(WorkspaceLimit::Unlimited));
    SuiteBudget {
        suite: layers[0].suite(),
        cache: layers[0].cache(),
        limit,
        layers: layers.len(),
        within: layers.iter().filter(|layer| within(layer, limit).fastest.is_some()).count(),
        counted: counts.is_some(),
        repeated: counts.is_some_and(|counts| counts.iter().any(|count| *count > 1)),
        time: here.map(|(time, _)| Nanoseconds(time)),
        workspace: here.map(|(_, workspace)| workspace),
        slowdown: here.zip(best).map(|((time, _), (best, _))| time / best),
    }
}

#[cfg(test)]
mod tests {
    use super::super::group::{by_layer, tests::timed};
    use super::*;

    #[test]
    fn a_limit_costs_what_the_next_case_takes_longer() {
        let rows = [
            timed("a", "implicit_gemm", 400.0, 0),
            timed("a", "im2col:strip=1", 300.0, 128),
            timed("a", "winograd_f4:batch", 100.0, 129),
            timed("b", "im2col:batch", 50.0, 1 << 20),
        ];
        let layers = by_layer(&rows);
        let of = |layer: usize, limit| within(&layers[layer], limit).slowdown;
        assert_eq!(of(0, WorkspaceLimit::Bytes(Bytes(0))), Some(4.0));
        assert_eq!(of(0, WorkspaceLimit::Input), Some(3.0), "the input is 128 bytes");
        assert_eq!(of(0, WorkspaceLimit::Bytes(Bytes(129))), Some(1.0));
        assert_eq!(of(1, WorkspaceLimit::Input), None);
        let all = budgets(&layers, &[WorkspaceLimit::Bytes(Bytes(0)), WorkspaceLimit::Bytes(Bytes(1 << 20)), WorkspaceLimit::Unlimited]);
        let told: Vec<_> = all.iter().map(|b| (b.layers, b.counted, b.time, b.workspace, b.slowdown)).collect();
        let best = (2, false, Some(Nanoseconds(150.0)), Some(Bytes(1 << 20)), Some(1.0));
        assert_eq!(told, [(2, false, None, None, None), best, best]);
        assert_eq!(all.iter().map(|b| b.within).collect::<Vec<_>>(), [1, 2, 2]);
    }

    #[test]
    fn layers_count_as_often_as_their_network_has_them() {
        let suite = crate::suite::Suite::builtin("resnet18").expect("there");
        let mut expected = 0.0;
        let rows: Vec<_> = suite
            .layers
            .iter()
            .map(|layer| {
                expected += layer.count as f64 * 7.0;
                let mut row = timed(&layer.name, "direct", 7.0, 0);
                (row.case.suite, row.case.conv) = ("resnet18".into(), layer.conv);
                row
            })
            .collect();
        let all = budgets(&by_layer(&rows), &[WorkspaceLimit::Unlimited]);
        assert_eq!((all[0].counted, all[0].time), (true, Some(Nanoseconds(expected))));
        assert!(suite.layers.iter().any(|layer| layer.count > 1));
    }

    #[test]
    fn suites_where_nothing_was_timed_are_left_out() {
        let mut row = timed("a", "direct", 1.0, 0);
        row.time_median_ns = None;
        assert_eq!(budgets(&by_layer(&[row]), &LIMITS), []);
    }
}
