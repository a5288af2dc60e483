//! `--algorithm auto`: of the cases of a layer that could run, the one that the cost model takes for the fastest.

use super::{Planned, Selection};
use crate::algorithm::Algorithm;
use crate::cost::Model;
use crate::plan::Limits;
use crate::record::{Cache, CaseKey, Status};
use std::collections::HashMap;

/// Leaves of each layer the case of least predicted time, and what patterns beside `auto` ask for. A layer that nothing can run keeps
/// all its rows: they say why.
pub(super) fn narrow(
    planned: Vec<Planned>,
    selection: &Selection,
    algorithms: &[&dyn Algorithm],
    limits: &Limits,
    model: &Model<'_>,
) -> Vec<Planned> {
    let mut best: HashMap<(String, String, Cache), (f64, CaseKey)> = HashMap::new();
    for case in planned.iter().filter(|p| matches!(p, Planned::Run(_))).map(Planned::case) {
        let Some(algorithm) = algorithms.iter().find(|a| a.id() == case.algorithm) else { continue };
        // What is to run has been planned before, with these limits.
        let Ok(plan) = algorithm.plan(&case.conv, &case.variant, limits) else { continue };
        let time = model.plan(&plan, case.dtype()).0;
        let known = best.get(&layer(case));
        if known.is_none_or(|(least, _)| time < *least) {
            best.insert(layer(case), (time, case.clone()));
        }
    }
    // An empty problem is as well not computed by one algorithm as by all.
    for case in planned.iter().filter(|p| is_empty(p)).map(Planned::case) {
        best.entry(layer(case)).or_insert_with(|| (0.0, case.clone()));
    }
    let keep = |planned: &Planned| {
        let case = planned.case();
        best.get(&layer(case)).is_none_or(|(_, chosen)| chosen == case) || selection.names(case)
    };
    planned.into_iter().filter(keep).collect()
}

/// Whether there is nothing to compute.
fn is_empty(planned: &Planned) -> bool {
    matches!(planned, Planned::Row(rows) if rows.measurement.status == Status::Skipped)
}

fn layer(case: &CaseKey) -> (String, String, Cache) {
    (case.suite.clone(), case.layer.clone(), case.cache)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::ALGORITHMS;
    use crate::cost::Costs;
    use crate::plan::DeviceClass;
    use crate::runner::{Request, schedule};
    use crate::suite::Suite;
    use crate::units::Bytes;

    /// What is left of the cases of convolutions under patterns, as `layer algorithm:variant status`.
    fn left(convs: &[&str], patterns: &[&str], caches: &[Cache], workspace_limit: Option<u64>) -> Vec<(String, String, Status)> {
        let suites = [Suite::from_convs(convs.iter().map(|key| key.parse().expect(key)).collect())];
        let patterns: Vec<String> = patterns.iter().map(|&text| text.to_owned()).collect();
        let selection = Selection::parse(&patterns, ALGORITHMS).expect("patterns");
        let limits = Limits::WEBGPU;
        let workspace_limit = workspace_limit.map(Bytes);
        let request = Request { suites: &suites, algorithms: ALGORITHMS, selection: &selection, limits: &limits, caches, workspace_limit };
        let planned = schedule(&request).expect("cases");
        let model = Model::new(Costs::builtin(), DeviceClass::Software, None);
        let row = |planned: Planned| {
            let case = planned.case();
            let status = match &planned {
                Planned::Run(_) => Status::Ok,
                Planned::Row(rows) => rows.measurement.status,
            };
            (case.layer.clone(), case.variant.qualify(&case.algorithm), status)
        };
        narrow(planned, &selection, ALGORITHMS, &limits, &model).into_iter().map(row).collect()
    }

    const CONV: &str = "n1c16h32w32_k16r3s3_p1";

    #[test]
    fn one_case_is_left_of_each_layer_and_cache() {
        let rows = left(&[CONV, "n1c4w64_k8s5"], &["auto"], &[Cache::Hot, Cache::Cold], None);
        assert_eq!(rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), [CONV, CONV, "n1c4w64_k8s5", "n1c4w64_k8s5"]);
        assert!(rows.iter().all(|row| row.2 == Status::Ok));
        assert_eq!(rows[0].1, rows[1].1, "the model knows no caches: one choice for both");
    }

    #[test]
    fn patterns_add_cases_and_take_candidates_away() {
        let alone = left(&[CONV], &["auto"], &[Cache::Hot], None);
        let both = left(&[CONV], &["auto", "direct"], &[Cache::Hot], None);
        assert!(both.contains(&alone[0]) && both.iter().any(|row| row.1 == "direct"), "{both:?}");
        let without = format!("!{}", alone[0].1.split(':').next().expect("an id"));
        let other = left(&[CONV], &["auto", &without], &[Cache::Hot], None);
        assert!(other.len() == 1 && other[0].1 != alone[0].1, "{other:?}");
    }

    #[test]
    fn a_workspace_limit_holds_and_what_cannot_run_keeps_its_rows() {
        let rows = left(&[CONV], &["auto"], &[Cache::Hot], Some(0));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].2, Status::Ok);
        let rows = left(&["n0c4h8w8_k4r3s3"], &["auto"], &[Cache::Hot], None);
        assert_eq!(rows.iter().map(|row| row.2).collect::<Vec<_>>(), [Status::Skipped]);
        let rows = left(&["n1c1w4294967295_k1s1"], &["auto"], &[Cache::Hot], None);
        assert!(rows.len() > 1 && rows.iter().all(|row| row.2 != Status::Ok), "{rows:?}");
    }
}
