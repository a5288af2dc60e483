//! The rows of the four CSV files as types.
//!
//! A case is identified by its [`CaseKey`]; every row of every file carries it. What was not measured is `None` and becomes
//! an empty cell, never 0 or NaN.

use crate::algorithm::Variant;
use crate::conv::{Conv, ElementType, Layout, Pass};
use crate::device::Clock;
use crate::ledger::Ledger;
use crate::peak::Limit as StepLimit;
use crate::plan::{Lifetime, Role};
use serde::{Deserialize, Serialize};

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Verified and timed.
    Ok,
    /// The result is not right; its time is not published.
    Wrong,
    /// The algorithm is not made for this problem.
    Unsupported,
    /// The device allows less than is needed.
    OverLimit,
    /// The workspace is past the user's limit.
    OverBudget,
    /// The device or the host had no memory left.
    OutOfMemory,
    /// The case did not end in time.
    Timeout,
    /// The driver gave the device up.
    DeviceLost,
    /// The process that ran the case died.
    Crashed,
    /// There was nothing to run, or the run's time was spent before.
    Skipped,
}

impl Status {
    /// The status as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Wrong => "wrong",
            Self::Unsupported => "unsupported",
            Self::OverLimit => "over_limit",
            Self::OverBudget => "over_budget",
            Self::OutOfMemory => "out_of_memory",
            Self::Timeout => "timeout",
            Self::DeviceLost => "device_lost",
            Self::Crashed => "crashed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether the run should end with a failure because of such a row.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Wrong | Self::OutOfMemory | Self::Timeout | Self::DeviceLost | Self::Crashed)
    }
}

/// Whether executions find their inputs in the device's caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// The same buffers in every execution.
    Hot,
    /// Input sets rotate past the last-level cache.
    Cold,
}

/// What identifies a case within a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CaseKey {
    /// Name of the suite, or of the model file.
    pub suite: String,
    /// Name of the layer in it.
    pub layer: String,
    /// The problem; files hold its canonical key.
    pub conv: Conv,
    /// Id of the algorithm.
    pub algorithm: String,
    /// Setting of its knob.
    pub variant: Variant,
    /// Whether executions find their inputs in the caches.
    pub cache: Cache,
}

impl CaseKey {
    /// The pass column.
    pub fn pass(&self) -> Pass {
        self.conv.pass()
    }

    /// The layout column.
    pub fn layout(&self) -> Layout {
        self.conv.layout()
    }

    /// The dtype column.
    pub fn dtype(&self) -> ElementType {
        self.conv.element()
    }
}

/// A row of `measurements.csv`: one case, whatever became of it. Bytes and nanoseconds are plain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The case.
    pub case: CaseKey,
    /// Device-dependent choices, such as tile sizes.
    pub tuning: String,
    /// What became of it.
    pub status: Status,
    /// Why, where it is not `ok`; warnings where it is.
    pub reason: String,
    /// Parameter ledger, predicted by closed form.
    pub parameter_bytes: u64,
    /// Activation ledger, predicted by closed form.
    pub activation_bytes: u64,
    /// Computation ledger, predicted by closed form; empty where the algorithm is not made for the problem.
    pub computation_bytes: Option<u64>,
    /// Sizes given to the device, by ledger.
    pub parameter_requested_bytes: Option<u64>,
    /// See above.
    pub activation_requested_bytes: Option<u64>,
    /// See above.
    pub computation_requested_bytes: Option<u64>,
    /// What the allocator handed out, by ledger, alignment included.
    pub parameter_allocated_bytes: Option<u64>,
    /// See above.
    pub activation_allocated_bytes: Option<u64>,
    /// See above.
    pub computation_allocated_bytes: Option<u64>,
    /// The most the process held while the case executed, seen by polling: by the driver where it tells, for a software driver the resident
    /// set, the harness's own data included.
    pub peak_resident_bytes: Option<u64>,
    /// The same by accounting: what was resident before the case was loaded and what the allocator has handed out for it since.
    pub peak_accounted_bytes: Option<u64>,
    /// Operations of the direct method, taps in the padding included.
    pub flops: u64,
    /// The same without taps in the padding.
    pub flops_without_padding: u64,
    /// Operations of this algorithm.
    pub algorithm_flops: Option<u64>,
    /// Input, weights and output once each.
    pub min_bytes: u64,
    /// Which clock the times are from.
    pub clock: Option<Clock>,
    /// Number of samples.
    pub samples: Option<u64>,
    /// Executions averaged in each sample.
    pub executions_per_sample: Option<u64>,
    /// Median of the samples.
    pub time_median_ns: Option<f64>,
    /// Smallest sample.
    pub time_min_ns: Option<f64>,
    /// Mean of the samples.
    pub time_mean_ns: Option<f64>,
    /// 5th percentile.
    pub time_p05_ns: Option<f64>,
    /// 95th percentile.
    pub time_p95_ns: Option<f64>,
    /// Lower end of the 95 % interval of the median.
    pub time_ci95_low_ns: Option<f64>,
    /// Upper end of the 95 % interval of the median.
    pub time_ci95_high_ns: Option<f64>,
    /// Time of the steps that run once for given weights, such as a filter transform, and are not in the other times; `None` where there
    /// are none.
    pub time_preparation_ns: Option<f64>,
    /// What is to be said against the samples: `budget_spent`, `drift=…`, `outliers=…`, `utilisation_above_1=…`; joined by `;`.
    pub noise: String,
    /// `flops` over the median.
    pub effective_gflops: Option<f64>,
    /// Least time by the device's measured limits, summed over the steps, over the median.
    pub utilisation: Option<f64>,
    /// Relative L2 error of the verified points against the f64 reference.
    pub error_rel_l2: Option<f64>,
    /// Largest absolute error of the verified points.
    pub error_max_abs: Option<f64>,
    /// What `error_rel_l2` must not pass.
    pub tolerance: Option<f64>,
    /// How many outputs were compared.
    pub verified_points: Option<u64>,
}

