//! Wrong input: one line that names value and place, exit code 2. What clap finds has clap's form.

use crate::{CONV, Ended, convledger, errors, run_in};
use predicates::prelude::*;
use std::fs;

#[test]
fn impossible_convolutions() {
    insta::assert_snapshot!(errors(&[
        &["ledger", "n1c0h8w8_k4r3s3"],
        &["run", "n1c4h8w8_k4r0s3"],
        &["ledger", "n1c-4h8w8_k4r3s3"],
        &["ledger", "n1c4h8w8_k6r3s3_g4"],
        &["ledger", "n1c4h2w2_k6r3s3"],
        &["ledger", "n1c4294967296h8w8_k6r3s3"],
        &["ledger", "n1c99999999999999999999999h8w8_k6r3s3"],
        &["ledger", "n4294967295c4294967295h4294967295w4294967295_k6r3s3"],
        &["ledger", "n1c65536h65536w4096_k65536r3s3_p1"],
        &["ledger", "n1c4h8w8_k4r3s3_p1_x2"],
        &["ledger", CONV, "n1c4h8"],
        &["ledger", ""],
        &["ledger", CONV, "--batch", "4294967296"],
    ]), @r"
    $ ledger n1c0h8w8_k4r3s3
    convledger: 'n1c0h8w8_k4r3s3': C is 0, must be at least 1
    $ run n1c4h8w8_k4r0s3
    convledger: 'n1c4h8w8_k4r0s3': r is 0, must be at least 1
    $ ledger n1c-4h8w8_k4r3s3
    convledger: 'n1c-4h8w8_k4r3s3', character 4: expected the channel count C, a whole number
    $ ledger n1c4h8w8_k6r3s3_g4
    convledger: 'n1c4h8w8_k6r3s3_g4': 4 groups do not divide K = 6 channels
    $ ledger n1c4h2w2_k6r3s3
    convledger: 'n1c4h2w2_k6r3s3': kernel r spans 3 elements but h has only 2 with its padding
    $ ledger n1c4294967296h8w8_k6r3s3
    convledger: 'n1c4294967296h8w8_k6r3s3': C is 4294967296, past the largest extent 4294967295
    $ ledger n1c99999999999999999999999h8w8_k6r3s3
    convledger: 'n1c99999999999999999999999h8w8_k6r3s3': the channel count C is 99999999999999999999999, past the largest extent 4294967295
    $ ledger n4294967295c4294967295h4294967295w4294967295_k6r3s3
    convledger: 'n4294967295c4294967295h4294967295w4294967295_k6r3s3': bytes of the input overflow 64 bits: 4294967295 x 4294967295 x 4 x 1 x 4294967295 x 4294967295
    $ ledger n1c65536h65536w4096_k65536r3s3_p1
    convledger: 'n1c65536h65536w4096_k65536r3s3_p1': operations overflow 64 bits: 2 x 1 x 65536 x 65536 x 1 x 65536 x 4096 x 1 x 3 x 3
    $ ledger n1c4h8w8_k4r3s3_p1_x2
    convledger: 'n1c4h8w8_k4r3s3_p1_x2', character 20: expected s (stride), p (padding), d (dilation), g (groups) or t (transposed)
    $ ledger n1c4h8w8_k4r3s3_p1 n1c4h8
    convledger: 'n1c4h8', character 7: expected 'w': the input's extents come as d, h, w
    $ ledger 
    convledger: '', character 1: expected 'n': a key begins with the batch, as in n1c64h56w56_k128r3s3_p1
    $ ledger n1c4h8w8_k4r3s3_p1 --batch 4294967296
    convledger: layer 'n1c4h8w8_k4r3s3_p1' with batch 4294967296: N is 4294967296, past the largest extent 4294967295
    ");
}

#[test]
fn nothing_to_work_on() {
    insta::assert_snapshot!(errors(&[
        &["ledger"],
        &["ledger", CONV, "--algorithm", "dft"],
        &["run", CONV, "--algorithm", "dft*"],
        &["run", CONV, "--algorithm", "im2col:strip=x"],
        &["ledger", CONV, "--algorithm", "im2col:stripe=*"],
        &["ledger", CONV, "--algorithm", "[x"],
        &["ledger", CONV, "--algorithm", "!*"],
        &["run", CONV, "--algorithm", "direct", "--algorithm", "!direct"],
    ]), @r"
    $ ledger
    convledger: name a convolution, --suite, --layers or --model
    $ ledger n1c4h8w8_k4r3s3_p1 --algorithm dft
    convledger: algorithm pattern 'dft' matches none of the algorithms: direct, direct_tiled, depthwise, im2col, gemm_1x1, implicit_gemm, winograd_f2, winograd_f4, winograd_f6, winograd_f2_5, winograd_f4_5, winograd_1d_f4, winograd_1d_f4_5, winograd_1d_f2_7, winograd_f2_fused, winograd_f4_fused, mec, kn2row, implicit_precomp, indirect, fft_tiled
    $ run n1c4h8w8_k4r3s3_p1 --algorithm dft*
    convledger: algorithm pattern 'dft*' matches none of the algorithms: direct, direct_tiled, depthwise, im2col, gemm_1x1, implicit_gemm, winograd_f2, winograd_f4, winograd_f6, winograd_f2_5, winograd_f4_5, winograd_1d_f4, winograd_1d_f4_5, winograd_1d_f2_7, winograd_f2_fused, winograd_f4_fused, mec, kn2row, implicit_precomp, indirect, fft_tiled
    $ run n1c4h8w8_k4r3s3_p1 --algorithm im2col:strip=x
    convledger: algorithm pattern 'im2col:strip=x': 'strip=x' is not a variant: write a word such as batch, or a word with a number such as strip=8
    $ ledger n1c4h8w8_k4r3s3_p1 --algorithm im2col:stripe=*
    convledger: algorithm pattern 'im2col:stripe=*' selects no case of these layers; to force a variant, write it out, as in im2col:strip=8
    $ ledger n1c4h8w8_k4r3s3_p1 --algorithm [x
    convledger: algorithm pattern '[x': unclosed character class; missing ']'
    $ ledger n1c4h8w8_k4r3s3_p1 --algorithm !*
    convledger: algorithm pattern '!*' leaves no case of these layers
    $ run n1c4h8w8_k4r3s3_p1 --algorithm direct --algorithm !direct
    convledger: algorithm pattern 'direct' selects no case of these layers; to force a variant, write it out, as in im2col:strip=8
    ");
}

#[test]
fn suites_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, text) in [
        ("syntax.toml", "layer = [\n  { conv = \"n1c1h4w4_k1r1s1\" \n"),
        ("key.toml", "name = \"x\"\nlayer = [\n  { conv = \"n1c1h4w4_k1r9s1\" },\n]\n"),
        ("field.toml", "[[layer]]\nconv = \"n1c1h4w4_k1r1s1\"\nstride = 2\n"),
        ("none.toml", "name = \"x\"\n"),
    ] {
        fs::write(path(name), text).expect("written");
    }
    let told = errors(&[
        &["ledger", "--suite", "vgg61"],
        &["ledger", "--suite", &path("nosuch.toml")],
        &["ledger", "--suite", &path("syntax.toml")],
        &["run", "--suite", &path("key.toml")],
        &["ledger", "--suite", &path("field.toml")],
        &["ledger", "--suite", &path("none.toml")],
        &["ledger", "--suite", &path("")],
    ]);
    insta::assert_snapshot!(told.replace(&path(""), "FOLDER/"), @r"
    $ ledger --suite vgg61
    convledger: no built-in suite and no file 'vgg61' (did you mean 'vgg16'?); built in: default, smoke, ledgers, resnet18, resnet50, vgg16, mobilenet_v2, deepbench, deepbench_server, deepbench_device
    $ ledger --suite FOLDER/nosuch.toml
    convledger: FOLDER/nosuch.toml: cannot read the suite: No such file or directory (os error 2)
    $ ledger --suite FOLDER/syntax.toml
    convledger: FOLDER/syntax.toml:2:29: unclosed inline table, expected `}`
    $ run --suite FOLDER/key.toml
    convledger: FOLDER/key.toml:3:12: 'n1c1h4w4_k1r9s1': kernel r spans 9 elements but h has only 4 with its padding
    $ ledger --suite FOLDER/field.toml
    convledger: FOLDER/field.toml:3:1: unknown field `stride`, expected one of `name`, `conv`, `count`
    $ ledger --suite FOLDER/none.toml
    convledger: FOLDER/none.toml:1:1: the suite has no layers; one is written [[layer]] with name and conv
    $ ledger --suite FOLDER/
    convledger: FOLDER/: is a directory, not a suite file
    ");
}

#[test]
fn devices_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    for device in ["7", "-1", "no such device"] {
        let line = Ended::error(convledger(&["run", CONV, "--out", &out, &format!("--device={device}")]));
        assert!(line.starts_with(&format!("convledger: --device '{device}' is none of the adapters: 0 ")), "{line}");
    }
}

#[test]
fn folders_that_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    let line = Ended::error(run_in(&file.join("below"), &[CONV]));
    assert_eq!(line.replace(&file.display().to_string(), "FILE"), "convledger: cannot create FILE/below: Not a directory (os error 20)");
}

