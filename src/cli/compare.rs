//! `convledger compare`: runs from different devices, drivers, versions or dates, case by case; needs no device.

mod export;
pub(super) mod markdown;
mod text;

use super::table::clean;
use super::{Outcome, note, print, read_run};
use crate::analysis::compare::{
    Case, Comparison, Difference, Doubt, Gate, Lone, Mean, Missing, Peak, Threshold, Verdict, compare, differences, geometric_mean, peaks,
};
use crate::record::{Cache, CaseKey, Run};
use anyhow::bail;
use std::fs;
use std::path::{Path, PathBuf};

const RULE: &str = "\
Each run is held against the first, the baseline. A case is the same in both when suite, layer, problem, algorithm, variant and cache agree, \
or, under other names, when the rest agrees and nothing else could be it. What differs between the runs' surroundings comes first: a driver \
or a version explains most changes.

The ratio of a case is its median time over the baseline's: above 1 it became slower. Its 95 % interval is a bootstrap over both runs' samples \
(blocks of neighbouring samples, outliers kept), or, where samples.csv is missing, made from the medians' recorded intervals; the column `from` \
tells which. With the threshold T (--threshold), and the interval widened by the drift that a row's `noise` notes, or by what repeats of the \
baseline (--repeat) differ by:

  SLOWER  all of the interval is above 1 + T
  FASTER  all of it is below 1 / (1 + T)
  SAME    all of it lies between these two
  UNSURE  anything else: a wide interval, drift, throttling, fewer than 6 samples, or times of the device's clock against the host's

The interval covers the scatter of the samples within the two runs. It does not cover what differs between runs while each is steady: another \
clock rate or temperature, other work on the machine, where buffers came to lie. On a machine that does other things two runs of the same \
program can differ in most cases. So run the baseline several times and name the other passes with --repeat: a ratio within what they differ by \
is then UNSURE. The interval of the geometric mean is over the cases.

Exit codes: 0 compared; 1 a rule of --fail-on is broken; 2 a usage error, a run that cannot be read, or runs without a common case.";

const EXAMPLES: &str = "\
Examples:
  convledger compare results/before results/after
  convledger compare baseline today --repeat baseline-2 --repeat baseline-3
  convledger compare baseline today --fail-on slower:5%,memory:1MiB,status
  convledger compare mesa-24 mesa-25 mesa-26 --format markdown > comment.md";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = after_long_help())]
pub(super) struct Args {
    /// Folders of runs: the baseline, and those to hold against it
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    runs: Vec<PathBuf>,

    /// Another pass of the baseline, with the same program on the same machine; may be given several times
    #[arg(long, value_name = "DIR")]
    repeat: Vec<PathBuf>,

    /// How far from 1 a ratio must be to count
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true)]
    threshold: Threshold,

    /// End with exit code 1 where one of these rules is broken, joined by commas: slower[:PERCENT] (a case is SLOWER), mean[:PERCENT] (all of
    /// the geometric mean's interval is), memory[:BYTES] (a ledger of a case grew by more), status (a case was ok and is not, or fails
    /// otherwise), missing (a case of the baseline is not there), unsure
    #[arg(long, value_name = "RULES", value_delimiter = ',', allow_hyphen_values = true)]
    fail_on: Vec<Gate>,

    /// Also list the cases that are the SAME, and all memory differences
    #[arg(long)]
    all: bool,

    /// How to print
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For pull requests
    Markdown,
    /// A row for each case of each run
    Csv,
    /// Everything
    Json,
}

/// A run and where it was read from.
struct Named {
    path: String,
    run: Run,
}

/// A run held against the baseline, with all that is told of it.
struct Held<'a> {
    path: &'a str,
    run: &'a Run,
    comparison: Comparison,
    differences: Vec<Difference>,
    peaks: Vec<Peak>,
    mean: Option<Mean>,
}

/// What is printed, in whichever form.
struct Report<'a> {
    baseline: &'a Named,
    held: Vec<Held<'a>>,
    threshold: Threshold,
    all: bool,
    /// Rules that are broken, each with the run it is broken by.
    failures: Vec<String>,
}

