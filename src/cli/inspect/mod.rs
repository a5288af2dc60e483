//! `convledger inspect`: what the driver's compiler made of each kernel.

mod null;
mod row;

use super::problems::Problems;
use super::{Outcome, note, print};
use crate::algorithm::{ALGORITHMS, find};
use crate::device::{Adapter, choose};
use crate::inspect::{Checks, Compiled, Facts, KernelUse, Vulkan, inspect, kernels};
use crate::plan::{Limits, Plan, TuningFile};
use crate::record::Cache;
use crate::runner::{Planned, Request, Selection, schedule};
use crate::suite::Suite;
use anyhow::{Context, bail};
use row::{Row, as_csv, as_table};
use std::path::{Path, PathBuf};

/// The suite where no problem is named.
const DEFAULT_SUITE: &str = "default";

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    problems: Problems,

    /// Only algorithms whose id, or id:variant, matches; may be given several times
    #[arg(long, value_name = "GLOB")]
    algorithm: Vec<String>,

    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME", conflicts_with = "null")]
    device: Option<String>,

    /// Compile for an AMD GPU that need not be there, with Mesa's RADV: navi21, vega20, navi31, ...
    #[arg(long, value_name = "FAMILY")]
    null: Option<String>,

    /// A tuning file whose tiles go before those built in
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,

    /// Whether the kernels are compiled with the bounds, divisor and loop checks of WGSL
    #[arg(long, value_name = "CHECKS", default_value = "both")]
    checks: ChecksArgument,

    /// Folder for every text the driver tells of each kernel, down to its instructions
    #[arg(long, value_name = "DIR")]
    isa: Option<PathBuf>,

    /// How to print
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    /// File to write to, in place of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ChecksArgument {
    /// With them
    On,
    /// Without, and workgroup memory not cleared
    Off,
    /// A row for each
    Both,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people: what decides a kernel's speed
    Table,
    /// Every column
    Csv,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if let Some(family) = &args.null
        && !null::is_prepared(family)
    {
        return null::run_prepared(family);
    }
    // Whatever no device could do is told before a driver is loaded.
    let selection = Selection::parse(&args.algorithm, ALGORITHMS)?;
    let suites = args.problems.read(Some(DEFAULT_SUITE))?;
    let tuning = args.tuning.as_deref().map(TuningFile::read).transpose()?;
    let (vulkan, facts, mut limits) = match args.null {
        Some(_) => {
            let (vulkan, facts) = null::load()?;
            let limits = facts.limits.clone();
            (vulkan, facts, limits)
        }
        None => on_adapter(args.device.as_deref())?,
    };
    if let Some(file) = tuning {
        limits.tuning = file.select_for(limits.class, &facts.name, &facts.driver).before(&limits.tuning);
    }
    let device = vulkan.open(facts)?;
    let found = planned_kernels(&suites, &selection, &limits)?;
    let mut rows = Vec::new();
    for (number, kernel) in (1..).zip(&found) {
        if args.null.is_some() {
            null::tell(kernel);
        }
        for &checks in args.checks.list() {
            let inspected = inspect(&device, &kernel.step, checks);
            let mut row = Row::new(&device.facts, kernel, checks);
            match inspected {
                Ok(inspected) => {
                    if let Some(folder) = &args.isa {
                        row.isa_file = write_texts(folder, number, kernel, checks, &inspected.compiled)?;
                    }
                    row.fill(&inspected);
                }
                Err(error) => row.reason = error.to_string(),
            }
            rows.push(row);
        }
    }
    let text = match args.format {
        Format::Table => as_table(&device.facts, &rows),
        Format::Csv => as_csv(&rows)?,
    };
    match &args.out {
        None => print(&text)?,
        Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write --out {}", path.display()))?,
    }
    for row in rows.iter().filter(|row| !row.reason.is_empty()) {
        note(format!("convledger: {}", row.reason));
    }
    Ok(if rows.iter().all(|row| row.reason.is_empty()) { Outcome::Good } else { Outcome::FellShort })
}

impl ChecksArgument {
    fn list(self) -> &'static [Checks] {
        match self {
            Self::On => &[Checks::Checked],
            Self::Off => &[Checks::Unchecked],
            Self::Both => &[Checks::Checked, Checks::Unchecked],
        }
    }
}

/// The adapter that `run` would take, as Vulkan has it, and its limits as `run` sees them.
fn on_adapter(selector: Option<&str>) -> anyhow::Result<(Vulkan, Facts, Limits)> {
    let Adapter { identity, limits, .. } = choose(selector)?;
    if identity.backend != "vulkan" {
        bail!("'{}' is a {} adapter: only Vulkan drivers tell what their compilers make", identity.name, identity.backend);
    }
    let vulkan = Vulkan::load()?;
    let facts = vulkan.find(&identity.name, (identity.vendor, identity.device))?;
    Ok((vulkan, facts, limits))
}

/// The distinct kernels of every case that a device of these limits can run.
fn planned_kernels(suites: &[Suite], selection: &Selection, limits: &Limits) -> anyhow::Result<Vec<KernelUse>> {
    let caches = &[Cache::Hot];
    let cases = schedule(&Request { suites, algorithms: ALGORITHMS, selection, limits, caches, workspace_limit: None })?;
    let mut plans: Vec<(String, String, Plan)> = Vec::new();
    let mut reason = None;
    for planned in &cases {
        if let Planned::Row(rows) = planned {
            reason = reason.or(Some(format!("{}: {}", planned.case().conv, rows.measurement.reason)));
            continue;
        }
        let case = planned.case();
        let algorithm = find(&case.algorithm).with_context(|| format!("no algorithm '{}'", case.algorithm))?;
        let plan = algorithm.plan(&case.conv, &case.variant, limits)?;
        plans.push((case.algorithm.clone(), format!("{} of {}", case.variant.qualify(&case.algorithm), case.conv), plan));
    }
    if plans.is_empty() {
        bail!("no kernel to inspect: {}", reason.unwrap_or_else(|| "there is no convolution".to_owned()));
    }
    Ok(kernels(plans.iter().map(|(algorithm, from, plan)| (algorithm.as_str(), from.as_str(), plan))))
}

/// Writes the texts of a kernel and names the file that holds the instructions.
fn write_texts(folder: &Path, number: u32, kernel: &KernelUse, checks: Checks, compiled: &Compiled) -> anyhow::Result<String> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make --isa {}", folder.display()))?;
    let file = |name: &str| {
        // Drivers name their texts for people: "NIR Shader(s)".
        let plain: String = name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        format!("{number:03}-{}-{}.{}.txt", kernel.step.kernel.shader, checks.name(), plain.trim_matches('-'))
    };
    for (name, text) in &compiled.texts {
        let path = folder.join(file(name));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(compiled.instructions().map_or_else(String::new, |(name, _)| file(name)))
}
