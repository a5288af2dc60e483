//! ONNX models made in code, for what the stored ones do not have.

use convledger::suite::onnx::{self, Model, ModelOptions};
use rten_onnx::onnx::{
    AttributeProto, DataType, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto,
    TypeProtoTensor, ValueInfoProto,
};

pub(crate) fn tensor_info(name: &str, dims: &[&str]) -> ValueInfoProto {
    let dim = |d: &&str| match d.parse() {
        Ok(value) => Dimension { dim_value: Some(value), dim_param: None },
        Err(_) => Dimension { dim_value: None, dim_param: Some((*d).into()) },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TypeProtoTensor { elem_type: Some(DataType::FLOAT), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type, sequence: None }) }
}

pub(crate) fn weights(name: &str, dims: &[i64]) -> TensorProto {
    TensorProto { dims: dims.to_vec(), data_type: Some(DataType::FLOAT), name: Some(name.into()), ..TensorProto::default() }
}

pub(crate) fn integers(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        dims: vec![i64::try_from(values.len()).expect("small")],
        data_type: Some(DataType::INT64),
        int64_data: values.to_vec(),
        name: Some(name.into()),
        ..TensorProto::default()
    }
}

pub(crate) fn node(op: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        op_type: Some(op.into()),
        name: Some(format!("{op}_{output}")),
        input: inputs.iter().map(|&i| i.to_owned()).collect(),
        output: vec![output.to_owned()],
        attribute,
        domain: None,
    }
}

pub(crate) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { name: Some(name.into()), ints: values.to_vec(), ..AttributeProto::default() }
}

pub(crate) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: Some(name.into()), i: Some(value), ..AttributeProto::default() }
}

pub(crate) fn string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { name: Some(name.into()), s: Some(value.into()), ..AttributeProto::default() }
}

pub(crate) fn graph(input: &[&str], initializer: Vec<TensorProto>, node: Vec<NodeProto>) -> GraphProto {
    GraphProto { input: vec![tensor_info("data", input)], initializer, node, ..GraphProto::default() }
}

pub(crate) fn bytes(graph: GraphProto) -> Vec<u8> {
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(17) }];
    ModelProto { ir_version: Some(8), graph: Some(graph), opset_import, ..ModelProto::default() }.write_buf().expect("encodes")
}

/// Reads bytes as the file `m.onnx`; the error without the folder.
pub(crate) fn read_bytes(bytes: &[u8], options: &ModelOptions) -> Result<Model, String> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("m.onnx");
    std::fs::write(&path, bytes).expect("written");
    onnx::read(&path, options).map_err(|error| {
        let message = error.to_string();
        message.strip_prefix(&format!("{}: ", path.display())).unwrap_or_else(|| panic!("no file name in '{message}'")).to_owned()
    })
}

pub(crate) fn read_graph(graph: GraphProto, options: &ModelOptions) -> Result<Model, String> {
    read_bytes(&bytes(graph), options)
}
