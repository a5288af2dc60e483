//! `convledger worker`: the process that touches the device on behalf of a run.

use super::tuning::TuningArgument;
use super::{Outcome, one_line};
use crate::account::{self, Life};
use crate::device::{Adapter, DeviceError, Gpu, Instance};
use crate::experiment::{Measured, Part, Site};
use crate::plan::TuningFile;
use crate::record::CaseKey;
use crate::runner::{DeviceExecutor, Order, Reply, TuningExecutor, measure_apart, refuse, serve_once, serve_stdio};
use std::time::Duration;

/// Time for the process beside that of an experiment.
const BESIDE: Duration = Duration::from_mins(2);

#[derive(clap::Args)]
pub(super) struct Args {
    /// Adapter by number or part of its name
    #[arg(long)]
    device: Option<String>,

    #[command(flatten)]
    tuning: TuningArgument,

    /// Take trials of tuning, not cases
    #[arg(long)]
    tune: bool,

    /// Take one order with no device open yet
    #[arg(long)]
    once: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.once {
        serve_once(|order| args.follow(order))?;
        return Ok(Outcome::Good);
    }
    let gpu = args.tuning.choose(args.device.as_deref()).and_then(|adapter| Ok(Gpu::open(adapter)?));
    match gpu {
        Ok(gpu) if args.tune => serve_stdio(&mut TuningExecutor::new(&gpu))?,
        Ok(gpu) => serve_stdio(&mut DeviceExecutor::new(gpu))?,
        Err(error) => refuse(std::io::stdout(), &one_line(&error))?,
    }
    Ok(Outcome::Good)
}

impl Args {
    fn follow(&self, order: Order) -> Reply {
        match order {
            Order::Life(case) => Reply::Life(self.live(&case).map(Box::new).map_err(|error| one_line(&error))),
            Order::Experiment(part) => Reply::Experiment(self.measure(&part).map(Box::new).map_err(|error| one_line(&error))),
            _ => Reply::Refused("a worker for one order takes no cases, trials or limits".into()),
        }
    }

    fn live(&self, case: &CaseKey) -> anyhow::Result<Life> {
        let file = self.tuning.read()?;
        Ok(account::live(case, |instance| self.choose(instance, file.as_ref()), &|report| report)?)
    }

    fn measure(&self, part: &Part) -> anyhow::Result<Measured> {
        let file = self.tuning.read()?;
        let beside = |part: &Part| {
            let command = super::account::worker(self.device.as_deref(), &self.tuning).map_err(|error| one_line(&error))?;
            measure_apart(command, part, BESIDE).map_err(|error| error.to_string())
        };
        Ok(part.run(&Site { choose: &|instance| self.choose(instance, file.as_ref()), beside: &beside })?)
    }

    fn choose(&self, instance: &Instance, file: Option<&TuningFile>) -> Result<Adapter, DeviceError> {
        let adapter = instance.choose(self.device.as_deref())?;
        Ok(match file {
            Some(file) => adapter.tuned(file),
            None => adapter,
        })
    }
}
