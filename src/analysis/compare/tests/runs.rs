//! Whole runs: some that are kept for tests, and copies of them with doctored rows.

use crate::analysis::compare::environment::COMPARED;
use crate::analysis::compare::{
    Case, Comparison, Doubt, Evidence, Gate, MatchedBy, Missing, Threshold, Verdict, compare, differences, geometric_mean, peaks,
};
use crate::device::Clock;
use crate::record::{Run, Status};
use std::path::Path;

fn kept(name: &str) -> Run {
    Run::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs").join(name)).expect(name)
}

/// With samples.
fn default_run() -> Run {
    kept("default")
}

fn five() -> Threshold {
    "5%".parse().expect("a threshold")
}

fn counts(comparison: &Comparison) -> [usize; 4] {
    let told: Vec<Verdict> = comparison.cases.iter().filter_map(|case| Some(case.judge(five())?.verdict)).collect();
    Verdict::ALL.map(|verdict| told.iter().filter(|&&v| v == verdict).count())
}

fn failure(rule: &str, comparison: &Comparison) -> Option<String> {
    rule.parse::<Gate>().expect(rule).check(comparison, five()).map(|failure| failure.to_string())
}

const RULES: [&str; 6] = ["slower", "mean", "memory", "status", "missing", "unsure"];

#[test]
fn a_run_is_the_same_as_itself_everywhere() {
    let run = default_run();
    let comparison = compare(&run, &run);
    let timed = run.measurements.iter().filter(|row| row.status == Status::Ok).count();
    assert!(timed > 40, "{timed}");
    assert_eq!(counts(&comparison), [0, 0, 0, timed]);
    assert_eq!(comparison.cases.len(), run.measurements.len());
    assert_eq!(differences(&run, &run), []);
    let mean = geometric_mean(&comparison.cases).expect("cases");
    assert_eq!((mean.value, mean.ci95), (1.0, Some((1.0, 1.0))));
    // A copy whose samples were not kept is still the same run.
    assert_eq!(counts(&compare(&run, &Run { samples: Vec::new(), ..run.clone() })), [0, 0, 0, timed]);
    for rule in RULES {
        assert_eq!(failure(rule, &comparison), None, "{rule}");
    }
}

/// The rows of a case that has many samples and no drift, at a position of its own.
fn steady(run: &Run) -> Vec<usize> {
    let good = |row: &crate::record::Measurement| {
        let narrow = row.time_ci95_low_ns.zip(row.time_ci95_high_ns).is_some_and(|(low, high)| high / low < 1.03);
        row.status == Status::Ok && row.samples.is_some_and(|n| n >= 20) && !row.noise.contains("drift") && narrow
    };
    run.measurements.iter().enumerate().filter(|(_, row)| good(row)).map(|(at, _)| at).collect()
}

/// Makes a case's samples and all that was computed from them `factor` times as long.
fn doctor(run: &mut Run, at: usize, factor: f64) {
    let row = &mut run.measurements[at];
    for time in [
        &mut row.time_median_ns,
        &mut row.time_min_ns,
        &mut row.time_mean_ns,
        &mut row.time_p05_ns,
        &mut row.time_p95_ns,
        &mut row.time_ci95_low_ns,
        &mut row.time_ci95_high_ns,
    ] {
        *time = time.map(|t| t * factor);
    }
    let case = row.case.clone();
    run.samples.iter_mut().filter(|sample| sample.case == case).for_each(|sample| sample.time_ns *= factor);
}

#[test]
fn doctored_rows_are_found_and_no_others() {
    let run = default_run();
    let [slow, fast, ..] = steady(&run)[..] else { panic!("two steady cases") };
    let heavy = (0..run.measurements.len())
        .find(|&at| ![slow, fast].contains(&at) && run.measurements[at].computation_allocated_bytes.is_some_and(|b| b > 0))
        .expect("a workspace");
    let broken = (0..run.measurements.len())
        .rfind(|&at| run.measurements[at].status == Status::Ok && ![slow, fast, heavy].contains(&at))
        .expect("another");
    for keep_samples in [true, false] {
        let mut doctored = run.clone();
        if !keep_samples {
            doctored.samples.clear();
        }
        doctor(&mut doctored, slow, 1.2);
        doctor(&mut doctored, fast, 0.8);
        let row = &mut doctored.measurements[heavy];
        row.computation_allocated_bytes = row.computation_allocated_bytes.map(|bytes| bytes + (2 << 20));
        let row = &mut doctored.measurements[broken];
        (row.status, row.reason, row.time_median_ns) = (Status::Wrong, "rel_l2 0.1 > 0.001".into(), None);

        let baseline = if keep_samples { run.clone() } else { Run { samples: Vec::new(), ..run.clone() } };
        let comparison = compare(&baseline, &doctored);
        let timed = run.measurements.iter().filter(|row| row.status == Status::Ok).count();
        assert_eq!(counts(&comparison), [1, 1, 0, timed - 3]);
        let case = |at: usize| &comparison.cases[at];
        let judged = |at: usize| case(at).judge(five()).map(|judgement| judgement.verdict);
        assert_eq!((judged(slow), judged(fast), judged(broken)), (Some(Verdict::Slower), Some(Verdict::Faster), None));
        let ratio = case(slow).ratio.clone().expect("timed");
        assert!((ratio.value - 1.2).abs() < 1e-9, "{ratio:?}");
        assert_eq!(ratio.evidence, if keep_samples { Evidence::Samples } else { Evidence::Intervals });
        assert_eq!(case(broken).status.other, Status::Wrong);

        let name = |at: usize| format!("{} {}", case(at).key.baseline.layer, case(at).algorithm());
        assert!(
            failure("slower", &comparison).expect("fails").starts_with(&format!("slower: {} takes 1.200 times as long (1.1", name(slow)))
        );
        assert_eq!(failure("slower:30%", &comparison), None);
        let grown = format!("memory:1048576B: {} has 2,097,152 B more in the computation ledger, allocated", name(heavy));
        assert_eq!(failure("memory:1MiB", &comparison), Some(grown));
        assert_eq!(failure("memory:2MiB", &comparison), None, "not more than that");
        assert_eq!(failure("status", &comparison), Some(format!("status: {} was ok, is wrong: rel_l2 0.1 > 0.001", name(broken))));
        assert_eq!(failure("missing", &comparison), None);
        assert_eq!(failure("unsure", &comparison), None);
    }
}

