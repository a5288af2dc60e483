//! The command line: one file per subcommand, and the only place that prints.
//!
//! Exit codes: 0 good, 1 a case failed or a check fell short, 2 a usage or environment error.

mod account;
mod algorithms;
mod auto;
mod claims;
mod compare;
mod demo;
mod devices;
mod exec;
mod experiment;
mod export;
mod gallery;
mod inspect;
mod ledger;
mod measuring;
mod npy;
mod peak;
mod peers;
mod problems;
mod progress;
mod report;
mod run;
mod show;
mod summary;
mod table;
mod tune;
mod tuning;
mod worker;

use crate::record::{RUN_FILES, Run};
use crate::suite::printable;
use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

const ABOUT: &str = "What does each way of computing a convolution cost on your GPU, in time and in memory?";

const LONG_ABOUT: &str = "\
What does each way of computing a convolution cost on your GPU, in time and in memory?

convledger runs its own kernels for every algorithm (direct, im2col, Winograd, ...) through Vulkan, Metal or DX12. Every result is \
verified against a CPU reference in double precision before it is timed on the device's own clock, and every byte is booked to a ledger: \
parameters (weights), activations (feature maps), computation (the workspace an algorithm allocates).

Without a command it does what `convledger run` does: measure a small default suite and write CSV files to a new folder in results/.";

const EXAMPLES: &str = "\
Examples:
  convledger                                         measure the default suite
  convledger run n1c64h56w56_k128r3s3_p1             measure one convolution
  convledger run --suite resnet50 --time-budget 5m   measure a network's layers
  convledger run --model net.onnx --batch 8          measure your own model
  convledger ledger --suite vgg16                    predict every byte
  convledger algorithms                              what there is to compare

A convolution is written n<batch>c<channels>[d<depth>]h<height>w<width>_k<filters>[t<depth>]r<height>s<width>, then what differs from \
1, 0, 1, 1: _s<stride>_p<padding>_d<dilation>_g<groups>; per axis with x (_s2x1), padding before:after (_p0:1).

Exit codes: 0 good; 1 a case failed or a check fell short; 2 a usage or environment error.";

#[derive(Parser)]
#[command(name = "convledger", version, about = ABOUT, long_about = LONG_ABOUT, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Verify and measure convolutions with every algorithm; write CSV files and print a summary
    Run(Box<run::Args>),
    /// List the adapters that --device can choose from
    Devices(devices::Args),
    /// List the algorithms, their variants and their workspace formulas
    Algorithms(algorithms::Args),
    /// Predict the bytes of every algorithm by closed form; needs no GPU
    Ledger(ledger::Args),
    #[command(about = "Compute one convolution of your own NumPy arrays on the device")]
    Exec(exec::Args),
    /// Write the rows of runs as JSON lines, Parquet or CSV
    Export(export::Args),
    /// Make one HTML page of a run, and pictures of its charts
    Report(report::Args),
    /// Make a page of all runs in a folder, with charts
    Gallery(gallery::Args),
    /// Set runs beside the times of other programs on the same layers
    Peers(peers::Args),
    /// Compile each kernel and tell what the driver's compiler made of it: registers, spills, occupancy, the hot loop
    Inspect(inspect::Args),
    /// Show a run's answers in the terminal: tables and small plots
    Show(show::Args),
    /// Compare runs case by case: ratios with intervals, verdicts, memory, surroundings; rules for continuous integration
    Compare(compare::Args),
    /// Audit figures that people repeat about memory and time: ours beside each, and a verdict
    Claims(claims::Args),
    /// Measure a small sweep that shows one thing, with a chart and two sentences on what was seen
    Demo(demo::Args),
    /// Measure the device's own limits: multiply-adds, copies, workgroup memory, an empty dispatch, the clock
    Peak(peak::Args),
    /// Account for every byte of a case: from what formulas predict to what the system says the process holds
    Account(account::Args),
    /// Ask what allocators and drivers do with memory: alignment, pool, shapes, drop, contexts, soak
    Experiment(experiment::Args),
    /// Tell how good the automatic choice of an algorithm would have been in runs that measured them all
    Auto(auto::Args),
    /// Find the fastest tiles on a device and write them to a file for --tuning
    Tune(tune::Args),
    /// Take cases from standard input, as `run` starts it
    #[command(hide = true)]
    Worker(worker::Args),
}

/// How a command that did its work ended.
enum Outcome {
    /// All good.
    Good,
    /// A case failed or a check fell short.
    FellShort,
}

/// Parses the command line, runs the command, reports an error on one line.
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        None => run::run(&run::Args::default_run()),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Devices(args)) => devices::run(&args),
        Some(Command::Algorithms(args)) => algorithms::run(&args),
        Some(Command::Ledger(args)) => ledger::run(&args),
        Some(Command::Exec(args)) => exec::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Gallery(args)) => gallery::run(&args),
        Some(Command::Peers(args)) => peers::run(&args),
        Some(Command::Inspect(args)) => inspect::run(&args),
        Some(Command::Show(args)) => show::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Claims(args)) => claims::run(&args),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Peak(args)) => peak::run(&args),
        Some(Command::Account(args)) => account::run(&args),
        Some(Command::Experiment(args)) => experiment::run(&args),
        Some(Command::Auto(args)) => auto::run(&args),
        Some(Command::Tune(args)) => tune::run(&args),
        Some(Command::Worker(args)) => worker::run(&args),
    };
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::FellShort) => ExitCode::from(1),
        Err(error) => {
            note(format!("convledger: {}", one_line(&error)));
            ExitCode::from(2)
        }
    }
}

/// Writes to standard output, the only place that does.
fn print(text: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        // A reader that closes the pipe, such as `head`, has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// Refuses to write over a file that a run consists of.
fn keep_run_files(out: &Path) -> anyhow::Result<()> {
    let name = out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if RUN_FILES.contains(&name) && out.exists() {
        bail!("--out {}: is a file of a run, which is not written over", out.display());
    }
    Ok(())
}

/// Reads a run and tells what is odd about it.
fn read_run(path: &Path) -> anyhow::Result<Run> {
    let run = Run::read(path)?;
    tell_remarks(path, &run);
    Ok(run)
}

fn tell_remarks(path: &Path, run: &Run) {
    for remark in &run.remarks {
        note(format!("{}: {remark}", printable(&path.display().to_string())));
    }
}

/// Tells something on standard error. That nobody can read it is no reason to end a run, which `eprintln!` would do.
fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// An error and its causes. Most errors here end with their cause's text already.
fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let text = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    // A file's name can hold anything, also what a terminal would act on.
    printable(&text)
}
