//! Sentences on synthetic rows, of the lesson and of its contrary; points and files.

use super::*;
use crate::algorithm::{ALGORITHMS, Variant};
use crate::conv::ElementType;
use crate::plan::Limits;
use crate::record::{Cache, CaseKey, Measurement, Status};
use crate::runner::{Prediction, Request, Selection, predict, schedule};

/// Planned rows of a demo, all verified; `time` in nanoseconds and `error` by algorithm and point.
fn planned(demo: Demo, time: impl Fn(&str, &Point) -> f64, error: impl Fn(&str, &Point) -> f64) -> Vec<Row> {
    let points = demo.points(None).expect("points");
    let names: Vec<&str> = match demo {
        Demo::Blowup => blowup::ALGORITHMS.to_vec(),
        Demo::Resolution => resolution::ALGORITHMS.to_vec(),
        Demo::Precision => precision::ALGORITHMS.to_vec(),
        Demo::Tradeoff => vec!["implicit_gemm", "im2col:batch", "winograd_f4:tiles=64", "winograd_f4:batch"],
    };
    let mut measurements = Vec::new();
    for point in &points {
        for name in &names {
            let (id, variant) = name.split_once(':').unwrap_or((name, ""));
            let variant: Variant = variant.parse().expect("a variant");
            let case =
                CaseKey { suite: "s".into(), layer: point.layer(), conv: point.conv, algorithm: id.into(), variant, cache: Cache::Hot };
            let algorithm = crate::algorithm::find(id).expect(id);
            let (prediction, plan) = predict(&case, algorithm, &Limits::UNLIMITED);
            measurements.push(match plan {
                Ok(_) => Measurement {
                    time_median_ns: Some(time(name, point)),
                    error_rel_l2: Some(error(name, point)),
                    ..prediction.measurement(Status::Ok, "")
                },
                Err(why) => prediction.measurement(Status::Unsupported, why.to_string()),
            });
        }
    }
    rows(&points, &measurements)
}

fn sentences(demo: Demo, rows: &[Row]) -> String {
    demo.show(rows).sentences.join("\n")
}

fn area(point: &Point) -> f64 {
    point.conv.output_points() as f64
}

