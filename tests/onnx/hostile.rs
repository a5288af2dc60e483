//! Damaged and hostile files: an error in one line, never a panic.

use crate::build::{bytes, graph, int, integers, ints, node, read_bytes, read_graph, string, weights};
use crate::onnx_cases::data;
use crate::options;
use convledger::conv::ElementType;
use convledger::ledger;
use convledger::suite::onnx::{self, Model, ModelOptions};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rten_onnx::onnx::{AttributeProto, GraphProto, TensorProto};
use std::path::Path;

/// A file of `folder` with these bytes read as a model: no panic, and any error is one line.
fn survives(folder: &Path, bytes: &[u8], what: &str) -> Result<Model, String> {
    let path = folder.join("m.onnx");
    std::fs::write(&path, bytes).expect("written");
    let options = options(Some(2), &[]);
    // What is read as a network has totals, or an error that says why not.
    if let Ok((_, network, _)) = onnx::read_network(&path, &options) {
        let _ = ledger::inference(&network, ElementType::F32).and(ledger::forward(&network));
        if let Ok(checkpoints) = ledger::checkpointed(&network, 3.try_into().expect("not 0")) {
            assert!(checkpoints.elements() <= ledger::kept(&network), "{what}");
        }
    }
    onnx::read(&path, &options).map_err(|error| {
        let message = error.to_string();
        assert!(!message.contains('\n'), "{what}: {message}");
        message
    })
}