#[test]
fn values_that_are_none() {
    let values = [
        ["--time-budget", "5x", "'5x' is not a duration; write a duration such as 90s, 5m or 500ms"],
        ["--time-budget", "-5s", "'-5s' is negative; write a duration such as 90s, 5m or 500ms"],
        ["--timeout", "", "'' is not a duration; write a duration such as 90s, 5m or 500ms"],
        ["--timeout", "0s", "'0s' leaves no time to run a case"],
        ["--workspace-limit", "5x", "'5x' is not a size in bytes"],
        ["--workspace-limit", "-1MiB", "'-1MiB' is not a size in bytes"],
        ["--batch", "-1", "invalid value '-1' for '--batch <N>'"],
        ["--seed", "-1", "invalid value '-1' for '--seed <N>'"],
        ["--seed", "1.5", "invalid value '1.5' for '--seed <N>'"],
        ["--dtype", "f64", "'f64' is not an element type: known are f32, f16, i8"],
        ["--pass", "sideways", "'sideways' is not a pass: known are forward"],
        ["--cache", "warm", "[possible values: hot, cold, both]"],
        ["--input", "1x3", "--model <FILE.onnx>"],
    ];
    for [flag, value, told] in values {
        convledger(&["run", CONV, flag, value]).assert().code(2).stdout("").stderr(predicate::str::contains(told));
    }
    convledger(&["run", CONV, "--resume"]).assert().code(2).stderr(predicate::str::contains("--out <DIR>"));
    convledger(&["jog"]).assert().code(2).stderr(predicate::str::contains("unrecognized subcommand 'jog'"));
    convledger(&["ledger", CONV, "--format", "xml"]).assert().code(2).stderr(predicate::str::contains("table, csv, json"));
}

/// A file's name is not taken for commands to the terminal, nor does it break the line.
#[cfg(unix)]
#[test]
fn control_characters_of_names_are_escaped() {
    let line = Ended::error(convledger(&["run", CONV, "--out", "/dev/null/a\n\x1b[2Jb"]));
    assert_eq!(line, r"convledger: cannot create /dev/null/a \u{1b}[2Jb: Not a directory (os error 20)");
}
