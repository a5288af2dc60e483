//! `ledger`: closed forms, without a device.

use crate::{CONV, Ended, convledger, without_driver};
use std::collections::BTreeMap;
use std::fs;

/// Its rows as maps from column to cell, and the columns in their order.
fn csv(args: &[&str]) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let text = Ended::good(without_driver(&[&["ledger", "--format", "csv"], args].concat())).stdout;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    (header, reader.deserialize().map(|row| row.expect("a row")).collect())
}

/// What a column holds for each `algorithm:variant`.
fn column(rows: &[BTreeMap<String, String>], name: &str) -> BTreeMap<String, String> {
    let title = |row: &BTreeMap<String, String>| format!("{}:{}", row["algorithm"], row["variant"]);
    rows.iter().map(|row| (title(row), row[name].clone())).collect()
}

/// The figures of the literature: im2col of a 64-channel 224x224 map blows it up ninefold, the direct method needs nothing.
#[test]
fn workspace_of_a_vgg_layer() {
    let (_, rows) = csv(&["n1c64h224w224_k128r3s3_p1"]);
    let workspace = column(&rows, "computation_bytes");
    assert_eq!(workspace["im2col:batch"], "115605504");
    assert_eq!(workspace["direct:"], "0");
    assert!(column(&rows, "parameter_bytes").values().all(|bytes| bytes == "294912"));
    assert!(column(&rows, "activation_bytes").values().all(|bytes| bytes == "38535168"));
}

#[test]
fn table_for_people() {
    let ended =
        Ended::good(without_driver(&["ledger", "n1c64h224w224_k128r3s3_p1", "--algorithm", "im2col:batch", "--algorithm", "direct"]));
    assert_eq!(ended.stderr, "");
    insta::assert_snapshot!(ended.stdout, @r"
    layer                      algorithm     parameter B  activation B  computation B  algorithm FLOP
    n1c64h224w224_k128r3s3_p1  direct            294,912    38,535,168              0   7,398,752,256
    n1c64h224w224_k128r3s3_p1  im2col:batch      294,912    38,535,168    115,605,504   7,398,752,256
    ");
}

#[test]
fn json_holds_what_csv_holds() {
    let (header, rows) = csv(&[CONV]);
    let text = Ended::good(without_driver(&["ledger", CONV, "--format", "json"])).stdout;
    let json: Vec<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json.len(), rows.len());
    for (object, row) in json.iter().zip(&rows) {
        assert_eq!(object.len(), header.len());
        for (name, value) in object {
            let text = if value.is_null() { String::new() } else { value.as_str().map_or_else(|| value.to_string(), str::to_owned) };
            assert_eq!(text, row[name], "{name}");
        }
    }
}

#[test]
fn layers_that_an_algorithm_is_not_made_for_say_why() {
    let (_, rows) = csv(&["n1c4h8w8_k4r3s3_s2_p1"]);
    assert_eq!(column(&rows, "status")["winograd_f2:"], "unsupported");
    assert_eq!(column(&rows, "reason")["winograd_f2:"], "winograd_f2 is for stride 1, not 2x2");
    assert_eq!(column(&rows, "computation_bytes")["winograd_f2:"], "", "not known is empty, not 0");
    assert_eq!(column(&rows, "reason")["direct:"], "");
}

#[test]
fn a_batch_of_nothing_has_parameters_only() {
    let (_, rows) = csv(&["n0c4h8w8_k4r3s3_p1"]);
    assert_eq!(column(&rows, "status")["direct:"], "skipped");
    assert!(column(&rows, "status").values().all(|status| status == "skipped" || status == "unsupported"));
    assert!(column(&rows, "parameter_bytes").values().all(|bytes| bytes == "576"));
    assert!(column(&rows, "activation_bytes").values().all(|bytes| bytes == "0"));
}

