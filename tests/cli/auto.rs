//! `--algorithm auto` and `convledger auto`, on a device and from files.

use crate::{CONV, Ended, convledger, errors, run_in};
use convledger::analysis::auto::picks;
use convledger::cost::{Costs, Model};
use convledger::record::{Run, Status};
use npyz::WriterBuilder;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

/// Every layer of the smoke suite is computed, verified, by one case; none takes more workspace than allowed.
#[test]
fn auto_computes_each_layer_once_within_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for (name, limit) in [("free", None), ("tight", Some("2KiB"))] {
        let mut args = vec!["--suite", "smoke", "--algorithm", "auto", "--time-budget", "2s"];
        args.extend(limit.iter().flat_map(|limit| ["--workspace-limit", limit]));
        let ended = Ended::good(run_in(&path(name), &args));
        let run = Run::read(&path(name)).expect("a run");
        let layers: BTreeSet<&str> = run.measurements.iter().map(|row| row.case.layer.as_str()).collect();
        assert_eq!(layers.len(), run.measurements.len(), "{}", ended.stderr);
        assert_eq!(layers.len(), convledger::suite::Suite::builtin("smoke").expect("smoke").layers.len());
        assert!(run.environment.peaks.is_some(), "the choice goes by measured limits");
        for row in &run.measurements {
            assert!(matches!(row.status, Status::Ok | Status::Skipped), "{}: {}", row.case.layer, row.reason);
            assert!(limit.is_none() || row.computation_bytes.is_some_and(|bytes| bytes <= 2048), "{}", row.case.layer);
        }
        assert!(!ended.stdout.contains("--algorithm auto is within"), "one case leaves nothing to compare");
    }
}

/// A run that measures everything tells how good the choice would have been, also later, from its files, and with costs of its own.
#[test]
fn a_whole_run_tells_how_good_the_choice_would_have_been() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let ended = Ended::good(run_in(&out, &[CONV, "n1c8h12w12_k8r3s3_p1", "n1c3w50_k4s5", "--time-budget", "6s"]));
    let verdict =
        ended.stdout.lines().find(|line| line.starts_with("--algorithm auto is within 5 % of the fastest on ")).expect("a verdict");
    let run = Run::read(&out).expect("a run");
    let environment = &run.environment;
    let model = Model::new(Costs::builtin(), environment.device.class, environment.peaks.as_ref());
    let picks = picks(&run.measurements, &environment.limits, None, &model);
    assert_eq!(picks.len(), 3);
    assert!(picks.iter().all(|pick| pick.loss() >= 1.0 && pick.candidates > 1));

    let out = out.display().to_string();
    let told = Ended::good(convledger(&["auto", &out])).stdout;
    assert_eq!(told.lines().last(), Some(verdict));
    for pick in &picks {
        let line = told.lines().find(|line| line.trim_start().starts_with(&pick.layer)).expect("a line for each layer");
        assert!(line.contains(&pick.picked.name) && line.contains(&pick.best.name) && line.ends_with('x'), "{line}");
    }
    let tight = Ended::good(convledger(&["auto", &out, "--workspace-limit", "0B"])).stdout;
    assert!(!tight.contains("im2col"), "{tight}");

    let costs = Ended::good(convledger(&["auto", &out, "--fit"])).stdout;
    let fitted = Costs::parse(&costs, "fitted").expect("its own form");
    assert!(fitted.devices[0].kernels.iter().any(|kernel| kernel.kernel.starts_with("direct ")), "{costs}");
    let file = folder.path().join("costs.toml");
    fs::write(&file, &costs).expect("written");
    let file = file.display().to_string();
    assert!(Ended::good(convledger(&["auto", &out, "--costs", &file])).stdout.contains("--algorithm auto is within"));
    let again = folder.path().join("again");
    Ended::good(run_in(&again, &[CONV, "--algorithm", "auto", "--costs", &file, "--time-budget", "500ms"]));
    assert_eq!(Run::read(&again).expect("a run").measurements.len(), 1);
}

