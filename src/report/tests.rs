//! What the report says of a run that is kept in `results/`.

use super::charts::all;
use super::*;
use crate::chart::{Chart, Kind, Scale};
use crate::record::Status;
use crate::units::Bytes;
use std::path::PathBuf;

fn kept() -> Source {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let mut runs: Vec<PathBuf> = fs::read_dir(results).expect("there").map(|entry| entry.expect("readable").path()).collect();
    runs.sort();
    Source::read(runs.iter().find(|path| path.join("steps.csv").is_file()).expect("a run")).expect("a run")
}

fn charts(source: &Source) -> Vec<NamedChart> {
    all(&Report::new(source))
}

fn named<'a>(charts: &'a [NamedChart], end: &str) -> &'a Chart {
    &charts.iter().find(|chart| chart.name.ends_with(end)).expect(end).chart
}

#[test]
fn each_layer_has_its_charts_and_names_do_not_repeat() {
    let source = kept();
    let charts = charts(&source);
    let layers = by_layer(&source.run.measurements).len();
    assert_eq!(charts.len(), 3 + 3 * layers);
    let names: std::collections::HashSet<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    assert_eq!(names.len(), charts.len());
    for NamedChart { name, chart } in &charts {
        assert!(chart.series.iter().any(|series| series.marks.iter().any(|mark| !mark.hover.is_empty())), "{name} tells something");
    }
}

#[test]
fn the_front_falls_and_marks_tell_exact_values() {
    let source = kept();
    let charts = charts(&source);
    let chart = named(&charts, "time-against-workspace");
    let front = &chart.series[0];
    assert_eq!((front.kind, front.name.as_str()), (Kind::Line, "Pareto front"));
    assert!(front.marks.windows(2).all(|pair| pair[0].x <= pair[1].x && pair[0].y >= pair[1].y), "stairs go down to the right");
    let first = &source.run.measurements[0].case;
    let rows = source.run.measurements.iter().filter(|row| row.case.layer == first.layer && row.status == Status::Ok);
    for row in rows {
        let told = |hover: &str| hover.contains(&Bytes(row.computation_bytes.expect("known")).to_string());
        let mark = chart.series.iter().flat_map(|s| &s.marks).find(|m| m.hover.starts_with(&format!("{}\n", name::case_name(row))));
        let mark = mark.expect("a mark for every verified case");
        assert!(told(&mark.hover) && (mark.y - row.time_median_ns.expect("timed")).abs() < 1e-6, "{}", mark.hover);
        assert_eq!(mark.hollow, mark.label.is_empty(), "what is on the front is filled and named");
    }
}

#[test]
fn ledgers_add_up_to_what_the_rows_say() {
    let source = kept();
    let charts = charts(&source);
    let chart = named(&charts, "ledgers");
    let Scale::Categories(cases) = &chart.y.scale else { panic!("rows of cases") };
    let first = &source.run.measurements[0].case;
    for (place, case) in cases.iter().enumerate() {
        let row = source.run.measurements.iter().find(|row| row.case.layer == first.layer && name::case_name(row) == *case).expect("a row");
        let bytes = [row.parameter_bytes, row.activation_bytes, row.computation_bytes.expect("known")];
        for (series, bytes) in chart.series.iter().zip(bytes) {
            let mark = series.marks.iter().find(|mark| mark.y.to_bits() == (place as f64).to_bits()).expect("a bar");
            assert!(mark.x >= bytes as f64 && mark.x < bytes as f64 + 4096.0, "{case} {}: {} for {bytes}", series.name, mark.x);
        }
    }
}

#[test]
fn stages_keep_the_order_they_run_in() {
    let source = kept();
    for NamedChart { chart, .. } in charts(&source).iter().filter(|chart| chart.name.ends_with("stages")) {
        let at = |name: &str| chart.series.iter().position(|series| series.name == name);
        for pair in
            [["im2col", "gemm"], ["input_transform", "gemm"], ["gemm", "output_transform"], ["filter_transform, once", "input_transform"]]
        {
            if let (Some(before), Some(after)) = (at(pair[0]), at(pair[1])) {
                assert!(before < after, "{pair:?}");
            }
        }
    }
}

#[test]
fn the_roof_turns_at_the_ridge() {
    let source = kept();
    let peaks = source.run.environment.peaks.as_ref().expect("measured");
    let charts = charts(&source);
    let roof = named(&charts, "roofline").series.iter().find(|series| series.name.starts_with('π')).expect("a roof");
    let (pi, beta) = (peaks.multiply_add_f32.gflops, peaks.memory_copy.bytes_per_second / 1e9);
    let ridge = roof.marks.iter().find(|mark| (mark.x - pi / beta).abs() < 1e-9).expect("a ridge");
    assert!((ridge.y - pi).abs() < 1e-9);
    assert!(roof.marks.iter().all(|mark| mark.y <= pi && (mark.y - pi.min(beta * mark.x)).abs() < 1e-9));
}

#[test]
fn the_headline_answers_in_numbers_of_the_run() {
    let mut source = kept();
    let told = headline(&source.run).join("\n");
    for part in ["im2col's whole column matrix takes ", "The fastest case needs ", "without any workspace ", "The direct method takes "] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let most = by_layer(&source.run.measurements).iter().filter_map(LayerRows::blow_up).fold(0.0, f64::max);
    assert!(told.contains(&name::times(most)), "{told}");
    assert!(!told.contains("What is missing"), "{told}");
    source.run.measurements[0].status = Status::Crashed;
    source.run.measurements[1].status = Status::Skipped;
    source.run.environment.expense = None;
    let told = headline(&source.run).join("\n");
    assert!(told.contains("1 case failed; 1 was skipped") && told.contains("did not come to its end"), "{told}");
    source.run.measurements.clear();
    assert!(headline(&source.run).join("\n").contains("The run has no case yet."));
}

#[test]
fn names_are_cut_in_the_middle() {
    assert_eq!(name::shortened("abcdefghij", 4), "ab…ij");
    assert_eq!(name::shortened("äöü", 3), "äöü");
    let long = name::Name::new(&"x".repeat(10_000));
    assert!(long.short.chars().count() <= 61 && long.tooltip.chars().count() <= 301);
}
