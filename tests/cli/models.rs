//! `--model`: the convolutions of an ONNX model. What the reader makes of models is tested in `tests/onnx`.

use crate::{Ended, convledger, errors, run_in, without_driver};
use convledger::record::{Run, Status};
use predicates::prelude::*;

/// Input `N,3,H,W` with all but the channels left open.
const OPEN: &str = "tests/data/onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx";

#[test]
fn layers_of_a_model_are_predicted_at_the_shape_given() {
    let args = ["ledger", "--model", OPEN, "--input", "x=1x3x48x192", "--batch", "2", "--algorithm", "direct"];
    let table = Ended::good(without_driver(&args)).stdout;
    let head: String = table.lines().take(3).map(|line| line.to_owned() + "\n").collect();
    insta::assert_snapshot!(head, @r"
    layer    convolution                        algorithm  parameter B  activation B  computation B  algorithm FLOP
    Conv@0   n2c3h48w192_k8r3s3_s2_p1           direct             864       368,640              0       1,990,656
    Conv@1   n2c8h24w96_k8r1s1                  direct             256       294,912              0         589,824
    ");
}

#[test]
fn models_that_cannot_be_had() {
    insta::assert_snapshot!(errors(&[
        &["ledger", "--model", "nosuch.onnx"],
        &["ledger", "--model", "Cargo.toml"],
        &["run", "--model", "tests/data/onnx"],
        &["ledger", "--model", OPEN],
        &["ledger", "--model", OPEN, "--input", "y=1x3x48x192"],
        &["ledger", "--model", OPEN, "--input", "1x3x48"],
    ]), @r#"
    $ ledger --model nosuch.onnx
    convledger: nosuch.onnx: No such file or directory (os error 2)
    $ ledger --model Cargo.toml
    convledger: Cargo.toml: not an ONNX model: it is text beginning "[package]\nname = \"convle"
    $ run --model tests/data/onnx
    convledger: tests/data/onnx: not an ONNX model: a directory
    $ ledger --model tests/data/onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx
    convledger: tests/data/onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx: shape of input 'x' of node 'Conv@0' stays unknown: graph input 'x' is [?, 3, ?, ?]; set it with --input 1x3x224x224
    $ ledger --model tests/data/onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx --input y=1x3x48x192
    convledger: tests/data/onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx: --input y=1x3x48x192: there is no such input; graph inputs are 'x' [?, 3, ?, ?]
    $ ledger --model tests/data/onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx --input 1x3x48
    convledger: tests/data/onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx: --input 1x3x48: 3 dimensions for an input of 4; graph inputs are 'x' [?, 3, ?, ?]
    "#);
    let told = predicate::str::contains("dimension 'a' is not a whole number");
    convledger(&["ledger", "--model", OPEN, "--input", "1x3xax4"]).assert().code(2).stderr(told);
}

/// Two files of one name stay apart.
#[test]
fn models_are_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = |case: &str| format!("tests/data/onnx/pytorch-converted/{case}/model.onnx");
    let (one, two) = (model("test_Conv1d"), model("test_Conv2d_groups"));
    let path = folder.path().join("run");
    Ended::good(run_in(&path, &["--model", &one, "--model", &two, "--algorithm", "direct", "--time-budget", "200ms"]));
    let rows = Run::read(&path).expect("a run").measurements;
    let suites: Vec<&str> = rows.iter().map(|row| row.case.suite.as_str()).collect();
    assert_eq!(suites, ["model", "model#2"]);
    assert!(rows.iter().all(|row| row.status == Status::Ok), "{rows:?}");
    assert_eq!((rows[0].case.conv.rank(), rows[1].case.conv.rank(), rows[1].case.conv.groups()), (1, 2, 2));
}
