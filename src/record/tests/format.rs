//! The form of the files, and that rows survive it.

use super::rows::any_rows;
use super::*;
use crate::record::cell::{Cell, one_line};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_survive_the_files(cases in prop::collection::vec(any_rows(), 0..4)) {
        let (folder, mut directory) = fresh();
        for rows in &cases {
            directory.append(rows).expect("appends");
        }
        let run = Run::read(folder.path()).expect("reads");
        let mut measurements: Vec<_> = cases.iter().map(|rows| rows.measurement.clone()).collect();
        for row in &mut measurements {
            row.reason = one_line(&row.reason);
        }
        prop_assert_eq!(run.measurements, measurements);
        prop_assert_eq!(run.ledger, cases.iter().flat_map(|rows| rows.ledger.clone()).collect::<Vec<_>>());
        prop_assert_eq!(run.steps, cases.iter().flat_map(|rows| rows.steps.clone()).collect::<Vec<_>>());
        prop_assert_eq!(run.samples, cases.iter().flat_map(|rows| rows.samples.clone()).collect::<Vec<_>>());
    }

    #[test]
    fn no_cell_runs_as_a_formula(rows in any_rows()) {
        let (folder, mut directory) = fresh();
        directory.append(&rows).expect("appends");
        for file in ["measurements.csv", "ledger.csv", "steps.csv", "samples.csv"] {
            for record in csv::Reader::from_path(folder.path().join(file)).expect("opens").records() {
                for cell in &record.expect("record") {
                    let dangerous = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
                    prop_assert!(!dangerous || cell.parse::<f64>().is_ok(), "{:?}", cell);
                    prop_assert!(cell != "NaN" && cell != "inf");
                }
            }
        }
    }

    #[test]
    fn texts_survive_a_cell(text in any::<String>(), lead in "['=+@-]{0,4}") {
        let text = lead + &text;
        prop_assert_eq!(String::read(&text.write().expect("text").text()).expect("text"), text);
    }

    #[test]
    fn rows_survive_the_way_from_a_worker(rows in any_rows()) {
        let json = serde_json::to_string(&rows).expect("serialises");
        prop_assert_eq!(serde_json::from_str::<CaseRows>(&json).expect("own JSON"), rows);
    }
}

#[test]
fn headers() {
    let (folder, _directory) = fresh();
    let header = |file: &str| fs::read_to_string(folder.path().join(file)).expect("reads");
    insta::assert_snapshot!(header("measurements.csv"), @"run_id,device,backend,driver,suite,layer,conv,pass,dtype,layout,algorithm,variant,tuning,status,reason,parameter_bytes,activation_bytes,computation_bytes,parameter_requested_bytes,activation_requested_bytes,computation_requested_bytes,parameter_allocated_bytes,activation_allocated_bytes,computation_allocated_bytes,peak_resident_bytes,peak_accounted_bytes,flops,flops_without_padding,algorithm_flops,min_bytes,clock,cache,samples,executions_per_sample,time_median_ns,time_min_ns,time_mean_ns,time_p05_ns,time_p95_ns,time_ci95_low_ns,time_ci95_high_ns,time_preparation_ns,noise,effective_gflops,utilisation,error_rel_l2,error_max_abs,tolerance,verified_points");
    insta::assert_snapshot!(header("ledger.csv"), @"run_id,suite,layer,conv,pass,dtype,layout,algorithm,variant,cache,ledger,buffer,role,elements,buffer_dtype,predicted_bytes,requested_bytes,allocated_bytes,lifetime,first_step,last_step,slot");
    insta::assert_snapshot!(header("steps.csv"), @"run_id,suite,layer,conv,pass,dtype,layout,algorithm,variant,cache,stage,dispatches,workgroups,time_median_ns,time_share,flops,bytes,limit");
    insta::assert_snapshot!(header("samples.csv"), @"run_id,suite,layer,conv,pass,dtype,layout,algorithm,variant,cache,clock,sample,executions,time_ns,outlier");
}

#[test]
fn rows_as_text() {
    let (folder, mut directory) = fresh();
    let mut rows = case_rows("-conv1, \"first\"", Status::Wrong);
    rows.measurement.reason = "=off by 3\r\nat [0]".into();
    rows.measurement.error_rel_l2 = Some(f64::NAN);
    rows.measurement.error_max_abs = Some(f64::INFINITY);
    directory.append(&rows).expect("appends");
    let second = |file: &str| fs::read_to_string(folder.path().join(file)).expect("reads").lines().nth(1).expect("row").to_owned();
    insta::assert_snapshot!(second("measurements.csv"), @r#"20261129T183800Z-3f9a,"'=cmd|' /C calc'!A0, ""GPU""",vulkan,made up 1.2.3,resnet,"'-conv1, ""first""",n1c64h56w56_k128r3s3_s2_p0:1,forward,f32,nchw,im2col,strip=8,,wrong,'=off by 3 at [0],1,18446744073709551615,7,7,7,7,7,7,7,7,7,2,3,7,4,gpu_timestamp,hot,7,7,12.5,12.5,12.5,12.5,12.5,12.5,12.5,12.5,,12.5,,,,12.5,7"#);
    insta::assert_snapshot!(second("ledger.csv"), @r#"20261129T183800Z-3f9a,resnet,"'-conv1, ""first""",n1c64h56w56_k128r3s3_s2_p0:1,forward,f32,nchw,im2col,strip=8,hot,computation,columns,workspace,64,f32,256,256,,call,0,0,"#);
    insta::assert_snapshot!(second("steps.csv"), @r#"20261129T183800Z-3f9a,resnet,"'-conv1, ""first""",n1c64h56w56_k128r3s3_s2_p0:1,forward,f32,nchw,im2col,strip=8,hot,gemm,1,49,1234.5,,2,4,"#);
    insta::assert_snapshot!(second("samples.csv"), @r#"20261129T183800Z-3f9a,resnet,"'-conv1, ""first""",n1c64h56w56_k128r3s3_s2_p0:1,forward,f32,nchw,im2col,strip=8,hot,host,0,3,1234.5,false"#);
}

#[test]
fn a_run_can_be_kept_without_its_details() {
    let (folder, mut directory) = fresh();
    directory.append(&case_rows("a", Status::Ok)).expect("appends");
    for file in ["steps.csv", "samples.csv"] {
        fs::remove_file(folder.path().join(file)).expect("removes");
    }
    let run = Run::read(folder.path()).expect("reads");
    assert_eq!((run.measurements.len(), run.ledger.len(), run.steps.len(), run.samples.len()), (1, 2, 0, 0));
    fs::remove_file(folder.path().join("ledger.csv")).expect("removes");
    assert!(message(Run::read(folder.path()), folder.path()).starts_with("cannot read RUN/ledger.csv: "));
}
