//! The cases of a run in their order, each either to run or already decided. Pure: limits in, list out.
//!
//! Cases of one layer follow each other, so that the worker computes a reference once for all of them.

use super::{Prediction, RunnerError, Selection, predict};
use crate::algorithm::{Algorithm, Variant};
use crate::conv::Conv;
use crate::plan::{Limits, Unsupported};
use crate::record::{Cache, CaseKey, CaseRows, Status};
use crate::suite::{Layer, Suite};
use crate::units::Bytes;
use std::collections::HashSet;

/// A case of the schedule.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    /// To be run; what is predicted of it serves its row if its worker dies.
    Run(Box<Prediction>),
    /// Nothing to run; these are its rows.
    Row(Box<CaseRows>),
}

impl Planned {
    /// The case.
    pub fn case(&self) -> &CaseKey {
        match self {
            Self::Run(prediction) => &prediction.case,
            Self::Row(rows) => &rows.measurement.case,
        }
    }
}

/// What the cases of a run are drawn from.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The problems.
    pub suites: &'a [Suite],
    /// The algorithms there are, in the order of the rows.
    pub algorithms: &'a [&'a dyn Algorithm],
    /// Those wanted.
    pub selection: &'a Selection,
    /// What the device allows.
    pub limits: &'a Limits,
    /// Every case once for each of these.
    pub caches: &'a [Cache],
    /// The most computation bytes a case may need; none is no limit.
    pub workspace_limit: Option<Bytes>,
}

/// Every case once: suite by suite, layer by layer, algorithm by algorithm, variant by variant, cache by cache. A case that comes up again (a
/// suite given twice) is the same case.
///
/// # Errors
/// [`RunnerError::NothingSelected`] names a pattern of the selection that leads to no case, [`RunnerError::NothingLeft`] one that
/// leaves none.
pub fn schedule(request: &Request<'_>) -> Result<Vec<Planned>, RunnerError> {
    let mut seen = HashSet::new();
    let mut planned = Vec::new();
    for suite in request.suites {
        for layer in &suite.layers {
            for algorithm in request.algorithms.iter().filter(|a| request.selection.wants(a.id())) {
                let cases = request.cases(suite, layer, *algorithm);
                planned.extend(cases.into_iter().filter(|p| seen.insert(p.case().clone())));
            }
        }
    }
    if request.suites.iter().any(|s| !s.layers.is_empty()) {
        let cases: Vec<_> = planned.iter().map(|p| (p.case(), p.stands_for_algorithm())).collect();
        request.selection.check(&cases)?;
        request.check_variants(&planned)?;
    }
    Ok(planned)
}

impl Planned {
    /// Whether this is the one row of an algorithm that is not made for a layer.
    fn stands_for_algorithm(&self) -> bool {
        matches!(self, Self::Row(rows) if rows.measurement.status == Status::Unsupported && self.case().variant == Variant::none())
    }
}

impl Request<'_> {
    /// A variant that was asked for by name and that no layer has is a mistake to be told of, not a result.
    fn check_variants(&self, planned: &[Planned]) -> Result<(), RunnerError> {
        let refusal = |case: &CaseKey| {
            let algorithm = self.algorithms.iter().find(|a| a.id() == case.algorithm)?;
            algorithm.workspace(&case.conv, &case.variant).err().filter(|why| matches!(why, Unsupported::Variant(_)))
        };
        // The row that stands for a whole algorithm names no variant: what it lacks is not one.
        for case in planned.iter().filter(|p| !p.stands_for_algorithm()).map(Planned::case) {
            let Some(why) = refusal(case) else { continue };
            let same = |p: &&Planned| (&p.case().algorithm, &p.case().variant) == (&case.algorithm, &case.variant);
            if planned.iter().filter(same).all(|p| refusal(p.case()).is_some()) {
                let pattern = case.variant.qualify(&case.algorithm);
                return Err(RunnerError::Pattern { pattern, problem: why.to_string() });
            }
        }
        Ok(())
    }

    fn cases(&self, suite: &Suite, layer: &Layer, algorithm: &dyn Algorithm) -> Vec<Planned> {
        let key = |variant, cache| CaseKey {
            suite: suite.name.clone(),
            layer: layer.name.clone(),
            conv: layer.conv,
            algorithm: algorithm.id().to_owned(),
            variant,
            cache,
        };
        let proposed = algorithm.variants(&layer.conv, self.limits);
        let mut chosen = self.selection.choose(algorithm.id(), proposed.clone());
        if chosen.is_empty() {
            // The pattern may want a variant that is not proposed because the algorithm is not made for the layer at all.
            let unmade = |v: &Variant| matches!(algorithm.workspace(&layer.conv, v), Err(Unsupported::Problem(_)));
            chosen.extend(proposed.into_iter().filter(unmade).take(1));
        }
        let mut cases = Vec::with_capacity(chosen.len());
        let mut problems = Vec::new();
        for (variant, cache) in chosen.iter().flat_map(|v| self.caches.iter().map(move |&cache| (v.clone(), cache))) {
            let (prediction, plan) = predict(&key(variant, cache), algorithm, self.limits);
            if let Err(Unsupported::Problem(reason)) = &plan {
                problems.push(reason.clone());
            }
            cases.push(self.decide(prediction, plan.err()));
        }
        if let (Some(reason), Some(&cache)) = (problems.first(), self.caches.first())
            && problems.len() == cases.len()
        {
            let rows = Prediction::of_problem(key(Variant::none(), cache)).rows(Status::Unsupported, reason);
            return vec![Planned::Row(Box::new(rows))];
        }
        cases
    }

    /// What becomes of a case before it runs. The algorithm's own word comes first, the user's limit last.
    fn decide(&self, prediction: Prediction, obstacle: Option<Unsupported>) -> Planned {
        let (status, reason) = match obstacle {
            Some(why @ (Unsupported::Problem(_) | Unsupported::Variant(_))) => (Status::Unsupported, why.to_string()),
            _ if prediction.case.conv.is_empty() => (Status::Skipped, nothing(&prediction.case.conv)),
            Some(why @ Unsupported::Limit { .. }) => (Status::OverLimit, why.to_string()),
            None => match (prediction.computation, self.workspace_limit) {
                (Some(needed), Some(limit)) if needed > limit => {
                    (Status::OverBudget, format!("workspace {needed} > workspace limit {limit}"))
                }
                _ => return Planned::Run(Box::new(prediction)),
            },
        };
        Planned::Row(Box::new(prediction.rows(status, reason)))
    }
}

/// Why there is nothing to compute.
fn nothing(conv: &Conv) -> String {
    let why = if conv.batch() == 0 { "the batch is 0" } else { "the padding leaves no output" };
    let result = if conv.result_elements() == 0 { "is empty" } else { "is zero everywhere" };
    format!("{why}: the {} {result}, there is nothing to compute", conv.tensor_name(conv.result()))
}