/// A median that somebody changed without the samples is taken as it stands, and said to be so.
#[test]
fn samples_that_contradict_the_median_are_not_used() {
    let run = default_run();
    let at = steady(&run)[0];
    let mut doctored = run.clone();
    doctor(&mut doctored, at, 1.5);
    doctored.samples.clone_from(&run.samples);
    let ratio = compare(&run, &doctored).cases[at].ratio.clone().expect("timed");
    assert!(ratio.contradicted && ratio.evidence == Evidence::Intervals && (ratio.value - 1.5).abs() < 1e-9, "{ratio:?}");
}

/// Two passes over the same layers, with the same program on the same machine, one after the other.
#[test]
fn two_passes_differ_by_their_noise_and_their_command_lines() {
    let (one, two) = (kept("pass-1"), kept("pass-2"));
    let comparison = compare(&one, &two);
    assert_eq!(comparison.cases.len(), one.measurements.len());
    assert!(comparison.lone.baseline.is_empty() && comparison.lone.other.is_empty());
    assert!(comparison.cases.iter().all(|case| case.ratio.as_ref().is_none_or(|ratio| ratio.evidence != Evidence::Samples)));
    assert!(comparison.cases.iter().flat_map(|case| &case.memory).all(|memory| memory.growth().is_none_or(|by| by == 0)));
    let what: Vec<String> = differences(&one, &two).into_iter().map(|difference| difference.what).collect();
    assert!(what.contains(&"command line".to_owned()) && !what.contains(&"driver version".to_owned()), "{what:?}");
    let [pi, beta] = &peaks(&one, &two)[..] else { panic!("both were measured") };
    assert!(pi.ratio() > 0.5 && pi.ratio() < 2.0 && beta.ratio() > 0.5 && beta.ratio() < 2.0);
}

/// What the baseline does by itself from pass to pass is no difference to another run.
#[test]
fn repeats_of_the_baseline_widen_what_is_taken_for_noise() {
    let run = default_run();
    let [one, two, ..] = steady(&run)[..] else { panic!("two steady cases") };
    let scaled = |factors: [f64; 2]| {
        let mut copy = run.clone();
        for (at, factor) in [one, two].into_iter().zip(factors) {
            doctor(&mut copy, at, factor);
        }
        copy
    };
    let mut comparison = compare(&run, &scaled([1.2, 1.2]));
    assert_eq!(counts(&comparison)[0], 2);
    let timed = run.measurements.iter().filter(|row| row.status == Status::Ok).count();
    // One of them was up to 15 % slower and 10 % faster in passes of the baseline itself.
    assert_eq!(comparison.allow_for(&run, &[scaled([1.15, 1.0]), scaled([0.9, 1.0])]), timed);
    let told = |at: usize| comparison.cases[at].judge(five()).map(|j| (j.verdict, j.doubt)).expect("timed");
    assert_eq!((told(one), told(two)), ((Verdict::Unsure, Some(Doubt::Repeats)), (Verdict::Slower, None)));
    let repeats = comparison.cases[one].ratio.as_ref().map(|ratio| ratio.repeats).expect("timed");
    assert!((repeats - 1.15 / 0.9).abs() < 1e-9, "{repeats}");
}

