//! Models as networks: what each node makes and reads, what training changes, what the files hold.

use crate::build::{bytes, graph, int, integers, node, tensor_info, weights};
use crate::onnx_cases::data;
use crate::options;
use convledger::ledger::{best, checkpointed, forward, kept, peak};
use convledger::suite::onnx::{self, ModelOptions, Stored};
use convledger::suite::{Network, Topology};
use convledger::units::Bytes;
use rten_onnx::onnx::{AttributeProto, DataLocation, DataType, GraphProto, NodeProto, StringStringEntryProto, TensorProto};
use std::path::Path;

fn stored_network(name: &str, options: &ModelOptions) -> Network {
    onnx::read_network(&data().join(name), options).unwrap_or_else(|error| panic!("{error}")).1
}

/// A graph as the file `m.onnx` of a folder, read.
fn read_in(folder: &Path, graph: GraphProto, options: &ModelOptions) -> Result<(Network, Stored), String> {
    let path = folder.join("m.onnx");
    std::fs::write(&path, bytes(graph)).expect("written");
    onnx::read_network(&path, options).map(|(_, network, stored)| (network, stored)).map_err(|error| error.to_string())
}

fn made(graph: GraphProto, options: &ModelOptions) -> Network {
    read_in(tempfile::tempdir().expect("a folder").path(), graph, options).expect("read").0
}

/// A pointwise convolution of four channels, and what follows it, giving `y`.
fn after_conv(nodes: Vec<NodeProto>) -> GraphProto {
    let mut all = vec![node("Conv", &["data", "w"], "c", vec![])];
    all.extend(nodes);
    let mut graph = graph(&["1", "4", "8", "8"], vec![weights("w", &[4, 4, 1, 1])], all);
    graph.output.push(tensor_info("y", &["1", "4", "8", "8"]));
    graph
}

#[test]
fn resnet50_has_the_parameters_of_its_paper() {
    let network = stored_network("light_resnet50.onnx", &ModelOptions::default());
    // torchvision and Keras count 25,557,032 with the biases of the classifier alone, and a mean and a variance for each of 26,560 channels
    // (https://pytorch.org/vision/main/models/generated/torchvision.models.resnet50.html).
    assert_eq!((network.parameters, network.buffers, network.unknown), (25_557_032, 2 * 26_560, 0));
    assert_eq!(network.steps.iter().flatten().count(), 53);
    // Convolutions, normalisations, rectifiers, sums, two pools, a reshape, the classifier, softmax.
    assert_eq!(network.steps.len(), 53 + 53 + 49 + 16 + 2 + 1 + 1 + 1);
    // The operations of the built-in suite, whose layers are the same.
    let suite = convledger::suite::Suite::builtin("resnet50").expect("built in").network().expect("short");
    assert_eq!(forward(&network), forward(&suite));
    // In the first stage: the sum's two operands and its result, 256 x 56 x 56 each.
    assert_eq!(peak(&network), 3 * 256 * 56 * 56);
    let k = best(&network).expect("short");
    assert!(k.every > 1 && k.elements() < kept(&network) / 3, "{k:?}");
}

#[test]
fn a_batch_scales_every_feature_and_no_parameter() {
    for name in ["light_resnet50.onnx", "light_squeezenet.onnx", "light_shufflenet.onnx"] {
        let (one, eight) = (stored_network(name, &ModelOptions::default()), stored_network(name, &options(Some(8), &[])));
        assert_eq!((one.parameters, one.unknown, one.steps.len()), (eight.parameters, eight.unknown, eight.steps.len()), "{name}");
        let scaled = one.features.iter().map(|feature| 8 * feature.elements).collect::<Vec<_>>();
        assert_eq!(eight.features.iter().map(|feature| feature.elements).collect::<Vec<_>>(), scaled, "{name}");
        assert_eq!(forward(&one).expect("small").0 * 8, forward(&eight).expect("small").0, "{name}");
    }
}

#[test]
fn a_residual_keeps_its_tensor_alive() {
    let block = |add: &[&str]| {
        let relu = |input: &str, output: &str| node("Relu", &[input], output, vec![]);
        made(
            after_conv(vec![relu("c", "r"), node("Conv", &["r", "w"], "s", vec![]), node("Add", add, "y", vec![])]),
            &ModelOptions::default(),
        )
    };
    let (plain, residual) = (block(&["s", "s"]), block(&["c", "s"]));
    // Four channels of 8 x 8 a tensor: two at once in a chain, three where the first convolution's output waits for the sum.
    assert_eq!((peak(&plain), peak(&residual)), (2 * 256, 3 * 256));
    assert_eq!((kept(&plain), kept(&residual)), (5 * 256, 5 * 256));
    // A shared weight is one tensor.
    assert_eq!((residual.parameters, residual.topology), (16, Topology::Graph { bodies: 0 }));
    // Segments of two nodes: what the first makes crosses into the second, as does what the second reads.
    let two = |network: &Network| checkpointed(network, 2.try_into().expect("not 0")).expect("small");
    assert_eq!((two(&plain).kept, two(&residual).kept), (3 * 256, 4 * 256));
    assert_eq!((two(&plain).segment, two(&residual).segment), (256, 256));
}

