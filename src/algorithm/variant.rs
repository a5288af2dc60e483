//! A variant: the setting of an algorithm's memory knob, part of a case's identity.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The setting of a memory knob: nothing, a word (`batch`) or a number (`strip=8`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(try_from = "String", into = "String")]
pub struct Variant {
    name: String,
    value: Option<u64>,
}

impl Variant {
    /// The only variant of an algorithm without knobs; written as nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// A setting that is a word.
    pub fn word(name: &str) -> Self {
        Self { name: name.to_owned(), value: None }
    }

    /// A setting that is a number.
    pub fn knob(name: &str, value: u64) -> Self {
        Self { name: name.to_owned(), value: Some(value) }
    }

    /// Name and number, for matching: `("strip", Some(8))`, `("batch", None)`, `("", None)`.
    pub fn parts(&self) -> (&str, Option<u64>) {
        (&self.name, self.value)
    }

    /// How an algorithm of `id` with this variant is written: `im2col:strip=8`, `direct`.
    pub fn qualify(&self, id: &str) -> String {
        if self.name.is_empty() { id.to_owned() } else { format!("{id}:{self}") }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => f.pad(&format!("{}={value}", self.name)),
            None => f.pad(&self.name),
        }
    }
}

/// A text that is not a variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a variant: write a word such as batch, or a word with a number such as strip=8")]
pub struct VariantError {
    text: String,
}

impl FromStr for Variant {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || VariantError { text: text.to_owned() };
        let (name, value) = match text.split_once('=') {
            Some((name, number)) => (name, Some(number.parse().map_err(|_| error())?)),
            None => (text, None),
        };
        let word = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !word || (name.is_empty() && value.is_some()) {
            return Err(error());
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

impl TryFrom<String> for Variant {
    type Error = VariantError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Variant> for String {
    fn from(variant: Variant) -> Self {
        variant.to_string()
    }
}
