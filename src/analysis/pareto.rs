//! Time against workspace: which cases of a layer are worth having.
//!
//! A case is on the *Pareto front* when no other is at least as good in both time and workspace and better in one. Walking along the front,
//! each step buys time with memory; whatever is not on it costs more of one without giving of the other.

use super::group::{LayerRows, TimedRow};
use crate::units::{Bytes, Nanoseconds};

/// A verified case and whether it is worth having.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TradeOff<'a> {
    /// The case.
    pub case: TimedRow<'a>,
    /// Whether it is on the Pareto front.
    pub front: bool,
}

/// What the fastest case of a layer costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price<'a> {
    /// The fastest case.
    pub fastest: TimedRow<'a>,
    /// The fastest case without any workspace.
    pub free: Option<TimedRow<'a>>,
}

/// The verified cases of a layer by workspace, then by time. Of cases equal in both all are on the front or none.
pub fn trade_offs<'a>(layer: &LayerRows<'a>) -> Vec<TradeOff<'a>> {
    let mut cases: Vec<TimedRow<'a>> = layer.timed().collect();
    cases.sort_by(|a, b| a.workspace.cmp(&b.workspace).then(a.time.0.total_cmp(&b.time.0)));
    let mut best: Option<(Bytes, Nanoseconds)> = None;
    let mut on_front = |case: TimedRow<'a>| {
        let front = best.is_none_or(|(bytes, time)| case.time < time || (case.workspace, case.time) == (bytes, time));
        if front {
            best = Some((case.workspace, case.time));
        }
        TradeOff { case, front }
    };
    cases.into_iter().map(&mut on_front).collect()
}

/// The fastest case of a layer beside the fastest that needs no workspace; `None` where nothing was timed.
pub fn price<'a>(layer: &LayerRows<'a>) -> Option<Price<'a>> {
    let free = layer.timed().filter(|case| case.workspace == Bytes(0)).min_by(TimedRow::faster);
    Some(Price { fastest: layer.fastest()?, free })
}

impl Price<'_> {
    /// Time of the fastest case without workspace over that of the fastest: what the workspace buys; 1 where it buys nothing.
    pub fn gain(&self) -> Option<f64> {
        self.free.map(|free| free.time.0 / self.fastest.time.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::group::{by_layer, tests::timed};
    use super::*;
    use crate::record::Status;
    use proptest::prelude::*;

    #[test]
    fn the_front_is_what_no_other_case_beats() {
        let mut wrong = timed("a", "winograd_f2:batch", 1.0, 1);
        wrong.status = Status::Wrong;
        let rows = [
            timed("a", "direct", 900.0, 0),
            timed("a", "implicit_gemm", 400.0, 0),
            timed("a", "im2col:batch", 500.0, 1152),
            timed("a", "im2col:strip=1", 400.0, 100),
            timed("a", "winograd_f4:batch", 100.0, 2000),
            timed("a", "winograd_f4:tiles=16", 200.0, 600),
            timed("a", "winograd_f6:batch", 100.0, 2000),
            wrong,
        ];
        let layers = by_layer(&rows);
        let front: Vec<String> = trade_offs(&layers[0]).iter().filter(|t| t.front).map(|t| t.case.name()).collect();
        assert_eq!(front, ["implicit_gemm", "winograd_f4:tiles=16", "winograd_f4:batch", "winograd_f6:batch"]);
        assert_eq!(trade_offs(&layers[0]).len(), 7, "a wrong result has no place");
        let price = price(&layers[0]).expect("timed");
        assert_eq!((price.fastest.workspace, price.gain()), (Bytes(2000), Some(4.0)));
    }

    proptest! {
        #[test]
        fn the_front_is_the_one_of_the_definition(cases in prop::collection::vec((1_u8..9, 0_u8..9), 1..12)) {
            let rows: Vec<_> = cases.iter().map(|&(time, bytes)| timed("a", "direct", time.into(), bytes.into())).collect();
            let layers = by_layer(&rows);
            let all = trade_offs(&layers[0]);
            for t in &all {
                let beaten = all.iter().any(|o| {
                    o.case.time <= t.case.time && o.case.workspace <= t.case.workspace
                        && (o.case.time < t.case.time || o.case.workspace < t.case.workspace)
                });
                prop_assert_eq!(t.front, !beaten);
            }
        }
    }
}
