//! `tune` and `--tuning`: a file is written, and what it says is what runs.

use crate::{CONV, Ended, convledger, run_in};
use assert_cmd::Command;
use convledger::plan::{ShapeClass, TiledKernel, TuningFile};
use convledger::record::{Run, Status};
use std::fs;
use std::path::Path;

/// An entry for every device whose tiles nobody would choose.
const ODD: &str = "\
[[device]]
lanes = 2
tiles = [
  { kernel = \"gemm\", tile = \"2x4 lanes 2x2 depth 4 cache\" },
  { kernel = \"implicit_gemm\", tile = \"4x8 lanes 2x1 depth 4 cache\" },
]
";

fn tune(folder: &Path, args: &[&str]) -> Command {
    let mut command = convledger(&["tune", "--kernel", "implicit_gemm"]);
    command.current_dir(folder).args(args).args(crate::device().iter().flat_map(|device| ["--device", device]));
    command
}

/// The `tuning` column of a run of one algorithm with a file.
fn tuning_of(folder: &Path, file: &Path, conv: &str, algorithm: &str) -> String {
    let path = folder.join(algorithm);
    let file = file.display().to_string();
    let ended = Ended::good(run_in(&path, &[conv, "--algorithm", algorithm, "--time-budget", "100ms", "--tuning", &file]));
    let run = Run::read(&path).expect("a run");
    assert!(ended.stderr.contains(&format!("tuning   {file}: ")), "{}", ended.stderr);
    assert_eq!(run.environment.tuning_file, Some(file));
    assert_eq!(run.measurements[0].status, Status::Ok, "{}", run.measurements[0].reason);
    run.measurements[0].tuning.clone()
}

#[test]
fn a_device_is_tuned_and_runs_take_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = Ended::good(tune(folder.path(), &["--time-budget", "5s"]));
    // Without --out the file is named after the device.
    let files: Vec<_> = fs::read_dir(folder.path().join("tuning")).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    let [path] = &files[..] else { panic!("{files:?}") };
    assert!(ended.stdout.contains(&format!("take it with --tuning tuning/{}\n", path.file_name().expect("a name").display())));
    let written = fs::read_to_string(path).expect("text");
    assert!(written.contains("by convledger ") && written.contains("--time-budget 5s"), "{written}");
    let file = TuningFile::read(path).expect("a tuning file");
    let [entry] = &file.device[..] else { panic!("{written}") };
    let name = entry.name.clone().expect("a name");
    assert!(ended.stderr.starts_with(&format!("device   {name} (")), "{}", ended.stderr);
    let rule = entry.tiles.first().expect("a tile");
    assert_eq!((rule.kernel, rule.shape), (TiledKernel::ImplicitGemm, Some(ShapeClass::Large)));
    assert!(ended.stderr.contains(&format!("implicit_gemm large: {}: ", rule.tile)), "{}", ended.stderr);
    // A small convolution of the class: 64 rows, 16,384 columns.
    let tuning = tuning_of(folder.path(), path, "n1c2h128w128_k64r1s1", "implicit_gemm");
    assert!(tuning.ends_with(&rule.tile.to_string()), "{tuning}, not {}", rule.tile);

    // The entry is there now; it is not replaced unasked, and nothing is tuned to find that out.
    let line = Ended::error(tune(folder.path(), &["--time-budget", "1h"]));
    assert!(line.ends_with("already: replace it with --force, or name another file with --out"), "{line}");
    assert_eq!(fs::read_to_string(path).expect("text"), written);
}

#[test]
fn entries_of_other_devices_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.toml");
    let others = "# By hand.\n[[device]]\nname = \"Voodoo 2\"\nlanes = 4\n";
    fs::write(&path, others).expect("written");
    Ended::good(tune(folder.path(), &["--time-budget", "100ms", "--out", "mine.toml"]));
    let written = fs::read_to_string(&path).expect("text");
    assert!(written.starts_with(others), "{written}");
    assert_eq!(TuningFile::read(&path).expect("a tuning file").device.len(), 2, "{written}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left behind");
}

