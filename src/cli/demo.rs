//! `convledger demo`: sweeps that teach.

use super::measuring::Measuring;
use super::table::{lines, table};
use super::{Outcome, print};
use crate::conv::Conv;
use crate::demo::{self, Demo, Row};
use crate::units::{Bytes, Nanoseconds};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct Args {
    /// What to show
    #[arg(value_name = "NAME")]
    name: Name,

    /// The layer that `tradeoff` looks at, such as `n1c64h56w56_k64r3s3_p1`; without it a small one
    #[arg(value_name = "CONV")]
    conv: Option<Conv>,

    /// Folder for the files; without it results/<date>-<device>
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    measuring: Measuring,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Name {
    /// im2col's workspace and time over kernel size, channels, resolution and batch, against reading the patches in place
    Blowup,
    /// One layer, every algorithm and variant: time against workspace
    Tradeoff,
    /// Activations, workspaces and times over the size of the input
    Resolution,
    /// Errors against the f64 reference over the length of the sum, and bytes by element type
    Precision,
}

impl Name {
    const fn demo(self) -> Demo {
        match self {
            Self::Blowup => Demo::Blowup,
            Self::Tradeoff => Demo::Tradeoff,
            Self::Resolution => Demo::Resolution,
            Self::Precision => Demo::Precision,
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let demo = args.name.demo();
    let points = demo.points(args.conv)?;
    let measured = args.measuring.run(args.out.as_ref(), &[(demo.suite(&points), demo.patterns())])?;
    let rows = demo::rows(&points, &measured.rows);
    let shown = demo.show(&rows);
    let stem = format!("demo-{}", demo.name());
    let mut files = vec![(format!("{stem}.csv"), demo::to_csv(&rows)?)];
    for (suffix, chart) in &shown.charts {
        files.push((format!("{stem}{suffix}.svg"), chart.to_svg()?));
    }
    let sentences = shown.sentences.join("\n");
    files.push((format!("{stem}.txt"), format!("{sentences}\n")));
    for (name, text) in &files {
        write(&measured.path, name, text)?;
    }
    let names = files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    print(&format!("\n{}\n{sentences}\n\n{names} in {}\n", as_table(&rows), measured.path.display()))?;
    Ok(if measured.failed() { Outcome::FellShort } else { Outcome::Good })
}

fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn as_table(rows: &[Row]) -> String {
    let body = rows.iter().map(|row| {
        let m = &row.measurement;
        let dash = || "-".to_owned();
        vec![
            format!("{} {}", row.sweep, row.value),
            m.case.conv.element().to_string(),
            row.name(),
            m.status.name().to_owned(),
            format!("{:#}", Bytes(m.activation_bytes)),
            m.computation_bytes.map_or_else(dash, |bytes| format!("{:#}", Bytes(bytes))),
            row.blow_up().map_or_else(dash, |ratio| format!("{ratio:.1}x")),
            m.time_median_ns.map_or_else(dash, |time| Nanoseconds(time).to_string()),
            m.error_rel_l2.map_or_else(dash, |error| format!("{error:.1e}")),
        ]
    });
    let header = ["point", "type", "algorithm", "status", ">activations", ">workspace", ">over input", ">time", ">error"];
    lines(&table(&header, body))
}
