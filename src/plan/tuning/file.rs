//! The tuning file: TOML that `convledger tune` writes and a person may.
//!
//! ```toml
//! [[device]]
//! name = "llvmpipe"        # part of the adapter's name; optional, as are class ("discrete", ...) and driver
//! lanes = 8                # optional
//! specialise = true        # optional
//! vector_loads = true      # optional
//! tiles = [
//!   { kernel = "gemm", shape = "large", tile = "16x8 lanes 8x1 depth 4 subgroup" },   # shape: optional
//! ]
//! ```

use super::{Rule, ShapeClass, Tile, TileError, TiledKernel, Tuning, TuningFile};
use crate::plan::DeviceClass;
use crate::suite::{Place, printable};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Bytes of the largest tuning file read; some thousand devices.
const MAX_BYTES: u64 = 1 << 20;
/// Characters of the longest name of an adapter or driver.
const MAX_NAME: usize = 300;
/// Most invocations of a workgroup that any device has.
const MOST_LANES: u32 = 1024;

/// A tuning file that cannot be read or does not say what one says. Every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// The file cannot be opened or read.
    #[error("{file}: cannot read the tuning file: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The path names a directory.
    #[error("{file}: is a directory, not a tuning file")]
    Directory {
        /// The path.
        file: String,
    },
    /// The file is larger than any tuning file.
    #[error("{file}: larger than {MAX_BYTES} bytes, too large for a tuning file")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// The file is not text.
    #[error("{place}: byte 0x{byte:02x} is not UTF-8 text")]
    NotUtf8 {
        /// Where the text ends.
        place: Place,
        /// The first byte that is not text.
        byte: u8,
    },
    /// Not TOML, or not what a tuning file holds.
    #[error("{place}: {problem}")]
    Content {
        /// Where.
        place: Place,
        /// What is wrong there, with the value.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    device: Vec<Spanned<RawDevice>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDevice {
    class: Option<DeviceClass>,
    name: Option<Spanned<String>>,
    driver: Option<Spanned<String>>,
    lanes: Option<Spanned<i64>>,
    specialise: Option<bool>,
    vector_loads: Option<bool>,
    #[serde(default)]
    tiles: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    kernel: Spanned<TiledKernel>,
    shape: Option<ShapeClass>,
    tile: Spanned<String>,
}

impl TuningFile {
    /// Reads a tuning file.
    ///
    /// # Errors
    /// [`TuningError`] names the file and, where its contents are at fault, line, column and value.
    pub fn read(path: &Path) -> Result<Self, TuningError> {
        let file = printable(&path.display().to_string());
        Self::parse(&read_text(path, &file)?, &file)
    }

    /// Reads the text of a tuning file; `file` is its name, for errors.
    ///
    /// # Errors
    /// [`TuningError::Content`] with file, line, column and value.
    pub fn parse(text: &str, file: &str) -> Result<Self, TuningError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Source { text, file };
        let raw: RawFile = toml::from_str(text).map_err(|error| {
            let problem = printable(&error.message().split_whitespace().collect::<Vec<_>>().join(" "));
            source.fault(&error.span().unwrap_or_default(), &problem)
        })?;
        if raw.device.is_empty() {
            return Err(source.fault(&(0..0), "it has no entry; one is written [[device]] with name and tiles"));
        }
        let mut taken = HashMap::new();
        let mut device = Vec::with_capacity(raw.device.len());
        for raw in raw.device {
            let at = raw.span().start;
            let tuning = source.device(raw.into_inner())?;
            let folded = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
            let line = source.place(at).line;
            if let Some(earlier) = taken.insert((tuning.class, folded(&tuning.name), folded(&tuning.driver)), line) {
                return Err(source.fault(&(at..at), &format!("a second entry for the devices of the one on line {earlier}")));
            }
            device.push(tuning);
        }
        Ok(Self { device })
    }
}

/// The text of a tuning file.
fn read_text(path: &Path, file: &str) -> Result<String, TuningError> {
    let file = file.to_owned();
    if path.is_dir() {
        return Err(TuningError::Directory { file });
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|f| f.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| TuningError::Unreadable { file: file.clone(), source })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(TuningError::TooLarge { file });
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let before = String::from_utf8_lossy(&bytes[..at]).into_owned();
        TuningError::NotUtf8 { place: Source { text: &before, file: &file }.place(before.len()), byte: bytes[at] }
    })
}

/// The text of a file that places refer to.
struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    fn device(&self, raw: RawDevice) -> Result<Tuning, TuningError> {
        let name = raw.name.map(|name| self.text_of("name", name)).transpose()?;
        let driver = raw.driver.map(|driver| self.text_of("driver", driver)).transpose()?;
        let lanes = raw.lanes.map(|lanes| {
            let within = u32::try_from(*lanes.get_ref()).ok().filter(|value| (1..=MOST_LANES).contains(value));
            within.ok_or_else(|| self.fault(&lanes.span(), &format!("lanes {} is not within 1 to {MOST_LANES}", lanes.get_ref())))
        });
        let mut taken: HashMap<(TiledKernel, Option<ShapeClass>), usize> = HashMap::new();
        let mut tiles = Vec::with_capacity(raw.tiles.len());
        for rule in raw.tiles {
            let (kernel, shape) = (*rule.kernel.get_ref(), rule.shape);
            let tile: Tile = rule.tile.get_ref().parse().map_err(|error: TileError| self.fault(&rule.tile.span(), &error.to_string()))?;
            if !kernel.sharings().contains(&tile.sharing) {
                let known = kernel.sharings().iter().map(|sharing| sharing.name()).collect::<Vec<_>>().join(" or ");
                return Err(
                    self.fault(&rule.tile.span(), &format!("kernel '{kernel}' shares by {known}, not by '{}'", tile.sharing.name()))
                );
            }
            let of = shape.map_or_else(|| "every shape".to_owned(), |shape| format!("shape '{shape}'"));
            let earlier = taken.get(&(kernel, None)).or_else(|| taken.get(&(kernel, shape)));
            if let Some(line) = earlier {
                let problem = format!("tile of kernel '{kernel}' for {of} is never taken: the one on line {line} goes before it");
                return Err(self.fault(&rule.kernel.span(), &problem));
            }
            taken.insert((kernel, shape), self.place(rule.kernel.span().start).line);
            tiles.push(Rule { kernel, shape, tile });
        }
        Ok(Tuning {
            class: raw.class,
            name,
            driver,
            lanes: lanes.transpose()?,
            specialise: raw.specialise,
            vector_loads: raw.vector_loads,
            tiles,
        })
    }

    fn text_of(&self, field: &str, text: Spanned<String>) -> Result<String, TuningError> {
        let value = text.get_ref();
        let length = value.chars().count();
        let problem = if value.trim().is_empty() {
            format!("{field} '{value}' is empty: leave it out to mean every one")
        } else if value.chars().any(char::is_control) {
            format!("{field} '{}' has a control character", printable(value))
        } else if length > MAX_NAME {
            format!("{field} has {length} characters, more than {MAX_NAME}")
        } else {
            return Ok(text.into_inner());
        };
        Err(self.fault(&text.span(), &problem))
    }

    fn fault(&self, span: &Range<usize>, problem: &str) -> TuningError {
        TuningError::Content { place: self.place(span.start), problem: printable(problem) }
    }

    /// Line and column of a byte.
    fn place(&self, byte: usize) -> Place {
        Place::of(self.file, self.text, byte)
    }
}
