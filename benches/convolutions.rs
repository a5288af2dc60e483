//! `cargo bench --bench convolutions`: a criterion group for each layer of a suite, a benchmark for each algorithm and variant.
//!
//! Times come from the device's clock; criterion plans its iterations by the host's. Throughput is effective: operations of the
//! direct method over the time. `CONVLEDGER_SUITE` names another suite or TOML file, `CONVLEDGER_DEVICE` another adapter,
//! `CONVLEDGER_TUNING` a tuning file. The run
//! leaves the same files as `convledger run` in `results/`, or in the folder that `CONVLEDGER_OUT` names.

use convledger::algorithm::ALGORITHMS;
use convledger::device::{Adapter, Gpu, choose};
use convledger::measure::{Measured, Sampler};
use convledger::peak::Peaks;
use convledger::plan::TuningFile;
use convledger::record::{self, Cache, CaseRows, Environment, RunDirectory, Status, default_directory};
use convledger::runner::{DeviceExecutor, Execute, Hello, Planned, Prediction, Request, Selection, schedule};
use convledger::stats::Decision;
use convledger::suite::Suite;
use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Inputs are the same in every run, so that baselines compare like with like.
const SEED: u64 = 1;
const SAMPLES: usize = 10;
/// What timing the stages may take of a fifth of this.
const STAGE_BUDGET: Duration = Duration::from_millis(500);
/// What measuring the device's own limits may take of samples.
const LIMITS_BUDGET: Duration = Duration::from_secs(1);

/// Nanoseconds of the device's clock.
struct DeviceTime;

impl Measurement for DeviceTime {
    type Intermediate = Instant;
    type Value = f64;

    fn start(&self) -> Instant {
        Instant::now()
    }

    fn end(&self, start: Instant) -> f64 {
        start.elapsed().as_secs_f64() * 1e9
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Format
    }
}

/// Times in ns to s, throughput in MFLOP/s to TFLOP/s.
struct Format;

impl ValueFormatter for Format {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (scale, unit) = match typical {
            t if t < 1e3 => (1.0, "ns"),
            t if t < 1e6 => (1e-3, "µs"),
            t if t < 1e9 => (1e-6, "ms"),
            _ => (1e-9, "s"),
        };
        for value in values {
            *value *= scale;
        }
        unit
    }

    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let Throughput::Elements(operations) = *throughput else { return self.scale_values(typical, values) };
        let per_nanosecond = operations as f64 / typical;
        let (scale, unit) = match per_nanosecond {
            g if g < 1.0 => (1e3, "MFLOP/s"),
            g if g < 1e3 => (1.0, "GFLOP/s"),
            _ => (1e-3, "TFLOP/s"),
        };
        for value in values {
            *value = operations as f64 / *value * scale;
        }
        unit
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "ns"
    }
}

/// The samples criterion took: the last calls of equal iterations; those before were its warm-up.
#[derive(Default)]
struct Calls(Vec<(u64, f64)>);

impl Calls {
    fn measured(&self) -> Option<Measured> {
        let &(iterations, _) = self.0.last()?;
        let tail = self.0.iter().rev().take_while(|(n, _)| *n == iterations).map(|&(n, ns)| ns / n as f64);
        let mut samples: Vec<f64> = tail.collect();
        samples.reverse();
        Some(Measured { samples, executions: u32::try_from(iterations).unwrap_or(u32::MAX), decision: Decision::MaxSamples })
    }
}

/// Benchmarks one case; its rows, unless a filter left it out.
fn bench_case(group: &mut BenchmarkGroup<DeviceTime>, executor: &mut DeviceExecutor, prediction: &Prediction) -> Option<CaseRows> {
    let case = &prediction.case;
    let id = BenchmarkId::from_parameter(case.variant.qualify(&case.algorithm));
    let mut calls = Calls::default();
    let mut executor = Some(executor);
    let mut prepared = None;
    let mut failed = None;
    // Criterion knows no case that fails: a panic takes it out of the report, so that no time is shown for it, and its row says why.
    let benched = catch_unwind(AssertUnwindSafe(|| {
        group.bench_function(id, |bencher| {
            // Verified once, at the first call: a filter may leave the case out.
            if let Some(executor) = executor.take() {
                match executor.prepare(case, SEED, &mut |_| ()) {
                    Ok(ready) => prepared = Some(ready),
                    Err(ended) => failed = Some(ended.rows),
                }
            }
            let Some(sampler) = &mut prepared else { panic!("the case failed") };
            bencher.iter_custom(|iterations| match sampler.sample(u32::try_from(iterations).unwrap_or(u32::MAX)) {
                Ok(time) => {
                    calls.0.push((iterations, time.0));
                    time.0
                }
                Err(error) => {
                    failed = Some(prediction.rows(Status::Crashed, error.to_string()));
                    panic!("the case failed");
                }
            });
        });
    }));
    if benched.is_err() {
        return failed;
    }
    match (prepared, calls.measured()) {
        (Some(prepared), Some(measured)) => Some(prepared.finish(&measured, STAGE_BUDGET).rows),
        _ => failed,
    }
}

