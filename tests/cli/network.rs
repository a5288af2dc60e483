//! `ledger --network` and `ledger --training`: totals of whole networks, without a device.

use crate::{CONV, Ended, convledger, errors, without_driver};
use std::collections::BTreeMap;
use std::fs;

const RESNET: &str = "tests/data/onnx/light_resnet50.onnx";

fn told(args: &[&str]) -> String {
    let ended = Ended::good(without_driver(&[&["ledger"], args].concat()));
    assert_eq!(ended.stderr, "");
    ended.stdout
}

fn rows(args: &[&str]) -> Vec<BTreeMap<String, String>> {
    let text = told(&[args, &["--format", "csv"]].concat());
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| row.expect("a row")).collect()
}

#[test]
fn a_suite_in_training() {
    insta::assert_snapshot!(told(&["--suite", "resnet50", "--training", "adam", "--precision", "mixed", "--checkpoint", "2"]), @r"
     network   phase     precision  ledger      role                    elements        bytes  B/parameter
     resnet50  training  mixed      parameter   weights               23,454,912   46,909,824         2.00
     resnet50  training  mixed      parameter   master weights        23,454,912   93,819,648         4.00
     resnet50  training  mixed      parameter   gradients             23,454,912   46,909,824         2.00
     resnet50  training  mixed      parameter   optimizer state       46,909,824  187,639,296         8.00
     resnet50  training  mixed      activation  checkpoints            8,379,392   16,758,784         0.71
     resnet50  training  mixed      activation  segment                  802,816    1,605,632         0.07
     resnet50  training  mixed      activation  activation gradients   1,204,224    2,408,448         0.10
     resnet50  training  mixed                  total                             396,051,456        16.89

    resnet50: a chain of 81 layers, of which 28 unknown ones stand where an output does not fit the next input
    resnet50: convolutions only: norms, activations, sums and skips are not in a list of layers, so no total bounds a network's peak
    resnet50: checkpoints every 2 layers: 3.32 GFLOP of convolutions run again, 13.5 % of forward and backward (3 times forward)
    resnet50: fewest bytes with checkpoints every 7 layers: 10,838,016 B of feature maps (equal layers: every √n = 9.0)
    ");
}

#[test]
fn a_model_in_inference_and_training() {
    insta::assert_snapshot!(told(&["--model", RESNET, "--batch", "8", "--network", "--training", "sgd", "--checkpoint", "auto"]), @r"
     network         phase      precision  ledger      role                    elements        bytes  B/parameter
     light_resnet50  inference  f32        parameter   weights               25,557,032  102,228,128         4.00
     light_resnet50  inference  f32        parameter   buffers                   53,120      212,480         0.01
     light_resnet50  inference  f32        activation  activations           19,267,584   77,070,336         3.02
     light_resnet50  inference  f32                    total                             179,510,944         7.02
     light_resnet50  training   f32        parameter   weights               25,557,032  102,228,128         4.00
     light_resnet50  training   f32        parameter   gradients             25,557,032  102,228,128         4.00
     light_resnet50  training   f32        parameter   buffers                   53,120      212,480         0.01
     light_resnet50  training   f32        activation  checkpoints           59,014,976  236,059,904         9.24
     light_resnet50  training   f32        activation  segment               36,929,536  147,718,144         5.78
     light_resnet50  training   f32        activation  activation gradients  19,267,584   77,070,336         3.02
     light_resnet50  training   f32                    total                             665,517,120        26.04

    light_resnet50: a graph of 176 nodes that make 177 tensors, each in memory of its own
    light_resnet50: less than a byte is stored for each parameter: nodes of the graph make weights when the model is loaded
    light_resnet50: 79,770 B in its files, 10,380 B in stored tensors, 102,440,608 B of parameters in inference
    light_resnet50: 79,770 B in its files, 10,380 B in stored tensors, 204,668,736 B of parameters in training
    light_resnet50: checkpoints every 10 layers: 59.8 GFLOP of convolutions run again, 30.5 % of forward and backward (3 times forward)
    light_resnet50: fewest bytes with checkpoints every 10 layers: 383,778,048 B of feature maps (equal layers: every √n = 13.3)
    light_resnet50: the training total bounds a step's peak from above: checkpoints, the largest segment, and the most gradients of feature maps alive at once; without workspace and what operators save beside their outputs
    ");
}

#[test]
fn rows_tell_how_much_of_a_chain_is_a_guess() {
    for batch in ["0", "1", "8"] {
        let rows = rows(&["--suite", "resnet50", "--batch", batch, "--training", "momentum"]);
        assert!(rows.iter().all(|row| (row["layers"].as_str(), row["unknown_layers"].as_str()) == ("81", "28")), "{rows:?}");
    }
    // In a graph every layer is a node.
    assert!(rows(&["--model", RESNET, "--network"]).iter().all(|row| row["unknown_layers"].is_empty()));
}

#[test]
fn only_a_model_s_total_is_called_a_bound() {
    let bound = "bounds a step's peak from above: all feature maps kept,";
    let only = "resnet50: convolutions only: ";
    for (args, bounds, convolutions) in [
        (&["--suite", "resnet50", "--network"][..], false, true),
        (&["--suite", "resnet50", "--training", "sgd"], false, true),
        (&["--model", RESNET, "--network"], false, false),
        (&["--model", RESNET, "--training", "sgd"], true, false),
    ] {
        let text = told(args);
        assert_eq!((text.contains(bound), text.contains(only)), (bounds, convolutions), "{text}");
    }
    // The documents say by how much a list falls short of the graph.
    for (args, elements) in [(["--suite", "resnet50"], "17988096"), (["--model", RESNET], "37713360")] {
        let rows = rows(&[&args[..], &["--training", "sgd"]].concat());
        assert!(rows.iter().any(|row| row["role"] == "activations" && row["elements"] == elements), "{rows:?}");
    }
}

#[test]
fn a_list_of_unrelated_layers_is_doubted() {
    for (args, doubt) in [
        (&["--suite", "deepbench"][..], "deepbench: hardly one network: layers differ in their batch\n"),
        (&["--suite", "smoke"], "smoke: hardly one network: layers differ in their number of spatial axes\n"),
        (&[CONV, "n1c8h8w8_k8r3s3_p1"], "command_line: hardly one network: no layer's output fits the next one's input\n"),
    ] {
        assert!(told(&[args, &["--network"]].concat()).contains(doubt), "{args:?}");
    }
    assert!(!told(&["--suite", "resnet50", "--network"]).contains("hardly"));
}

/// Known by hand: 4 bytes a parameter for weights, gradients and each of two moments.
#[test]
fn adam_takes_16_bytes_a_parameter() {
    for (args, bytes) in [
        (&["--training", "adam"][..], "16"),
        (&["--training", "adam", "--precision", "mixed"], "16"),
        (&["--training", "adagrad", "--precision", "f32"], "12"),
        (&["--training", "momentum"], "12"),
        (&["--training", "sgd", "--precision", "mixed"], "8"),
    ] {
        let rows = rows(&[&["--suite", "resnet18"], args].concat());
        let parameter = rows.iter().filter(|row| row["ledger"] == "parameter");
        let sum: f64 = parameter.map(|row| row["bytes_per_parameter"].parse::<f64>().expect("a number")).sum();
        assert_eq!(sum.to_string(), bytes, "{args:?}");
        let total: u64 = rows.iter().map(|row| row["bytes"].parse::<u64>().expect("bytes")).sum();
        assert!(rows.iter().all(|row| row["total_bytes"] == total.to_string()), "{rows:?}");
    }
}

#[test]
fn json_holds_what_csv_holds() {
    let args = [CONV, "--suite", "vgg16", "--network", "--training", "momentum", "--checkpoint", "auto"];
    let json: Vec<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_str(&told(&[&args[..], &["--format", "json"]].concat())).expect("JSON");
    let rows = rows(&args);
    assert_eq!(json.len(), rows.len());
    for (object, row) in json.iter().zip(&rows) {
        assert_eq!(object.len(), row.len());
        for (name, value) in object {
            let text = if value.is_null() { String::new() } else { value.as_str().map_or_else(|| value.to_string(), str::to_owned) };
            assert_eq!(text, row[name], "{name}");
        }
    }
}

/// Two layers that fit: the input, what is between and the output, by hand.
#[test]
fn batch_and_type_of_a_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("two.toml").display().to_string();
    let layer = "layer = [{ name = \"a\", conv = \"n1c4h8w8_k8r3s3_p1\" }, { name = \"b\", conv = \"n1c8h8w8_k2r1s1\" }]\n";
    fs::write(&file, layer).expect("written");
    let bytes = |args: &[&str]| {
        let rows = rows(&[&["--suite", &file], args].concat());
        rows.into_iter().map(|row| (row["role"].clone(), row["bytes"].parse::<u64>().expect("bytes"))).collect::<BTreeMap<_, _>>()
    };
    let inference = bytes(&["--network", "--dtype", "f16", "--batch", "3"]);
    assert_eq!(inference, BTreeMap::from([("weights".into(), 2 * (288 + 16)), ("activations".into(), 2 * 3 * 64 * (4 + 8))]));
    let training = bytes(&["--training", "sgd", "--batch", "3"]);
    let expected =
        [("weights", 4 * 304), ("gradients", 4 * 304), ("activations", 12 * 64 * (4 + 8 + 2)), ("activation_gradients", 12 * 64 * (8 + 2))];
    assert_eq!(training, expected.map(|(role, bytes)| (role.to_owned(), bytes)).into());
}

#[test]
fn a_model_s_rows_have_its_files_and_guarded_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("=net.onnx").display().to_string();
    fs::copy(RESNET, &path).expect("copied");
    let rows = rows(&["--model", &path, "--network"]);
    // A spreadsheet would run a name that begins with '='.
    assert!(rows.iter().all(|row| row["suite"] == "'=net" && row["file_bytes"] == "79770" && row["topology"] == "graph"), "{rows:?}");
}

