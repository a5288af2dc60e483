//! A file of claims: TOML that a person writes.
//!
//! ```toml
//! [[claim]]
//! id = "A08"
//! article = "three-ledgers"
//! statement = "ResNet-18's first convolution's output at batch 8 and 16"
//! with = { conv = "n1c3h224w224_k64r7s7_s2_p3" }              # optional: names for the expressions, texts or numbers
//! note = "…"                                                  # optional: what a reader should know
//! figure = [
//!   { name = "batch 8", claimed = "25.1", unit = "MB", ours = "output(batch(conv, 8))" },
//!   { name = "batch 16", claimed = "50.2", unit = "MB", ours = "output(batch(conv, 16))" },
//!   { name = "on two devices", claimed = "1", not_testable = "there is one device" },
//! ]
//! ```

use super::ClaimError;
use super::claimed::Claimed;
use super::expression::Evaluator;
use super::measured::{Measurements, Needs};
use crate::suite::{Place, printable};
use minijinja::Value;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;

/// Bytes of the largest file read.
const MAX_BYTES: u64 = 1 << 20;
/// Characters of the longest text in it.
const MAX_TEXT: usize = 1000;

/// A claim: something that people repeat, with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What it is called; unique in its file.
    pub id: String,
    /// Where it is from.
    pub article: String,
    /// What it says.
    pub statement: String,
    /// What a reader should know beside the verdict; may be empty.
    pub note: String,
    /// Its figures; at least one.
    pub figures: Vec<Figure>,
    /// Names for the expressions.
    pub(super) with: BTreeMap<String, Value>,
}

/// One figure of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Which one; may be empty where there is one only.
    pub name: String,
    /// The text of the claimed figure.
    pub claimed: String,
    /// Its unit.
    pub unit: String,
    /// Where ours comes from.
    pub ours: Ours,
    pub(super) value: Claimed,
    /// Where its expression stands, for errors.
    pub(super) place: Place,
}

/// Where our figure comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Ours {
    /// This expression.
    Expression(String),
    /// Nowhere, for this reason.
    NotTestable(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    claim: Vec<RawClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    id: Spanned<String>,
    #[serde(default)]
    article: Option<Spanned<String>>,
    statement: Spanned<String>,
    #[serde(default)]
    note: Option<Spanned<String>>,
    #[serde(default)]
    with: BTreeMap<String, Spanned<toml::Value>>,
    figure: Spanned<Vec<RawFigure>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFigure {
    name: Option<Spanned<String>>,
    claimed: Spanned<String>,
    unit: Option<Spanned<String>>,
    ours: Option<Spanned<String>>,
    not_testable: Option<Spanned<String>>,
}

/// The files that come with the program.
const BUILTIN: [(&str, &str); 3] = [
    ("three_ledgers.toml", include_str!("data/three_ledgers.toml")),
    ("accounts.toml", include_str!("data/accounts.toml")),
    ("strategies.toml", include_str!("data/strategies.toml")),
];

/// The claims that come with the program.
///
/// # Errors
/// None in a release: a test reads them all.
pub fn builtin() -> Result<Vec<Claim>, ClaimError> {
    let files = BUILTIN.iter().map(|(name, text)| parse(text, name)).collect::<Result<Vec<_>, _>>()?;
    Ok(files.into_iter().flatten().collect())
}

/// Reads a file of claims.
///
/// # Errors
/// [`ClaimError`] names the file and, where its contents are at fault, line, column and value.
pub fn read_file(path: &Path) -> Result<Vec<Claim>, ClaimError> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(ClaimError::io("read", path))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(ClaimError::TooLarge { path: path.to_owned(), most: MAX_BYTES });
    }
    parse(&text, &printable(&path.display().to_string()))
}

/// Reads the text of a file of claims; `file` is its name, for errors. Every expression is compiled, and evaluated as far as that
/// needs no measurements.
///
/// # Errors
/// [`ClaimError::Content`] with file, line, column and value.
pub fn parse(text: &str, file: &str) -> Result<Vec<Claim>, ClaimError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Text { text, file };
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let problem = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        source.fault(&error.span().unwrap_or_default(), &problem)
    })?;
    if raw.claim.is_empty() {
        return Err(source.fault(&(0..0), "it has no claim; one is written [[claim]] with id, statement and figure"));
    }
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut claims = Vec::with_capacity(raw.claim.len());
    for raw in raw.claim {
        let span = raw.id.span();
        let claim = source.claim(raw)?;
        if let Some(first) = lines.insert(claim.id.clone(), source.place(span.start).line) {
            return Err(source.fault(&span, &format!("a second claim '{}', the first is on line {first}", claim.id)));
        }
        claims.push(claim);
    }
    Ok(claims)
}

