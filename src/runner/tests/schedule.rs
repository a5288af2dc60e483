use super::fakes::{ALL, suite};
use crate::plan::Limits;
use crate::record::{Cache, Status};
use crate::runner::{Planned, Request, RunnerError, Selection, schedule};
use crate::suite::Suite;
use crate::units::Bytes;
use insta::assert_snapshot;

struct Setting {
    suites: Vec<Suite>,
    patterns: Vec<String>,
    limits: Limits,
    caches: Vec<Cache>,
    workspace_limit: Option<Bytes>,
}

impl Setting {
    fn new(suites: &[Suite]) -> Self {
        Self { suites: suites.to_vec(), patterns: Vec::new(), limits: Limits::UNLIMITED, caches: vec![Cache::Hot], workspace_limit: None }
    }

    fn algorithms(mut self, patterns: &[&str]) -> Self {
        self.patterns = patterns.iter().map(|&p| p.to_owned()).collect();
        self
    }

    fn plan(&self) -> Result<Vec<Planned>, RunnerError> {
        schedule(&Request {
            suites: &self.suites,
            algorithms: ALL,
            selection: &Selection::parse(&self.patterns, ALL)?,
            limits: &self.limits,
            caches: &self.caches,
            workspace_limit: self.workspace_limit,
        })
    }