#[test]
fn truncated_files_are_errors() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for file in ["light_squeezenet.onnx", "pytorch-converted/test_Conv3d_groups/model.onnx"] {
        let whole = std::fs::read(data().join(file)).expect(file);
        let model = survives(folder.path(), &whole, file).expect("whole");
        let step = (whole.len() / 400).max(1);
        for length in (0..whole.len()).step_by(step) {
            match survives(folder.path(), &whole[..length], &format!("{file} cut to {length}")) {
                Err(message) => assert!(
                    ["cut short", "has no", "is empty", "damaged", "not an ONNX"].iter().any(|m| message.contains(m)),
                    "{file} cut to {length}: {message}"
                ),
                // Nothing is lost where the cut falls between the last fields.
                Ok(cut) => assert_eq!(cut, model, "{file} cut to {length}"),
            }
        }
        assert!(survives(folder.path(), &whole[..whole.len() / 2], file).expect_err("half").contains("cut short"), "{file}");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let folder = tempfile::tempdir().expect("temporary folder");
    let shapes = "pytorch-converted/test_Conv2d_groups/model.onnx";
    let (mut read, mut refused) = (0, 0);
    for (file, rounds) in [("light_shufflenet.onnx", 150), ("light_squeezenet.onnx", 400), (shapes, 3000)] {
        let whole = std::fs::read(data().join(file)).expect(file);
        for round in 0..rounds {
            let mut bytes = whole.clone();
            for _ in 0..=round % 4 {
                let at = rng.random_range(0..bytes.len());
                // A whole byte, a bit, or the ends of a varint.
                bytes[at] = match rng.next_u32() % 4 {
                    0 => 0xff,
                    1 => 0x80,
                    2 => rng.random(),
                    _ => bytes[at] ^ (1 << (rng.next_u32() % 8)),
                };
            }
            match survives(folder.path(), &bytes, &format!("{file}, round {round}")) {
                Ok(_) => read += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 100 && refused > 100, "both must occur: {read} read, {refused} refused");
}

const OPERATORS: [&str; 47] = [
    "Add",
    "ArgMax",
    "AveragePool",
    "Cast",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "ConvTranspose",
    "DepthToSpace",
    "Div",
    "Einsum",
    "Equal",
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Gemm",
    "GlobalAveragePool",
    "GRU",
    "GridSample",
    "LSTM",
    "MatMul",
    "MaxPool",
    "Mod",
    "Mul",
    "NonZero",
    "OneHot",
    "Pad",
    "Range",
    "ReduceMean",
    "Reshape",
    "Resize",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Sum",
    "Tile",
    "TopK",
    "Transpose",
    "Unsqueeze",
    "Upsample",
    "Where",
];
const LISTS: [&str; 12] =
    ["pads", "strides", "dilations", "kernel_shape", "axes", "perm", "split", "starts", "ends", "shape", "output_padding", "output_shape"];
const SINGLES: [&str; 11] =
    ["axis", "group", "blocksize", "batch_dims", "keepdims", "allowzero", "ceil_mode", "start", "end", "to", "value_int"];
const TEXTS: [(&str, &str); 5] = [
    ("auto_pad", "SAME_UPPER"),
    ("auto_pad", "VALID"),
    ("equation", "nchw,...->wn"),
    ("equation", "ab->..."),
    ("direction", "bidirectional"),
];

/// Numbers that overflow, vanish, or count from the end.
fn number(rng: &mut Xoshiro256PlusPlus) -> i64 {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    *[i64::MIN, low, -3, -2, -1, 0, 0, 1, 1, 2, 3, 4, 7, 63, 1 << 16, high, 1 << 33, i64::MAX].choose(rng).expect("some")
}

fn numbers(rng: &mut Xoshiro256PlusPlus) -> Vec<i64> {
    (0..rng.random_range(0..6)).map(|_| number(rng)).collect()
}

fn attribute(rng: &mut Xoshiro256PlusPlus) -> AttributeProto {
    match rng.random_range(0..3) {
        0 => ints(LISTS.choose(rng).expect("some"), &numbers(rng)),
        1 => int(SINGLES.choose(rng).expect("some"), number(rng)),
        _ => {
            let (name, value) = TEXTS.choose(rng).expect("some");
            string(name, value)
        }
    }
}

/// A sound convolution, then known operators with operands and attributes by chance.
fn random_graph(rng: &mut Xoshiro256PlusPlus) -> GraphProto {
    let mut values: Vec<String> = ["data", "a", "b", "c", "w", "h", "s", ""].map(String::from).to_vec();
    let initializer = vec![
        integers("a", &numbers(rng)),
        integers("b", &numbers(rng)),
        integers("c", &[number(rng)]),
        weights("w", &[4, 3, 3, 3]),
        weights("h", &numbers(rng)),
        TensorProto { dims: vec![], ..integers("s", &[number(rng)]) },
    ];
    let mut nodes = vec![node("Conv", &["data", "w"], "first", vec![])];
    for step in 0..6 {
        let inputs: Vec<String> = (0..rng.random_range(0..5)).map(|_| values.choose(rng).expect("some").clone()).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let attributes = (0..rng.random_range(0..4)).map(|_| attribute(rng)).collect();
        let output = format!("v{step}");
        let mut random = node(OPERATORS.choose(rng).expect("some"), &inputs, &output, attributes);
        random.output.push(format!("{output}_second"));
        nodes.push(random);
        values.push(output);
    }
    let inputs = [["1", "3", "8", "8"], ["4294967295", "3", "4294967295", "8"], ["2147483647", "3", "3", "3"]];
    graph(inputs.choose(rng).expect("some"), initializer, nodes)
}

#[test]
fn hostile_attributes_never_panic() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let folder = tempfile::tempdir().expect("temporary folder");
    let rounds = 4000;
    let read =
        (0..rounds).filter(|round| survives(folder.path(), &bytes(random_graph(&mut rng)), &format!("round {round}")).is_ok()).count();
    assert!((400..rounds).contains(&read), "some graphs can be read, some not: {read} of {rounds}");
}

#[test]
fn deep_nesting_and_endless_lengths_are_refused() {
    let mut inner = graph(&["1", "3", "8", "8"], vec![], vec![]);
    for _ in 0..30 {
        let attribute = AttributeProto { name: Some("body".into()), g: Some(inner), ..AttributeProto::default() };
        inner = GraphProto { node: vec![node("Loop", &[], "l", vec![attribute])], ..GraphProto::default() };
    }
    let message = read_graph(inner, &ModelOptions::default()).expect_err("deep");
    assert!(message.starts_with("damaged: messages nested deeper than 64 at byte "), "{message}");
    // ir_version 8, then a graph of 2^63 bytes; then one whose node claims more than the graph holds.
    let endless = [&[0x08, 0x08, 0x3a][..], &[0x80; 9], &[0x01], &[0; 4]].concat();
    assert_eq!(
        read_bytes(&endless, &ModelOptions::default()),
        Err("cut short: the field at byte 13 promises 9223372036854775808 bytes, 4 follow".into())
    );
    assert_eq!(
        read_bytes(&[0x08, 0x08, 0x3a, 4, 0x0a, 200, 1, 0], &ModelOptions::default()),
        Err("damaged: a field of 200 bytes where its message has 1 left at byte 7".into())
    );
}
