//! The suite file: TOML that a person writes.
//!
//! ```toml
//! name = "mine"                          # optional: the file's name without .toml
//! description = "two layers of my net"   # optional
//!
//! [[layer]]
//! name = "conv1"                         # optional: the key
//! conv = "n1c3h224w224_k64r7s7_s2_p3"
//! count = 1                              # optional: how often the network has this layer
//! ```
//!
//! TOML lets the same be written a layer a line, `layer = [ { name = "conv1", conv = "…" }, … ]`: the form written here.
//! A key says nothing of the element type and the pass; these are options of a run, not properties of a suite.

use super::{Layer, Place, Suite, SuiteError, printable};
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Bytes of the largest suite file read; some 10,000 layers.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// Characters of the longest name of a suite or layer.
pub(super) const MAX_NAME: usize = 200;
/// Characters of the longest key; one with every token and ten digits to each number has fewer.
pub(super) const MAX_KEY: usize = 400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSuite {
    name: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
    #[serde(default)]
    layer: Vec<RawLayer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLayer {
    name: Option<Spanned<String>>,
    conv: Spanned<String>,
    count: Option<Spanned<u64>>,
}

impl Suite {
    /// Reads a suite file.
    ///
    /// # Errors
    /// [`SuiteError`] names the file and, where its contents are at fault, line and column.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let (file, text) = read_text(path)?;
        Self::parse(&text, &file)
    }

    /// Reads the text of a suite file; `file` is its name, for errors and for a suite that names itself nothing else.
    ///
    /// # Errors
    /// [`SuiteError`] with file, line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, SuiteError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Source { text, file };
        let raw: RawSuite = toml::from_str(text).map_err(|error| SuiteError::Toml {
            place: source.place(&error.span().unwrap_or_default()),
            problem: printable(&error.message().split_whitespace().collect::<Vec<_>>().join(" ")),
        })?;
        let name = raw.name.unwrap_or_else(|| Spanned::new(0..0, stem(file)));
        source.check("name", &name, MAX_NAME)?;
        let description = raw.description.unwrap_or_else(|| Spanned::new(0..0, String::new()));
        source.check_printable("description", &description)?;
        if raw.layer.is_empty() {
            return Err(SuiteError::Empty { place: source.place(&(0..0)) });
        }
        let mut lines = HashMap::new();
        let mut layers = Vec::with_capacity(raw.layer.len());
        for raw in raw.layer {
            let (layer, at) = source.layer(raw)?;
            let place = source.place(&at);
            if let Some(first) = lines.insert(layer.name.clone(), place.line) {
                return Err(SuiteError::Duplicate { place, name: layer.name, first });
            }
            layers.push(layer);
        }
        Ok(Self { name: name.into_inner(), description: description.into_inner(), layers })
    }

    /// The suite as the text of a file, a layer a line. [`Suite::parse`] reads it back, but for element type and pass,
    /// which suite files do not have, and provided that names are such as it accepts.
    pub fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!("name = {}\n", quoted(&self.name));
        if !self.description.is_empty() {
            let _ = writeln!(text, "description = {}", quoted(&self.description));
        }
        text += "\nlayer = [\n";
        for Layer { name, conv, count } in &self.layers {
            let _ = write!(text, "  {{ name = {}, conv = \"{conv}\"", quoted(name));
            if *count != 1 {
                let _ = write!(text, ", count = {count}");
            }
            text += " },\n";
        }
        text + "]\n"
    }
}

/// The text of a file of layers, and the file's name as places have it.
pub(super) fn read_text(path: &Path) -> Result<(String, String), SuiteError> {
    let file = printable(&path.display().to_string());
    if path.is_dir() {
        return Err(SuiteError::Directory { file });
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|f| f.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| SuiteError::Unreadable { file: file.clone(), source })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SuiteError::TooLarge { file });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((file, text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let (before, after) = bytes.split_at(at);
            Err(SuiteError::NotUtf8 { place: Place::of(&file, &String::from_utf8_lossy(before), before.len()), byte: after[0] })
        }
    }
}

/// The file's name without its ending: what a suite that names itself nothing else is called.
pub(super) fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy().into_owned())
}

/// The text of a file that places refer to.
struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    /// A layer, and where its name is (or its key, when that is its name).
    fn layer(&self, raw: RawLayer) -> Result<(Layer, Range<usize>), SuiteError> {
        self.check("conv", &raw.conv, MAX_KEY)?;
        let conv = raw.conv.get_ref().parse().map_err(|source| SuiteError::Key { place: self.place(&raw.conv.span()), source })?;
        let name = raw.name.unwrap_or(raw.conv);
        self.check("name", &name, MAX_NAME)?;
        let count = raw.count.unwrap_or_else(|| Spanned::new(0..0, 1));
        if *count.get_ref() == 0 {
            return Err(SuiteError::ZeroCount { place: self.place(&count.span()), name: name.into_inner() });
        }
        let at = name.span();
        Ok((Layer { name: name.into_inner(), conv, count: count.into_inner() }, at))
    }

    fn check(&self, field: &'static str, text: &Spanned<String>, limit: usize) -> Result<(), SuiteError> {
        let length = text.get_ref().chars().count();
        if length == 0 {
            return Err(SuiteError::NoText { place: self.place(&text.span()), field });
        }
        if length > limit {
            return Err(SuiteError::TooLong { place: self.place(&text.span()), field, length, limit });
        }
        self.check_printable(field, text)
    }

    fn check_printable(&self, field: &'static str, text: &Spanned<String>) -> Result<(), SuiteError> {
        if text.get_ref().chars().any(char::is_control) {
            return Err(SuiteError::Control { place: self.place(&text.span()), field, text: printable(text.get_ref()) });
        }
        Ok(())
    }

    fn place(&self, span: &Range<usize>) -> Place {
        Place::of(self.file, self.text, span.start)
    }
}
