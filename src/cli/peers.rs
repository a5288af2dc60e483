//! `convledger peers`: this program's times beside those of others, from the files alone.

use super::{Outcome, note, print, read_run};
use crate::analysis::peers::{
    Comparison, LayerComparison, Merged, PeerRow, PeersError, Statistic, compare, merge, read_rows, rows_of_runs, write_rows,
};
use crate::record::Measurement;
use crate::suite::{Suite, layer_columns};
use anyhow::{Context, bail};
use std::collections::HashSet;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folders of runs on one device, each a pass over the same layers
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,

    /// Rows of other programs, as `run --format peers` prints them; may be given several times, once for each pass
    #[arg(long, value_name = "FILE.csv", required = true)]
    against: Vec<PathBuf>,

    /// Which of several passes counts, on both sides
    #[arg(long, value_name = "PASS", default_value = "best")]
    of: Of,

    /// Most GFLOP/s of the device, in place of what the runs measured
    #[arg(long, value_name = "GFLOP/S", value_parser = rate, allow_hyphen_values = true)]
    peak: Option<f64>,

    /// How to print
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Of {
    /// The fastest: what else the machine does only ever adds time
    Best,
    /// The middle one
    Median,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A table of the layers
    Markdown,
    /// Every program's row for every layer, as CSV of the same columns and `noise`
    Peers,
}

/// A rate that something can be a share of.
fn rate(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&rate: &f64| rate.is_finite() && rate > 0.0).ok_or_else(|| format!("'{text}' is not a positive number"))
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let theirs = args.against.iter().map(|path| read_rows(path)).collect::<Result<Vec<_>, _>>()?;
    let runs = args.runs.iter().map(|path| read_run(path)).collect::<Result<Vec<_>, _>>()?;
    let (mut rows, measured) = rows_of_runs(&runs)?;
    if rows.is_empty() {
        let first = args.runs.first().map_or(String::new(), |path| path.display().to_string());
        bail!("{first}: no measured case that compares: peers' rows are of 2-D convolutions with hot caches");
    }
    let ours = rows.len();
    // Should a file hold rows of this program, the runs are the better source.
    rows.extend(theirs.into_iter().flatten().filter(|row| row.ours().is_none()));
    let (here, others) = rows.split_at(ours);
    caution(here, others);
    let statistic = match args.of {
        Of::Best => Statistic::Best,
        Of::Median => Statistic::Median,
    };
    let merged = merge(&rows, statistic)?;
    print(&match args.format {
        Format::Markdown => markdown(&compare(&merged, args.peak.or(measured)), statistic),
        Format::Peers => write_rows(&merged.into_iter().map(|merged| merged.row).collect::<Vec<_>>(), true)?,
    })?;
    Ok(Outcome::Good)
}

/// What `run --format peers` has no columns for is told before anything is run.
pub(super) fn can_have(suites: &[Suite], hot: bool) -> anyhow::Result<()> {
    if !hot {
        bail!("--format peers: its rows do not tell hot caches from cold ones; leave --cache at hot");
    }
    let mut names = HashSet::new();
    for layer in suites.iter().flat_map(|suite| &suite.layers) {
        if layer_columns(&layer.conv).is_none() {
            return Err(PeersError::Inexpressible { layer: layer.name.clone(), conv: layer.conv.to_string() }).context("--format peers");
        }
        if !names.insert(&layer.name) {
            bail!("--format peers: layer '{}' comes up in two suites, which its rows do not tell apart", layer.name);
        }
    }
    Ok(())
}

/// The rows of `run --format peers`.
pub(super) fn rows(measurements: &[Measurement], device: &str) -> anyhow::Result<String> {
    let rows: Vec<PeerRow> = measurements.iter().filter_map(|row| PeerRow::of(row, env!("CARGO_PKG_VERSION"), device)).collect();
    Ok(write_rows(&rows, false)?)
}

/// Tells what makes the two sides of different kinds.
fn caution(ours: &[PeerRow], theirs: &[PeerRow]) {
    let Some(device) = ours.first().map(|row| row.device.to_lowercase()) else { return };
    let alike = |other: &str| device.contains(other) || other.contains(&device);
    if let Some(row) = theirs.iter().find(|row| row.is_gpu() && !alike(&row.device.to_lowercase())) {
        note(format!("caution: {} ran on '{}', this program on '{}'", row.peer, row.device, ours[0].device));
    }
}

/// The layers down, both sides across, and what they amount to below.
fn markdown(comparison: &Comparison, statistic: Statistic) -> String {
    let mut text = "| layer | fastest here | GFLOP/s | spread | share of π | fastest GPU peer | GFLOP/s | spread | ratio |\n".to_owned();
    text += "|---|---|--:|--:|--:|---|--:|--:|--:|\n";
    for layer in &comparison.layers {
        let _ = writeln!(text, "| {} |", row(layer, comparison.peak_gflops).join(" | "));
    }
    let ratios: Vec<f64> = comparison.ratios().collect();
    if let Some(mean) = comparison.geometric_mean() {
        let ahead = ratios.iter().filter(|&&ratio| ratio > 1.0).count();
        let count = ratios.len();
        let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let _ = write!(text, "\nAhead on {ahead} of {count} layers; geometric mean of the ratios {mean:.2}, least {worst:.2}.");
    } else {
        text += "\nNo layer has a time on both sides.";
    }
    let passes = |side: fn(&LayerComparison) -> &Option<Merged>| {
        comparison.layers.iter().filter_map(|layer| side(layer).as_ref()).map(|m| m.passes).max().unwrap_or(0)
    };
    let (ours, theirs) = (passes(|layer| &layer.ours), passes(|layer| &layer.theirs));
    let word = match statistic {
        Statistic::Best => "Best",
        Statistic::Median => "Middle",
    };
    let plural = |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let _ = write!(text, " {word} of {} here, of {} of theirs.", plural(ours, "run"), plural(theirs, "row"));
    if let Some(peak) = comparison.peak_gflops {
        let _ = write!(text, " π is {} GFLOP/s.", three_digits(peak));
    }
    text + "\n"
}

fn row(layer: &LayerComparison, peak: Option<f64>) -> Vec<String> {
    let dash = || "-".to_owned();
    let side = |merged: &Option<Merged>, name: fn(&PeerRow) -> String| match merged {
        None => [dash(), dash(), dash()],
        Some(merged) => {
            let spread = merged.spread.map_or_else(dash, |spread| format!("{spread:.2}"));
            [name(&merged.row), three_digits(merged.row.gflops()), spread]
        }
    };
    let ours = side(&layer.ours, |row| format!("`{}`", row.ours().unwrap_or_default()));
    let theirs = side(&layer.theirs, |row| cell(&row.peer));
    let share = peak.and_then(|peak| layer.share_of_peak(peak)).map_or_else(dash, |share| format!("{:.0} %", share * 100.0));
    let ratio = layer.ratio().map_or_else(dash, |ratio| format!("{ratio:.2}"));
    [vec![cell(&layer.layer)], ours.to_vec(), vec![share], theirs.to_vec(), vec![ratio]].concat()
}

/// A text that ends no cell and begins no markup.
fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '`' | '\\' | '*' | '[' | ']' => safe.extend(['\\', c]),
            '<' => safe += "&lt;",
            '&' => safe += "&amp;",
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

fn three_digits(x: f64) -> String {
    let decimals = if x < 9.995 { 2 } else { usize::from(x < 99.95) };
    format!("{x:.decimals$}")
}