/// The text of a file that places refer to.
struct Text<'a> {
    text: &'a str,
    file: &'a str,
}

impl Text<'_> {
    fn claim(&self, raw: RawClaim) -> Result<Claim, ClaimError> {
        let id = self.text_of("id", raw.id)?;
        let article = raw.article.map_or(Ok(String::new()), |text| self.text_of("article", text))?;
        let statement = self.text_of("statement", raw.statement)?;
        let note = raw.note.map_or(Ok(String::new()), |text| self.text_of("note", text))?;
        let mut with = BTreeMap::new();
        for (name, value) in raw.with {
            let span = value.span();
            let value = match value.into_inner() {
                toml::Value::String(text) => Value::from(text),
                toml::Value::Integer(number) => Value::from(number),
                toml::Value::Float(number) => Value::from(number),
                other => return Err(self.fault(&span, &format!("{name} in `with` is {}, not a text or a number", other.type_str()))),
            };
            with.insert(name, value);
        }
        if raw.figure.get_ref().is_empty() {
            return Err(self.fault(&raw.figure.span(), &format!("claim '{id}' has no figure")));
        }
        let figures = raw.figure.into_inner().into_iter().map(|figure| self.figure(figure, &with)).collect::<Result<_, _>>()?;
        Ok(Claim { id, article, statement, note, figures, with })
    }

    fn figure(&self, raw: RawFigure, with: &BTreeMap<String, Value>) -> Result<Figure, ClaimError> {
        let name = raw.name.map_or(Ok(String::new()), |text| self.text_of("name", text))?;
        let unit = raw.unit.map_or(Ok(String::new()), |text| self.text_of("unit", text))?;
        let span = raw.claimed.span();
        let claimed = self.text_of("claimed", raw.claimed)?;
        let value = Claimed::parse(&claimed).map_err(|problem| self.fault(&span, &problem))?;
        let (ours, place) = match (raw.ours, raw.not_testable) {
            (Some(text), None) => {
                let place = self.check(&text, with)?;
                (Ours::Expression(text.into_inner()), place)
            }
            (None, Some(reason)) => {
                let place = self.place(reason.span().start);
                (Ours::NotTestable(self.text_of("not_testable", reason)?), place)
            }
            _ => return Err(self.fault(&span, "a figure has one of ours (an expression) and not_testable (a reason)")),
        };
        Ok(Figure { name, claimed, unit, ours, value, place })
    }

    /// Compiles and evaluates an expression, so that a fault is told before anything runs; returns where it stands.
    fn check(&self, expression: &Spanned<String>, with: &BTreeMap<String, Value>) -> Result<Place, ClaimError> {
        let (span, text) = (expression.span(), expression.get_ref());
        // Where the text stands in the file as it is, a place in it is one in the file.
        let quote = self.text.get(span.clone()).map_or(0, |raw| raw.len() - raw.trim_start_matches(['\'', '"']).len());
        let start = span.start + quote;
        let verbatim = self.text.get(start..).is_some_and(|rest| rest.starts_with(text.as_str()));
        let needs = Arc::new(Needs::default());
        let asked: Arc<dyn Measurements> = Arc::<Needs>::clone(&needs);
        match Evaluator::new(&asked).evaluate(text, with) {
            // What goes wrong with placeholders for measurements need not go wrong with measurements.
            Err(fault) if needs.taken().is_empty() => {
                let at = fault.range.filter(|_| verbatim).map_or(span.start, |range| start + range.start.min(text.len()));
                Err(self.fault(&(at..at), &fault.problem))
            }
            _ => Ok(self.place(span.start)),
        }
    }

    fn text_of(&self, field: &str, text: Spanned<String>) -> Result<String, ClaimError> {
        let span = text.span();
        let text = text.into_inner();
        let length = text.chars().count();
        if length == 0 {
            return Err(self.fault(&span, &format!("{field} is empty")));
        }
        if length > MAX_TEXT {
            return Err(self.fault(&span, &format!("{field} has {length} characters, more than {MAX_TEXT}")));
        }
        if text.chars().any(char::is_control) {
            return Err(self.fault(&span, &format!("{field} '{text}' has a control character")));
        }
        Ok(text)
    }

    fn place(&self, byte: usize) -> Place {
        Place::of(self.file, self.text, byte)
    }

    fn fault(&self, span: &Range<usize>, problem: &str) -> ClaimError {
        ClaimError::Content { place: self.place(span.start), problem: printable(problem) }
    }
}
