//! From a file's bytes to the ONNX messages in it.
//!
//! The parser trusts the lengths it reads, so every message is walked first: lengths must lie within their parent and nesting
//! must be shallow. After that the parser cannot overrun, overflow or exhaust memory or stack. Tensor data beyond what shape
//! computations use is skipped, never loaded. Formats: <https://protobuf.dev/programming-guides/encoding/>,
//! <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>.

use super::error::Problem;
use crate::units::Bytes;
use rten_onnx::onnx::ModelProto;
use rten_onnx::protobuf::{DecodeMessage, OwnedValues, ProtobufError, ReadValue, ValueReader};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Protocol buffers end at 2 GiB; a model with more keeps its weights in files beside it.
const MAX_MODEL_BYTES: u64 = 1 << 31;

/// Messages nested deeper than this are refused; a subgraph takes three levels.
const MAX_DEPTH: usize = 64;

/// Tensor data longer than this is skipped: it holds weights, not the shapes and axes that inference reads.
const MAX_DATA_BYTES: usize = 64 << 10;

/// A parsed model.
pub(super) struct Parsed {
    pub(super) model: ModelProto,
    /// Model-local functions, which the parser leaves out.
    pub(super) functions: u64,
}

/// Opens, checks and parses a model.
pub(super) fn open(path: &Path) -> Result<Parsed, Problem> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Problem::Foreign { found: "a directory".into() });
    }
    if !metadata.is_file() {
        return Err(Problem::Foreign { found: "not a regular file".into() });
    }
    if metadata.len() > MAX_MODEL_BYTES {
        let found = format!("{} are more than the {} a protobuf message can have", Bytes(metadata.len()), Bytes(MAX_MODEL_BYTES));
        return Err(Problem::Foreign { found });
    }
    let mut head = Vec::new();
    File::open(path)?.take(512).read_to_end(&mut head)?;
    if let Some(found) = foreign(&head) {
        return Err(Problem::Foreign { found });
    }
    let parsed = parse(ValueReader::from_file(file), ValueReader::from_file(File::open(path)?), metadata.len());
    parsed.map_err(|problem| match problem {
        // Every ONNX writer begins with the field `ir_version`, tag 8.
        Problem::CutShort { .. } | Problem::Damaged { .. } | Problem::Parser(_) if head[0] != 8 => {
            let bytes: Vec<String> = head.iter().take(8).map(|b| format!("{b:02x}")).collect();
            Problem::Foreign { found: format!("it begins with the bytes {}", bytes.join(" ")) }
        }
        other => other,
    })
}

fn parse<R: ReadValue<Types = OwnedValues>>(mut scanned: R, parsed: R, length: u64) -> Result<Parsed, Problem> {
    let mut scan = Scan { reader: &mut scanned, functions: 0 };
    scan.message(Message::Model, length, 0)?;
    let functions = scan.functions;
    let model = ModelProto::decode(WithoutWeights(parsed)).map_err(|error| {
        let context = error.context().and_then(|c| c.rsplit("::").next()).unwrap_or("message");
        Problem::Parser(format!("{} in field {} of {context}", error.kind(), error.field().unwrap_or(0)))
    })?;
    Ok(Parsed { model, functions })
}

/// Names the formats that people hand over by mistake.
fn foreign(head: &[u8]) -> Option<String> {
    let magic: [(usize, &[u8], &str); 12] = [
        (0, b"version https://git-lfs", "it is a Git LFS pointer, fetch the file with 'git lfs pull'"),
        (0, b"\x89PNG", "it is a PNG image"),
        (0, b"\xff\xd8\xff", "it is a JPEG image"),
        (0, b"PK\x03\x04", "it is a ZIP archive (a PyTorch checkpoint?)"),
        (0, b"\x1f\x8b", "it is gzip-compressed"),
        (0, b"\x89HDF", "it is an HDF5 file (a Keras model?)"),
        (0, b"%PDF", "it is a PDF"),
        (0, b"\x7fELF", "it is an ELF binary"),
        (0, b"GGUF", "it is a GGUF model"),
        (4, b"TFL3", "it is a TensorFlow Lite model"),
        (4, b"ORTM", "it is an ONNX Runtime (.ort) model"),
        (257, b"ustar", "it is a tar archive"),
    ];
    if head.is_empty() {
        return Some("the file is empty".into());
    }
    if let Some((.., name)) = magic.iter().find(|(at, bytes, _)| head.get(*at..).is_some_and(|h| h.starts_with(bytes))) {
        return Some((*name).into());
    }
    // An ONNX file begins with control characters (tag 8, version); a text does not. The head may end inside a character.
    let text = String::from_utf8_lossy(head);
    let text = text.trim_end_matches('\u{fffd}');
    let is_text = !text.is_empty() && text.chars().all(|c| c != '\u{fffd}' && (!c.is_control() || matches!(c, '\n' | '\r' | '\t')));
    is_text.then(|| format!("it is text beginning {:?}", text.chars().take(24).collect::<String>()))
}

/// The messages of the ONNX schema that hold messages the parser decodes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Message {
    Model,
    Function,
    Graph,
    Node,
    Attribute,
    Tensor,
    ValueInfo,
    Type,
    TensorType,
    Sequence,
    Shape,
    /// Any message without further ones inside.
    Leaf,
}

