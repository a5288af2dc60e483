//! `convledger worker`: the process that touches the device on behalf of a run.

use super::tuning::TuningArgument;
use super::{Outcome, one_line};
use crate::device::Gpu;
use crate::runner::{DeviceExecutor, TuningExecutor, refuse, serve_stdio};

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
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let gpu = args.tuning.choose(args.device.as_deref()).and_then(|adapter| Ok(Gpu::open(adapter)?));
    match gpu {
        Ok(gpu) if args.tune => serve_stdio(&mut TuningExecutor::new(&gpu))?,
        Ok(gpu) => serve_stdio(&mut DeviceExecutor::new(gpu))?,
        Err(error) => refuse(std::io::stdout(), &one_line(&error))?,
    }
    Ok(Outcome::Good)
}