#[test]
fn sizes_past_32_bit_indices_are_predicted_and_told() {
    // An input of 2^32 elements.
    let (_, rows) = csv(&["n1c65536h256w256_k64r3s3_p1"]);
    assert_eq!(column(&rows, "status")["im2col:batch"], "over_limit");
    assert_eq!(column(&rows, "computation_bytes")["im2col:batch"], (9_u64 * 65536 * 256 * 256 * 4).to_string());
    let reason = &column(&rows, "reason")["im2col:batch"];
    assert!(reason.ends_with(" > the 32-bit index range 4294967295"), "{reason}");
}

#[test]
fn workspaces_past_64_bits_are_told() {
    // The tensors and the operations fit 64 bits, the column matrix does not.
    let (_, rows) = csv(&["n1c1073741824h16384w32768_k1r3s3_p1", "--algorithm", "im2col:batch"]);
    assert_eq!(column(&rows, "status")["im2col:batch"], "over_limit");
    assert_eq!(column(&rows, "computation_bytes")["im2col:batch"], "");
    let reason = &column(&rows, "reason")["im2col:batch"];
    assert!(reason.ends_with(" > the 64-bit range 18446744073709551615"), "{reason}");
}

#[test]
fn suites_and_keys_come_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    fs::write(&file, format!("layer = [{{ name = \"=first\", conv = \"{CONV}\" }}, {{ name = \"second\", conv = \"n1c1w9_k1s3\" }}]\n"))
        .expect("written");
    let (_, rows) = csv(&["n1c2h4w4_k2r1s1", "--suite", &file.display().to_string(), "--suite", "smoke", "--algorithm", "direct"]);
    let mut suites: Vec<&str> = rows.iter().map(|row| row["suite"].as_str()).collect();
    suites.dedup();
    assert_eq!(suites, ["command_line", "mine", "smoke"]);
    let mine: Vec<_> = rows.iter().filter(|row| row["suite"] == "mine").map(|row| (row["layer"].as_str(), row["conv"].as_str())).collect();
    // A spreadsheet would run a name that begins with '='.
    assert_eq!(mine, [("'=first", CONV), ("second", "n1c1w9_k1s3")]);
}

#[test]
fn batch_replaces_what_the_key_says() {
    let (_, rows) = csv(&[CONV, "--batch", "7", "--algorithm", "direct"]);
    assert_eq!(rows[0]["conv"], "n7c4h8w8_k4r3s3_p1");
}

/// A reader that has seen enough, such as `head`, is no error.
#[test]
fn a_closed_pipe_is_no_error() {
    for format in ["table", "csv", "json"] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_convledger"))
            .args(["ledger", "--suite", "deepbench", "--suite", "deepbench_server", "--format", format])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""), "{format}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_standard_output_is_told() {
    for format in ["table", "csv", "json"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_convledger"))
            .args(["ledger", CONV, "--format", format])
            .stdout(fs::File::create("/dev/full").expect("it opens"))
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "convledger: cannot write to standard output: No space left on device (os error 28)\n"
        );
    }
}

#[test]
fn exact_variants_need_not_be_proposed() {
    // Nine rows are more than the first problem has and just as many as the second.
    let (_, rows) = csv(&[CONV, "n1c4h9w8_k4r3s3_p1", "--algorithm", "im2col:strip=3", "--algorithm", "im2col:strip=9"]);
    let first: Vec<_> = rows.iter().filter(|row| row["conv"] == CONV).cloned().collect();
    assert_eq!(column(&first, "computation_bytes")["im2col:strip=3"], (4 * 9 * 3 * 8 * 4).to_string());
    assert_eq!(column(&first, "reason")["im2col:strip=9"], "strip=9 is not within 1 to the 8 output rows of an image");
    let left_out = ["!*_*", "!*wise", "!im2col", "!mec", "!kn2row", "!indirect"];
    let patterns: Vec<&str> = left_out.iter().flat_map(|pattern| ["--algorithm", pattern]).collect();
    let nothing = Ended::good(convledger(&[&["ledger", CONV][..], &patterns].concat())).stdout;
    assert_eq!(nothing.lines().count(), 2, "a header and direct:\n{nothing}");
}