fn after_long_help() -> String {
    format!("{RULE}\n\n{EXAMPLES}")
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let read = |path: &PathBuf| Ok(Named { path: path.display().to_string(), run: read_run(path)? });
    let runs = args.runs.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let (baseline, others) = runs.split_first().map_or_else(|| bail!("no run"), Ok)?;
    let repeats = args.repeat.iter().map(|path| read_run(path)).collect::<Result<Vec<_>, _>>()?;
    let mut held = Vec::with_capacity(others.len());
    for other in others {
        let mut found = hold(baseline, other)?;
        if !repeats.is_empty() && found.comparison.allow_for(&baseline.run, &repeats) == 0 {
            bail!("--repeat {}: no timed case in common with {}", args.repeat[0].display(), baseline.path);
        }
        held.push(found);
    }
    for (held, path) in held.iter().zip(&args.runs[1..]) {
        same_run(baseline, &args.runs[0], held, path);
    }
    let many = held.len() > 1;
    let failures = held.iter().flat_map(|held| {
        let broken = args.fail_on.iter().filter_map(|gate| gate.check(&held.comparison, args.threshold));
        broken.map(move |failure| if many { format!("{}: {failure}", held.path) } else { failure.to_string() })
    });
    let failures = failures.collect();
    let report = Report { baseline, held, threshold: args.threshold, all: args.all, failures };
    print(&match args.format {
        Format::Table => text::text(&report),
        Format::Markdown => markdown::markdown(&report),
        Format::Csv => export::csv(&report)?,
        Format::Json => export::json(&report)?,
    })?;
    for failure in &report.failures {
        note(format!("convledger: --fail-on {}", clean(failure)));
    }
    Ok(if report.failures.is_empty() { Outcome::Good } else { Outcome::FellShort })
}

/// Tells where one measurement is compared with itself.
fn same_run(baseline: &Named, folder: &Path, held: &Held<'_>, path: &Path) {
    let run_id = &held.run.environment.run_id;
    let folders = [folder, path].map(|path| fs::canonicalize(path).ok());
    if folders[0] == folders[1] {
        note(format!("note: {} is the baseline's own folder: every measurement is compared with itself", clean(held.path)));
    } else if *run_id == baseline.run.environment.run_id {
        note(format!("note: {} is a copy of the baseline's run {}", clean(held.path), clean(run_id)));
    }
}

fn hold<'a>(baseline: &Named, other: &'a Named) -> anyhow::Result<Held<'a>> {
    let comparison = compare(&baseline.run, &other.run);
    if comparison.cases.is_empty() {
        bail!(
            "{} and {} have no case in common: the one has {}, the other {}",
            baseline.path,
            other.path,
            holdings(&baseline.run),
            holdings(&other.run)
        );
    }
    let mean = geometric_mean(&comparison.cases);
    let (differences, peaks) = (differences(&baseline.run, &other.run), peaks(&baseline.run, &other.run));
    Ok(Held { path: &other.path, run: &other.run, comparison, differences, peaks, mean })
}

/// What the measured limits say of the machine: on one device they should be the same.
fn caution(held: &Held<'_>, baseline: &Run, threshold: Threshold) -> Option<String> {
    let beyond = |peak: &&Peak| peak.ratio() > threshold.factor() || peak.ratio() < 1.0 / threshold.factor();
    let peak = held.peaks.iter().find(beyond).filter(|_| held.run.environment.device == baseline.environment.device)?;
    Some(format!(
        "Caution: on the same device {} came to {:.3} of what it was. The machine was in another state, or busy.",
        peak.what,
        peak.ratio()
    ))
}

/// How many cases of which suites a run has.
fn holdings(run: &Run) -> String {
    let mut suites: Vec<&str> = run.measurements.iter().map(|row| row.case.suite.as_str()).collect();
    suites.sort_unstable();
    suites.dedup();
    match run.measurements.len() {
        0 => "no case".into(),
        n => format!("{} of {}", plural(n, "case"), clean(&suites.join(", "))),
    }
}