/// What a length-delimited field holds.
#[derive(Clone, Copy)]
enum Content {
    Message(Message),
    Varints,
    Fixed(u64),
    Opaque,
}

impl Message {
    /// Content of the message's field `number`, by `onnx.proto`.
    fn content(self, number: u64) -> Content {
        let message = match (self, number) {
            (Self::Model, 7) | (Self::Attribute, 6) => Self::Graph,
            (Self::Model, 8 | 14) | (Self::Tensor, 13) | (Self::Shape, 1) => Self::Leaf,
            (Self::Model, 25) => Self::Function,
            (Self::Graph, 1) => Self::Node,
            (Self::Graph | Self::Attribute, 5) => Self::Tensor,
            (Self::Graph, 11..=13) => Self::ValueInfo,
            (Self::Node, 5) => Self::Attribute,
            (Self::ValueInfo, 2) | (Self::Sequence, 1) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::Type, 4) => Self::Sequence,
            (Self::TensorType, 2) => Self::Shape,
            (Self::Tensor, 4) => return Content::Fixed(4),
            (Self::Tensor, 10) => return Content::Fixed(8),
            (Self::Tensor, 5 | 7) => return Content::Varints,
            _ => return Content::Opaque,
        };
        Content::Message(message)
    }
}

/// Walks the messages of a file without keeping anything.
struct Scan<'a, R> {
    reader: &'a mut R,
    functions: u64,
}

impl<R: ReadValue> Scan<'_, R> {
    /// Walks one message that must end at byte `end`.
    fn message(&mut self, message: Message, end: u64, depth: usize) -> Result<(), Problem> {
        if depth > MAX_DEPTH {
            return Err(self.damaged(format!("messages nested deeper than {MAX_DEPTH}")));
        }
        while self.reader.position() < end {
            let tag = self.varint(end)?;
            match tag & 7 {
                0 => _ = self.varint(end)?,
                1 => self.skip(8, end)?,
                5 => self.skip(4, end)?,
                2 => {
                    let length = self.varint(end)?;
                    let at = self.reader.position();
                    let left = end - at;
                    if length > left {
                        return Err(match message {
                            Message::Model => Problem::CutShort { at, promised: length, left },
                            _ => self.damaged(format!("a field of {length} bytes where its message has {left} left")),
                        });
                    }
                    self.content(message.content(tag >> 3), at + length, depth)?;
                }
                wire => return Err(self.damaged(format!("wire type {wire}, which ONNX does not use,"))),
            }
        }
        Ok(())
    }

    fn content(&mut self, content: Content, end: u64, depth: usize) -> Result<(), Problem> {
        let length = end - self.reader.position();
        match content {
            Content::Message(inner) => {
                self.functions += u64::from(inner == Message::Function);
                return self.message(inner, end, depth + 1);
            }
            Content::Varints => {
                while self.reader.position() < end {
                    self.varint(end)?;
                }
                return Ok(());
            }
            Content::Fixed(size) if !length.is_multiple_of(size) => {
                return Err(self.damaged(format!("{length} bytes of {size}-byte numbers")));
            }
            Content::Fixed(_) | Content::Opaque => {}
        }
        self.skip(length, end)
    }

    fn varint(&mut self, end: u64) -> Result<u64, Problem> {
        let value = self.reader.read_varint().map_err(|error| self.damaged(error.kind().to_string()))?;
        if self.reader.position() > end {
            return Err(self.damaged("a number that runs past its message".into()));
        }
        Ok(value)
    }

    fn skip(&mut self, length: u64, end: u64) -> Result<(), Problem> {
        if length > end - self.reader.position() {
            return Err(self.damaged("a number that runs past its message".into()));
        }
        let length = usize::try_from(length).map_err(|_| self.damaged(format!("a field of {length} bytes")))?;
        self.reader.skip(length).map_err(|error| self.damaged(error.kind().to_string()))
    }

    fn damaged(&self, what: String) -> Problem {
        Problem::Damaged { at: self.reader.position(), what }
    }
}

/// Reads everything but long byte fields, which come out empty.
struct WithoutWeights<R>(R);

impl<R: ReadValue<Types = OwnedValues>> ReadValue for WithoutWeights<R> {
    type Types = OwnedValues;

    fn read_i32(&mut self) -> Result<i32, ProtobufError> {
        self.0.read_i32()
    }

    fn read_i64(&mut self) -> Result<i64, ProtobufError> {
        self.0.read_i64()
    }

    fn read_varint(&mut self) -> Result<u64, ProtobufError> {
        self.0.read_varint()
    }

    fn read_bytes(&mut self, len: usize) -> Result<Vec<u8>, ProtobufError> {
        if len > MAX_DATA_BYTES {
            self.0.skip(len)?;
            return Ok(Vec::new());
        }
        self.0.read_bytes(len)
    }

    fn read_string(&mut self, len: usize) -> Result<String, ProtobufError> {
        self.0.read_string(len)
    }

    fn skip(&mut self, len: usize) -> Result<(), ProtobufError> {
        self.0.skip(len)
    }

    fn position(&self) -> u64 {
        self.0.position()
    }
}
