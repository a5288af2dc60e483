//! The table of all rows, and the rows that are not `ok` with their reasons.

use super::name::{Name, exact_bytes, exact_time, full, layer_name};
use crate::record::{Measurement, Status};
use crate::units::{Bytes, Nanoseconds};
use serde::Serialize;

/// Characters of a reason.
const REASON: usize = 2000;

/// A cell with the value it is sorted by; empty where nothing was measured.
#[derive(Serialize, Default)]
struct Number {
    text: String,
    exact: String,
    value: Option<f64>,
}

/// A row of the table.
#[derive(Serialize)]
pub(super) struct Row {
    layer: Name,
    conv: String,
    algorithm: String,
    variant: String,
    status: &'static str,
    reason: Name,
    time: Number,
    workspace: Number,
    tensors: Number,
    gflops: Number,
    utilisation: Number,
    error: Number,
    tuning: Name,
    noise: Name,
}

/// The rows of one status, told below the tables.
#[derive(Serialize)]
pub(super) struct Ended {
    status: &'static str,
    meaning: &'static str,
    failed: bool,
    rows: Vec<Reason>,
}

#[derive(Serialize)]
struct Reason {
    layer: Name,
    conv: String,
    algorithm: String,
    variant: String,
    why: String,
}

fn bytes(count: Option<u64>) -> Number {
    count.map_or_else(Number::default, |count| Number {
        text: format!("{:#}", Bytes(count)),
        exact: exact_bytes(Bytes(count)),
        value: Some(count as f64),
    })
}

fn plain(value: Option<f64>, text: impl Fn(f64) -> String) -> Number {
    value.map_or_else(Number::default, |value| Number { text: text(value), exact: String::new(), value: Some(value) })
}

impl Row {
    pub(super) fn of(row: &Measurement, many_suites: bool) -> Self {
        let case = &row.case;
        let time = row.time_median_ns.filter(|_| row.status == Status::Ok);
        Self {
            layer: Name::new(&layer_name(&case.suite, &case.layer, case.cache, many_suites)),
            conv: case.conv.to_string(),
            algorithm: case.algorithm.clone(),
            variant: case.variant.to_string(),
            status: row.status.name(),
            reason: Name::new(&row.reason),
            time: time.map_or_else(Number::default, |ns| Number {
                text: Nanoseconds(ns).to_string(),
                exact: exact_time(ns),
                value: Some(ns),
            }),
            workspace: bytes(row.computation_bytes),
            tensors: bytes(row.parameter_bytes.checked_add(row.activation_bytes)),
            gflops: plain(row.effective_gflops, |g| format!("{g:.2}")),
            utilisation: plain(row.utilisation, |u| format!("{:.1} %", u * 100.0)),
            error: plain(row.error_rel_l2.zip(row.tolerance).map(|(error, tolerance)| error / tolerance), |share| format!("{share:.3}")),
            tuning: Name::new(&row.tuning),
            noise: Name::new(&row.noise),
        }
    }
}

/// What each status but `ok` means, failures first.
const STATUSES: [(Status, &str); 9] = [
    (Status::Wrong, "the result is not right: no time is published"),
    (Status::Crashed, "the process that ran it died"),
    (Status::DeviceLost, "the driver gave the device up"),
    (Status::OutOfMemory, "the device or the host had no memory left"),
    (Status::Timeout, "it did not end in time"),
    (Status::OverLimit, "the device allows less than is needed"),
    (Status::OverBudget, "more workspace than the run allowed"),
    (Status::Skipped, "nothing to compute, or the time budget was spent"),
    (Status::Unsupported, "the algorithm is not made for this problem"),
];

pub(super) fn not_ok(rows: &[Measurement], many_suites: bool) -> Vec<Ended> {
    let of_status = |(status, meaning): (Status, &'static str)| {
        let reason = |row: &Measurement| Reason {
            layer: Name::new(&layer_name(&row.case.suite, &row.case.layer, row.case.cache, many_suites)),
            conv: row.case.conv.to_string(),
            algorithm: row.case.algorithm.clone(),
            variant: row.case.variant.to_string(),
            why: if row.reason.chars().count() > REASON { super::name::shortened(&row.reason, REASON) } else { full(&row.reason) },
        };
        let rows: Vec<Reason> = rows.iter().filter(|row| row.status == status).map(reason).collect();
        (!rows.is_empty()).then_some(Ended { status: status.name(), meaning, failed: status.is_failure(), rows })
    };
    STATUSES.into_iter().filter_map(of_status).collect()
}
