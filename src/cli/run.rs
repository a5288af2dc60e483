//! `convledger run`: the main job.

use super::Outcome;
use super::problems::Problems;
use super::progress::{Bar, Lines};
use super::summary;
use crate::algorithm::ALGORITHMS;
use crate::record::{self, Cache, CaseKey, CaseRows, Environment, Measurement, RunDirectory, default_directory};
use crate::runner::{self, Hello, Job, Observer, RunnerError, Selection, Sink, SinkError};
use crate::suite::Suite;
use crate::units::Bytes;
use anyhow::{Context, bail};
use clap::Parser;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The suite of a run that names nothing.
const DEFAULT_SUITE: &str = "default";

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    problems: Problems,

    /// Only algorithms whose id, or id:variant, matches; may be given several times ('winograd*', 'im2col:batch', '!direct')
    #[arg(long, value_name = "GLOB")]
    algorithm: Vec<String>,

    /// Leave out variants that need more workspace, such as 256MiB
    #[arg(long, value_name = "BYTES")]
    workspace_limit: Option<Bytes>,

    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    /// Measuring time of the whole run, such as 60s or 5m; what it does not reach is recorded as skipped
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    time_budget: Option<Duration>,

    /// Time one case may take, verification included, before it is given up
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    timeout: Duration,

    /// Whether executions find their inputs in the device's caches
    #[arg(long, value_name = "CACHE", default_value = "hot")]
    cache: CacheArgument,

    /// Folder for the files; without it results/<date>-<device>
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Continue an interrupted run in --out: cases that have their row are not run again
    #[arg(long, requires = "out")]
    resume: bool,

    /// Seed of the random inputs; without it a fresh one, which is printed and recorded
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum CacheArgument {
    /// The same buffers in every execution
    Hot,
    /// Rotate through copies of the tensors larger than any last-level cache
    Cold,
}

impl Args {
    /// What a command line without a command means.
    pub(super) fn default_run() -> Self {
        #[derive(Parser)]
        struct Alone {
            #[command(flatten)]
            args: Args,
        }
        Alone::parse_from(["convledger"]).args
    }
}

/// A duration as people write it: `90s`, `5m`, `1h 30m`, `500ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let explain = |why: String| format!("{why}; write a duration such as 90s, 5m or 500ms");
    let signed: jiff::SignedDuration = text.parse().map_err(|_| explain(format!("'{text}' is not a duration")))?;
    Duration::try_from(signed).map_err(|_| explain(format!("'{text}' is negative")))
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let selection = Selection::parse(&args.algorithm, ALGORITHMS)?;
    let suites = args.problems.read(Some(DEFAULT_SUITE))?;
    let seed = seed(args)?;
    let settings = runner::Settings {
        selection,
        cache: match args.cache {
            CacheArgument::Hot => Cache::Hot,
            CacheArgument::Cold => Cache::Cold,
        },
        seed,
        workspace_limit: args.workspace_limit,
        time_budget: args.time_budget,
        timeout: args.timeout,
        ..runner::Settings::default()
    };
    let program = std::env::current_exe().context("where this program is")?;
    let worker = || {
        let mut command = Command::new(&program);
        command.arg("worker").args(args.device.iter().flat_map(|device| ["--device", device]));
        command
    };
    let mut files = Files { args, settings: &settings, directory: None, rows: Vec::new() };
    let job = Job { suites: &suites, algorithms: ALGORITHMS, settings: &settings, worker: &worker };
    let terminal = std::io::stderr().is_terminal();
    let (mut bar, mut plain) = (Bar::default(), Lines::default());
    let observer: &mut dyn Observer = if terminal { &mut bar } else { &mut plain };
    let counts = runner::run(&job, &mut files, &mut [observer]).map_err(flatten)?;
    report(&files, &suites)?;
    Ok(if counts.failures() == 0 { Outcome::Good } else { Outcome::FellShort })
}

