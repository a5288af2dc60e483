//! `convledger ledger`: every byte by closed form. No device, and nothing but the ledger on standard output.

mod network;

use super::problems::Problems;
use super::table::{lines, table};
use super::{Outcome, print};
use crate::algorithm::{ALGORITHMS, Variant};
use crate::plan::Limits;
use crate::record::{Cache, CaseKey, Status, guarded};
use crate::runner::{Planned, Request, Selection, schedule};
use crate::units::Grouped;
use anyhow::bail;
use serde::Serialize;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    problems: Problems,

    /// Only algorithms whose id, or id:variant, matches; may be given several times
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["network", "training"])]
    algorithm: Vec<String>,

    /// How to print
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    #[command(flatten)]
    totals: network::Totals,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Table,
    /// The columns of measurements.csv, or those of a network's totals
    Csv,
    /// An array of objects with the same names
    Json,
}

/// A predicted row, under the column names of `measurements.csv`.
#[derive(Clone, Serialize)]
struct Row {
    suite: String,
    layer: String,
    conv: String,
    pass: String,
    dtype: String,
    algorithm: String,
    variant: String,
    status: Status,
    reason: String,
    parameter_bytes: u64,
    activation_bytes: u64,
    computation_bytes: Option<u64>,
    flops: u64,
    flops_without_padding: u64,
    algorithm_flops: Option<u64>,
    min_bytes: u64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.totals.asked() {
        return args.totals.run(&args.problems, args.format);
    }
    let selection = Selection::parse(&args.algorithm, ALGORITHMS)?;
    if selection.is_auto() {
        bail!("--algorithm auto goes by the limits of a device, which this command needs none of: run or exec choose");
    }
    let suites = args.problems.read(None)?;
    let planned = schedule(&Request {
        suites: &suites,
        algorithms: ALGORITHMS,
        selection: &selection,
        limits: &Limits::UNLIMITED,
        caches: &[Cache::Hot],
        workspace_limit: None,
    })?;
    let rows: Vec<Row> = planned.iter().map(Row::of).collect();
    print(&match args.format {
        Format::Table => as_table(&rows),
        Format::Csv => as_csv(&rows)?,
        Format::Json => serde_json::to_string_pretty(&rows)? + "\n",
    })?;
    Ok(Outcome::Good)
}

impl Row {
    fn of(planned: &Planned) -> Self {
        let predicted = match planned {
            Planned::Run(prediction) => prediction.measurement(Status::Ok, ""),
            Planned::Row(rows) => rows.measurement.clone(),
        };
        let CaseKey { suite, layer, conv, algorithm, variant, .. } = predicted.case;
        Self {
            suite,
            layer,
            conv: conv.to_string(),
            pass: conv.pass().to_string(),
            dtype: conv.element().to_string(),
            algorithm,
            variant: variant.to_string(),
            status: predicted.status,
            reason: predicted.reason,
            parameter_bytes: predicted.parameter_bytes,
            activation_bytes: predicted.activation_bytes,
            computation_bytes: predicted.computation_bytes,
            flops: predicted.flops,
            flops_without_padding: predicted.flops_without_padding,
            algorithm_flops: predicted.algorithm_flops,
            min_bytes: predicted.min_bytes,
        }
    }
}

fn as_csv(rows: &[Row]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        // Names are the user's own; the other texts are ours.
        let (suite, layer) = (guarded(&row.suite), guarded(&row.layer));
        writer.serialize(Row { suite, layer, ..row.clone() })?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn as_table(rows: &[Row]) -> String {
    let many = rows.iter().any(|row| row.suite != rows[0].suite);
    // Layers of the command line are named by their convolution.
    let named = rows.iter().any(|row| row.layer != row.conv);
    let body = rows.iter().map(|row| {
        let number = |n: Option<u64>| n.map_or("-".to_owned(), |n| Grouped(n).to_string());
        let variant: Variant = row.variant.parse().unwrap_or_default();
        let mut cells = vec![if many { format!("{}/{}", row.suite, row.layer) } else { row.layer.clone() }];
        cells.extend(named.then(|| row.conv.clone()));
        cells.extend([
            variant.qualify(&row.algorithm),
            Grouped(row.parameter_bytes).to_string(),
            Grouped(row.activation_bytes).to_string(),
            number(row.computation_bytes),
            number(row.algorithm_flops),
            row.reason.clone(),
        ]);
        cells
    });
    let mut header = vec!["layer", "convolution", "algorithm", ">parameter B", ">activation B", ">computation B", ">algorithm FLOP", ""];
    if !named {
        header.remove(1);
    }
    lines(&table(&header, body))
}
