//! What attributes, open dimensions, shape computations, branches and foreign files lead to.

use crate::build::{graph, int, integers, ints, node, read_bytes, read_graph, string, tensor_info, weights};
use crate::onnx_cases::data;
use crate::{keys, options};
use convledger::suite::onnx::{self, ModelOptions};
use rten_onnx::onnx::{AttributeProto, DataType, GraphProto, NodeProto, TensorProto};
use std::path::Path;

/// The only layer of a graph of one `Conv` over `data`.
fn single(input: &[&str], kernel: &[i64], attributes: Vec<AttributeProto>) -> Result<String, String> {
    let graph = graph(input, vec![weights("w", kernel)], vec![node("Conv", &["data", "w"], "y", attributes)]);
    read_graph(graph, &ModelOptions::default()).map(|m| m.suite.layers[0].conv.to_string())
}

#[test]
fn padding_attributes_follow_the_operator_s_page() {
    let input = ["1", "3", "10", "9"];
    let kernel = [4, 3, 3, 4];
    for (attributes, key) in [
        (vec![], "n1c3h10w9_k4r3s4"),
        (vec![ints("pads", &[1, 2, 3, 4])], "n1c3h10w9_k4r3s4_p1:3x2:4"),
        (vec![string("auto_pad", "VALID"), ints("strides", &[2, 1])], "n1c3h10w9_k4r3s4_s2x1"),
        // H: ceil(10/2) = 5 outputs span 11, one more than there is; W: 9 outputs span 12, three more.
        (vec![string("auto_pad", "SAME_UPPER"), ints("strides", &[2, 1])], "n1c3h10w9_k4r3s4_s2x1_p0:1x1:2"),
        (vec![string("auto_pad", "SAME_LOWER"), ints("strides", &[2, 1])], "n1c3h10w9_k4r3s4_s2x1_p1:0x2:1"),
        (vec![string("auto_pad", "SAME_UPPER"), ints("dilations", &[2, 2])], "n1c3h10w9_k4r3s4_p2x3_d2"),
        (vec![string("auto_pad", "NOTSET"), ints("kernel_shape", &[3, 4])], "n1c3h10w9_k4r3s4"),
    ] {
        assert_eq!(single(&input, &kernel, attributes).as_deref(), Ok(key));
    }
    assert_eq!(single(&["2", "8", "100"], &[8, 2, 5], vec![int("group", 4)]).as_deref(), Ok("n2c8w100_k8s5_g4"));
    assert_eq!(single(&["1", "2", "4", "5", "6"], &[7, 2, 1, 2, 3], vec![]).as_deref(), Ok("n1c2d4h5w6_k7t1r2s3"));
}

#[test]
fn impossible_nodes_are_named() {
    let input = ["1", "3", "8", "8"];
    let kernel = [4, 3, 3, 3];
    for (attributes, problem) in [
        (vec![ints("pads", &[1, -1, 1, 1])], "pads is [1, -1, 1, 1], padding cannot be negative"),
        (vec![ints("pads", &[1, 1])], "pads is [1, 1], 2 axes need 4 values"),
        (vec![ints("strides", &[0, 1])], "strides is [0, 1], every value must be at least 1"),
        (vec![ints("dilations", &[1])], "dilations is [1], 2 axes need 2 values"),
        (vec![int("group", 0)], "group is 0, must be at least 1"),
        (vec![int("group", 3)], "input has 3 channels, weights [4, 3, 3, 3] take 3 in each of 3 groups"),
        (vec![ints("kernel_shape", &[5, 5])], "kernel_shape is [5, 5] but the weights are [4, 3, 3, 3]"),
        (vec![ints("dilations", &[4, 4])], "kernel r spans 9 elements but h has only 8 with its padding"),
        (vec![ints("strides", &[i64::MAX, 1])], "stride along h is 9223372036854775807, past the largest extent 4294967295"),
        (vec![string("auto_pad", "SAME")], "auto_pad is 'SAME', known are NOTSET, SAME_UPPER, SAME_LOWER, VALID"),
    ] {
        assert_eq!(single(&input, &kernel, attributes), Err(format!("node 'Conv_y': {problem}")));
    }
}