#[test]
fn what_differs_is_told_in_order_of_weight() {
    let a = default_run();
    let mut b = a.clone();
    let environment = &mut b.environment;
    environment.seed = 7;
    environment.features.retain(|feature| feature != "SUBGROUP");
    environment.features.push("RAY_QUERY".into());
    environment.limits.max_workgroup_bytes = 16384;
    environment.device.driver_info = "Mesa 25.0.0".into();
    environment.tuning_file = Some("my.toml".into());
    environment.settings.time_budget_s = None;
    environment.run_id = "another".into();
    let shown: Vec<String> = differences(&a, &b)
        .into_iter()
        .map(|difference| format!("{}: {:?} {:?}", difference.what, difference.values.baseline, difference.values.other))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    driver version: Some("Mesa 22.3.6 (LLVM 15.0.6)") Some("Mesa 25.0.0")
    tuning file: None Some("my.toml")
    limit max workgroup bytes: Some("32768") Some("16384")
    features: Some("only here: SUBGROUP") Some("only here: RAY_QUERY")
    seed: Some("894084559") Some("7")
    setting time budget s: Some("50.0") None
    "#);
}

/// A field that is added to the file is compared or left out on purpose.
#[test]
fn every_field_of_the_surroundings_is_decided_on() {
    const LEFT_OUT: [&str; 6] = ["run_id", "started", "resumed", "peaks", "expense", "clock"];
    let fields = serde_json::to_value(default_run().environment).expect("plain data");
    for field in fields.as_object().expect("fields").keys() {
        let compared = COMPARED.iter().any(|(path, _)| path == field);
        assert!(compared || LEFT_OUT.contains(&field.as_str()), "{field}");
    }
    let is_there = |path: &str| path.split('.').try_fold(&fields, |value, name| value.get(name)).is_some();
    assert!(COMPARED.iter().all(|(path, _)| is_there(path)));
}

fn names(cases: &[Case]) -> Vec<(&str, &str, MatchedBy)> {
    cases.iter().map(|case| (case.key.baseline.layer.as_str(), case.key.other.layer.as_str(), case.matched)).collect()
}

#[test]
fn cases_match_by_name_then_by_problem_where_that_is_plain() {
    let mut a = default_run();
    let direct = |row: &crate::record::Measurement| row.case.algorithm == "direct";
    a.measurements.retain(direct);
    a.measurements.truncate(3);
    let rename = |run: &mut Run, at: usize, layer: &str| run.measurements[at].case.layer = layer.into();
    rename(&mut a, 0, "one");
    rename(&mut a, 1, "two");
    rename(&mut a, 2, "three");
    let mut b = a.clone();
    rename(&mut b, 1, "zwei");
    assert_eq!(
        names(&compare(&a, &b).cases),
        [("one", "one", MatchedBy::Key), ("two", "zwei", MatchedBy::Problem), ("three", "three", MatchedBy::Key)]
    );
    // Another row with the same problem could be it as well.
    let mut twin = b.measurements[1].clone();
    twin.case.layer = "deux".into();
    b.measurements.push(twin);
    let comparison = compare(&a, &b);
    assert_eq!(names(&comparison.cases).len(), 2);
    let lone = |lone: &[crate::analysis::compare::Lone]| lone.iter().map(|l| (l.key.layer.clone(), l.why)).collect::<Vec<_>>();
    assert_eq!(lone(&comparison.lone.baseline), [("two".into(), Missing::Ambiguous)]);
    assert_eq!(lone(&comparison.lone.other), [("zwei".into(), Missing::Ambiguous), ("deux".into(), Missing::Ambiguous)]);
    assert_eq!(failure("missing", &comparison).as_deref(), Some("missing: two direct could be several cases of the other run"));
    // Another algorithm is another case.
    b.measurements[0].case.algorithm = "im2col".into();
    assert_eq!(lone(&compare(&a, &b).lone.baseline)[0], ("one".into(), Missing::Absent));
}

#[test]
fn different_clocks_are_never_told_apart() {
    let run = default_run();
    let mut other = run.clone();
    other.environment.run_id = "another".into();
    for row in &mut other.measurements {
        row.clock = row.clock.map(|_| Clock::Host);
    }
    let comparison = compare(&run, &other);
    let [slower, faster, unsure, same] = counts(&comparison);
    assert_eq!((slower, faster, same), (0, 0, 0));
    assert!(unsure > 40);
    assert_eq!(geometric_mean(&comparison.cases), None);
}

#[test]
fn malformed_rules_tell_what_is_wrong() {
    for (rule, told) in [
        ("", "a rule is slower[:PERCENT], mean[:PERCENT], memory[:BYTES], status, missing or unsure"),
        ("fast", "a rule is slower[:PERCENT], mean[:PERCENT], memory[:BYTES], status, missing or unsure"),
        ("slower:5", "'5' is not a percentage of 0% to 1000%, such as 5%"),
        ("slower:", "'' is not a percentage of 0% to 1000%, such as 5%"),
        ("memory:1 potato", "'1 potato' is not a size in bytes: write a whole number, alone or followed by B, kB, MB, GB, KiB, MiB or GiB"),
        ("status:ok", "'status' takes no value, and has 'ok'"),
    ] {
        assert_eq!(rule.parse::<Gate>().expect_err(rule).to_string(), told);
    }
}
