//! What is known of a case before it runs: the columns that come from closed forms and from the plan.
//!
//! The schedule makes rows of cases that do not run from a [`Prediction`], the parent those of cases whose worker died, and
//! the executor begins with it and fills in what it measured.

use crate::algorithm::Algorithm;
use crate::ledger;
use crate::plan::{BufferId, Limits, Plan, Role, Unsupported};
use crate::record::{CaseKey, CaseRows, LedgerRow, Measurement, Status};
use crate::units::{Bytes, Ops};

/// The predicted part of a case's rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The case.
    pub case: CaseKey,
    /// The plan's device-dependent choices; empty where there is no plan.
    pub tuning: String,
    /// Workspace, memory that several buffers share counted once: their sum by closed form less what sharing saves. The sum where no plan tells that;
    /// none where the algorithm is not made for the problem.
    pub computation: Option<Bytes>,
    /// Operations by closed form; none where the algorithm is not made for the problem.
    pub algorithm_operations: Option<Ops>,
    /// A row for each buffer of the plan.
    pub ledger: Vec<LedgerRow>,
}

/// Plans a case and predicts its rows. A case that is only too large for the device has its buffers and operations predicted
/// all the same: they show how far it is from fitting.
///
/// # Errors
/// The second part is why the case cannot run with these limits.
pub fn predict(case: &CaseKey, algorithm: &dyn Algorithm, limits: &Limits) -> (Prediction, Result<Plan, Unsupported>) {
    let mut prediction = Prediction::of_problem(case.clone());
    match algorithm.workspace(&case.conv, &case.variant) {
        Ok(bytes) => prediction.computation = Some(bytes),
        Err(why) => return (prediction, Err(why)),
    }
    prediction.algorithm_operations = algorithm.operations(&case.conv, &case.variant).ok();
    let plan = algorithm.plan(&case.conv, &case.variant, limits);
    match &plan {
        Ok(plan) => {
            prediction.add_buffers(plan);
            prediction.tuning.clone_from(&plan.tuning);
        }
        Err(Unsupported::Limit { .. }) => {
            let roomy = Limits {
                class: limits.class,
                storage_alignment: limits.storage_alignment,
                uniform_alignment: limits.uniform_alignment,
                ..Limits::UNLIMITED
            };
            if let Ok(plan) = algorithm.plan(&case.conv, &case.variant, &roomy) {
                prediction.add_buffers(&plan);
            }
        }
        Err(Unsupported::Problem(_) | Unsupported::Variant(_)) => {}
    }
    (prediction, plan)
}

impl Prediction {
    /// What is known without an algorithm.
    pub fn of_problem(case: CaseKey) -> Self {
        Self { case, tuning: String::new(), computation: None, algorithm_operations: None, ledger: Vec::new() }
    }

    fn add_buffers(&mut self, plan: &Plan) {
        self.ledger = ledger_rows(&self.case, plan);
        self.computation = self.computation.map(|sum| Bytes(sum.0.saturating_sub(plan.shared_bytes().0)));
    }

    /// The case's row with nothing measured.
    pub fn measurement(&self, status: Status, reason: impl Into<String>) -> Measurement {
        let conv = &self.case.conv;
        Measurement {
            case: self.case.clone(),
            tuning: self.tuning.clone(),
            status,
            reason: reason.into(),
            parameter_bytes: ledger::parameters(conv).0,
            activation_bytes: ledger::activations(conv).0,
            computation_bytes: self.computation.map(|b| b.0),
            parameter_requested_bytes: None,
            activation_requested_bytes: None,
            computation_requested_bytes: None,
            parameter_allocated_bytes: None,
            activation_allocated_bytes: None,
            computation_allocated_bytes: None,
            peak_resident_bytes: None,
            peak_accounted_bytes: None,
            flops: ledger::operations(conv).0,
            flops_without_padding: ledger::operations_without_padding(conv).0,
            algorithm_flops: self.algorithm_operations.map(|o| o.0),
            min_bytes: ledger::least_traffic(conv).0,
            clock: None,
            samples: None,
            executions_per_sample: None,
            time_median_ns: None,
            time_min_ns: None,
            time_mean_ns: None,
            time_p05_ns: None,
            time_p95_ns: None,
            time_ci95_low_ns: None,
            time_ci95_high_ns: None,
            time_preparation_ns: None,
            noise: String::new(),
            effective_gflops: None,
            utilisation: None,
            error_rel_l2: None,
            error_max_abs: None,
            tolerance: None,
            verified_points: None,
        }
    }

    /// All rows of a case of which nothing was measured.
    pub fn rows(&self, status: Status, reason: impl Into<String>) -> CaseRows {
        CaseRows { measurement: self.measurement(status, reason), ledger: self.ledger.clone(), steps: Vec::new(), samples: Vec::new() }
    }
}

/// A row for each buffer of a plan, with nothing but its prediction.
pub fn ledger_rows(case: &CaseKey, plan: &Plan) -> Vec<LedgerRow> {
    let row = |(index, buffer): (usize, &crate::plan::Buffer)| {
        let uses = match buffer.role {
            // No step binds the uniforms by hand: every step reads its own.
            Role::Uniform => plan.steps.len().checked_sub(1).map(|last| (0, last)),
            _ => plan.live_range(BufferId(index)),
        };
        LedgerRow {
            case: case.clone(),
            ledger: buffer.role.ledger(),
            buffer: buffer.name.clone(),
            role: buffer.role,
            elements: buffer.elements,
            buffer_dtype: buffer.element,
            predicted_bytes: buffer.bytes().0,
            requested_bytes: None,
            allocated_bytes: None,
            lifetime: buffer.lifetime,
            first_step: uses.map(|(first, _)| first as u64),
            last_step: uses.map(|(_, last)| last as u64),
            slot: plan.slot_of(BufferId(index)).map(|slot| slot.0 as u64),
        }
    };
    plan.buffers.iter().enumerate().map(row).collect()
}
