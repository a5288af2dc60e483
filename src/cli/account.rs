//! `convledger account`: one case from predicted to resident, and the stages of its process's life.

use super::table::{clean, lines, table};
use super::tuning::TuningArgument;
use super::{Outcome, note, print};
use crate::account::{Bridge, Filed, Life, Line, RuntimeRow, signed_text};
use crate::algorithm::{find, plain_variant};
use crate::conv::Conv;
use crate::plan::Limits;
use crate::record::{Cache, CaseKey, RUN_FILES};
use crate::runner::live;
use crate::units::Grouped;
use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The convolution by its key, such as `n1c64h56w56_k128r3s3_p1`
    #[arg(value_name = "CONV")]
    conv: String,

    /// Algorithm, with its variant where it has one: direct, im2col:strip=8
    #[arg(long, value_name = "ID[:VARIANT]", default_value = "im2col")]
    algorithm: String,

    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    #[command(flatten)]
    tuning: TuningArgument,

    /// Time the whole life may take
    #[arg(long, value_name = "DURATION", value_parser = super::run::time_to_run, allow_hyphen_values = true, default_value = "5m")]
    timeout: Duration,

    /// Folder for account.csv and runtime.csv
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// How to print
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// The rows of account.csv
    Csv,
    /// Bridge, stages and what they were made from, as one object
    Json,
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Told<'a> {
    closes: bool,
    bridge: &'a Bridge,
    life: &'a Life,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let case = args.case()?;
    args.tuning.read()?;
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).with_context(|| format!("--out {}", out.display()))?;
        if out.join(RUN_FILES[0]).exists() {
            bail!("--out {}: holds a run, whose account `run` makes", out.display());
        }
    }
    let (life, bridge) = lived(&case, args.device.as_deref(), &args.tuning, args.timeout)?;
    let filed = Filed::of(&life, &bridge);
    if let Some(out) = &args.out {
        filed.write(out)?;
    }
    if !life.refusals.is_empty() {
        note(format!("resident is by {}: {}", life.source, life.refusals));
    }
    print(&match args.format {
        Format::Table => text(&filed),
        Format::Csv => String::from_utf8(filed.account_csv())?,
        Format::Json => serde_json::to_string_pretty(&Told { closes: bridge.closes(life.source), bridge: &bridge, life: &life })? + "\n",
    })?;
    Ok(if bridge.closes(life.source) { Outcome::Good } else { Outcome::FellShort })
}

impl Args {
    fn case(&self) -> anyhow::Result<CaseKey> {
        let conv: Conv = self.conv.parse()?;
        let (id, variant) = self.algorithm.split_once(':').map_or((self.algorithm.as_str(), None), |(id, variant)| (id, Some(variant)));
        let algorithm = find(id).ok_or_else(|| anyhow!("--algorithm '{id}' is no algorithm; `convledger algorithms` lists them"))?;
        let variant = match variant {
            Some(text) => text.parse().with_context(|| format!("--algorithm '{}'", self.algorithm))?,
            None => plain_variant(algorithm, &conv, &Limits::UNLIMITED),
        };
        if conv.is_empty() {
            bail!("{conv}: the output is empty: nothing runs, and nothing is held");
        }
        // What no device could do is told before one is opened.
        algorithm.plan(&conv, &variant, &Limits::UNLIMITED).with_context(|| format!("{} of {conv}", self.algorithm))?;
        let layer = conv.to_string();
        Ok(CaseKey { suite: "command_line".into(), layer, conv, algorithm: id.into(), variant, cache: Cache::Hot })
    }
}

/// The life of a case in a process of its own, and its bridge.
pub(super) fn lived(case: &CaseKey, device: Option<&str>, tuning: &TuningArgument, timeout: Duration) -> anyhow::Result<(Life, Bridge)> {
    let life = live(worker(device, tuning)?, case, timeout)?;
    let bridge = Bridge::of(&life).ok_or_else(|| anyhow!("{} did not answer in steady state", life.source))?;
    Ok((life, bridge))
}

/// A process of this program for one order.
pub(super) fn worker(device: Option<&str>, tuning: &TuningArgument) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("where this program is")?);
    command.args(["worker", "--once"]).args(device.map(|device| format!("--device={device}")));
    tuning.pass_on(&mut command);
    Ok(command)
}

/// The bridge, the verdict and the stages.
pub(super) fn text(filed: &Filed) -> String {
    let bridge = |line: &Line| vec![line.sign().into(), clean(&line.name), line.amount(), clean(&line.how)];
    let stage = |row: &RuntimeRow| {
        let number = |n: Option<u64>| n.map_or("-".to_owned(), |n| Grouped(n).to_string());
        vec![
            row.stage.to_string(),
            number(row.resident_bytes),
            row.growth_bytes.map_or("-".to_owned(), signed_text),
            number(row.allocated_bytes),
            number(row.reserved_bytes),
            number(row.blocks),
        ]
    };
    format!(
        "{}\n\n{}{}\n\nResident by stage, as {} tells it\n\n{}",
        clean(&filed.case()),
        lines(&table(&["", "", ">bytes", "where the figure is from"], filed.bridge().lines.iter().map(bridge))),
        filed.verdict(),
        filed.source().map_or_else(String::new, |source| source.to_string()),
        lines(&table(&["stage", ">resident B", ">growth B", ">allocated B", ">reserved B", ">blocks"], filed.runtime.iter().map(stage)))
    )
}
