//! Random rows, and plain ones.

use super::*;
use crate::algorithm::Variant;
use crate::conv::tests::any_conv;
use crate::conv::{Conv, ElementType};
use crate::ledger::Ledger;
use crate::plan::{Lifetime, Role};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// A case of the layer `name` with two buffers, a stage and two samples.
pub(super) fn case_rows(name: &str, status: Status) -> CaseRows {
    let case = CaseKey {
        suite: "resnet".into(),
        layer: name.into(),
        conv: "n1c64h56w56_k128r3s3_s2_p0:1".parse().expect("key"),
        algorithm: "im2col".into(),
        variant: Variant::knob("strip", 8),
        cache: Cache::Hot,
    };
    let buffer = |buffer: &str, ledger, role, dtype| LedgerRow {
        case: case.clone(),
        ledger,
        buffer: buffer.into(),
        role,
        elements: 64,
        buffer_dtype: dtype,
        predicted_bytes: 256,
        requested_bytes: Some(256),
        allocated_bytes: None,
        lifetime: Lifetime::Call,
        first_step: Some(0),
        last_step: Some(0),
        slot: None,
    };
    let sample = |sample, time_ns| SampleRow { case: case.clone(), clock: Clock::Host, sample, executions: 3, time_ns, outlier: false };
    CaseRows {
        ledger: vec![
            buffer("columns", Ledger::Computation, Role::Workspace, ElementType::F32),
            buffer("table", Ledger::Runtime, Role::Uniform, ElementType::U32),
        ],
        steps: vec![StepRow {
            case: case.clone(),
            stage: "gemm".into(),
            dispatches: 1,
            workgroups: 49,
            time_median_ns: Some(1234.5),
            time_share: None,
            flops: 2,
            bytes: 4,
            limit: None,
        }],
        samples: vec![sample(0, 1234.5), sample(1, -0.25)],
        measurement: Measurement {
            status,
            ..measurement(case, [Some(12.5); 11], [Some(7); 13], [String::new(), String::new(), String::new()])
        },
    }
}

/// A measurement whose numbers are dealt out in order.
fn measurement(case: CaseKey, f: [Option<f64>; 11], u: [Option<u64>; 13], [tuning, reason, noise]: [String; 3]) -> Measurement {
    Measurement {
        case,
        tuning,
        status: Status::Ok,
        reason,
        parameter_bytes: 1,
        activation_bytes: u64::MAX,
        computation_bytes: u[0],
        parameter_requested_bytes: u[1],
        activation_requested_bytes: u[2],
        computation_requested_bytes: u[3],
        parameter_allocated_bytes: u[4],
        activation_allocated_bytes: u[5],
        computation_allocated_bytes: u[6],
        peak_resident_bytes: u[7],
        peak_accounted_bytes: u[12],
        flops: 2,
        flops_without_padding: 3,
        algorithm_flops: u[8],
        min_bytes: 4,
        clock: Some(Clock::GpuTimestamp),
        samples: u[9],
        executions_per_sample: u[10],
        time_median_ns: f[0],
        time_min_ns: f[1],
        time_mean_ns: f[2],
        time_p05_ns: f[3],
        time_p95_ns: f[4],
        time_ci95_low_ns: f[5],
        time_ci95_high_ns: f[6],
        time_preparation_ns: f[5],
        noise,
        effective_gflops: f[7],
        utilisation: None,
        error_rel_l2: f[8],
        error_max_abs: f[9],
        tolerance: f[10],
        verified_points: u[11],
    }
}

/// Names of every kind that has broken a CSV file or a spreadsheet.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["=cmd|' /C calc'!A0", "@SUM(A1)", "-1", "+1", "'=1", "''", "'plain", "a,b", "a\"b", "two\r\nlines", "层-é-🦀", ""])
            .prop_map(str::to_owned),
        "[=+@'\t\r\n,\" a-]{0,8}",
        any::<String>(),
        Just("x".repeat(10_000)),
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("finite", |value| value.is_finite()), -1e6..1e6, select(vec![0.0, 5e-324, f64::MAX, 1.0 / 3.0])]
}