/// A resumed run goes on with its own seed: its rows must be of one kind.
fn seed(args: &Args) -> anyhow::Result<u64> {
    let resumed = match &args.out {
        Some(path) if args.resume && path.join(record::MEASUREMENTS).exists() => Some(Environment::read(path)?.seed),
        _ => None,
    };
    match (args.seed, resumed) {
        (Some(asked), Some(before)) if asked != before => {
            bail!("--seed {asked}, but the run in {} began with --seed {before}", args.out.as_deref().unwrap_or(Path::new("")).display())
        }
        (_, Some(before)) => Ok(before),
        (Some(asked), None) => Ok(asked),
        (None, None) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Kept short enough to be typed again.
            Ok((now.as_secs() ^ u64::from(now.subsec_nanos()).wrapping_mul(0x9E37_79B9)) % 1_000_000_000)
        }
    }
}

/// The run's folder as the runner's sink.
struct Files<'a> {
    args: &'a Args,
    settings: &'a runner::Settings,
    directory: Option<RunDirectory>,
    /// Every measurement, those of a resumed run included, for the summary.
    rows: Vec<Measurement>,
}

impl Files<'_> {
    fn try_open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError> {
        if let Some(path) = self.args.out.as_deref().filter(|path| self.args.resume && path.join(record::MEASUREMENTS).exists()) {
            let resumed = RunDirectory::resume(path)?;
            let (before, now) = (&resumed.environment.device, &hello.identity);
            if before != now {
                let text = format!("the run in {} is of '{}' ({}), not of '{}' ({})", path.display(), before.name, before.driver_info, now.name, now.driver_info);
                return Err(text.into());
            }
            self.rows = resumed.rows;
            self.directory = Some(resumed.directory);
            return Ok(resumed.done);
        }
        let settings = record::Settings {
            time_budget_s: self.settings.time_budget.map(|d| d.as_secs_f64()),
            timeout_s: Some(self.settings.timeout.as_secs_f64()),
            workspace_limit_bytes: self.settings.workspace_limit.map(|b| b.0),
            caches: vec![self.settings.cache],
        };
        let Hello { identity, limits, features, clock, notes } = hello.clone();
        let mut environment = Environment::gather(identity, limits, features, clock, self.settings.seed, settings);
        environment.notes.extend(notes);
        let path = match &self.args.out {
            Some(path) => path.clone(),
            None => default_directory(Path::new("results"), &hello.identity.name, jiff::Zoned::now().date()),
        };
        self.directory = Some(RunDirectory::create(&path, &environment)?);
        Ok(HashSet::new())
    }
}

impl Sink for Files<'_> {
    fn open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError> {
        let done = self.try_open(hello)?;
        if let Some(directory) = &self.directory {
            let clock = hello.clock;
            eprintln!("device   {} ({}, {} {})", hello.identity.name, hello.identity.backend, hello.identity.driver, hello.identity.driver_info);
            eprintln!("clock    {:?}, resolution {:.0} ns, empty dispatch {:.0} ns", clock.clock, clock.resolution_ns, clock.dispatch_overhead_ns);
            eprintln!("seed     {}", self.settings.seed);
            eprintln!("files    {}", directory.path().display());
        }
        Ok(done)
    }

    fn append(&mut self, rows: &CaseRows) -> Result<(), SinkError> {
        self.rows.push(rows.measurement.clone());
        Ok(self.directory.as_mut().map_or(Ok(()), |directory| directory.append(rows))?)
    }
}

/// A sink's error is the user's to read as it is.
fn flatten(error: RunnerError) -> anyhow::Error {
    match error {
        RunnerError::Sink(error) => anyhow::anyhow!("{error}"),
        other => other.into(),
    }
}

fn report(files: &Files, suites: &[Suite]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout();
    write!(stdout, "{}", summary::text(&files.rows, suites))?;
    if let Some(directory) = &files.directory {
        writeln!(stdout, "\nEvery case, buffer, stage and sample: {}", directory.path().display())?;
    }
    Ok(())
}