/// Begins the files of this run once there is something to write.
fn begin(hello: &Hello, peaks: Option<&Peaks>) -> RunDirectory {
    let settings = record::Settings { time_budget_s: None, timeout_s: None, workspace_limit_bytes: None, caches: vec![Cache::Hot] };
    let Hello { identity, limits, features, clock, resident_source, notes } = hello.clone();
    let mut environment = Environment::gather(identity, limits, features, clock, SEED, settings);
    environment.notes.extend(notes);
    environment.resident_source = resident_source;
    environment.peaks = peaks.cloned();
    environment.tuning_file = std::env::var_os("CONVLEDGER_TUNING").map(|path| path.to_string_lossy().into_owned());
    let date = environment.started.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
    // Cargo runs benches in the package's folder.
    let fallback = || default_directory(Path::new("results"), &format!("{}-bench", hello.identity.name), date);
    let path = std::env::var_os("CONVLEDGER_OUT").map_or_else(fallback, PathBuf::from);
    RunDirectory::create(&path, &environment).unwrap_or_else(|error| fail(&error.to_string()))
}

fn fail(message: &str) -> ! {
    eprintln!("convolutions: {message}");
    std::process::exit(2)
}

fn main() {
    let suite = std::env::var("CONVLEDGER_SUITE").unwrap_or_else(|_| "default".into());
    let suite = Suite::load(&suite).unwrap_or_else(|error| fail(&error.to_string()));
    let selector = std::env::var("CONVLEDGER_DEVICE").ok();
    let tuning = std::env::var_os("CONVLEDGER_TUNING").map(|path| TuningFile::read(Path::new(&path)));
    let tuning = tuning.transpose().unwrap_or_else(|error| fail(&error.to_string()));
    let tuned = |adapter: Adapter| tuning.iter().fold(adapter, Adapter::tuned);
    let gpu = choose(selector.as_deref()).map(tuned).and_then(Gpu::open).unwrap_or_else(|error| fail(&error.to_string()));
    let limits = gpu.limits.clone();
    let mut executor = DeviceExecutor::new(gpu);
    let hello = executor.hello();
    let testing = std::env::args().any(|argument| argument == "--test" || argument == "--list");

    // The rows' utilisation is against these; without them it stays empty.
    let peaks = if testing { None } else { executor.measure_limits(LIMITS_BUDGET).map_err(|error| eprintln!("{error}")).ok() };

    let planned = schedule(&Request {
        suites: std::slice::from_ref(&suite),
        algorithms: ALGORITHMS,
        selection: &Selection::all(),
        limits: &limits,
        caches: &[Cache::Hot],
        workspace_limit: None,
    })
    .unwrap_or_else(|error| fail(&error.to_string()));

    let mut criterion = Criterion::default()
        .with_measurement(DeviceTime)
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let mut directory = None;
    let mut wrong = 0;
    for layer in &suite.layers {
        let mut group = criterion.benchmark_group(&layer.name);
        group.sampling_mode(SamplingMode::Flat);
        group.throughput(Throughput::Elements(convledger::ledger::operations(&layer.conv).0));
        for planned in planned.iter().filter(|p| p.case().layer == layer.name) {
            let rows = match planned {
                Planned::Run(prediction) => bench_case(&mut group, &mut executor, prediction),
                Planned::Row(rows) => Some((**rows).clone()),
            };
            let Some(rows) = rows else { continue };
            if rows.measurement.status.is_failure() {
                eprintln!("{}: {}", rows.measurement.status.name(), rows.measurement.reason);
                wrong += 1;
            }
            if !testing {
                let directory = directory.get_or_insert_with(|| begin(&hello, peaks.as_ref()));
                directory.append(&rows).unwrap_or_else(|error| fail(&error.to_string()));
            }
        }
        group.finish();
    }
    criterion.final_summary();
    if let Some(directory) = directory {
        eprintln!("files: {}", directory.path().display());
    }
    if wrong > 0 {
        fail(&format!("{wrong} cases failed"));
    }
}