#[test]
fn totals_that_cannot_be_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("long.toml"), format!("layer = [{{ name = \"a\", conv = \"{CONV}\", count = 9000000000000000000 }}]\n"))
        .expect("written");
    fs::write(path("large.toml"), "layer = [{ name = \"a\", conv = \"n1c1h1048576w1048576_k1048576r1s1\", count = 9 }]\n")
        .expect("written");
    let mixed = "layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype\na,1,4,8,8,4,3,3,1,1,1,1,f32\nb,1,4,8,8,4,3,3,1,1,1,1,f16\n";
    fs::write(path("mixed.csv"), mixed).expect("written");
    let told = errors(&[
        &["ledger", "--training", "adam"],
        &["ledger", CONV, "--training", "adam", "--dtype", "f16"],
        &["ledger", CONV, "--training", "adam", "--batch", "4294967296"],
        &["ledger", "--suite", &path("long.toml"), "--network"],
        &["ledger", "--suite", &path("large.toml"), "--training", "sgd"],
        &["ledger", "--layers", &path("mixed.csv"), "--network"],
        &["ledger", "--suite", "resnet50", "--training", "sgd", "--checkpoint", "18446744073709551615"],
        &["ledger", "--suite", "resnet50", "--training", "sgd", "--checkpoint", "82"],
    ]);
    insta::assert_snapshot!(told.replace(&path(""), "FOLDER/"), @r"
    $ ledger --training adam
    convledger: name a convolution, --suite, --layers or --model
    $ ledger n1c4h8w8_k4r3s3_p1 --training adam --dtype f16
    convledger: --dtype is for inference: --precision says in which types --training computes
    $ ledger n1c4h8w8_k4r3s3_p1 --training adam --batch 4294967296
    convledger: layer 'n1c4h8w8_k4r3s3_p1' with batch 4294967296: N is 4294967296, past the largest extent 4294967295
    $ ledger --suite FOLDER/long.toml --network
    convledger: 'long' as a network has 9000000000000000000 layers, more than 32768
    $ ledger --suite FOLDER/large.toml --training sgd
    convledger: 'large' as a network: bytes overflow 64 bits
    $ ledger --layers FOLDER/mixed.csv --network
    convledger: 'mixed' has layers in f32 and in f16: --dtype says in which type they are one network
    $ ledger --suite resnet50 --training sgd --checkpoint 18446744073709551615
    convledger: --checkpoint 18446744073709551615 is more than the 81 layers of 'resnet50'
    $ ledger --suite resnet50 --training sgd --checkpoint 82
    convledger: --checkpoint 82 is more than the 81 layers of 'resnet50'
    ");
    for (args, problem) in [
        (&["--training", "adam", "--checkpoint", "0"][..], "'0' is neither a whole number from 1 nor auto"),
        (&["--training", "adam", "--checkpoint", "-1"], "unexpected argument '-1' found"),
        (&["--checkpoint", "2"], "--training <OPTIMIZER>"),
        (&["--precision", "mixed"], "--training <OPTIMIZER>"),
        (&["--training", "lion"], "[possible values: sgd, momentum, adam, adagrad]"),
        (&["--network", "--algorithm", "direct"], "'--network' cannot be used with '--algorithm <GLOB>'"),
    ] {
        let ended = Ended::of(convledger(&[&["ledger", CONV], args].concat()));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ended.stderr.contains(problem), "{args:?}: {}", ended.stderr);
    }
}
