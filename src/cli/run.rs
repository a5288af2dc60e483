//! `convledger run`: the main job.

use super::problems::Problems;
use super::progress::{Bar, Heading, Lines};
use super::tuning::{TuningArgument, TuningNote};
use super::{Outcome, account, auto, note, peers, print, summary};
use crate::account::Filed;
use crate::algorithm::ALGORITHMS;
use crate::analysis::auto::picks;
use crate::cost::Model;
use crate::peak::Peaks;
use crate::record::{self, Cache, Environment, Measurement, RunDirectory, default_directory};
use crate::report::{self, Source};
use crate::runner::{self, Event, Files, Hello, Job, Observer, Selection};
use crate::units::Bytes;
use anyhow::{Context, bail};
use clap::Parser;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The suite of a run that names nothing.
const DEFAULT_SUITE: &str = "default";

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    problems: Problems,

    /// Only algorithms whose id, or id:variant, matches; may be given several times ('winograd*', 'im2col:batch', '!direct'); `auto` is
    /// the one case of each layer that a cost model takes for the fastest
    #[arg(long, value_name = "GLOB")]
    algorithm: Vec<String>,

    /// What kernels reach of a device's limits, for --algorithm auto, as `convledger auto --fit` prints it; without it what is built in
    #[arg(long, value_name = "FILE.toml")]
    costs: Option<PathBuf>,

    /// Leave out variants that need more workspace, such as 256MiB
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    workspace_limit: Option<Bytes>,

    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    #[command(flatten)]
    tuning: TuningArgument,

    /// Measuring time of the whole run, such as 60s or 5m, spent on the cases in order; what it does not reach is recorded as skipped.
    /// The device's limits, compiling, verifying and the least samples of a case that has begun come on top
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    time_budget: Option<Duration>,

    /// Time one case may take, verification included, before it is given up
    #[arg(long, value_name = "DURATION", value_parser = time_to_run, allow_hyphen_values = true, default_value = "5m")]
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

    /// Do not account for the memory of the largest case at the end
    #[arg(long)]
    no_account: bool,

    /// Do not make report.html at the end
    #[arg(long)]
    no_report: bool,

    /// What to print on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    /// Seed of the random inputs; without it a fresh one, which is printed and recorded
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum CacheArgument {
    /// The same buffers in every execution
    Hot,
    /// Rotate through up to 256 copies of the tensors, towards 256 MiB: more than any last-level cache
    Cold,
    /// A row for each
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A summary for people
    Table,
    /// A CSV row for each measured case, with the columns that benchmarks of other programs have: `peer,version,device`, those of
    /// --layers, `ms_median,ms_min,gflops`; the summary goes to standard error
    Peers,
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

    /// The folder whose run is to be continued; one without a run yet is begun.
    fn resumed(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| self.resume && path.join("measurements.csv").exists())
    }

    /// A run is continued with its own problems: it would be a surprise to get the default suite in addition to them.
    fn same_problems(&self, path: &Path) -> anyhow::Result<()> {
        let run = record::Run::read(path)?;
        if self.problems.unnamed() && run.measurements.iter().any(|row| row.case.suite != DEFAULT_SUITE) {
            let before = run.environment.command_line.join(" ");
            bail!("--resume: name the convolutions of the run in {} again; it was begun as: {before}", path.display());
        }
        Ok(())
    }
}

/// A duration as people write it: `90s`, `5m`, `1h 30m`, `500ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let explain = |why: String| format!("{why}; write a duration such as 90s, 5m or 500ms");
    let signed: jiff::SignedDuration = text.parse().map_err(|_| explain(format!("'{text}' is not a duration")))?;
    Duration::try_from(signed).map_err(|_| explain(format!("'{text}' is negative")))
}

/// A duration in which something can happen.
pub(super) fn time_to_run(text: &str) -> Result<Duration, String> {
    duration(text).and_then(|time| if time.is_zero() { Err(format!("'{text}' leaves no time to run a case")) } else { Ok(time) })
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let selection = Selection::parse(&args.algorithm, ALGORITHMS)?;
    let suites = args.problems.read(Some(DEFAULT_SUITE))?;
    if args.format == Format::Peers {
        peers::can_have(&suites, matches!(args.cache, CacheArgument::Hot))?;
    }
    let seed = seed(args)?;
    let settings = runner::Settings {
        selection,
        caches: match args.cache {
            CacheArgument::Hot => vec![Cache::Hot],
            CacheArgument::Cold => vec![Cache::Cold],
            CacheArgument::Both => vec![Cache::Hot, Cache::Cold],
        },
        seed,
        workspace_limit: args.workspace_limit,
        time_budget: args.time_budget,
        timeout: args.timeout,
        costs: auto::costs(args.costs.as_ref())?,
        ..runner::Settings::default()
    };
    let mut tuning = TuningNote { path: args.tuning.path(), file: args.tuning.read()? };
    let program = std::env::current_exe().context("where this program is")?;
    let worker = || {
        let mut command = Command::new(&program);
        command.arg("worker").args(args.device.iter().map(|device| format!("--device={device}")));
        args.tuning.pass_on(&mut command);
        command
    };
    let mut rows = Rows::default();
    let mut files = match args.resumed() {
        Some(path) => {
            args.same_problems(path)?;
            let mut resumed = RunDirectory::resume(path)?;
            resumed.note()?;
            rows.measurements.clone_from(&resumed.rows);
            Files::resume(resumed)
        }
        None => Files::create(|hello| begin(args.out.as_deref(), args.tuning.path(), &settings, hello)),
    };
    let job = Job { suites: &suites, algorithms: ALGORITHMS, settings: &settings, worker: &worker };
    let (mut bar, mut plain, mut cost) = (Bar::default(), Lines::default(), summary::Cost::default());
    let progress: &mut dyn Observer = if std::io::stderr().is_terminal() { &mut bar } else { &mut plain };
    runner::run(&job, &mut files, &mut [&mut Heading { seed }, &mut tuning, progress, &mut rows, &mut cost])?;
    let place = files.path().map_or(String::new(), |path| {
        let account = if args.no_account { String::new() } else { account(args, path, &rows.measurements) };
        let page = if args.no_report { String::new() } else { page(path) };
        format!("\n{account}Every case, buffer, stage and sample: {}\n{page}", path.display())
    });
    let summary = format!("{}{}{}{place}", summary::text(&rows.measurements, &suites), rows.choice(&settings), cost.text());
    match args.format {
        Format::Table => print(&summary)?,
        Format::Peers => {
            note(summary.trim_end());
            print(&peers::rows(&rows.measurements, rows.hello.as_ref().map_or("", |hello| &hello.identity.name))?)?;
        }
    }
    // A resumed run has failed where its earlier part did: those cases keep their rows.
    let failed = rows.measurements.iter().any(|row| row.status.is_failure());
    Ok(if failed { Outcome::FellShort } else { Outcome::Good })
}