#[test]
fn a_file_decides_what_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("odd.toml");
    fs::write(&path, ODD).expect("written");
    assert_eq!(tuning_of(folder.path(), &path, CONV, "im2col:batch"), "gemm 2x4 lanes 2x2 depth 4 cache");
    assert_eq!(tuning_of(folder.path(), &path, CONV, "implicit_gemm"), "gemm 4x8 lanes 2x1 depth 4 cache");
    assert_eq!(tuning_of(folder.path(), &path, CONV, "direct"), "lanes 2");
    let limits = Run::read(&folder.path().join("direct")).expect("a run").environment.limits;
    assert_eq!((limits.tuning.lanes, limits.tuning.tiles.len() > 2), (Some(2), true), "the file's before those built in");

    // A run goes on only with the choices it began with.
    let line = Ended::error(run_in(&folder.path().join("direct"), &[CONV, "--resume", "--time-budget", "100ms"]));
    assert!(line.contains("the device is now the same with other tuning (--tuning)"), "{line}");
}

#[test]
fn a_file_of_other_devices_changes_nothing_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("others.toml");
    fs::write(&file, ODD.replace("[[device]]", "[[device]]\nname = \"Voodoo 2\"")).expect("written");
    let file = file.display().to_string();
    let column = |name: &str, more: &[&str]| {
        let path = folder.path().join(name);
        let ended = Ended::good(run_in(&path, &[&[CONV, "--algorithm", "im2col:batch", "--time-budget", "0s"], more].concat()));
        (Run::read(&path).expect("a run").measurements[0].tuning.clone(), ended.stderr)
    };
    let (with, told) = column("with", &["--tuning", &file]);
    assert!(told.contains(&format!("tuning   {file} says nothing of this device: what is built in is taken\n")), "{told}");
    assert_eq!(with, column("without", &[]).0);
}

#[test]
fn wrong_files_and_options_are_told_by_place_and_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = folder.path().join("bad.toml");
    fs::write(&bad, ODD.replace("lanes 2x2", "lanes 2x")).expect("written");
    let fault = "bad.toml:4:29: '2x4 lanes 2x depth 4 cache' is not a tile such as '16x8 lanes 8x1 depth 4 cache': '' is not a whole number up to 4294967295";
    let name = |line: String| line.replace(&format!("{}/", folder.path().display()), "").replace("convledger: ", "");
    let bad = bad.display().to_string();
    assert_eq!(name(Ended::error(run_in(folder.path(), &[CONV, "--tuning", &bad]))), fault);
    assert_eq!(name(Ended::error(tune(folder.path(), &["--tuning", &bad]))), fault);
    let arrays = ["--algorithm", "direct", "--input", "x.npy", "--weights", "w.npy", "--output", "y.npy"];
    assert_eq!(name(Ended::error(convledger(&[&["exec", CONV, "--tuning", &bad], &arrays[..]].concat()))), fault);
    assert!(!folder.path().join("measurements.csv").exists());
    // A file to write into that is none is told before anything is tuned, and stays as it is.
    let line = Ended::error(tune(folder.path(), &["--out", &bad, "--force"]));
    assert_eq!(name(line), fault);

    let usage = |args: &[&str]| Ended::of(tune(folder.path(), args));
    for (args, told) in [
        (&["--kernel", "gemn"][..], "'gemn' is no kernel with tiles; there are gemm, implicit_gemm"),
        (&["--time-budget", "0s"], "'0s' leaves no time"),
        (&["--timeout", "-1s"], "'-1s' is negative"),
        (&["--timeout", "soon"], "'soon' is not a duration"),
    ] {
        let ended = usage(args);
        assert_eq!(ended.code, Some(2), "{args:?}");
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
    let line = Ended::error(tune(folder.path(), &["--out", "."]));
    assert!(line.contains("is a directory"), "{line}");
}