fn any_case() -> impl Strategy<Value = CaseKey> {
    let element = select(vec![ElementType::F32, ElementType::F16]);
    let conv = (any_conv(), element).prop_map(|(conv, element): (Conv, _)| conv.with_element(element).expect("small"));
    let variant = prop_oneof![Just(Variant::none()), Just(Variant::word("batch")), any::<u64>().prop_map(|n| Variant::knob("strip", n))];
    (any_text(), any_text(), conv, any_text(), variant, select(vec![Cache::Hot, Cache::Cold]))
        .prop_map(|(suite, layer, conv, algorithm, variant, cache)| CaseKey { suite, layer, conv, algorithm, variant, cache })
}

fn any_buffer(case: CaseKey) -> impl Strategy<Value = LedgerRow> {
    let ledger = select(vec![Ledger::Parameter, Ledger::Activation, Ledger::Computation, Ledger::Runtime]);
    let role = select(vec![Role::Input, Role::Weights, Role::Bias, Role::Output, Role::Workspace, Role::Uniform]);
    let lifetime = select(vec![Lifetime::Call, Lifetime::Cached]);
    let dtype = select(vec![ElementType::F32, ElementType::F16, ElementType::I8, ElementType::I32, ElementType::U32]);
    let optional = vec(option::of(any::<u64>()), 5);
    (ledger, any_text(), role, dtype, lifetime, any::<u64>(), optional).prop_map(
        move |(ledger, buffer, role, buffer_dtype, lifetime, elements, optional)| LedgerRow {
            case: case.clone(),
            ledger,
            buffer,
            role,
            elements,
            buffer_dtype,
            predicted_bytes: elements,
            requested_bytes: optional[0],
            allocated_bytes: optional[1],
            lifetime,
            first_step: optional[2],
            last_step: optional[3],
            slot: optional[4],
        },
    )
}

fn any_step(case: CaseKey) -> impl Strategy<Value = StepRow> {
    let limit = select(vec![None, Some(StepLimit::Compute), Some(StepLimit::Bandwidth)]);
    (any_text(), any::<u64>(), option::of(finite()), option::of(finite()), limit).prop_map(
        move |(stage, count, time_median_ns, time_share, limit)| StepRow {
            case: case.clone(),
            stage,
            dispatches: count,
            workgroups: count,
            time_median_ns,
            time_share,
            flops: count,
            bytes: count,
            limit,
        },
    )
}

fn any_sample(case: CaseKey) -> impl Strategy<Value = SampleRow> {
    (select(vec![Clock::Host, Clock::GpuTimestamp]), any::<u64>(), finite(), any::<bool>()).prop_map(
        move |(clock, count, time_ns, outlier)| SampleRow { case: case.clone(), clock, sample: count, executions: count, time_ns, outlier },
    )
}

fn any_measurement(case: CaseKey) -> impl Strategy<Value = Measurement> {
    use Status::{Crashed, DeviceLost, Ok, OutOfMemory, OverBudget, OverLimit, Timeout, Unsupported, Wrong};
    let status = select(vec![Ok, Wrong, Unsupported, OverLimit, OverBudget, OutOfMemory, Timeout, DeviceLost, Crashed]);
    let clock = select(vec![None, Some(Clock::Host), Some(Clock::GpuTimestamp)]);
    let numbers = (proptest::array::uniform11(option::of(finite())), proptest::array::uniform13(option::of(any::<u64>())));
    (numbers, proptest::array::uniform3(any_text()), status, clock).prop_map(move |((mut f, u), texts, status, clock)| {
        // A reader takes no time of 0 or less, and none of years.
        f[..5].iter_mut().flatten().for_each(|time| *time = time.abs().clamp(1e-3, 1e15));
        Measurement { status, clock, ..measurement(case.clone(), f, u, texts) }
    })
}

/// Any rows of one case.
pub(super) fn any_rows() -> impl Strategy<Value = CaseRows> {
    any_case().prop_flat_map(|case| {
        let details = (vec(any_buffer(case.clone()), 0..4), vec(any_step(case.clone()), 0..3), vec(any_sample(case.clone()), 0..5));
        (any_measurement(case), details).prop_map(|(measurement, (ledger, steps, samples))| CaseRows {
            measurement,
            ledger,
            steps,
            samples,
        })
    })
}
