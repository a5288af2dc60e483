//! `convledger peak`: the device's own limits, measured with kernels of ours.

use super::run::duration;
use super::table::{lines, table};
use super::{Outcome, print};
use crate::device::{Clock, ClockFacts, Gpu, Identity, choose};
use crate::peak::{Peaks, measure};
use crate::units::{Bytes, Nanoseconds};
use serde::Serialize;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    /// Time for samples, such as 20s; the longer, the surer that nothing passes what is found
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true, default_value = "5s")]
    time_budget: Duration,

    /// How the limits are printed
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// What `run` writes to `environment.json`, with the device and its clock
    Json,
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Report<'a> {
    device: &'a Identity,
    clock: ClockFacts,
    peaks: &'a Peaks,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let gpu = choose(args.device.as_deref()).and_then(Gpu::open)?;
    let peaks = measure(&gpu, args.time_budget)?;
    let report = Report { device: &gpu.identity, clock: gpu.clock(), peaks: &peaks };
    print(&match args.format {
        Format::Json => serde_json::to_string_pretty(&report)? + "\n",
        Format::Table => text(&report),
    })?;
    Ok(Outcome::Good)
}

fn text(Report { device, clock, peaks }: &Report<'_>) -> String {
    let arithmetic = |gflops: f64| if gflops < 1e4 { format!("{gflops:.1} GFLOP/s") } else { format!("{:.2} TFLOP/s", gflops / 1e3) };
    let bytes = |rate: f64| format!("{:.2} GB/s", rate / 1e9);
    let row = |limit: String, value: String, how: &str| vec![limit, value, how.to_owned()];
    let mut rows = vec![row("multiply-add, f32 (π)".into(), arithmetic(peaks.multiply_add_f32.gflops), &peaks.multiply_add_f32.how)];
    rows.extend(peaks.multiply_add_f16.iter().map(|rate| row("multiply-add, f16".into(), arithmetic(rate.gflops), &rate.how)));
    rows.extend(peaks.copies.iter().map(|copy| {
        let beta = if *copy == peaks.memory_copy { " (β)" } else { "" };
        row(format!("copy within {:#}{beta}", Bytes(copy.working_set_bytes)), bytes(copy.bytes_per_second), &copy.how)
    }));
    rows.extend(peaks.workgroup_read.iter().map(|read| row("workgroup memory".into(), bytes(read.bytes_per_second), &read.how)));
    rows.push(row("one more empty dispatch".into(), Nanoseconds(peaks.dispatch.ns).to_string(), &peaks.dispatch.how));
    let name = if clock.clock == Clock::GpuTimestamp { "the device's timestamps" } else { "the host" };
    rows.push(row("one empty dispatch alone".into(), Nanoseconds(clock.dispatch_overhead_ns).to_string(), &format!("clock of {name}")));
    let smallest = "smallest difference between times of equal work";
    rows.push(row("resolution of the clock".into(), Nanoseconds(clock.resolution_ns).to_string(), smallest));
    let timer =
        clock.timer_overhead_ns.map(|ns| row("reading the clock".into(), Nanoseconds(ns).to_string(), "a pair of times around nothing"));
    rows.extend(timer);
    let notes: String = peaks.notes.iter().flat_map(|note| [note.as_str(), "\n"]).collect();
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!(
        "{} ({}, {})\n\n{}{gap}{notes}\nπ and β bound every `utilisation` and decide the `limit` of a stage. Measured in {:.1} s.\n",
        device.name,
        device.backend,
        format!("{} {}", device.driver, device.driver_info).trim(),
        lines(&table(&["limit", ">value", "how"], rows)),
        peaks.measured_in_s,
    )
}
