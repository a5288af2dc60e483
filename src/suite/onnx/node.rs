//! A node's attributes and its name in messages.

use rten_onnx::onnx::{AttributeProto, GraphProto, NodeProto, TensorProto};

/// A node of a graph, with typed access to its attributes.
#[derive(Clone, Copy)]
pub(super) struct Node<'m>(pub(super) &'m NodeProto);

impl<'m> Node<'m> {
    /// The operator, such as `Conv`.
    pub(super) fn op(self) -> &'m str {
        self.0.op_type.as_deref().unwrap_or_default()
    }

    /// True for the operators of the ONNX standard itself.
    pub(super) fn is_standard(self) -> bool {
        matches!(self.0.domain.as_deref(), None | Some("" | "ai.onnx"))
    }

    /// The node's own name, printable; empty where it has none.
    pub(super) fn name(self) -> String {
        printable(self.0.name.as_deref().unwrap_or_default())
    }

    /// What messages call it: its name, or the operator and the first output.
    pub(super) fn label(self) -> String {
        let name = self.name();
        if name.is_empty() {
            let output = self.0.output.first().map_or(String::new(), |o| printable(o));
            return format!("{} of '{output}'", printable(self.op()));
        }
        format!("'{name}'")
    }

    /// Name of input `index`; `None` where the optional input is left out.
    pub(super) fn input(self, index: usize) -> Option<&'m str> {
        self.0.input.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    pub(super) fn attribute(self, name: &str) -> Option<&'m AttributeProto> {
        self.0.attribute.iter().find(|a| a.name.as_deref() == Some(name))
    }

    pub(super) fn int(self, name: &str) -> Option<i64> {
        self.attribute(name)?.i
    }

    pub(super) fn flag(self, name: &str) -> bool {
        self.int(name).unwrap_or(0) != 0
    }

    /// A list of integers; an empty list counts as left out.
    pub(super) fn ints(self, name: &str) -> Option<&'m [i64]> {
        self.attribute(name).map(|a| &a.ints[..]).filter(|ints| !ints.is_empty())
    }

    pub(super) fn string(self, name: &str) -> Option<&'m str> {
        self.attribute(name)?.s.as_deref()
    }

    pub(super) fn tensor(self, name: &str) -> Option<&'m TensorProto> {
        self.attribute(name)?.t.as_ref()
    }

    /// The graphs among the attributes: bodies and branches.
    pub(super) fn graphs(self) -> impl Iterator<Item = &'m GraphProto> {
        self.0.attribute.iter().filter_map(|a| a.g.as_ref())
    }
}

/// A name from a file on one line: control characters become `_`.
pub(super) fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '_' } else { c }).collect()
}