#[test]
fn exec_takes_the_choice_and_holds_it_to_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let array = |name: &str, shape: &[u64]| {
        let count = usize::try_from(shape.iter().product::<u64>()).expect("small");
        let file = File::create(path(name)).expect("created");
        let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd().expect("a header");
        writer.extend((0..count).map(|i| (i % 7) as f32 - 3.0)).expect("written");
        writer.finish().expect("written");
    };
    array("x.npy", &[1, 4, 8, 8]);
    array("w.npy", &[4, 4, 3, 3]);
    let exec = |algorithm: &str, output: &str, more: &[&str]| {
        let (x, w, y) = (path("x.npy"), path("w.npy"), path(output));
        let device: Vec<String> = crate::device().iter().flat_map(|device| ["--device".to_owned(), device.clone()]).collect();
        let mut command = convledger(&["exec", CONV, "--algorithm", algorithm, "--input", &x, "--weights", &w, "--output", &y]);
        command.args(more).args(device);
        command
    };
    Ended::good(exec("direct", "direct.npy", &[]));
    let chosen = Ended::good(exec("auto", "auto.npy", &["--workspace-limit", "0"])).stderr;
    assert!(chosen.contains(" on ") && !chosen.contains("im2col") && !chosen.contains("winograd"), "{chosen}");
    let read = |name: &str| npyz::NpyFile::new(File::open(path(name)).expect("open")).expect("npy").into_vec::<f32>().expect("values");
    // Small whole numbers: every order of adding them gives the same.
    assert_eq!(read("auto.npy"), read("direct.npy"));
    let line = Ended::error(exec("im2col:batch", "no.npy", &["--workspace-limit", "1KiB"]));
    assert_eq!(line, "convledger: im2col:batch needs a workspace of 9,216 B > workspace limit 1,024 B");
    assert!(!Path::new(&path("no.npy")).exists());
}

#[test]
fn faults_are_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("costs.toml"), "[[device]]\nkernels = [{ kernel = 'gemm', compute = 2000.0, bandwidth = 1.0, fill = 1 }]")
        .expect("written");
    Ended::good(run_in(&folder.path().join("unmeasured"), &[CONV, "--time-budget", "0s"]));
    Ended::good(run_in(&folder.path().join("single"), &[CONV, "--algorithm", "direct", "--time-budget", "500ms"]));
    let told = errors(&[
        &["ledger", CONV, "--algorithm", "auto"],
        &["run", CONV, "--algorithm", "auto", "--costs", &path("costs.toml")],
        &["run", CONV, "--algorithm", "auto", "--costs", &path("none.toml")],
        &["auto", &path("none")],
        &["auto", &path("unmeasured")],
        &["auto", &path("unmeasured"), "--fit"],
        &["auto", &path("single")],
    ]);
    insta::assert_snapshot!(told.replace(&path(""), "FOLDER/"), @r"
    $ ledger n1c4h8w8_k4r3s3_p1 --algorithm auto
    convledger: --algorithm auto goes by the limits of a device, which this command needs none of: run or exec choose
    $ run n1c4h8w8_k4r3s3_p1 --algorithm auto --costs FOLDER/costs.toml
    convledger: FOLDER/costs.toml:2:41: compute 2000 is not a share above 0 and up to 1000
    $ run n1c4h8w8_k4r3s3_p1 --algorithm auto --costs FOLDER/none.toml
    convledger: FOLDER/none.toml: cannot read the costs: No such file or directory (os error 2)
    $ auto FOLDER/none
    convledger: FOLDER/none holds no run: it has no measurements.csv
    $ auto FOLDER/unmeasured
    convledger: FOLDER/unmeasured: the run has no measured limits of its device (environment.json)
    $ auto FOLDER/unmeasured --fit
    convledger: FOLDER/unmeasured: the run has no measured limits of its device (environment.json)
    $ auto FOLDER/single
    convledger: FOLDER/single: no layer with more than one measured case, which leaves no choice
    ");
}
