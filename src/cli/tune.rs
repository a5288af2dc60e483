//! `convledger tune`: the fastest tiles on a device, as a file.

use super::run::time_to_run;
use super::table::{lines, table};
use super::tuning::TuningArgument;
use super::{Outcome, note, print};
use crate::device::Identity;
use crate::plan::TiledKernel;
use crate::record::slug;
use crate::runner::{Hello, TuneEvent, TuneSettings, Tuned, tune};
use crate::tune::{Decision, Provenance, block, merge};
use crate::units::Nanoseconds;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Seed of inputs and of the order of candidates: tuning twice tries the same.
const SEED: u64 = 1;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    /// Time for all of it, such as 60s or 10m: more tries more, and settles closer races
    #[arg(long, value_name = "DURATION", value_parser = time_to_run, allow_hyphen_values = true, default_value = "3m")]
    time_budget: Duration,

    /// Time one trial of a candidate may take, compiling included, before the candidate is dropped
    #[arg(long, value_name = "DURATION", value_parser = time_to_run, allow_hyphen_values = true, default_value = "20s")]
    timeout: Duration,

    /// Only the tiles of this kernel; may be given several times
    #[arg(long, value_name = "KERNEL", value_parser = kernel)]
    kernel: Vec<TiledKernel>,

    #[command(flatten)]
    tuning: TuningArgument,

    /// File to write; without it tuning/<device>.toml. Entries of other devices that it holds are kept
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace the entry the file has for this device; what this tuning does not reach stays as it was there
    #[arg(long)]
    force: bool,
}

fn kernel(text: &str) -> Result<TiledKernel, String> {
    TiledKernel::ALL.into_iter().find(|kernel| kernel.name() == text).ok_or_else(|| {
        let known: Vec<&str> = TiledKernel::ALL.iter().map(|kernel| kernel.name()).collect();
        format!("'{text}' is no kernel with tiles; there are {}", known.join(", "))
    })
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    args.tuning.read()?;
    let program = std::env::current_exe().context("where this program is")?;
    let worker = || {
        let mut command = Command::new(&program);
        command.args(["worker", "--tune"]).args(args.device.iter().map(|device| format!("--device={device}")));
        args.tuning.pass_on(&mut command);
        command
    };
    let kernels = if args.kernel.is_empty() { TiledKernel::ALL.to_vec() } else { args.kernel.clone() };
    let (budget, timeout) = (args.time_budget, args.timeout);
    let settings = TuneSettings { kernels, budget, timeout, start_timeout: Duration::from_mins(1), seed: SEED };
    let mut output = None;
    let mut progress = Progress::new();
    let tuned = tune(&settings, &worker, &mut |event| {
        match event {
            TuneEvent::Started { hello, .. } => {
                // A file that cannot take the entry should cost nobody the tuning.
                let opened = Output::new(args, hello).and_then(|output| output.text(&[]).map(|_| output));
                output = Some(opened.map_err(|error| format!("{error:#}"))?);
            }
            // Written as they come: what ends the tuning early leaves what was decided.
            TuneEvent::Decided { decisions } => {
                output.as_ref().map_or(Ok(()), |output| output.write(decisions)).map_err(|error| format!("{error:#}"))?;
            }
            _ => {}
        }
        progress.event(event);
        Ok(())
    });
    progress.end();
    let tuned = tuned?;
    print(&text(&tuned))?;
    let decided = tuned.decisions.iter().any(|decision| decision.winner().is_some());
    print(&match output.filter(|_| decided) {
        Some(output) => format!("\nWritten to {0}; take it with --tuning {0}\n", output.path.display()),
        None => "\nNothing is decided, nothing is written\n".to_owned(),
    })?;
    let failed = tuned.decisions.iter().any(|decision| decision.found.winner.is_none());
    Ok(if failed { Outcome::FellShort } else { Outcome::Good })
}

/// Where the entry goes.
struct Output {
    path: PathBuf,
    device: Identity,
    date: String,
    command: String,
    /// What the file held before.
    before: Option<String>,
    force: bool,
}

impl Output {
    fn new(args: &Args, hello: &Hello) -> anyhow::Result<Self> {
        let device = hello.identity.clone();
        let path = args.out.clone().unwrap_or_else(|| Path::new("tuning").join(slug(&device.name)).with_extension("toml"));
        // Through a link to the file itself: renaming over the link would cut it.
        let path = fs::canonicalize(&path).ok().filter(|_| path.is_symlink()).unwrap_or(path);
        let before = if path.exists() {
            crate::plan::TuningFile::read(&path)?;
            Some(fs::read_to_string(&path).with_context(|| path.display().to_string())?)
        } else {
            None
        };
        place_is_writable(&path).with_context(|| format!("--out {}", path.display()))?;
        let date = jiff::Timestamp::now().to_zoned_datetime(jiff::tz::TimeZone::UTC).date().to_string();
        let mut command = vec!["convledger".to_owned()];
        command.extend(std::env::args().skip(1));
        Ok(Self { path, device, date, command: command.join(" "), before, force: args.force })
    }

