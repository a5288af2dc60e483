//! The suites that come with the program: one TOML file each in `data/`, one line each here.

use super::printable;
use super::{Suite, SuiteError};
use std::path::Path;

macro_rules! data {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("data/", $name, ".toml")))),*] };
}

/// Name and text of every built-in suite, in the order listings show them.
static BUILTIN: &[(&str, &str)] = data![
    "default",
    "smoke",
    "ledgers",
    "resnet18",
    "resnet50",
    "vgg16",
    "mobilenet_v2",
    "deepbench",
    "deepbench_server",
    "deepbench_device",
];

/// How alike two names must be (Jaro-Winkler, 0 to 1) to suggest one for the other.
const ALIKE: f64 = 0.8;

impl Suite {
    /// The names of the built-in suites, in the order listings show them.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// The built-in suite of a name.
    ///
    /// # Errors
    /// [`SuiteError::Unknown`] with the names there are.
    pub fn builtin(name: &str) -> Result<Self, SuiteError> {
        let (name, text) = BUILTIN.iter().find(|(known, _)| *known == name).ok_or_else(|| unknown(name))?;
        Self::parse(text, &format!("{name}.toml"))
    }

    /// The suite a person asks for: a built-in one by its name, else a file. What contains a path separator, ends in
    /// `.toml` or names an existing file is a file.
    ///
    /// # Errors
    /// [`SuiteError`] names what was asked for, or the file with line and column.
    pub fn load(name_or_path: &str) -> Result<Self, SuiteError> {
        let path = Path::new(name_or_path);
        if Self::names().any(|known| known == name_or_path) {
            return Self::builtin(name_or_path);
        }
        let looks_like_path =
            name_or_path.contains(std::path::is_separator) || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
        if looks_like_path || path.is_file() { Self::read(path) } else { Err(unknown(name_or_path)) }
    }
}

fn unknown(name: &str) -> SuiteError {
    let lower = name.to_lowercase();
    let suggestion = BUILTIN
        .iter()
        .rev() // of equally similar names the first listed wins
        .map(|(known, _)| *known)
        .map(|known| (known, strsim::jaro_winkler(known, &lower)))
        .filter(|(_, likeness)| *likeness >= ALIKE)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(known, _)| known);
    SuiteError::Unknown { name: printable(name), suggestion, known: Suite::names().collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests;
