//! What a model's files hold: bytes on disk, and those of the tensors in them.

use super::error::Problem;
use super::node::{Node, printable};
use crate::units::Bytes;
use rten_onnx::onnx::{DataLocation, GraphProto, TensorProto};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The files of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Size of the `.onnx` file and the files of external data beside it.
    pub files: Bytes,
    /// Files of external data that are not there or are named outside the model's folder, which is not looked into.
    pub missing: Vec<String>,
}

/// Sizes of the files; nothing but their metadata is read.
pub(super) fn stored(path: &Path, graph: &GraphProto) -> Result<Stored, Problem> {
    let mut files = std::fs::metadata(path)?.len();
    let mut missing = Vec::new();
    let external = tensors(graph).filter(|tensor| tensor.data_location == Some(DataLocation::EXTERNAL));
    let locations = external.flat_map(|tensor| &tensor.external_data).filter(|entry| entry.key.as_deref() == Some("location"));
    // Several tensors lie in one file, however they write its name.
    let locations: BTreeSet<PathBuf> = locations
        .filter_map(|entry| Some(Path::new(entry.value.as_deref()?).components().filter(|part| *part != Component::CurDir).collect()))
        .collect();
    let folder = path.parent().unwrap_or(Path::new(""));
    for location in locations {
        // The format wants a path below the model's folder.
        let inside = location.components().all(|part| matches!(part, Component::Normal(_)));
        let metadata = inside.then(|| std::fs::metadata(folder.join(&location)).ok()).flatten().filter(std::fs::Metadata::is_file);
        match metadata {
            Some(metadata) => files = files.saturating_add(metadata.len()),
            None => missing.push(printable(&location.to_string_lossy())),
        }
    }
    Ok(Stored { files: Bytes(files), missing })
}

/// Bytes of the tensors stored in the graph and its `Constant` nodes, where some exporters keep the weights, by their
/// dimensions; types narrower than a byte count as packed.
pub(super) fn parameters(graph: &GraphProto) -> Bytes {
    let bits = |tensor: &TensorProto| -> u64 {
        match tensor.data_type.map_or(0, |t| t.0) {
            2 | 3 | 9 | 17..=20 | 24 => 8,
            4 | 5 | 10 | 16 => 16,
            1 | 6 | 12 => 32,
            7 | 11 | 13 | 14 => 64,
            15 => 128,
            21..=23 => 4,
            _ => 0,
        }
    };
    let bytes = |tensor: &TensorProto| {
        let elements = tensor.dims.iter().try_fold(1_u64, |product, &d| product.checked_mul(u64::try_from(d).ok()?));
        elements.and_then(|e| e.checked_mul(bits(tensor))).map_or(0, |bits| bits.div_ceil(8))
    };
    Bytes(tensors(graph).map(bytes).fold(0, u64::saturating_add))
}

fn tensors(graph: &GraphProto) -> impl Iterator<Item = &TensorProto> {
    let constants = graph.node.iter().filter_map(|node| Node(node).tensor("value").filter(|_| Node(node).op() == "Constant"));
    graph.initializer.iter().chain(constants)
}
