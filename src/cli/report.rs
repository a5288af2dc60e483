//! `convledger report`: a run as one HTML page, and its charts as pictures.

use super::{Outcome, print};
use crate::report::{self, Format, Source};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
The page needs no network: style, script and charts are in it. `convledger run` writes it at its end; this command makes it again, for runs of \
other machines too. A claims.csv in the folder becomes a section of its own.")]
pub(super) struct Args {
    /// Folder of a run
    #[arg(value_name = "DIR")]
    run: PathBuf,

    /// The page's file; without it report.html in DIR
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Write every chart into a folder, too: colours on white, for papers
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,

    /// The charts' formats; may be given several times
    #[arg(long, value_name = "FORMAT", requires = "charts", default_value = "svg")]
    format: Vec<ChartFormat>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ChartFormat {
    /// Lines and texts
    Svg,
    /// Pixels, at twice the size
    Png,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if let Some(out) = &args.out {
        super::keep_run_files(out)?;
    }
    let source = Source::read(&args.run)?;
    super::tell_remarks(&args.run, &source.run);
    let path = args.out.clone().unwrap_or_else(|| args.run.join(report::FILE));
    report::write(&source, &path)?;
    let mut told = format!("{}\n", path.display());
    if let Some(folder) = &args.charts {
        let formats: Vec<Format> = args.format.iter().map(|format| format.of_library()).collect();
        let count = report::write_charts(&source, folder, &formats)?;
        let charts = if count == 1 { "chart" } else { "charts" };
        told = format!("{told}{count} {charts}: {}\n", folder.display());
    }
    print(&told)?;
    Ok(Outcome::Good)
}

impl ChartFormat {
    fn of_library(self) -> Format {
        match self {
            Self::Svg => Format::Svg,
            Self::Png => Format::Png,
        }
    }
}