#[test]
fn open_dimensions_name_the_input_and_the_flag() {
    let open = |input: &[&str]| single(input, &[4, 3, 3, 3], vec![]).expect_err("open");
    assert_eq!(
        open(&["N", "3", "H", "W"]),
        "shape of input 'data' of node 'Conv_y' stays unknown: graph input 'data' is [N, 3, H, W]; set it with --input 1x3x224x224"
    );
    assert_eq!(
        open(&["0", "3", "-1", "8"]),
        "shape of input 'data' of node 'Conv_y' stays unknown: graph input 'data' is [?, 3, ?, 8]; set it with --input 1x3x224x8"
    );
    assert_eq!(
        open(&["N", "3", "16", "8"]),
        "shape of input 'data' of node 'Conv_y' stays unknown: graph input 'data' is [N, 3, 16, 8]; set it with --batch 1 or --input 1x3x16x8"
    );
}

#[test]
fn what_hides_a_shape_is_named() {
    let nodes = vec![node("Mystery", &["data"], "m", vec![]), node("Relu", &["m"], "r", vec![]), node("Conv", &["r", "w"], "y", vec![])];
    let make = |stored| {
        let mut graph = graph(&["1", "3", "8", "8"], vec![weights("w", &[4, 3, 3, 3])], nodes.clone());
        graph.value_info = stored;
        graph
    };
    assert_eq!(
        read_graph(make(vec![]), &ModelOptions::default()).expect_err("unknown operator"),
        "shape of input 'r' of node 'Conv_y' stays unknown: node 'Mystery_m': operator 'Mystery' is not followed here"
    );
    // A shape that the file stores helps out, unless the user replaced what it was computed from.
    let stored = || vec![tensor_info("m", &["1", "3", "6", "6"])];
    let model = read_graph(make(stored()), &ModelOptions::default()).expect("stored shape");
    assert_eq!(keys(&model), [("n1c3h6w6_k4r3s3".to_owned(), 1)]);
    read_graph(make(stored()), &options(None, &["1x3x9x9"])).expect_err("the stored shape belongs to another input");
}

#[test]
fn shapes_computed_in_the_graph_are_followed() {
    // x → [n·h/2, 4, w/1.5] by way of Shape, Gather, Cast, Div, Floor, Concat, Reshape.
    let constants = vec![
        weights("w", &[5, 2, 3]),
        integers("first", &[0]),
        integers("last", &[-1]),
        integers("two", &[2]),
        integers("rest", &[-1]),
        TensorProto {
            dims: vec![1],
            data_type: Some(DataType::FLOAT),
            float_data: vec![1.5],
            name: Some("scale".into()),
            ..TensorProto::default()
        },
        TensorProto {
            dims: vec![3],
            data_type: Some(DataType::FLOAT),
            float_data: vec![1.0, 1.0, 0.3],
            name: Some("scales".into()),
            ..TensorProto::default()
        },
    ];
    let nodes = vec![
        node("Shape", &["data"], "shape", vec![]),
        node("Gather", &["shape", "first"], "n", vec![]),
        node("Slice", &["shape", "last", "rest_end"], "w_", vec![]),
        node("Cast", &["w_"], "wf", vec![int("to", 1)]),
        node("Div", &["wf", "scale"], "wd", vec![]),
        node("Floor", &["wd"], "wfl", vec![]),
        node("Cast", &["wfl"], "wi", vec![int("to", 7)]),
        node("Div", &["n", "two"], "half", vec![]),
        node("Concat", &["half", "two", "rest"], "target", vec![int("axis", 0)]),
        node("Reshape", &["data", "target"], "flat", vec![]),
        node("Conv", &["flat", "w"], "a", vec![]),
        node("Concat", &["n", "two", "wi"], "target2", vec![int("axis", 0)]),
        node("Expand", &["seed", "target2"], "grown", vec![]),
        node("Resize", &["grown", "", "scales"], "small", vec![]),
        node("Conv", &["small", "w"], "b", vec![]),
    ];
    let mut all = constants;
    all.push(integers("rest_end", &[i64::MAX]));
    all.push(weights("seed", &[1, 2, 1]));
    let model = read_graph(graph(&["3", "2", "6", "40"], all, nodes), &ModelOptions::default()).expect("followed");
    // 3/2 truncates to 1; 1440 elements make [1, 2, 720]. 40/1.5 floors to 26; 26·0.3 floors to 7.
    assert_eq!(keys(&model), [("n1c2w720_k5s3".to_owned(), 1), ("n3c2w7_k5s3".to_owned(), 1)]);
}

