//! `peak`: the device's own limits, for people and for programs.

use crate::{Ended, convledger, device};
use convledger::peak::Peaks;

fn peak(args: &[&str]) -> assert_cmd::Command {
    let mut command = convledger(&["peak"]);
    command.args(args);
    if let Some(device) = device() {
        command.args(["--device", &device]);
    }
    command
}

#[test]
fn a_table_names_every_limit_and_how_it_was_found() {
    let text = Ended::good(peak(&["--time-budget", "100ms"])).stdout;
    let value = |limit: &str| {
        let line = text.lines().find(|line| line.contains(limit)).unwrap_or_else(|| panic!("no line for {limit}:\n{text}"));
        let rest = line.split_once(limit).expect("contained").1;
        rest.split_whitespace().find_map(|word| word.parse::<f64>().ok()).unwrap_or_else(|| panic!("no number in {line:?}"))
    };
    for limit in
        ["multiply-add, f32 (π)", " (β)", "workgroup memory", "one more empty dispatch", "resolution of the clock", "reading the clock"]
    {
        assert!(value(limit) > 0.0, "{limit}:\n{text}");
    }
    assert!(text.contains("chains of vec4<f32>") && text.contains("copy of vec4<f32>"), "{text}");
    assert!(text.contains("measured in 0.1 s for a run in a hurry"), "{text}");
}

#[test]
fn json_is_what_a_run_records() {
    let text = Ended::good(peak(&["--time-budget", "1s", "--format", "json"])).stdout;
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let peaks: Peaks = serde_json::from_value(report["peaks"].clone()).expect("the strict form");
    assert!(peaks.copies.contains(&peaks.memory_copy));
    assert!(peaks.copies.is_sorted_by_key(|copy| copy.working_set_bytes));
    assert!(report["device"]["name"].as_str().is_some_and(|name| !name.is_empty()), "{text}");
    assert!(report["clock"]["timer_overhead_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{text}");
}

#[test]
fn a_time_budget_that_is_none_is_refused() {
    let ended = Ended::of(convledger(&["peak", "--time-budget", "soon"]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("'soon' is not a duration"), "{}", ended.stderr);
}