impl Held<'_> {
    /// How many cases have which verdict, in the order of [`Verdict::ALL`].
    fn counts(&self, threshold: Threshold) -> [usize; 4] {
        let told: Vec<Verdict> = self.comparison.cases.iter().filter_map(|case| Some(case.judge(threshold)?.verdict)).collect();
        Verdict::ALL.map(|verdict| told.iter().filter(|&&v| v == verdict).count())
    }

    /// The cases with both times, those that changed first, the most changed of each verdict first.
    fn ranked(&self, threshold: Threshold) -> Vec<(&Case, Verdict)> {
        let mut timed: Vec<_> = self.comparison.cases.iter().filter_map(|case| Some((case, case.judge(threshold)?.verdict))).collect();
        let change = |case: &Case| case.ratio.as_ref().map_or(0.0, |ratio| ratio.value.ln().abs());
        timed.sort_by(|(a, va), (b, vb)| va.cmp(vb).then(change(b).total_cmp(&change(a))));
        timed
    }

    fn status_changes(&self) -> impl Iterator<Item = &Case> {
        self.comparison.cases.iter().filter(|case| !case.status.agree())
    }

    /// `3 SLOWER, 1 FASTER, 2 UNSURE, 90 SAME; 7 without two times`.
    fn tally(&self, threshold: Threshold) -> String {
        let counts = self.counts(threshold);
        let told: Vec<String> = Verdict::ALL.iter().zip(counts).map(|(verdict, count)| format!("{count} {}", verdict.name())).collect();
        let untimed = self.comparison.cases.len() - counts.iter().sum::<usize>();
        let untimed = if untimed > 0 { format!("; {untimed} without two times") } else { String::new() };
        format!("{}: {}{untimed}", plural(self.comparison.cases.len(), "case"), told.join(", "))
    }
}

/// What is to be said beside a verdict.
fn remarks(case: &Case, threshold: Threshold) -> String {
    let mut remarks: Vec<String> = Vec::new();
    if let (Some(ratio), Some(doubt)) = (&case.ratio, case.judge(threshold).and_then(|judgement| judgement.doubt)) {
        remarks.push(match doubt {
            Doubt::Drift | Doubt::Repeats => format!("{} {:.1} %", doubt.text(), 100.0 * (ratio.widening() - 1.0)),
            doubt => doubt.text().to_owned(),
        });
    }
    if case.ratio.as_ref().is_some_and(|ratio| ratio.contradicted) {
        remarks.push("samples.csv has another median".into());
    }
    if !case.tuning.agree() {
        remarks.push("other tuning".into());
    }
    let (was, is) = (&case.key.baseline, &case.key.other);
    if (&was.suite, &was.layer) != (&is.suite, &is.layer) {
        remarks.push(format!("there {}/{}", clean(&is.suite), clean(&is.layer)));
    }
    remarks.join("; ")
}

/// A layer as it is told where several suites may be meant.
fn layer_name(key: &CaseKey, many_suites: bool) -> String {
    let suite = if many_suites { format!("{}/", key.suite) } else { String::new() };
    let cache = if key.cache == Cache::Cold { " (cold)" } else { "" };
    format!("{suite}{}{cache}", key.layer)
}

fn many_suites(run: &Run) -> bool {
    run.measurements.windows(2).any(|pair| pair[0].case.suite != pair[1].case.suite)
}

/// `convledger 0.1.0 on llvmpipe, 2026-11-29 23:59 UTC`.
fn described(run: &Run) -> String {
    let environment = &run.environment;
    let (version, device) = (&environment.version, &environment.device.name);
    format!("convledger {} on {}, {}", clean(version), clean(device), environment.started.strftime("%Y-%m-%d %H:%M UTC"))
}

fn interval((low, high): (f64, f64)) -> String {
    format!("{low:.3} to {high:.3}")
}

/// What a lone case is told by.
fn why(lone: &Lone) -> &'static str {
    match lone.why {
        Missing::Absent => "",
        Missing::Ambiguous => "several could be it",
    }
}

fn plural(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A text on one line that is not longer than `most` characters.
fn cut(text: &str, most: usize) -> String {
    let line = clean(text);
    if line.chars().count() <= most { line } else { line.chars().take(most - 1).chain(['…']).collect() }
}