#[test]
fn what_stored_tensors_alone_decide_is_no_feature() {
    let nodes = vec![
        // Folded when the model is loaded: a parameter of the result's size.
        node("Transpose", &["v"], "t", vec![]),
        node("MatMul", &["c", "t"], "m", vec![]),
        // Arithmetic on shapes.
        node("Shape", &["m"], "shape", vec![]),
        node("Reshape", &["m", "shape"], "z", vec![]),
        node("Clip", &["z", "low"], "y", vec![]),
    ];
    let mut graph = after_conv(nodes);
    graph.initializer.push(weights("v", &[8, 8]));
    graph.initializer.push(weights("unused", &[1000]));
    graph.initializer.push(TensorProto { float_data: vec![0.0], ..weights("low", &[]) });
    let network = made(graph, &ModelOptions::default());
    assert_eq!((network.parameters, network.buffers, network.steps.len(), network.features.len()), (16 + 64, 1, 4, 5));
}

#[test]
fn unknown_shapes_are_counted() {
    let nodes = vec![node("Mystery", &["c"], "a", vec![]), node("Relu", &["a"], "b", vec![]), node("Relu", &["c"], "y", vec![])];
    let network = made(after_conv(nodes), &ModelOptions::default());
    assert_eq!((network.unknown, network.features.len(), network.tensors()), (2, 3, 5));
}

#[test]
fn what_a_body_reads_lives_until_then() {
    let body =
        GraphProto { node: vec![node("Add", &["c", "i"], "o", vec![])], output: vec![tensor_info("o", &[])], ..GraphProto::default() };
    let body = AttributeProto { name: Some("body".into()), g: Some(body), ..AttributeProto::default() };
    let nodes = vec![node("Relu", &["c"], "r", vec![]), node("Relu", &["r"], "y", vec![]), node("Loop", &["", "", "y"], "l", vec![body])];
    let network = made(after_conv(nodes), &ModelOptions::default());
    assert_eq!((network.topology, network.unknown), (Topology::Graph { bodies: 1 }, 1));
    assert_eq!(network.features[1].last, 4, "the loop is the fourth node: {:?}", network.features);
}

#[test]
fn features_that_cannot_be_counted_are_an_error() {
    let mut large = after_conv(vec![node("Expand", &["c", "shape"], "y", vec![])]);
    large.initializer.push(integers("shape", &[i64::from(u32::MAX) / 2, i64::from(u32::MAX) / 2, 4, 8, 8]));
    let error = read_in(tempfile::tempdir().expect("a folder").path(), large, &ModelOptions::default()).expect_err("2^70 elements");
    assert!(error.ends_with(": tensor 'y' brings its elements past 64 bits"), "{error}");
    let batch = made(after_conv(vec![node("Relu", &["c"], "y", vec![])]), &options(Some(1 << 31), &[]));
    assert_eq!(peak(&batch), 2 * (256 << 31));
}

#[test]
fn files_of_external_data_are_added_up() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("weights.bin"), [0; 100]).expect("written");
    let outside = |name: &str, location: &str| TensorProto {
        data_location: Some(DataLocation::EXTERNAL),
        data_type: Some(DataType::FLOAT),
        external_data: vec![StringStringEntryProto { key: Some("location".into()), value: Some(location.into()) }],
        ..weights(name, &[4])
    };
    let mut graph = after_conv(vec![node("Softmax", &["c"], "y", vec![int("axis", 1)])]);
    for (name, location) in
        [("a", "weights.bin"), ("b", "./weights.bin"), ("c2", "weights.bin"), ("d", "gone.bin"), ("e", "../m.onnx"), ("f", "/etc/passwd")]
    {
        graph.initializer.push(outside(name, location));
    }
    let size = bytes(graph.clone()).len() as u64;
    let (_, stored) = read_in(folder.path(), graph, &ModelOptions::default()).expect("read");
    assert_eq!(stored.files, Bytes(size + 100));
    assert_eq!(stored.missing, ["/etc/passwd", "../m.onnx", "gone.bin"]);
}
