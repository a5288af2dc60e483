//! What a layers file may say, and what is answered to one that says something else.

use super::*;
use crate::conv::tests::any_conv;
use proptest::prelude::*;
use std::fs;

const HEADER: &str = "layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype";

fn fault(text: &str) -> String {
    Suite::parse_layers(text, "my.csv").expect_err(text).to_string()
}

fn fault_of(row: &str) -> String {
    fault(&format!("{HEADER}\n{row}\n"))
}

fn keys(text: &str) -> Vec<(String, String)> {
    let suite = Suite::parse_layers(text, "dir/my.csv").expect(text);
    assert_eq!(suite.name, "my");
    assert!(suite.layers.iter().all(|layer| layer.count == 1));
    suite.layers.iter().map(|layer| (layer.name.clone(), layer.conv.to_string())).collect()
}

#[test]
fn every_column_goes_where_it_belongs() {
    let text = format!("{HEADER}\nstem,1,3,224,220,64,7,5,2,3,1,1,f32\n\"a, b\",8,144,56,56,288,3,3,1,2,2,144,f16\n");
    let expected = [("stem", "n1c3h224w220_k64r7s5_s2_p3"), ("a, b", "n8c144h56w56_k288r3s3_p2_d2_g144")];
    assert_eq!(keys(&text), expected.map(|(name, key)| (name.to_owned(), key.to_owned())));
    let suite = Suite::parse_layers(&text, "my.csv").expect("layers");
    assert_eq!(suite.layers.iter().map(|l| l.conv.element()).collect::<Vec<_>>(), [ElementType::F32, ElementType::F16]);
}

#[test]
fn order_blanks_line_ends_and_marks_do_not_matter() {
    let plain = keys(&format!("{HEADER}\nx,1,2,5,6,4,3,3,1,1,1,2,f32"));
    let other = "\u{feff}dtype, groups,dilation,pad,stride,s,r,k,w,h,c,n,layer\r\n\r\nf32,2, 1,1,1,3,3,4,6,5,2,1,x\r\n\r\n";
    assert_eq!(keys(other), plain);
}

proptest! {
    /// What the columns can say is read back as the same problem.
    #[test]
    fn columns_round_trip(conv in any_conv()) {
        if let Some(cells) = layer_columns(&conv) {
            let suite = Suite::parse_layers(&format!("{HEADER}\nx,{}\n", cells.join(",")), "my.csv").expect("layers");
            prop_assert_eq!(suite.layers[0].conv, conv);
        } else {
            let uniform = |a: &Axis| (a.stride, a.pad_before, a.dilation, a.pad_after == a.pad_before);
            let axes = conv.axes();
            prop_assert!(axes.len() != 2 || uniform(&axes[0]) != uniform(&axes[1]) || axes.iter().any(|a| a.pad_after != a.pad_before));
        }
    }

    /// Whatever bytes there are, the answer is layers or one line that begins with a place.
    #[test]
    fn any_text_is_answered_in_one_line(text in "[-a-z0-9,\"\r\n \u{e9}]{0,80}", header in any::<bool>()) {
        let text = if header { format!("{HEADER}\n{text}") } else { text };
        if let Err(error) = Suite::parse_layers(&text, "my.csv") {
            let message = error.to_string();
            prop_assert!(message.starts_with("my.csv:") && !message.contains(['\n', '\r']), "{}", message);
        }
    }
}

#[test]
fn columns_cannot_say_everything() {
    for key in [
        "n1c2w8_k2s3",
        "n1c2d4h4w4_k2t3r3s3",
        "n1c2h8w8_k2r3s3_s2x1",
        "n1c2h8w8_k2r3s3_p1:0",
        "n1c2h8w8_k2r3s3_p1x0",
        "n1c2h8w8_k2r3s3_d1x2",
    ] {
        assert_eq!(layer_columns(&key.parse().expect(key)), None, "{key}");
    }
}

