//! Single convolutions with stored weights, inputs and expected outputs: the `test_Conv*` cases of the ONNX project,
//! in `tests/data/onnx/pytorch-converted`.

use convledger::conv::Conv;
use convledger::suite::onnx::{self, ModelOptions};
use rten_onnx::onnx::{DataType, ModelProto, TensorProto};
use rten_onnx::protobuf::{DecodeMessage, ValueReader};
use std::path::{Path, PathBuf};

/// One convolution and what it must compute. Arrays are dense, outermost dimension first.
#[derive(Debug, Clone)]
pub(crate) struct ConvCase {
    /// The case's folder, such as `test_Conv2d_dilated`.
    pub(crate) name: String,
    pub(crate) conv: Conv,
    /// `N,C,[D,[H,]]W`.
    pub(crate) input: Vec<f32>,
    /// `K,C/g,[T,[R,]]S`.
    pub(crate) weights: Vec<f32>,
    /// One for each output channel.
    pub(crate) bias: Option<Vec<f32>>,
    /// `N,K,[O,[P,]]Q`, the bias added.
    pub(crate) output: Vec<f32>,
}

/// Where the ONNX test data lies.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx")
}

/// All cases, by name.
///
/// # Panics
/// Where the data is missing or not what its shapes promise.
pub(crate) fn cases() -> Vec<ConvCase> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(data().join("pytorch-converted")).expect("case folders").map(|entry| entry.expect("entry").path()).collect();
    folders.sort();
    folders.iter().map(|folder| case(folder)).collect()
}

fn case(folder: &Path) -> ConvCase {
    let name = folder.file_name().expect("folder name").to_string_lossy().into_owned();
    let file = folder.join("model.onnx");
    let model = onnx::read(&file, &ModelOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(model.skipped.is_empty() && model.suite.layers.len() == 1, "{name}: {model:?}");
    let conv = model.suite.layers[0].conv;

    let graph = ModelProto::parse_buf(&std::fs::read(&file).expect("model")).expect("parses").graph.expect("graph");
    let node = graph.node.iter().find(|n| n.op_type.as_deref() == Some("Conv")).expect("a Conv node");
    let stored = |input: &str| graph.initializer.iter().find(|t| t.name.as_deref() == Some(input)).expect("stored weights");
    let message = |name: &str| {
        let bytes = std::fs::read(folder.join(name)).expect(name);
        TensorProto::decode(ValueReader::from_buf(bytes)).expect(name)
    };
    let (input, output) = (message("input_0.pb"), message("output_0.pb"));
    ConvCase {
        input: floats(&input, &conv.input_shape(), &name),
        weights: floats(stored(&node.input[1]), &conv.weight_shape(), &name),
        bias: node.input.get(2).map(|bias| floats(stored(bias), &[conv.channels_out()], &name)),
        output: floats(&output, &conv.output_shape(), &name),
        name,
        conv,
    }
}

/// The elements of an f32 tensor that must have `shape`.
fn floats(tensor: &TensorProto, shape: &[u64], case: &str) -> Vec<f32> {
    assert_eq!(tensor.data_type, Some(DataType::FLOAT), "{case}: {tensor:?}");
    assert_eq!(tensor.dims, shape.iter().map(|&d| i64::try_from(d).expect("small")).collect::<Vec<_>>(), "{case}: {tensor:?}");
    let values: Vec<f32> = match &tensor.raw_data {
        Some(raw) => raw.borrow().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect(),
        None => tensor.float_data.clone(),
    };
    assert_eq!(values.len() as u64, shape.iter().product::<u64>(), "{case}: {tensor:?}");
    values
}