#[test]
fn blowup_tells_the_factors_and_whether_they_buy_time() {
    let time = |factor: f64| move |name: &str, point: &Point| area(point) * if name == "im2col:batch" { factor } else { 1.0 };
    insta::assert_snapshot!(sentences(Demo::Blowup, &planned(Demo::Blowup, time(2.0), |_, _| 1e-7)), @r"
    The workspace of im2col:batch, as a multiple of the input, goes from 1.00 to 49.0 over kernel size 1 to 7, stays at 9.00 over channels 8 to 64, stays at 9.00 over resolution 14 to 56, stays at 9.00 over batch 1 to 4; implicit_gemm needs none at any of them.
    im2col:batch is slower than implicit_gemm at 14 of 14 points, 2.00 times its time in the mean, from 2.00 to 2.00: the workspace buys no time here.
    ");
    insta::assert_snapshot!(sentences(Demo::Blowup, &planned(Demo::Blowup, time(0.5), |_, _| 1e-7)).lines().last().unwrap_or_default(), @"im2col:batch is slower than implicit_gemm at 0 of 14 points, 0.50 times its time in the mean, from 0.50 to 0.50: here the workspace buys time everywhere.");
    let mixed = |name: &str, point: &Point| {
        if name == "im2col:batch" && point.value == 28 { 0.5 } else { 1.0 + f64::from(u8::from(name == "im2col:batch")) }
    };
    insta::assert_snapshot!(sentences(Demo::Blowup, &planned(Demo::Blowup, mixed, |_, _| 1e-7)).lines().last().unwrap_or_default(), @"im2col:batch is slower than implicit_gemm at 13 of 14 points, 1.81 times its time in the mean, from 0.50 to 2.00: the workspace buys time at 1 of them.");
}

#[test]
fn tradeoff_tells_what_workspace_buys_and_what_less_of_it_costs() {
    let times = |times: [f64; 4]| {
        move |name: &str, _: &Point| match name {
            "implicit_gemm" => times[0],
            "im2col:batch" => times[1],
            "winograd_f4:tiles=64" => times[2],
            _ => times[3],
        }
    };
    let told = |all| sentences(Demo::Tradeoff, &planned(Demo::Tradeoff, times(all), |_, _| 1e-7));
    insta::assert_snapshot!(told([4e6, 5e6, 1.05e6, 1e6]), @r"
    The fastest, winograd_f4:batch, takes 1.00 ms with a workspace of 1.86 MiB; without any, the fastest is implicit_gemm at 4.00 ms: the workspace buys a factor of 4.00.
    3 of 4 cases are worth having: no other is as good in both; winograd_f4:tiles=64 is within 5.0 % of the fastest with 38 % of its workspace.
    ");
    insta::assert_snapshot!(told([1e6, 5e6, 2e6, 3e6]), @r"
    The fastest, implicit_gemm, takes 1.00 ms and needs no workspace: more workspace buys no time here.
    1 of 4 cases is worth having: no other is as good in both.
    ");
    insta::assert_snapshot!(told([4e6, 5e6, 3e6, 1e6]), @r"
    The fastest, winograd_f4:batch, takes 1.00 ms with a workspace of 1.86 MiB; without any, the fastest is implicit_gemm at 4.00 ms: the workspace buys a factor of 4.00.
    3 of 4 cases are worth having: no other is as good in both; nothing with less workspace comes within 10 % of the fastest.
    ");
    // A layer that only needs workspace has nothing to be held against.
    let mut rows = planned(Demo::Tradeoff, times([4e6, 5e6, 3e6, 1e6]), |_, _| 1e-7);
    rows.remove(0);
    insta::assert_snapshot!(sentences(Demo::Tradeoff, &rows).lines().next().unwrap_or_default(), @"The fastest, winograd_f4:batch, takes 1.00 ms with a workspace of 1.86 MiB; no case without workspace was measured to hold it against.");
}

#[test]
fn resolution_tells_what_grows_with_the_area() {
    let told = |exponent: f64| {
        sentences(Demo::Resolution, &planned(Demo::Resolution, |_, point| (point.value as f64).powf(exponent), |_, _| 1e-7))
    };
    insta::assert_snapshot!(told(2.0), @r"
    From 14x14 to 112x112, 64.0 times the area, the activations grow 64.0 times, the workspace of im2col:batch 64.0 times, the workspace of winograd_f4:batch 25.0 times, the parameters stay at 36.0 KiB.
    Time grows with the size to the power of 2.00 for implicit_gemm, 2.00 for im2col:batch, 2.00 for winograd_f4:batch: as fast as the area.
    ");
    for (exponent, end) in [(1.5, "slower than the area."), (2.5, "faster than the area.")] {
        assert!(told(exponent).ends_with(end), "{}", told(exponent));
    }
    let mixed =
        planned(Demo::Resolution, |name, point| (point.value as f64).powf(if name == "implicit_gemm" { 1.5 } else { 2.5 }), |_, _| 1e-7);
    assert!(sentences(Demo::Resolution, &mixed).ends_with("not with the area alone."));
}

#[test]
fn precision_tells_errors_and_what_other_types_would_save() {
    let error = |others: f64| {
        move |name: &str, point: &Point| match point.conv.element() {
            ElementType::F32 => 1e-8 * (point.value as f64).sqrt() * if name == "direct" { 1.0 } else { others },
            _ => 1e-4,
        }
    };
    insta::assert_snapshot!(sentences(Demo::Precision, &planned(Demo::Precision, |_, _| 1.0, error(8.0))), @r"
    Between sums of 36 and 2304 products the relative error of direct goes from 6.0e-8 to 4.8e-7; in multiples of that, winograd_f2:batch 8.00, winograd_f4:batch 8.00, winograd_f6:batch 8.00.
    By closed form the tensors of the longest sum take 297 KiB in f32, 148 KiB in f16 and 74.2 KiB in int8; the error of direct in f16 is 208 times that in f32.
    ");
    insta::assert_snapshot!(sentences(Demo::Precision, &planned(Demo::Precision, |_, _| 1.0, error(0.5))).lines().next().unwrap_or_default(), @"Between sums of 36 and 2304 products the relative error of direct goes from 6.0e-8 to 4.8e-7; in multiples of that, winograd_f2:batch 0.50, winograd_f4:batch 0.50, winograd_f6:batch 0.50: 3 of 3 no larger.");
    // As it is on a device without halves.
    let mut rows = planned(Demo::Precision, |_, _| 1.0, error(8.0));
    for row in rows.iter_mut().filter(|row| row.measurement.case.conv.element() == ElementType::F16) {
        row.measurement = Measurement { status: Status::Unsupported, reason: "no halves".into(), ..row.measurement.clone() };
    }
    assert!(
        sentences(Demo::Precision, &rows).ends_with("; errors in f16 were not measured (no halves)."),
        "{}",
        sentences(Demo::Precision, &rows)
    );
}

/// Nothing measured is told as such by every demo, and drawn all the same.
#[test]
fn nothing_measured_is_no_lesson() {
    for demo in Demo::ALL {
        let bare = |mut row: Row| {
            let status = if row.measurement.status == Status::Ok { Status::Skipped } else { row.measurement.status };
            row.measurement = Measurement { status, time_median_ns: None, error_rel_l2: None, ..row.measurement };
            row
        };
        let skipped: Vec<Row> = planned(demo, |_, _| 1.0, |_, _| 1.0).into_iter().map(bare).collect();
        for rows in [&skipped[..], &[]] {
            let shown = demo.show(rows);
            let text = shown.sentences.join(" ");
            let told = ["nothing can be said", "not measured", "No case", "nothing to hold"].iter().any(|words| text.contains(words));
            assert!(told && !text.contains("NaN") && !text.contains("inf"), "{}: {text}", demo.name());
            for (_, chart) in &shown.charts {
                assert!(chart.to_svg().expect("drawn").starts_with("<svg"), "{}", demo.name());
            }
        }
    }
}

#[test]
fn every_demo_has_two_whole_sentences_and_a_chart_with_its_marks() {
    for demo in Demo::ALL {
        let rows = planned(demo, |name, point| area(point) * name.len() as f64, |_, point| 1e-8 * point.value as f64);
        let shown = demo.show(&rows);
        for sentence in &shown.sentences {
            assert!(sentence.ends_with('.') && sentence.len() > 40, "{sentence}");
        }
        assert_eq!(shown.charts[0].0, "");
        for (_, chart) in &shown.charts {
            assert!(chart.series.iter().map(|series| series.marks.len()).sum::<usize>() > 3, "{}", chart.title);
            assert!(chart.to_svg().expect("drawn").contains(&chart.title));
        }
        let csv = to_csv(&rows).expect("text");
        assert_eq!(csv.lines().count(), rows.len() + 1);
        assert!(csv.starts_with(&COLUMNS.join(",")));
    }
}

/// Each pattern selects a case of each demo's suite, and each case is at a point.
#[test]
fn the_suites_can_be_run() {
    for demo in Demo::ALL {
        let points = demo.points(None).expect("points");
        let suites = [demo.suite(&points)];
        let selection = Selection::parse(&demo.patterns(), ALGORITHMS).expect("patterns");
        let request = Request {
            suites: &suites,
            algorithms: ALGORITHMS,
            selection: &selection,
            limits: &Limits::WEBGPU,
            caches: &[Cache::Hot],
            workspace_limit: None,
        };
        let planned = schedule(&request).expect("a schedule");
        let rows = rows(
            &points,
            &planned.iter().map(|p| Prediction::of_problem(p.case().clone()).measurement(Status::Ok, "")).collect::<Vec<_>>(),
        );
        assert_eq!(rows.len(), planned.len(), "{}", demo.name());
    }
}

#[test]
fn a_layer_of_ones_own_is_for_the_demo_of_one_layer() {
    let conv: Conv = "n1c4h8w8_k4r3s3_p1".parse().expect("a key");
    assert_eq!(Demo::Tradeoff.points(Some(conv)).expect("points")[0].conv, conv);
    let error = Demo::Blowup.points(Some(conv)).expect_err("it has its own");
    assert_eq!(error.to_string(), "demo blowup has convolutions of its own: n1c4h8w8_k4r3s3_p1 is for demo tradeoff");
}