#[test]
fn faults_name_file_line_column_and_value() {
    let long = "x".repeat(201);
    let columns = LAYER_COLUMNS.join(",");
    for (text, message) in [
        (String::new(), format!("my.csv:1:1: no header; it is {columns}")),
        (HEADER.to_owned(), "my.csv:1:1: no layer follows the header".to_owned()),
        ("layer,n,c\n".to_owned(), "my.csv:1:10: column 'h' is missing".to_owned()),
        (format!("layer,n,é\u{1b},{HEADER}"), format!("my.csv:1:9: column 'é\\u{{1b}}' is not known; the columns are {columns}")),
        (format!("{HEADER},n\n"), "my.csv:1:54: a second column 'n'".to_owned()),
    ] {
        assert_eq!(fault(&text), message);
    }
    for (row, message) in [
        ("x,1,2,5,6,4,3,3,1,1,1,2", "my.csv:2:24: 12 cells, the header has 13"),
        ("x,1,2,5,6,4,3,3,1,1,1,2,f32,", "my.csv:2:29: 14 cells, the header has 13"),
        ("é é,-1,2,5,6,4,3,3,1,1,1,2,f32", "my.csv:2:5: n of layer 'é é' is '-1', not a whole number"),
        ("\"a,\"\"b\", 1.5,2,5,6,4,3,3,1,1,1,2,f32", "my.csv:2:10: n of layer 'a,\"b' is '1.5', not a whole number"),
        ("x,1,2,5,,4,3,3,1,1,1,2,f32", "my.csv:2:9: w of layer 'x' is '', not a whole number"),
        (
            "x,1,2,5,6,4,3,3,99999999999999999999,1,1,2,f32",
            "my.csv:2:17: stride of layer 'x' is '99999999999999999999', not a whole number",
        ),
        ("x,1,2,5,6,4,3,3,1,1,1,2,bf16", "my.csv:2:25: dtype of layer 'x' is 'bf16', must be f32 or f16"),
        ("x,1,2,5,6,4,3,3,0,1,1,2,f32", "my.csv:2:1: layer 'x': stride along h is 0, must be at least 1"),
        ("x,1,2,5,6,4,3,3,1,1,1,3,f32", "my.csv:2:1: layer 'x': 3 groups do not divide C = 2 channels"),
        ("x,1,2,5,6,4,9,3,1,1,1,2,f32", "my.csv:2:1: layer 'x': kernel r spans 9 elements but h has only 7 with its padding"),
        ("x,1,4294967296,5,6,4,3,3,1,1,1,1,f32", "my.csv:2:1: layer 'x': C is 4294967296, past the largest extent 4294967295"),
        (",1,2,5,6,4,3,3,1,1,1,2,f32", "my.csv:2:1: layer is empty"),
        ("\"a\nb\",1,2,5,6,4,3,3,1,1,1,2,f32", "my.csv:2:1: layer 'a\\nb' has a control character"),
        (&format!("{long},1,2,5,6,4,3,3,1,1,1,2,f32"), "my.csv:2:1: layer has 201 characters, more than 200"),
    ] {
        assert_eq!(fault_of(row), message);
    }
    let twice = format!("{HEADER}\r\n\r\nx,1,2,5,6,4,3,3,1,1,1,2,f32\r\n\r\nx,1,2,5,6,4,3,3,1,1,1,1,f32\r\n");
    assert_eq!(fault(&twice), "my.csv:5:1: a second layer 'x', the first is on line 3");
    let unclosed = fault_of("\"x,1,2,5,6,4,3,3,1,1,1,2,f32\ny,1,2,5,6,4,3,3,1,1,1,2,f32");
    assert_eq!(unclosed, "my.csv:4:1: 1 cells, the header has 13");
}

#[test]
fn files_that_are_no_layers_name_themselves() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join("bytes.csv");
    fs::write(&path, [HEADER.as_bytes(), b"\nx\xff"].concat()).expect("written");
    let message = Suite::read_layers(&path).expect_err("bytes").to_string();
    assert_eq!(message, format!("{}:2:2: byte 0xff is not UTF-8 text", path.display()));
    let message = Suite::read_layers(&dir.path().join("none.csv")).expect_err("missing").to_string();
    assert!(message.contains("none.csv: cannot read the suite: "), "{message}");
}