    fn listed(&self) -> String {
        let line = |planned: Planned| {
            let case = planned.case();
            let name = format!("{} {} {}", case.suite, case.layer, case.variant.qualify(&case.algorithm));
            let bytes = |b: Option<u64>| b.map_or_else(|| "?".into(), |b| b.to_string());
            match &planned {
                Planned::Run(p) => format!("{name} run, {} B, {} buffers", bytes(p.computation.map(|b| b.0)), p.ledger.len()),
                Planned::Row(rows) => {
                    let m = &rows.measurement;
                    let status = format!("{:?}", m.status);
                    format!("{name} {status}, {} B, {} buffers: {}", bytes(m.computation_bytes), rows.ledger.len(), m.reason)
                }
            }
        };
        self.plan().expect("a schedule").into_iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn layers_stay_together_and_an_algorithm_not_made_for_one_has_one_row() {
    let setting = Setting::new(&[suite("a", &["n1c2h4w4_k2r3s3", "n2c2h4w4_k2r1s1"]), suite("b", &["n1c1h3w3_k1r3s3"])]);
    assert_snapshot!(setting.listed(), @r"
    a l0 direct run, 0 B, 4 buffers
    a l0 columns:strip=1 run, 144 B, 5 buffers
    a l0 columns:image run, 288 B, 5 buffers
    a l0 columns:batch run, 288 B, 5 buffers
    a l0 three:tiles=4 run, 16 B, 5 buffers
    a l0 three:tiles=8 run, 32 B, 5 buffers
    a l1 direct run, 0 B, 4 buffers
    a l1 columns:strip=1 run, 32 B, 5 buffers
    a l1 columns:image run, 128 B, 5 buffers
    a l1 columns:batch run, 256 B, 5 buffers
    a l1 three Unsupported, ? B, 0 buffers: the kernel has 1 taps, must have 9
    b l0 direct run, 0 B, 4 buffers
    b l0 columns:strip=1 run, 36 B, 5 buffers
    b l0 columns:image run, 36 B, 5 buffers
    b l0 columns:batch run, 36 B, 5 buffers
    b l0 three:tiles=4 run, 16 B, 5 buffers
    b l0 three:tiles=8 run, 32 B, 5 buffers
    ");
}

#[test]
fn limits_are_rows_with_both_numbers() {
    let mut setting = Setting::new(&[suite("a", &["n8c2h4w4_k2r3s3"])]);
    // 18 rows of columns, 4 output points: 288 B an image, 2304 B the batch; the input has 1024 B.
    setting.limits.max_buffer_bytes = 2000;
    setting.workspace_limit = Some(Bytes(287));
    assert_snapshot!(setting.listed(), @r"
    a l0 direct run, 0 B, 4 buffers
    a l0 columns:strip=1 run, 144 B, 5 buffers
    a l0 columns:image OverBudget, 288 B, 5 buffers: workspace 288 B > workspace limit 287 B
    a l0 columns:batch OverLimit, 2304 B, 5 buffers: columns buffer 2,304 B > buffer size limit 2,000 B
    a l0 three:tiles=4 run, 16 B, 5 buffers
    a l0 three:tiles=8 run, 32 B, 5 buffers
    ");
}

#[test]
fn an_empty_batch_is_skipped_but_first_of_all_unsupported() {
    assert_snapshot!(Setting::new(&[suite("a", &["n0c2h4w4_k2r1s1"])]).listed(), @r"
    a l0 direct Skipped, 0 B, 4 buffers: the batch is 0: the output is empty, there is nothing to compute
    a l0 columns:strip=1 Skipped, 32 B, 5 buffers: the batch is 0: the output is empty, there is nothing to compute
    a l0 columns:image Skipped, 128 B, 5 buffers: the batch is 0: the output is empty, there is nothing to compute
    a l0 columns:batch Skipped, 0 B, 5 buffers: the batch is 0: the output is empty, there is nothing to compute
    a l0 three Unsupported, ? B, 0 buffers: the kernel has 1 taps, must have 9
    ");
}

#[test]
fn variants_written_out_are_added_or_refused() {
    let setting = Setting::new(&[suite("a", &["n1c2h4w4_k2r3s3"])]);
    let setting = setting.algorithms(&["columns:image", "columns:strip=2"]);
    assert_snapshot!(setting.listed(), @r"
    a l0 columns:image run, 288 B, 5 buffers
    a l0 columns:strip=2 run, 288 B, 5 buffers
    ");
    for (pattern, message) in [
        ("columns:strip=0", "algorithm pattern 'columns:strip=0': columns has no strip=0"),
        ("direct:tile=4", "algorithm pattern 'direct:tile=4': direct has no tile=4"),
    ] {
        let setting = Setting::new(&[suite("a", &["n1c2h4w4_k2r3s3"])]).algorithms(&["columns:image", pattern]);
        assert_eq!(setting.plan().expect_err(pattern).to_string(), message);
    }
}

#[test]
fn a_wanted_algorithm_that_is_not_made_for_a_layer_says_so_whatever_variant_is_wanted() {
    let keys = ["n1c2h4w4_k2r1s1", "n1c2h4w4_k2r3s3"];
    for pattern in ["three:tiles=*", "three:tiles=8", "three:*8"] {
        let planned = Setting::new(&[suite("a", &keys)]).algorithms(&[pattern]).plan().expect("a schedule");
        let Planned::Row(rows) = &planned[0] else { panic!("{pattern}: {:?}", planned[0]) };
        assert_eq!(rows.measurement.status, Status::Unsupported, "{pattern}");
        assert!(planned[1..].iter().all(|p| matches!(p, Planned::Run(_))), "{pattern}");
    }
}

#[test]
fn a_pattern_without_a_case_is_an_error() {
    let setting = Setting::new(&[suite("a", &["n1c2h4w4_k2r3s3"])]);
    let error = setting.algorithms(&["direct", "columns:strip=9*"]).plan().expect_err("nothing has strip=9*");
    assert_snapshot!(error, @"algorithm pattern 'columns:strip=9*' selects no case of these layers; to force a variant, write it out, as in im2col:strip=8");
    let setting = Setting::new(&[suite("a", &["n1c2h4w4_k2r3s3"])]).algorithms(&["columns", "!columns"]);
    assert!(matches!(setting.plan(), Err(RunnerError::NothingSelected { .. })));
}

#[test]
fn a_case_comes_once_for_each_cache() {
    let one = suite("a", &["n1c2h4w4_k2r3s3"]);
    let mut setting = Setting::new(&[one.clone(), one]).algorithms(&["direct", "columns:image"]);
    setting.caches = vec![Cache::Hot, Cache::Cold];
    let planned = setting.plan().expect("a schedule");
    let cases: Vec<_> = planned.iter().map(|p| (p.case().algorithm.as_str(), p.case().cache)).collect();
    let expected = [("direct", Cache::Hot), ("direct", Cache::Cold), ("columns", Cache::Hot), ("columns", Cache::Cold)];
    assert_eq!(cases, expected);
}

#[test]
fn predicted_columns_are_the_closed_forms() {
    let planned = Setting::new(&[suite("a", &["n1c2h4w4_k2r3s3_p1"])]).algorithms(&["columns:image"]).plan().expect("a schedule");
    let Planned::Run(prediction) = &planned[0] else { panic!("{planned:?}") };
    let rows = prediction.rows(Status::Crashed, "why");
    let m = &rows.measurement;
    assert_eq!((m.parameter_bytes, m.activation_bytes, m.computation_bytes), (144, 256, Some(18 * 16 * 4)));
    assert_eq!((m.flops, m.flops_without_padding, m.algorithm_flops), (1152, 800, Some(1152)));
    assert_eq!((m.min_bytes, m.tuning.as_str(), m.reason.as_str()), (400, "tile=1", "why"));
    let ledger: Vec<_> = rows.ledger.iter().map(|r| (r.buffer.as_str(), r.predicted_bytes, r.first_step, r.last_step)).collect();
    let used = (Some(0), Some(0));
    let expected =
        [("input", 128), ("weights", 144), ("output", 128), ("columns", 1152), ("problem", 256)].map(|(b, n)| (b, n, used.0, used.1));
    assert_eq!(ledger, expected);
    assert!(rows.ledger.iter().all(|r| r.requested_bytes.is_none() && r.allocated_bytes.is_none()));
}
