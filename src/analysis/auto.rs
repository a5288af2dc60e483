//! How good the automatic choice would have been where everything was measured, and what its model can learn from that.

use crate::algorithm::find;
use crate::conv::Conv;
use crate::cost::{Model, Observation, kernel_words};
use crate::plan::Limits;
use crate::record::{Cache, CaseKey, Measurement, Run, Status};
use crate::units::{Bytes, Nanoseconds};
use std::collections::HashMap;

/// A choice is good when its time is within this of the best measured.
pub const GOOD: f64 = 1.05;

/// What the model would have chosen for a layer, beside what was fastest there.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// Name of the suite.
    pub suite: String,
    /// Name of the layer.
    pub layer: String,
    /// The layer.
    pub conv: Conv,
    /// How many cases were measured.
    pub candidates: usize,
    /// The case of least predicted time.
    pub picked: Timed,
    /// The case of least measured time.
    pub best: Timed,
}

/// A case with its times.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// The algorithm with its variant.
    pub name: String,
    /// What the model says.
    pub predicted: Nanoseconds,
    /// The median measured.
    pub measured: Nanoseconds,
}

impl Pick {
    /// Time of the choice over that of the best: 1 is perfect.
    pub fn loss(&self) -> f64 {
        self.picked.measured.0 / self.best.measured.0
    }

    /// Whether the choice is as good as the best.
    pub fn is_good(&self) -> bool {
        self.loss() <= GOOD
    }
}

/// What `model` would have chosen among the measured cases of each layer, hot caches only, within the limit on the workspace. Layers
/// with a single case leave no choice and are left out.
pub fn picks(rows: &[Measurement], limits: &Limits, workspace_limit: Option<Bytes>, model: &Model<'_>) -> Vec<Pick> {
    let mut places: HashMap<(&str, &str, Conv), usize> = HashMap::new();
    let mut layers: Vec<(&CaseKey, Vec<Timed>)> = Vec::new();
    for row in rows.iter().filter(|row| row.status == Status::Ok && row.case.cache == Cache::Hot) {
        let fits = workspace_limit.is_none_or(|limit| row.computation_bytes.is_some_and(|bytes| bytes <= limit.0));
        let Some(timed) = timed(row, limits, model).filter(|_| fits) else { continue };
        let case = &row.case;
        let at = *places.entry((&case.suite, &case.layer, case.conv)).or_insert_with(|| {
            layers.push((case, Vec::new()));
            layers.len() - 1
        });
        layers[at].1.push(timed);
    }
    layers.into_iter().filter_map(|(case, timed)| pick(case, &timed)).collect()
}

fn timed(row: &Measurement, limits: &Limits, model: &Model<'_>) -> Option<Timed> {
    let CaseKey { conv, algorithm, variant, .. } = &row.case;
    let plan = find(algorithm)?.plan(conv, variant, limits).ok()?;
    let (predicted, measured) = (model.plan(&plan, conv.element()), Nanoseconds(row.time_median_ns?));
    Some(Timed { name: variant.qualify(algorithm), predicted, measured })
}

fn pick(case: &CaseKey, timed: &[Timed]) -> Option<Pick> {
    if timed.len() < 2 {
        return None;
    }
    let least = |time: fn(&Timed) -> f64| timed.iter().min_by(|a, b| time(a).total_cmp(&time(b))).cloned();
    Some(Pick {
        suite: case.suite.clone(),
        layer: case.layer.clone(),
        conv: case.conv,
        candidates: timed.len(),
        picked: least(|t| t.predicted.0)?,
        best: least(|t| t.measured.0)?,
    })
}

/// The stages of a run as the fit of the model takes them. Stages that this version would not plan as the run did are left out.
pub fn observations(run: &Run, model: &Model<'_>) -> Vec<Observation> {
    let medians: HashMap<&CaseKey, f64> = run
        .measurements
        .iter()
        .filter(|row| row.status == Status::Ok && row.case.cache == Cache::Hot)
        .filter_map(|row| Some((&row.case, row.time_median_ns?)))
        .collect();
    let mut plans = HashMap::new();
    let mut observations = Vec::new();
    for stage in &run.steps {
        let case = &stage.case;
        let (Some(whole), Some(share)) = (medians.get(case), stage.time_share) else { continue };
        let plan = plans
            .entry(case)
            .or_insert_with(|| find(&case.algorithm).and_then(|a| a.plan(&case.conv, &case.variant, &run.environment.limits).ok()));
        let Some(plan) = plan else { continue };
        let steps: Vec<_> = plan.steps.iter().filter(|step| step.stage == stage.stage).collect();
        let operations: u64 = steps.iter().map(|step| step.operations.0).sum();
        let traffic: u64 = steps.iter().map(|step| step.traffic.0).sum();
        let same = (steps.len() as u64, operations, traffic) == (stage.dispatches, stage.flops, stage.bytes);
        let Some(first) = steps.first().filter(|_| same) else { continue };
        if steps.iter().all(|step| step.kernel.shader == first.kernel.shader) {
            observations.push(Observation {
                kernel: kernel_words(first),
                portions: steps.iter().map(|step| model.portion(step, case.dtype())).collect(),
                measured: Nanoseconds(share * whole),
            });
        }
    }
    observations
}
