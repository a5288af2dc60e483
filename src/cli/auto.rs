//! `convledger auto`: how good the automatic choice would have been, and the costs it goes by.

use super::table::{lines, table};
use super::{Outcome, note, print, read_run};
use crate::analysis::auto::{GOOD, Pick, observations, picks};
use crate::cost::{Costs, DeviceCosts, Model, fit};
use crate::plan::DeviceClass;
use crate::record::Run;
use crate::stats::geometric_mean;
use crate::units::{Bytes, Nanoseconds};
use anyhow::{Context, bail};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folders of runs that measured more than one case a layer
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,

    /// Leave out variants that need more workspace, such as 256MiB
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    workspace_limit: Option<Bytes>,

    /// What kernels reach of a device's limits, as --fit prints it; without it what is built in
    #[arg(long, value_name = "FILE.toml")]
    costs: Option<PathBuf>,

    /// Fit the costs to the runs' stages and print them, for --costs
    #[arg(long, conflicts_with = "costs")]
    fit: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let runs = args.runs.iter().map(|path| Ok((path.display().to_string(), read_run(path)?))).collect::<anyhow::Result<Vec<_>>>()?;
    let costs = costs(args.costs.as_ref())?;
    tell_of_costs(args.costs.as_ref(), &costs, runs[0].1.environment.device.class);
    print(&if args.fit { fitted(&runs)?.to_toml() } else { report(args, &runs, &costs)? })?;
    Ok(Outcome::Good)
}

/// The costs of a file, or those built in.
pub(super) fn costs(path: Option<&PathBuf>) -> anyhow::Result<Costs> {
    Ok(path.map_or_else(|| Ok(Costs::builtin().clone()), |path| Costs::read(path))?)
}

/// Tells of a file of costs that is no help on a kind of device.
pub(super) fn tell_of_costs(path: Option<&PathBuf>, costs: &Costs, class: DeviceClass) {
    if let Some(path) = path.filter(|_| !costs.knows(class)) {
        note(format!("costs    {} says nothing of this kind of device: what is built in is taken", path.display()));
    }
}

fn model<'a>(path: &str, run: &'a Run, costs: &'a Costs) -> anyhow::Result<Model<'a>> {
    let environment = &run.environment;
    let peaks =
        environment.peaks.as_ref().with_context(|| format!("{path}: the run has no measured limits of its device (environment.json)"))?;
    Ok(Model::new(costs, environment.device.class, Some(peaks)))
}

fn fitted(runs: &[(String, Run)]) -> anyhow::Result<Costs> {
    let class = runs[0].1.environment.device.class;
    let mut seen = Vec::new();
    let mut dispatch = Nanoseconds(f64::INFINITY);
    for (path, run) in runs {
        if run.environment.device.class != class {
            bail!("{path}: of another kind of device than {}: costs are fitted to one", runs[0].0);
        }
        let model = model(path, run, Costs::builtin())?;
        dispatch = Nanoseconds(dispatch.0.min(model.dispatch().0));
        seen.extend(observations(run, &model));
    }
    if let Some((path, _)) = runs.iter().find(|(_, run)| run.steps.is_empty()) {
        bail!("{path}: no stages to fit to: steps.csv was not kept or is empty");
    }
    if seen.is_empty() {
        bail!("{}: no stage that this version plans as the run did: measure it again", runs[0].0);
    }
    Ok(Costs { devices: vec![DeviceCosts { class: Some(class), kernels: fit(&seen, dispatch) }] })
}

fn report(args: &Args, runs: &[(String, Run)], costs: &Costs) -> anyhow::Result<String> {
    let mut all = Vec::new();
    for (path, run) in runs {
        all.extend(picks(&run.measurements, &run.environment.limits, args.workspace_limit, &model(path, run, costs)?));
    }
    if all.is_empty() {
        bail!("{}: no layer with more than one measured case, which leaves no choice", runs[0].0);
    }
    let many = all.iter().any(|pick| pick.suite != all[0].suite);
    let body = all.iter().map(|pick| {
        vec![
            if many { format!("{}/{}", pick.suite, pick.layer) } else { pick.layer.clone() },
            pick.picked.name.clone(),
            pick.picked.predicted.to_string(),
            pick.picked.measured.to_string(),
            pick.best.name.clone(),
            pick.best.measured.to_string(),
            format!("{:.2}x", pick.loss()),
        ]
    });
    let header = ["layer", "choice", ">predicted", ">measured", "fastest", ">measured", ">choice over fastest"];
    Ok(format!("{}\n{}\n", lines(&table(&header, body)), verdict(&all)))
}

/// How often the choice was good, on one line.
pub(super) fn verdict(picks: &[Pick]) -> String {
    let good = picks.iter().filter(|pick| pick.is_good()).count();
    let losses: Vec<f64> = picks.iter().map(Pick::loss).collect();
    let mean = geometric_mean(&losses).unwrap_or(1.0);
    let worst = picks.iter().map(Pick::loss).fold(1.0, f64::max);
    let layers = if picks.len() == 1 { "layer" } else { "layers" };
    format!(
        "--algorithm auto is within {:.0} % of the fastest on {good} of {} {layers}; over the fastest {mean:.2}x in the mean, {worst:.2}x at worst.",
        (GOOD - 1.0) * 100.0,
        picks.len()
    )
}
