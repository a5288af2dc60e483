//! One cell: how each type of value is written as text and read back.

use crate::algorithm::Variant;
use crate::conv::{Conv, ElementType, KeyError, Pass};
use crate::device::Clock;
use crate::ledger::Ledger;
use crate::plan::{Lifetime, Role};
use crate::record::{Cache, Status, StepLimit};
use serde::de::value::{Error as NameError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

/// What is wrong with a value, to be completed with its place: "is not a whole number".
#[derive(Debug)]
pub(super) struct Problem(pub(super) String);

/// A value that fills one cell.
pub(super) trait Cell: Sized {
    /// Its text; empty only for what is read back as empty.
    fn write(&self) -> Result<String, Problem>;

    /// The value of a text.
    fn read(text: &str) -> Result<Self, Problem>;
}

impl<T: Cell> Cell for Option<T> {
    fn write(&self) -> Result<String, Problem> {
        // A number that is not finite was not measured either.
        Ok(self.as_ref().map_or_else(String::new, |value| value.write().unwrap_or_default()))
    }

    fn read(text: &str) -> Result<Self, Problem> {
        if text.is_empty() { Ok(None) } else { T::read(text).map(Some) }
    }
}

impl Cell for u64 {
    fn write(&self) -> Result<String, Problem> {
        Ok(self.to_string())
    }

    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem("is not a whole number from 0 to 2^64 - 1".into()))
    }
}

impl Cell for f64 {
    fn write(&self) -> Result<String, Problem> {
        // `Debug` writes the fewest digits that read back as the same number.
        if self.is_finite() { Ok(format!("{self:?}")) } else { Err(Problem(format!("{self} is not a finite number"))) }
    }

    fn read(text: &str) -> Result<Self, Problem> {
        let number: Self = text.parse().map_err(|_| Problem("is not a number".into()))?;
        if number.is_finite() { Ok(number) } else { Err(Problem("is not a finite number".into())) }
    }
}

impl Cell for bool {
    fn write(&self) -> Result<String, Problem> {
        Ok(self.to_string())
    }

    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem("is neither true nor false".into()))
    }
}

impl Cell for String {
    fn write(&self) -> Result<String, Problem> {
        Ok(guarded(self))
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
    fn write(&self) -> Result<String, Problem> {
        Ok(self.to_string())
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
    fn write(&self) -> Result<String, Problem> {
        Ok(self.to_string())
    }

    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem("is neither a word such as batch nor a word with a number such as strip=8".into()))
    }
}

/// Enumerations: their one source of names is their serde form.
macro_rules! cells_by_name {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            fn write(&self) -> Result<String, Problem> {
                match serde_json::to_value(self) {
                    Ok(serde_json::Value::String(name)) => Ok(name),
                    _ => Err(Problem(format!("{self:?} has no name"))),
                }
            }

            fn read(text: &str) -> Result<Self, Problem> {
                by_name(text)
            }
        }
    )*};
}

cells_by_name!(Cache, Clock, ElementType, Ledger, Lifetime, Pass, Role, Status, StepLimit);

fn by_name<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    let name: StrDeserializer<'_, NameError> = text.into_deserializer();
    T::deserialize(name).map_err(|error| {
        // Serde's text begins with the name, which the place has already, and ends with the known ones.
        let text = error.to_string();
        let known = text.rsplit_once(", expected ").map_or("", |(_, known)| known);
        Problem(format!("is not known, must be {known}"))
    })
}
