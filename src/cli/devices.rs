//! `convledger devices`: every adapter, with the limits that decide what runs on it.

use super::table::{lines, table};
use super::{Outcome, print};
use crate::device::{Adapter, adapters, choose};
use crate::plan::DeviceClass;
use crate::units::Bytes;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Show every optional feature of each adapter, not only those that matter here
    #[arg(long)]
    features: bool,
}

/// Features a kernel or a measurement makes use of, now or when such kernels come.
const OF_INTEREST: [&str; 6] =
    ["TIMESTAMP_QUERY", "SHADER_F16", "SUBGROUP", "SHADER_INT64", "EXPERIMENTAL_COOPERATIVE_MATRIX", "PIPELINE_CACHE"];

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    // Choosing reports what to install when there is none.
    let chosen = choose(None)?.index;
    let rows = adapters().into_iter().map(|adapter| {
        let Adapter { index, identity, limits, features, subgroup, .. } = adapter;
        let mark = if index == chosen { "*" } else { "" };
        let [x, y, z] = limits.max_workgroup_size;
        let shown: Vec<&str> = features.iter().map(String::as_str).filter(|f| args.features || OF_INTEREST.contains(f)).collect();
        vec![
            format!("{mark}{index}"),
            identity.name,
            identity.backend,
            format!("{} {}", identity.driver, identity.driver_info).trim().to_owned(),
            kind(identity.class).to_owned(),
            format!("{:#}", Bytes(limits.max_buffer_bytes)),
            format!("{:#}", Bytes(limits.max_storage_binding_bytes)),
            format!("{:#}", Bytes(limits.max_workgroup_bytes.into())),
            format!("{} ({x}x{y}x{z})", limits.max_workgroup_invocations),
            format!("{}-{}", subgroup.0, subgroup.1),
            shown.join(" "),
        ]
    });
    let header =
        [">", "name", "backend", "driver", "kind", ">buffer", ">binding", ">workgroup memory", ">invocations", "subgroup", "features"];
    let text = lines(&table(&header, rows));
    print(&format!("{text}\n* is taken without --device\n"))?;
    Ok(Outcome::Good)
}

fn kind(class: DeviceClass) -> &'static str {
    match class {
        DeviceClass::Discrete => "discrete GPU",
        DeviceClass::Integrated => "integrated GPU",
        DeviceClass::Virtual => "virtual GPU",
        DeviceClass::Software => "software",
        DeviceClass::Other => "other",
    }
}
