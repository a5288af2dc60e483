//! Fitting the costs of kernels to measured stages.
//!
//! For each kernel the three numbers of its [`KernelCost`] for which the mean of |ln(modelled / measured)| over its stages is least: a
//! median in two dimensions, so that a few stages measured in a bad moment do not move it. The search is over a grid, refined around
//! its best point: the same observations always give the same costs.

use super::KernelCost;
use crate::units::Nanoseconds;
use std::collections::BTreeMap;

/// A step as the formula of the model sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Portion {
    /// What its arithmetic takes at π.
    pub compute: Nanoseconds,
    /// What its traffic takes at β.
    pub transfer: Nanoseconds,
    /// Its workgroups.
    pub workgroups: u64,
}

/// A measured stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The words of its kernel.
    pub kernel: String,
    /// Its steps.
    pub portions: Vec<Portion>,
    /// What they took together.
    pub measured: Nanoseconds,
}

/// Shares the search begins with, from a quarter above what a limit allows down to next to nothing, √2 apart.
const SHARES: usize = 24;
const HIGHEST: f64 = 1.25;
/// Workgroups that may be needed to fill a device: powers of two.
const FILLS: u32 = 13;
/// Weight that pulls a share nothing depends on towards the other, and a fill nothing shows towards 1.
const TIE: f64 = 1e-3;
const TIE_FILL: f64 = 1e-2;

/// The costs of every kernel that was observed, by name.
pub fn fit(observations: &[Observation], dispatch: Nanoseconds) -> Vec<KernelCost> {
    let mut by_kernel: BTreeMap<&str, Vec<&Observation>> = BTreeMap::new();
    for observation in observations.iter().filter(|o| o.measured.0 > 0.0 && !o.portions.is_empty()) {
        by_kernel.entry(&observation.kernel).or_default().push(observation);
    }
    by_kernel.into_iter().map(|(kernel, stages)| fit_one(kernel, &stages, dispatch.0)).collect()
}

fn fit_one(kernel: &str, stages: &[&Observation], dispatch_ns: f64) -> KernelCost {
    let at = |step: f64, ratio: f64| HIGHEST * ratio.powf(-step);
    let coarse: Vec<f64> = (0..SHARES).map(|step| at(step as f64, std::f64::consts::SQRT_2)).collect();
    let fills = (0..FILLS).map(|power| 1_u64 << power);
    let mut best = search(kernel, stages, dispatch_ns, &coarse, &coarse, fills);
    for width in [0.12, 0.03] {
        let around = |share: f64| (-3..=3).map(|step| share * (1.0 + width * f64::from(step))).collect::<Vec<_>>();
        let (compute, bandwidth) = (around(best.1.compute), around(best.1.bandwidth));
        let fills = [best.1.fill];
        let refined = search(kernel, stages, dispatch_ns, &compute, &bandwidth, fills.into_iter());
        if refined.0 < best.0 {
            best = refined;
        }
    }
    best.1
}

/// The best of a grid, and how far it is off.
fn search(
    kernel: &str,
    stages: &[&Observation],
    dispatch_ns: f64,
    computes: &[f64],
    bandwidths: &[f64],
    fills: impl Iterator<Item = u64>,
) -> (f64, KernelCost) {
    let mut best = (f64::INFINITY, KernelCost { kernel: kernel.to_owned(), compute: 1.0, bandwidth: 1.0, fill: 1 });
    for fill in fills {
        for &compute in computes {
            for &bandwidth in bandwidths {
                let cost = KernelCost { kernel: kernel.to_owned(), compute, bandwidth, fill };
                let off = deviation(&cost, stages, dispatch_ns) + TIE * (compute / bandwidth).ln().abs() + TIE_FILL * (fill as f64).ln();
                if off < best.0 {
                    best = (off, cost);
                }
            }
        }
    }
    best
}

/// Mean of |ln(modelled / measured)|.
fn deviation(cost: &KernelCost, stages: &[&Observation], dispatch_ns: f64) -> f64 {
    let modelled = |stage: &Observation| stage.portions.iter().map(|portion| cost.time(portion, dispatch_ns).0).sum::<f64>();
    stages.iter().map(|stage| (modelled(stage) / stage.measured.0).ln().abs()).sum::<f64>() / stages.len() as f64
}
