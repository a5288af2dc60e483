//! The comparison for programs: a CSV row for each case of each run, or everything as JSON. Times in nanoseconds, sizes in bytes; the columns
//! that end in `_a` are the baseline's, in `_b` those of the run held against it.

use super::{Held, Named, Report};
use crate::analysis::compare::{Case, Lone, Memory, Verdict};
use crate::record::{CaseKey, Run, guarded};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Column names and values, in the order of the columns.
type Row = Vec<(String, Value)>;

fn value(of: impl Serialize) -> Value {
    // Plain data: there is always a JSON form.
    serde_json::to_value(of).unwrap_or_default()
}

fn key(key: &CaseKey) -> Row {
    let CaseKey { suite, layer, conv, algorithm, variant, cache } = key;
    let (dtype, pass) = (conv.element().to_string(), conv.pass().to_string());
    let texts =
        [("suite", suite), ("layer", layer), ("conv", &conv.to_string()), ("pass", &pass), ("dtype", &dtype), ("algorithm", algorithm)];
    let mut row: Row = texts.into_iter().map(|(name, text)| (name.into(), value(text))).collect();
    row.extend([("variant".into(), value(variant)), ("cache".into(), value(cache))]);
    row
}

fn row(report: &Report<'_>, held: &Held<'_>, case: &Case) -> Row {
    let (ratio, judgement) = (case.ratio.as_ref(), case.judge(report.threshold));
    let mut row: Row = vec![("run".into(), value(held.path))];
    row.extend(key(&case.key.baseline));
    let mut add = |name: &str, of: Value| row.push((name.to_owned(), of));
    add("matched_by", value(case.matched));
    add("suite_b", value(&case.key.other.suite));
    add("layer_b", value(&case.key.other.layer));
    let mut sides = |name: &str, a: Value, b: Value| {
        add(&format!("{name}_a"), a);
        add(&format!("{name}_b"), b);
    };
    sides("status", value(case.status.baseline), value(case.status.other));
    sides("reason", value(&case.reason.baseline), value(&case.reason.other));
    sides("clock", value(case.clock.baseline), value(case.clock.other));
    sides("tuning", value(&case.tuning.baseline), value(&case.tuning.other));
    sides("noise", value(&case.noise.baseline), value(&case.noise.other));
    sides("time_median_ns", value(case.median_ns.baseline), value(case.median_ns.other));
    sides("time_preparation_ns", value(case.preparation_ns.baseline), value(case.preparation_ns.other));
    for Memory { ledger, level, bytes } in &case.memory {
        sides(&format!("{ledger}_{}_bytes", level.name()), value(bytes.baseline), value(bytes.other));
    }
    add("ratio", value(ratio.map(|ratio| ratio.value)));
    add("ratio_ci95_low", value(ratio.and_then(|ratio| Some(ratio.ci95?.0))));
    add("ratio_ci95_high", value(ratio.and_then(|ratio| Some(ratio.ci95?.1))));
    add("evidence", value(ratio.map(|ratio| ratio.evidence)));
    add("drift", value(ratio.map(|ratio| ratio.drift)));
    add("repeats", value(ratio.map(|ratio| ratio.repeats)));
    add("verdict", value(judgement.map(|judgement| judgement.verdict)));
    add("doubt", value(judgement.and_then(|judgement| judgement.doubt)));
    row
}

pub(super) fn csv(report: &Report<'_>) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let rows = report.held.iter().flat_map(|held| held.comparison.cases.iter().map(move |case| row(report, held, case)));
    for (at, row) in rows.enumerate() {
        if at == 0 {
            writer.write_record(row.iter().map(|(name, _)| name))?;
        }
        writer.write_record(row.iter().map(|(_, value)| match value {
            Value::Null => String::new(),
            Value::String(text) => guarded(text),
            value => value.to_string(),
        }))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

pub(super) fn json(report: &Report<'_>) -> anyhow::Result<String> {
    let runs: Vec<Value> = report.held.iter().map(|held| comparison(report, held)).collect();
    let Named { path, run } = report.baseline;
    let whole = json!({
        "threshold": report.threshold,
        "baseline": described(path, run),
        "comparisons": runs,
        "broken_rules": report.failures,
    });
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

fn described(path: &str, run: &Run) -> Value {
    let environment = &run.environment;
    json!({
        "path": path,
        "run_id": environment.run_id,
        "started": environment.started,
        "version": environment.version,
        "device": environment.device,
    })
}

fn comparison(report: &Report<'_>, held: &Held<'_>) -> Value {
    let object = |row: Row| Value::Object(row.into_iter().collect::<Map<_, _>>());
    let lone = |found: &[Lone]| -> Vec<Value> {
        let one =
            |lone: &Lone| object([key(&lone.key), vec![("status".into(), value(lone.status)), ("why".into(), value(lone.why))]].concat());
        found.iter().map(one).collect()
    };
    let verdicts: Map<String, Value> =
        Verdict::ALL.iter().zip(held.counts(report.threshold)).map(|(verdict, count)| (verdict.name().to_owned(), value(count))).collect();
    let total = |memory: &Memory| json!({ "ledger": memory.ledger, "level": memory.level, "bytes_a": memory.bytes.baseline, "bytes_b": memory.bytes.other });
    let peak = |peak: &crate::analysis::compare::Peak| json!({ "what": peak.what, "unit": peak.unit, "baseline": peak.values.baseline, "other": peak.values.other, "ratio": peak.ratio() });
    json!({
        "run": described(held.path, held.run),
        "differences": held.differences,
        "peaks": held.peaks.iter().map(peak).collect::<Vec<_>>(),
        "verdicts": verdicts,
        "geometric_mean": held.mean,
        "memory": held.comparison.memory_totals().iter().map(total).collect::<Vec<_>>(),
        "only_baseline": lone(&held.comparison.lone.baseline),
        "only_other": lone(&held.comparison.lone.other),
        "cases": held.comparison.cases.iter().map(|case| object(row(report, held, case))).collect::<Vec<_>>(),
    })
}