/// A row of `ledger.csv`: one buffer of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// The case.
    pub case: CaseKey,
    /// Where its bytes are booked.
    pub ledger: Ledger,
    /// Its name in the plan.
    pub buffer: String,
    /// What it is to the plan.
    pub role: Role,
    /// How many elements.
    pub elements: u64,
    /// Type of its elements; the file's column is `buffer_dtype`.
    pub buffer_dtype: ElementType,
    /// Bytes by the plan.
    pub predicted_bytes: u64,
    /// Size given to the device; empty when the case did not get that far.
    pub requested_bytes: Option<u64>,
    /// What the allocator handed out; empty where the platform does not tell.
    pub allocated_bytes: Option<u64>,
    /// How long its content is good for.
    pub lifetime: Lifetime,
    /// First dispatch that uses it, counted from 0.
    pub first_step: Option<u64>,
    /// Last dispatch that uses it.
    pub last_step: Option<u64>,
    /// The memory it shares with others of the same number in its case, at other times; empty where its memory is its own. What is requested and
    /// allocated for the slot is in the row of its largest buffer, and 0 in the others.
    pub slot: Option<u64>,
}

/// A row of `steps.csv`: the dispatches of one stage of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    /// The case.
    pub case: CaseKey,
    /// Name of the stage.
    pub stage: String,
    /// Dispatches of this stage.
    pub dispatches: u64,
    /// Workgroups of all of them.
    pub workgroups: u64,
    /// Median time of the stage in one execution.
    pub time_median_ns: Option<f64>,
    /// Its share of the sum over stages.
    pub time_share: Option<f64>,
    /// Operations of the stage.
    pub flops: u64,
    /// Least bytes it moves.
    pub bytes: u64,
    /// What bounds it; empty where the device's limits were not measured.
    pub limit: Option<StepLimit>,
}

/// A row of `samples.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleRow {
    /// The case.
    pub case: CaseKey,
    /// Which clock.
    pub clock: Clock,
    /// Position in the order taken, from 0.
    pub sample: u64,
    /// Executions averaged.
    pub executions: u64,
    /// Mean time of one execution.
    pub time_ns: f64,
    /// Whether the summary set it aside as an outlier.
    pub outlier: bool,
}

/// All rows of one case; also what a worker process hands to its parent, as JSON. Numbers survive both ways exactly; only
/// one that is not finite becomes `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRows {
    /// What became of the case.
    pub measurement: Measurement,
    /// Its buffers.
    pub ledger: Vec<LedgerRow>,
    /// Its stages.
    pub steps: Vec<StepRow>,
    /// Its samples, in the order taken.
    pub samples: Vec<SampleRow>,
}
