//! The automatic choice: of all algorithms and variants that can compute a convolution the one whose plan would take the least time.

use super::{Model, WorkspaceLimit};
use crate::algorithm::{Algorithm, Variant};
use crate::conv::Conv;
use crate::plan::{Limits, Plan};
use crate::units::{Bytes, Nanoseconds};

/// What was chosen for a convolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Id of the algorithm.
    pub algorithm: &'static str,
    /// Setting of its knob.
    pub variant: Variant,
    /// Its workspace, memory that several buffers share counted once.
    pub workspace: Bytes,
    /// What the model says it takes.
    pub predicted: Nanoseconds,
    /// How it is computed.
    pub plan: Plan,
}

/// Nothing can be chosen; says why each algorithm cannot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no algorithm can compute {conv}{}: {}", within(*.limit), listed(.obstacles))]
pub struct NoChoice {
    /// The problem.
    pub conv: String,
    /// The limit on the workspace.
    pub limit: Option<Bytes>,
    /// For each algorithm the obstacle of its variant of least workspace.
    pub obstacles: Vec<(String, String)>,
}

fn within(limit: Option<Bytes>) -> String {
    limit.map_or(String::new(), |limit| format!(" within a workspace of {limit}"))
}

fn listed(obstacles: &[(String, String)]) -> String {
    let listed: Vec<String> = obstacles.iter().map(|(id, why)| format!("{id}: {why}")).collect();
    if listed.is_empty() { "there is none to choose from".to_owned() } else { listed.join("; ") }
}

/// Chooses among the variants that `algorithms` propose. Of several that would take the same time the first one listed, so of one
/// algorithm that of least workspace.
///
/// # Errors
/// [`NoChoice`] where none can compute the problem on a device of these limits within the workspace limit.
pub fn choose(
    conv: &Conv,
    algorithms: &[&'static dyn Algorithm],
    limits: &Limits,
    workspace_limit: WorkspaceLimit,
    model: &Model<'_>,
) -> Result<Choice, NoChoice> {
    let mut best: Option<Choice> = None;
    let mut obstacles = Vec::new();
    for algorithm in algorithms {
        let mut obstacle = None;
        for variant in algorithm.variants(conv, limits) {
            match candidate(conv, *algorithm, variant, limits, workspace_limit, model) {
                Ok(candidate) if best.as_ref().is_none_or(|best| candidate.predicted.0 < best.predicted.0) => best = Some(candidate),
                Ok(_) => {}
                Err(why) => obstacle = obstacle.or(Some(why)),
            }
        }
        obstacles.extend(obstacle.map(|why| (algorithm.id().to_owned(), why)));
    }
    best.ok_or_else(|| NoChoice { conv: conv.to_string(), limit: workspace_limit, obstacles })
}

fn candidate(
    conv: &Conv,
    algorithm: &'static dyn Algorithm,
    variant: Variant,
    limits: &Limits,
    workspace_limit: WorkspaceLimit,
    model: &Model<'_>,
) -> Result<Choice, String> {
    let sum = algorithm.workspace(conv, &variant).map_err(|why| why.to_string())?;
    let plan = algorithm.plan(conv, &variant, limits);
    // The plan knows what shares memory; where there is none the sum bounds what it would take.
    let workspace = plan.as_ref().map_or(sum, Plan::arena_bytes);
    if let Some(limit) = workspace_limit.filter(|limit| workspace > *limit) {
        return Err(format!("workspace {workspace} > workspace limit {limit}"));
    }
    let plan = plan.map_err(|why| why.to_string())?;
    let predicted = model.plan(&plan, conv.element());
    Ok(Choice { algorithm: algorithm.id(), variant, workspace, predicted, plan })
}