#[test]
fn padding_computed_the_way_exporters_write_it_is_followed() {
    // PyTorch's export of `pad`: pairs from the last axis, reversed by a slice, transposed, flattened; here 3 before and 4 after
    // the last axis, 1 and 2 around the one before.
    let constants = vec![
        weights("w", &[5, 2, 3, 3]),
        integers("pairs", &[3, 4, 1, 2]),
        integers("zeros_shape", &[4]),
        integers("two_columns", &[-1, 2]),
        integers("minus_one", &[-1]),
        integers("start", &[i64::MIN]),
        integers("zero", &[0]),
    ];
    let nodes = vec![
        node("ConstantOfShape", &["zeros_shape"], "zeros", vec![]),
        node("Concat", &["pairs", "zeros"], "flat", vec![int("axis", 0)]),
        node("Reshape", &["flat", "two_columns"], "table", vec![]),
        node("Slice", &["table", "minus_one", "start", "zero", "minus_one"], "reversed", vec![]),
        node("Transpose", &["reversed"], "sides", vec![ints("perm", &[1, 0])]),
        node("Reshape", &["sides", "minus_one"], "pads", vec![]),
        node("Cast", &["pads"], "pads64", vec![int("to", 7)]),
        node("Pad", &["data", "pads64"], "padded", vec![string("mode", "reflect")]),
        node("Conv", &["padded", "w"], "y", vec![]),
    ];
    let model = read_graph(graph(&["1", "2", "10", "20"], constants, nodes), &ModelOptions::default()).expect("followed");
    assert_eq!(keys(&model), [("n1c2h13w27_k5r3s3".to_owned(), 1)]);
}

#[test]
fn sizes_past_32_bits_are_exact() {
    // 65536 x 65536 elements in a row, cut in two by -1: the product does not fit 32 bits, the halves do.
    let constants = vec![weights("w", &[1, 2, 1]), integers("halves", &[1, 2, -1])];
    let nodes = vec![node("Reshape", &["data", "halves"], "r", vec![]), node("Conv", &["r", "w"], "y", vec![])];
    let model = read_graph(graph(&["65536", "65536"], constants, nodes), &ModelOptions::default()).expect("exact");
    assert_eq!(keys(&model), [("n1c2w2147483648_k1s1".to_owned(), 1)]);
}

#[test]
fn equal_convolutions_merge_and_names_are_unique() {
    let conv =
        |name: &str, weights: &str, output: &str| NodeProto { name: Some(name.into()), ..node("Conv", &["data", weights], output, vec![]) };
    let nodes = vec![conv("same", "v", "a"), conv("same", "w", "b"), conv("", "v", "c"), conv("", "u", "d"), conv("odd\nname", "t", "e")];
    let kernels = [("v", 1), ("w", 2), ("u", 3), ("t", 4)].map(|(name, k)| weights(name, &[k, 3, 1, 1]));
    let model = read_graph(graph(&["1", "3", "8", "8"], kernels.to_vec(), nodes), &ModelOptions::default()).expect("five nodes");
    let layers: Vec<(&str, u64, u64)> = model.suite.layers.iter().map(|l| (l.name.as_str(), l.conv.channels_out(), l.count)).collect();
    assert_eq!(layers, [("same", 1, 2), ("same_2", 2, 1), ("conv_4", 3, 1), ("odd_name", 4, 1)]);
    assert_eq!(model.parameters.0, (1 + 2 + 3 + 4) * 3 * 4);
}

