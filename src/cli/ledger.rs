//! `convledger ledger`: every byte by closed form. No device, and nothing but the ledger on standard output.

mod network;

use super::problems::Problems;
use super::table::{lines, table};
use super::{Outcome, print};
use crate::algorithm::{ALGORITHMS, Variant};
use crate::plan::Limits;
use crate::record::{Cache, CaseKey, CaseRows, LedgerRow, Status, guarded};
use crate::runner::{Planned, Request, Selection, schedule};
use crate::units::Grouped;
use anyhow::bail;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// A predicted row, under the column names of `measurements.csv`, and what its workspaces share.
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
    /// The workspaces each counted in full, where `computation_bytes` counts memory that they share once.
    workspace_sum_bytes: Option<u64>,
    /// Names of those that share: `a+b; c+d` for two slots of two.
    shares: String,
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
        let CaseRows { measurement: predicted, ledger: buffers, .. } = match planned {
            Planned::Run(prediction) => prediction.rows(Status::Ok, ""),
            Planned::Row(rows) => rows.as_ref().clone(),
        };
        let (shares, saved) = sharing(&buffers);
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
            workspace_sum_bytes: predicted.computation_bytes.map(|arena| arena + saved),
            shares,
        }
    }
}

/// The workspaces that share memory, slot by slot, and the bytes that saves.
fn sharing(buffers: &[LedgerRow]) -> (String, u64) {
    let mut slots: BTreeMap<u64, Vec<&LedgerRow>> = BTreeMap::new();
    for buffer in buffers {
        if let Some(slot) = buffer.slot {
            slots.entry(slot).or_default().push(buffer);
        }
    }
    let names = |tenants: &Vec<&LedgerRow>| tenants.iter().map(|buffer| buffer.buffer.as_str()).collect::<Vec<_>>().join("+");
    let bytes = |tenants: &Vec<&LedgerRow>| {
        let bytes = tenants.iter().map(|buffer| buffer.predicted_bytes);
        bytes.clone().sum::<u64>() - bytes.max().unwrap_or(0)
    };
    (slots.values().map(names).collect::<Vec<_>>().join("; "), slots.values().map(bytes).sum())
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
    let shared = rows.iter().any(|row| !row.shares.is_empty());
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
        ]);
        cells.extend(shared.then(|| [number(row.workspace_sum_bytes), row.shares.clone()]).into_iter().flatten());
        cells.extend([number(row.algorithm_flops), row.reason.clone()]);
        cells
    });
    let mut header = vec!["layer"];
    header.extend(named.then_some("convolution"));
    header.extend(["algorithm", ">parameter B", ">activation B", ">computation B"]);
    header.extend(shared.then_some([">sum of workspaces B", "share memory"]).into_iter().flatten());
    header.extend([">algorithm FLOP", ""]);
    lines(&table(&header, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::Conv;
    use crate::plan::Plan;
    use crate::plan::tests::step;
    use crate::runner::{Prediction, ledger_rows};
    use crate::units::Ops;

    /// A case whose plan binds one workspace in each step, each `bytes` long.
    fn row(variant: &str, workspaces: &[(&str, u64)]) -> Row {
        let conv: Conv = "n1c4h8w8_k4r3s3_p1".parse().expect("a key");
        let mut plan = Plan::new(&conv);
        for (name, bytes) in workspaces {
            let id = plan.workspace(name, &[bytes / 4], conv.element()).expect("small");
            plan.steps.push(step(vec![plan.whole(id)]));
        }
        let plan = plan.finish(&Limits::UNLIMITED).expect("small");
        let variant = variant.parse().expect("a variant");
        let case = CaseKey { suite: "s".into(), layer: "l".into(), conv, algorithm: "made_up".into(), variant, cache: Cache::Hot };
        let ledger = ledger_rows(&case, &plan);
        let computation = Some(plan.arena_bytes());
        let prediction = Prediction { ledger, computation, algorithm_operations: Some(Ops(7)), ..Prediction::of_problem(case) };
        Row::of(&Planned::Run(Box::new(prediction)))
    }

    #[test]
    fn what_shares_memory_is_told_beside_the_sum() {
        let rows = [row("tiles=1", &[("tiles", 64)]), row("tiles=2", &[("packed", 48), ("tiles", 128), ("result", 80)])];
        insta::assert_snapshot!(as_table(&rows), @r"
        layer  convolution         algorithm        parameter B  activation B  computation B  sum of workspaces B  share memory         algorithm FLOP
        l      n1c4h8w8_k4r3s3_p1  made_up:tiles=1          576         2,048             64                   64                                    7
        l      n1c4h8w8_k4r3s3_p1  made_up:tiles=2          576         2,048            128                  256  packed+tiles+result               7
        ");
        let csv = as_csv(&rows).expect("writes");
        let ends: Vec<&str> = csv.lines().map(|line| line.rsplitn(3, ',').nth(2).map_or("", |start| &line[start.len()..])).collect();
        assert_eq!(ends, [",workspace_sum_bytes,shares", ",64,", ",256,packed+tiles+result"]);
        assert_eq!((rows[0].computation_bytes, rows[1].computation_bytes), (Some(64), Some(128)));
        // Where nothing is shared there is nothing to tell.
        assert!(!as_table(&rows[..1]).contains("share"));
    }
}
