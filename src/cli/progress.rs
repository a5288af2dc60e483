//! Progress: a bar on a terminal, a line a case otherwise.

use super::note;
use crate::algorithm::Variant;
use crate::record::{Cache, CaseKey, Measurement, Status};
use crate::runner::{Event, Observer};
use crate::units::{Bytes, Nanoseconds};
use indicatif::{ProgressBar, ProgressStyle};

/// What the numbers to come depend on; told once a run has begun, the device's limits as soon as they are measured.
pub(super) struct Heading {
    pub(super) seed: u64,
}

impl Observer for Heading {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Started { hello, .. } = event {
            let device = &hello.identity;
            let driver = format!("{} {}", device.driver, device.driver_info);
            note(format!("device   {} ({}, {})\nseed     {}", device.name, device.backend, driver.trim(), self.seed));
        }
        if let Event::Limits { peaks: Ok(peaks) } = event {
            let (compute, memory) = (peaks.multiply_add_f32.gflops, peaks.memory_bandwidth());
            note(format!("limits   {compute:.1} GFLOP/s in f32, {memory:.2} GB/s from memory, as measured"));
        }
    }
}

/// A bar with the case in flight; what failed stays above it.
#[derive(Default)]
pub(super) struct Bar(Option<ProgressBar>);

impl Observer for Bar {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { total, recorded, .. } => {
                let bar = ProgressBar::new(*total as u64);
                if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
                    bar.set_style(style);
                }
                if *recorded > 0 {
                    bar.println(resumed(*recorded));
                }
                self.0 = Some(bar);
            }
            Event::Phase { case, phase } => self.with(|bar| bar.set_message(format!("{} {phase}", title(case)))),
            // The death of one with a case is told by the case's line.
            Event::WorkerDied { case: None, death } => self.with(|bar| bar.println(format!("worker died: {death}"))),
            Event::CaseEnded { rows, .. } => self.with(|bar| {
                if rows.measurement.status.is_failure() {
                    bar.println(line(&rows.measurement));
                }
                bar.inc(1);
            }),
            Event::Finished { .. } => self.with(ProgressBar::finish_and_clear),
            Event::Limits { peaks: Err(reason) } => self.with(|bar| bar.println(without_limits(reason))),
            Event::Limits { .. } | Event::WorkerDied { .. } | Event::CaseStarted { .. } => {}
        }
    }
}

impl Bar {
    fn with(&self, action: impl FnOnce(&ProgressBar)) {
        if let Some(bar) = &self.0 {
            action(bar);
        }
    }
}

/// A line for each case as it ends.
#[derive(Default)]
pub(super) struct Lines {}

impl Observer for Lines {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { recorded, .. } if *recorded > 0 => note(resumed(*recorded)),
            Event::WorkerDied { case: None, death } => note(format!("worker died: {death}")),
            Event::Limits { peaks: Err(reason) } => note(without_limits(reason)),
            Event::CaseEnded { index, total, rows } => note(format!("[{}/{total}] {}", index + 1, line(&rows.measurement))),
            _ => {}
        }
    }
}

fn without_limits(reason: &str) -> String {
    format!("utilisation stays empty: {reason}")
}

fn resumed(recorded: usize) -> String {
    format!("resumed; cases recorded already: {recorded}")
}

fn title(case: &CaseKey) -> String {
    let cache = if case.cache == Cache::Cold { " cold" } else { "" };
    format!("{} {}{cache}", case.layer, Variant::qualify(&case.variant, &case.algorithm))
}

fn line(row: &Measurement) -> String {
    let title = title(&row.case);
    match (row.status, row.time_median_ns) {
        (Status::Ok, Some(time)) => {
            let workspace = row.computation_bytes.map_or(String::new(), |b| format!(", workspace {:#}", Bytes(b)));
            let noise = if row.noise.is_empty() { String::new() } else { format!("  [{}]", row.noise) };
            format!("{title}: {}{workspace}{noise}", Nanoseconds(time))
        }
        (status, _) => format!("{title}: {}: {}", status.name(), row.reason),
    }
}