    fn provenance(&self) -> Provenance<'_> {
        Provenance { device: &self.device, date: &self.date, command: &self.command }
    }

    /// The file with these decisions in it.
    fn text(&self, decisions: &[Decision]) -> anyhow::Result<String> {
        let file = self.path.display().to_string();
        match &self.before {
            Some(before) => Ok(merge(&file, before, &self.provenance(), decisions, self.force)?),
            None => Ok(block(&self.provenance(), decisions, None)),
        }
    }

    /// Writes the file whole or not at all.
    fn write(&self, decisions: &[Decision]) -> anyhow::Result<()> {
        if decisions.iter().all(|decision| decision.winner().is_none()) {
            return Ok(());
        }
        let text = self.text(decisions)?;
        let place = || format!("--out {}", self.path.display());
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).with_context(place)?;
        }
        let partial = partial(&self.path).with_context(place)?;
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&partial, &self.path)
        });
        written.inspect_err(|_| drop(fs::remove_file(&partial))).with_context(place)
    }
}

/// Tries what [`Output::write`] will do at the end of the first search.
fn place_is_writable(path: &Path) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let partial = partial(path)?;
    File::create(&partial)?;
    Ok(fs::remove_file(&partial)?)
}

/// What a file is called until it is whole.
fn partial(path: &Path) -> anyhow::Result<PathBuf> {
    let mut name = path.file_name().context("not a file name")?.to_owned();
    name.push(".partial");
    Ok(path.with_file_name(name))
}

/// A bar on a terminal, a line a knob otherwise.
struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    title: String,
}

impl Progress {
    fn new() -> Self {
        Self { bar: None, total: 0, title: String::new() }
    }

    fn event(&mut self, event: &TuneEvent<'_>) {
        match event {
            TuneEvent::Started { hello, targets } => {
                let Identity { name, backend, driver, driver_info, .. } = &hello.identity;
                note(format!("device   {name} ({backend}, {})", format!("{driver} {driver_info}").trim()));
                self.total = targets.len();
                if std::io::stderr().is_terminal() {
                    let bar = ProgressBar::new(targets.len() as u64);
                    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
                        bar.set_style(style);
                    }
                    bar.enable_steady_tick(Duration::from_millis(200));
                    self.bar = Some(bar);
                }
            }
            TuneEvent::Target { target, candidates, .. } => {
                self.title = target.knob.to_string();
                self.message(&format!("{candidates} others to try"));
            }
            TuneEvent::Progress { verified, best } => self.message(&format!("{verified} tried, best {best}")),
            TuneEvent::WorkerDied { death } => self.line(&format!("{}: worker died: {death}", self.title)),
            TuneEvent::Decided { decisions } => {
                if let Some(decision) = decisions.last() {
                    let choice = decision.winner().map_or_else(|| "-".to_owned(), |winner| winner.to_string());
                    let line = format!("[{}/{}] {}: {choice}: {}", decisions.len(), self.total, decision.knob, decision.verdict());
                    self.line(&line);
                }
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
            }
        }
    }

    fn message(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {text}", self.title));
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => note(text),
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What was decided, what was dropped and why, what was not reached.
fn text(tuned: &Tuned) -> String {
    let dash = || "-".to_owned();
    let times = |medians: &[f64]| medians.iter().map(|&ns| Nanoseconds(ns).to_string()).collect::<Vec<_>>().join(", ");
    let rows = tuned.decisions.iter().map(|decision| {
        let found = &decision.found;
        let winner = decision.winner().filter(|_| decision.replaces());
        let after = found.challenger.as_ref().filter(|timed| Some(timed.candidate) == winner);
        vec![
            decision.knob.to_string(),
            found.before.as_ref().map_or_else(dash, |timed| timed.candidate.to_string()),
            found.before.as_ref().map_or_else(dash, |timed| times(&timed.medians)),
            winner.map_or_else(|| "kept".to_owned(), |winner| winner.to_string()),
            after.map_or_else(dash, |timed| times(&timed.medians)),
            winner.and(found.speedup).map_or_else(dash, |speedup| format!("{:+.1} %", 100.0 * (speedup - 1.0))),
            found.verified.to_string(),
        ]
    });
    let mut text = lines(&table(&["choice", "before", "its times", "now", "its times", ">gain", ">tried"], rows));
    for decision in &tuned.decisions {
        for dropped in &decision.found.dropped {
            let _ = writeln!(text, "dropped {}: {}: {}", decision.knob, dropped.candidate, dropped.reason);
        }
    }
    if !tuned.unreached.is_empty() {
        let knobs: Vec<String> = tuned.unreached.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "not reached within --time-budget: {}", knobs.join(", "));
    }
    text
}
