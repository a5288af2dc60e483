//! One cell: how each type of value is written and read back.

use crate::algorithm::Variant;
use crate::conv::{Conv, ElementType, KeyError, Layout, Pass};
use crate::device::Clock;
use crate::ledger::Ledger;
use crate::plan::{Lifetime, Role};
use crate::record::{Cache, Status, StepLimit};
use serde::de::value::{Error as NameError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

/// What is wrong with a value, to be completed with its place: "is not a whole number".
#[derive(Debug)]
pub(super) struct Problem(pub(super) String);

/// What the cells of a column hold where they are not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    Flag,
}

/// The content of a cell, whatever the format of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Empty,
    Text(String),
    Integer(u64),
    /// Finite.
    Number(f64),
    Flag(bool),
}

impl Value {
    /// As a cell of a CSV file; empty only for what is read back as empty.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => guarded(text),
            Self::Integer(number) => number.to_string(),
            // `Debug` writes the fewest digits that read back as the same number.
            Self::Number(number) => format!("{number:?}"),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}

/// A value that fills one cell.
pub(super) trait Cell: Sized {
    /// What it is in files that have types.
    const KIND: Kind;

    /// The cell's content.
    fn write(&self) -> Result<Value, Problem>;

    /// The value of a text.
    fn read(text: &str) -> Result<Self, Problem>;
}

impl<T: Cell> Cell for Option<T> {
    const KIND: Kind = T::KIND;

    fn write(&self) -> Result<Value, Problem> {
        // A number that is not finite was not measured either.
        Ok(self.as_ref().map_or(Value::Empty, |value| value.write().unwrap_or(Value::Empty)))
    }

    fn read(text: &str) -> Result<Self, Problem> {
        if text.is_empty() { Ok(None) } else { T::read(text).map(Some) }
    }
}

impl Cell for u64 {
    const KIND: Kind = Kind::Integer;

    fn write(&self) -> Result<Value, Problem> {
        Ok(Value::Integer(*self))
    }

    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem("is not a whole number from 0 to 2^64 - 1".into()))
    }
}

impl Cell for f64 {
    const KIND: Kind = Kind::Number;

    fn write(&self) -> Result<Value, Problem> {
        if self.is_finite() { Ok(Value::Number(*self)) } else { Err(Problem(format!("{self} is not a finite number"))) }
    }

    fn read(text: &str) -> Result<Self, Problem> {
        let number: Self = text.parse().map_err(|_| Problem("is not a number".into()))?;
        if number.is_finite() { Ok(number) } else { Err(Problem("is not a finite number".into())) }
    }
}

impl Cell for bool {
    const KIND: Kind = Kind::Flag;

    fn write(&self) -> Result<Value, Problem> {
        Ok(Value::Flag(*self))
    }

    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem("is neither true nor false".into()))
    }
}

impl Cell for String {
    const KIND: Kind = Kind::Text;

    fn write(&self) -> Result<Value, Problem> {
        Ok(Value::Text(self.clone()))
    }

    fn read(text: &str) -> Result<Self, Problem> {
        Ok(match text.strip_prefix('\'') {
            Some(guarded) if runs_as_formula(guarded) => guarded.to_owned(),
            _ => text.to_owned(),
        })
    }
}

/// A text as a CSV cell: with a `'` in front where a spreadsheet would run it as a formula.
pub fn guarded(text: &str) -> String {
    if runs_as_formula(text) { format!("'{text}") } else { text.to_owned() }
}

/// Whether a spreadsheet would take a text for a formula, or the reader would take its own `'` for a guard. The characters
/// are those of OWASP's page "CSV Injection".
fn runs_as_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
}

/// A text on one line: every run of control characters becomes a space.
pub(super) fn one_line(text: &str) -> String {
    text.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

impl Cell for Conv {
    const KIND: Kind = Kind::Text;

    fn write(&self) -> Result<Value, Problem> {
        Ok(Value::Text(self.to_string()))
    }

    fn read(text: &str) -> Result<Self, Problem> {
        // The errors' own texts repeat the key, which the place names already.
        text.parse().map_err(|error| match error {
            KeyError::Syntax { place, problem, .. } => Problem(format!("is not a canonical key: character {place}: {problem}")),
            KeyError::Impossible { source, .. } => Problem(format!("is impossible: {source}")),
        })
    }
}

impl Cell for Variant {
    const KIND: Kind = Kind::Text;

    fn write(&self) -> Result<Value, Problem> {
        Ok(Value::Text(self.to_string()))
    }

    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem("is neither a word such as batch nor a word with a number such as strip=8".into()))
    }
}

/// Enumerations: their one source of names is their serde form.
macro_rules! cells_by_name {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            const KIND: Kind = Kind::Text;

            fn write(&self) -> Result<Value, Problem> {
                match serde_json::to_value(self) {
                    Ok(serde_json::Value::String(name)) => Ok(Value::Text(name)),
                    _ => Err(Problem(format!("{self:?} has no name"))),
                }
            }

            fn read(text: &str) -> Result<Self, Problem> {
                by_name(text)
            }
        }
    )*};
}

cells_by_name!(Cache, Clock, ElementType, Layout, Ledger, Lifetime, Pass, Role, Status, StepLimit);

fn by_name<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    let name: StrDeserializer<'_, NameError> = text.into_deserializer();
    T::deserialize(name).map_err(|error| {
        // Serde's text begins with the name, which the place has already, and ends with the known ones.
        let text = error.to_string();
        let known = text.rsplit_once(", expected ").map_or("", |(_, known)| known);
        Problem(format!("is not known, must be {known}"))
    })
}