/// Accounts for the memory of the verified case of most bytes, in a process of its own, and tells how the bridge closes. As with the report,
/// what goes wrong is told, and the run stays what it is.
fn account(args: &Args, directory: &Path, rows: &[Measurement]) -> String {
    let bytes = |row: &&Measurement| row.parameter_bytes + row.activation_bytes + row.computation_bytes.unwrap_or(0);
    let Some(largest) = rows.iter().filter(|row| row.status == record::Status::Ok).max_by_key(bytes) else { return String::new() };
    let accounted = account::lived(&largest.case, args.device.as_deref(), &args.tuning, args.timeout).and_then(|(life, bridge)| {
        let filed = Filed::of(&life, &bridge);
        filed.write(directory)?;
        Ok(format!("Memory of {}, {}\n", filed.case(), filed.verdict()))
    });
    accounted.unwrap_or_else(|error| {
        note(format!("no account: {}", super::one_line(&error)));
        String::new()
    })
}

/// Makes the report and tells where it is. The rows are safe by then: what goes wrong is told, and the run stays what it is.
fn page(directory: &Path) -> String {
    let path = directory.join(report::FILE);
    match Source::read(directory).and_then(|source| report::write(&source, &path)) {
        Ok(()) => format!("The same to look at: {}\n", path.display()),
        Err(error) => {
            note(format!("no report: {error}"));
            String::new()
        }
    }
}

/// Where a new run is written, and what is known of where it was made.
pub(super) fn begin(out: Option<&Path>, tuning: Option<&Path>, settings: &runner::Settings, hello: &Hello) -> (PathBuf, Environment) {
    let chosen = record::Settings {
        time_budget_s: settings.time_budget.map(|d| d.as_secs_f64()),
        timeout_s: Some(settings.timeout.as_secs_f64()),
        workspace_limit_bytes: settings.workspace_limit.map(|b| b.0),
        caches: settings.caches.clone(),
    };
    let Hello { identity, limits, features, clock, resident_source, notes } = hello.clone();
    let mut environment = Environment::gather(identity, limits, features, clock, settings.seed, chosen);
    environment.notes.extend(notes);
    environment.resident_source = resident_source;
    environment.tuning_file = tuning.map(|path| path.display().to_string());
    let path = out.map_or_else(
        || {
            let date = environment.started.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
            default_directory(Path::new("results"), &hello.identity.name, date)
        },
        Path::to_owned,
    );
    (path, environment)
}

/// Every measurement of the run, those of its earlier parts included.
#[derive(Default)]
struct Rows {
    measurements: Vec<Measurement>,
    /// The device.
    hello: Option<Hello>,
    /// Its limits, once they are measured.
    peaks: Option<Peaks>,
}

impl Rows {
    /// How good the automatic choice would have been, where there was a choice.
    fn choice(&self, settings: &runner::Settings) -> String {
        let (Some(hello), Some(peaks), false) = (&self.hello, &self.peaks, settings.selection.is_auto()) else { return String::new() };
        let model = Model::new(&settings.costs, hello.limits.class, Some(peaks));
        let picks = picks(&self.measurements, &hello.limits, settings.workspace_limit, &model);
        if picks.is_empty() { String::new() } else { auto::verdict(&picks) + "\n" }
    }
}

impl Observer for Rows {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { hello, .. } => self.hello = Some((*hello).clone()),
            Event::Limits { peaks: Ok(peaks) } => self.peaks = Some((*peaks).clone()),
            Event::CaseEnded { rows, .. } => self.measurements.push(rows.measurement.clone()),
            _ => {}
        }
    }
}

/// A resumed run goes on with its own seed: its rows must be of one kind.
fn seed(args: &Args) -> anyhow::Result<u64> {
    let resumed = args.resumed().map(|path| Ok::<_, record::RecordError>((path, Environment::read(path)?.seed))).transpose()?;
    match (args.seed, resumed) {
        (Some(asked), Some((path, before))) if asked != before => {
            bail!("--seed {asked}, but the run in {} began with --seed {before}", path.display())
        }
        (_, Some((_, before))) => Ok(before),
        (Some(asked), None) => Ok(asked),
        (None, None) => Ok(fresh_seed()),
    }
}

/// A seed nobody chose.
pub(super) fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Kept short enough to be typed again.
    (now.as_secs() ^ u64::from(now.subsec_nanos()).wrapping_mul(0x9E37_79B9)) % 1_000_000_000
}