#[test]
fn what_is_left_out_is_reported() {
    let inner = GraphProto {
        node: vec![node("Conv", &["data", "w"], "i", vec![])],
        output: vec![tensor_info("i", &["a", "b", "c", "d"])],
        ..GraphProto::default()
    };
    let branch =
        |name: &str, graph: &GraphProto| AttributeProto { name: Some(name.into()), g: Some(graph.clone()), ..AttributeProto::default() };
    let nodes = vec![
        node("Conv", &["data", "w"], "y", vec![]),
        node("ConvTranspose", &["y", "t"], "up", vec![ints("strides", &[2, 2])]),
        node("Conv", &["up", "w"], "z", vec![]),
        node("QLinearConv", &["data", "s", "s", "w"], "q", vec![]),
        node("If", &["open"], "if", vec![branch("then_branch", &inner), branch("else_branch", &inner)]),
        node("Conv", &["if", "t"], "after_if", vec![]),
        node("If", &["yes"], "taken", vec![branch("then_branch", &inner), branch("else_branch", &inner)]),
        node("Loop", &["one", "yes"], "loop", vec![branch("body", &inner)]),
    ];
    let yes = TensorProto {
        dims: vec![],
        data_type: Some(DataType::BOOL),
        int32_data: vec![1],
        name: Some("yes".into()),
        ..TensorProto::default()
    };
    let mut graph = graph(&["1", "3", "8", "8"], vec![weights("w", &[4, 3, 3, 3]), weights("t", &[4, 3, 2, 2]), yes], nodes);
    graph.input.push(tensor_info("open", &[]));
    // Weights [4, 3, 2, 2] after `If` want 3 channels where there are 4: made to fit by a group's own weights.
    graph.initializer.push(weights("u", &[4, 4, 2, 2]));
    graph.node[5].input[1] = "u".into();
    let model = read_graph(graph, &ModelOptions::default()).expect("skips what it cannot run");
    assert_eq!(
        keys(&model),
        [("n1c3h8w8_k4r3s3", 2), ("n1c3h12w12_k4r3s3", 1), ("n1c4h6w6_k4r2s2", 1)].map(|(key, count)| (key.to_owned(), count))
    );
    assert_eq!(
        model.skipped,
        [
            "ConvTranspose 'ConvTranspose_up': a transposed convolution",
            "QLinearConv 'QLinearConv_q': not a plain Conv",
            "If 'If_if': 2 convolutions in branches whose condition is not a constant",
            "Loop 'Loop_loop': 1 convolutions in its body",
        ]
    );
}

#[test]
fn a_model_of_branches_alone_says_so() {
    let inner = GraphProto { node: vec![node("Conv", &["data", "w"], "i", vec![])], ..GraphProto::default() };
    let branch = |name: &str| AttributeProto { name: Some(name.into()), g: Some(inner.clone()), ..AttributeProto::default() };
    let nodes = vec![node("If", &["data"], "if", vec![branch("then_branch"), branch("else_branch")])];
    assert_eq!(
        read_graph(graph(&["1", "3", "8", "8"], vec![weights("w", &[4, 3, 3, 3])], nodes), &ModelOptions::default()),
        Err("has no Conv node that can be run: 1 nodes (1 If); left out: If 'If_if': 2 convolutions in branches whose condition is not a constant"
            .into())
    );
}

#[test]
fn files_that_are_no_models_are_refused_in_one_line() {
    let none = ModelOptions::default();
    for (bytes, message) in [
        (&b""[..], "not an ONNX model: the file is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not an ONNX model: it is a PNG image"),
        (b"layer,conv\nfirst,n1c3h8w8_k4r3s3\n", "not an ONNX model: it is text beginning \"layer,conv\\nfirst,n1c3h8w\""),
        (b"version https://git-lfs.github.com/spec/v1\n", "not an ONNX model: it is a Git LFS pointer, fetch the file with 'git lfs pull'"),
        (b"\xfe\xff\x00\x01\x02", "not an ONNX model: it begins with the bytes fe ff 00 01 02"),
        (b"\x08\x08", "has no graph, so it is no complete ONNX model"),
    ] {
        assert_eq!(read_bytes(bytes, &none), Err(message.to_owned()));
    }
    let without = graph(&["1", "3", "8", "8"], vec![], vec![node("Relu", &["data"], "a", vec![]), node("Relu", &["a"], "b", vec![])]);
    assert_eq!(read_graph(without, &none), Err("has no Conv node that can be run: 2 nodes (2 Relu)".into()));
    let missing = onnx::read(Path::new("no/such.onnx"), &none).expect_err("missing").to_string();
    assert!(missing.starts_with("no/such.onnx: No such file"), "{missing}");
    let folder = onnx::read(&data(), &none).expect_err("folder").to_string();
    assert!(folder.ends_with("not an ONNX model: a directory"), "{folder}");
}
