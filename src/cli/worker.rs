//! `convledger worker`: the process that touches the device on behalf of a run.

use super::Outcome;
use crate::device::{Gpu, choose};
use crate::runner::{DeviceExecutor, refuse, serve_stdio};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Adapter by number or part of its name
    #[arg(long)]
    device: Option<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match choose(args.device.as_deref()).and_then(Gpu::open) {
        Ok(gpu) => serve_stdio(&mut DeviceExecutor::new(gpu))?,
        Err(error) => refuse(std::io::stdout(), &error.to_string())?,
    }
    Ok(Outcome::Good)
}
