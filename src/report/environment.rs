//! Where and how the run was made, as names and values.

use crate::record::{Environment, Expense};
use crate::units::{Bytes, Nanoseconds};

/// Name and value, in the order told; what is not known is left out.
pub fn facts(environment: &Environment) -> Vec<(String, String)> {
    let e = environment;
    let words = |parts: &[Option<&str>]| {
        let words = parts.iter().copied().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        (!words.is_empty()).then_some(words)
    };
    let peaks = e.peaks.as_ref();
    let gigabytes = |rate: f64| format!("{:.2} GB/s", rate / 1e9);
    let cores = e.cpu_cores.map(|cores| format!("({cores} cores)"));
    let settings = &e.settings;
    let seconds = |seconds: f64| Nanoseconds(seconds * 1e9).to_string();
    let caches = settings.caches.iter().map(|cache| format!("{cache:?}").to_lowercase()).collect::<Vec<_>>().join(", ");
    let list = [
        ("run", Some(e.run_id.clone())),
        ("started", Some(e.started.to_string())),
        ("resumed", words(&[Some(&e.resumed.iter().map(|r| r.at.to_string()).collect::<Vec<_>>().join(", "))])),
        ("device", Some(e.device.name.clone())),
        ("backend", Some(e.device.backend.clone())),
        ("driver", words(&[Some(&e.device.driver), Some(&e.device.driver_info)])),
        ("π, multiply-adds in f32", peaks.map(|p| format!("{:.1} GFLOP/s: {}", p.multiply_add_f32.gflops, p.multiply_add_f32.how))),
        (
            "π, multiply-adds in f16",
            peaks.and_then(|p| p.multiply_add_f16.as_ref()).map(|rate| format!("{:.1} GFLOP/s: {}", rate.gflops, rate.how)),
        ),
        ("β, copy in memory", peaks.map(|p| format!("{}: {}", gigabytes(p.memory_copy.bytes_per_second), p.memory_copy.how))),
        ("workgroup memory, reads", peaks.and_then(|p| p.workgroup_read.as_ref()).map(|rate| gigabytes(rate.bytes_per_second))),
        ("an empty dispatch", peaks.map(|p| Nanoseconds(p.dispatch.ns).to_string())),
        ("clock", Some(clock(e))),
        ("largest buffer", Some(Bytes(e.limits.max_buffer_bytes).to_string())),
        ("largest storage binding", Some(Bytes(e.limits.max_storage_binding_bytes).to_string())),
        ("workgroup memory", Some(Bytes(e.limits.max_workgroup_bytes.into()).to_string())),
        ("operating system", words(&[e.os.as_deref(), e.os_version.as_deref()])),
        ("kernel", e.kernel_version.clone()),
        ("processor", words(&[e.cpu.as_deref(), cores.as_deref()])),
        ("host memory", e.host_memory_bytes.map(|bytes| format!("{:#}", Bytes(bytes)))),
        ("convledger", words(&[Some(&e.version), e.git_commit.as_deref()])),
        ("command line", words(&[Some(&e.command_line.join(" "))])),
        ("seed", Some(e.seed.to_string())),
        ("time budget", settings.time_budget_s.map(seconds)),
        ("timeout of a case", settings.timeout_s.map(seconds)),
        ("workspace limit", settings.workspace_limit_bytes.map(|bytes| Bytes(bytes).to_string())),
        ("caches", words(&[Some(&caches)])),
        ("tuning file", e.tuning_file.clone()),
        ("resident is told by", e.resident_source.map(|source| source.to_string())),
        ("time spent", e.expense.as_ref().map(spent)),
        ("features", words(&[Some(&e.features.join(", "))])),
    ];
    let known = list.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.chain(e.notes.iter().map(|(columns, why)| (format!("empty: {columns}"), why.clone()))).collect()
}

fn clock(environment: &Environment) -> String {
    let clock = &environment.clock;
    let known = [
        ("resolution", Some(clock.resolution_ns)),
        ("reading it", clock.timer_overhead_ns),
        ("an empty dispatch", Some(clock.dispatch_overhead_ns)),
    ];
    let name = serde_json::to_value(clock.clock).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default();
    known.into_iter().fold(name, |text, (what, ns)| match ns {
        Some(ns) => format!("{text}, {what} {}", Nanoseconds(ns)),
        None => text,
    })
}

fn spent(expense: &Expense) -> String {
    let seconds = |seconds: f64| Nanoseconds(seconds * 1e9).to_string();
    format!(
        "{}: device {}, verification {}, compiler {}",
        seconds(expense.wall_s),
        seconds(expense.device_s),
        seconds(expense.verification_s),
        seconds(expense.compiler_s)
    )
}
