//! Where the cases of a run stand under the device's roofline.
//!
//! ```text
//! x = operations / bytes moved      y = operations / time      roof(x) = min(π, β·x)
//! ```
//!
//! After S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore architectures", CACM 52(4), 2009.
//! Operations are those of the algorithm, not of the direct method. The bytes are the least traffic of all its stages, intermediate buffers
//! included; stages that run once for given weights are in neither, as they are not in the time. Data found in the caches lets a point pass the
//! slope of β.

use super::group::TimedRow;
use crate::record::{CaseKey, Measurement, StepRow};
use std::collections::HashMap;

/// A verified case under the roofline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RooflinePoint<'a> {
    /// The case.
    pub row: &'a Measurement,
    /// Operations a byte.
    pub intensity: f64,
    /// 10⁹ operations a second.
    pub gflops: f64,
    /// Whether the traffic is that of the stages; otherwise input, weights and output once each, for want of `steps.csv`.
    pub by_stages: bool,
}

/// The points of the verified cases that compute and move anything, in the order of the rows.
pub fn roofline_points<'a>(rows: &'a [Measurement], steps: &[StepRow]) -> Vec<RooflinePoint<'a>> {
    let mut stages: HashMap<&CaseKey, (u64, u64)> = HashMap::new();
    // A stage that runs once has no share of an execution's time.
    for step in steps.iter().filter(|step| step.time_share.is_some()) {
        let (flops, bytes) = stages.entry(&step.case).or_default();
        *flops = flops.saturating_add(step.flops);
        *bytes = bytes.saturating_add(step.bytes);
    }
    let point = |row: &'a Measurement| {
        let time = TimedRow::of(row)?.time.0;
        let of_stages = stages.get(&row.case).copied();
        let (flops, bytes) = of_stages.or_else(|| Some((row.algorithm_flops?, row.min_bytes)))?;
        let (intensity, gflops) = (flops as f64 / bytes as f64, flops as f64 / time);
        let drawable = |x: f64| x.is_finite() && x > 0.0;
        (drawable(intensity) && drawable(gflops)).then_some(RooflinePoint { row, intensity, gflops, by_stages: of_stages.is_some() })
    };
    rows.iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::timed;
    use super::*;

    #[test]
    fn points_leave_out_what_runs_once_and_do_without_stages() {
        let mut rows = [timed("a", "winograd_f4:batch", 10.0, 1), timed("a", "direct", 10.0, 0), timed("b", "direct", 10.0, 0)];
        rows[1].algorithm_flops = Some(rows[1].min_bytes * 2);
        rows[2].algorithm_flops = Some(0);
        let step = |stage: &str, flops, bytes, share| StepRow {
            case: rows[0].case.clone(),
            stage: stage.into(),
            dispatches: 1,
            workgroups: 1,
            time_median_ns: Some(5.0),
            time_share: share,
            flops,
            bytes,
            limit: None,
        };
        let steps = [step("filter", 999, 999, None), step("gemm", 80, 10, Some(0.5)), step("output", 20, 40, Some(0.5))];
        let points = roofline_points(&rows, &steps);
        let told: Vec<_> = points.iter().map(|p| (p.intensity, p.gflops, p.by_stages)).collect();
        assert_eq!(told[0], (2.0, 10.0, true));
        assert_eq!((told[1].0, told[1].2), (2.0, false));
        assert_eq!(told.len(), 2, "no operations, no point");
    }
}
