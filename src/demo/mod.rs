//! Sweeps that teach: a few convolutions that differ in one thing at a time, what they cost, a chart, and two sentences that say what the
//! numbers show.
//!
//! A demo is a list of [`Point`]s, each a convolution with its place in a sweep, and the algorithms it is measured with. The cases run as in any
//! run; a [`Row`] is one of them with its place. The sentences are computed from the rows: they say what was seen, also where that
//! contradicts the lesson, and say so where a case they need is missing.

mod blowup;
mod error;
mod precision;
mod resolution;
mod row;
#[cfg(test)]
mod tests;
mod tradeoff;

pub use error::DemoError;
pub use row::{COLUMNS, Row, rows, to_csv};

use crate::chart::Chart;
use crate::conv::Conv;
use crate::suite::{Layer, Suite};

/// A convolution with its place in a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What is varied: `kernel size`.
    pub sweep: &'static str,
    /// Its value here.
    pub value: u64,
    /// The convolution.
    pub conv: Conv,
}

impl Point {
    fn new(sweep: &'static str, value: u64, key: &str) -> Result<Self, DemoError> {
        Ok(Self { sweep, value, conv: key.parse()? })
    }

    /// The name of its layer in a run.
    pub fn layer(&self) -> String {
        format!("{} {} {}", self.sweep, self.value, self.conv.element())
    }
}

/// What a demo shows beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Two sentences, computed from the rows.
    pub sentences: [String; 2],
    /// What to append to the name of each chart's file, and the chart.
    pub charts: Vec<(&'static str, Chart)>,
}

/// A demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demo {
    /// What im2col's column matrix costs against reading the patches in place.
    Blowup,
    /// What more workspace buys on one layer.
    Tradeoff,
    /// What a larger input costs.
    Resolution,
    /// How the rounding errors of the algorithms grow.
    Precision,
}

impl Demo {
    /// Every demo.
    pub const ALL: [Self; 4] = [Self::Blowup, Self::Tradeoff, Self::Resolution, Self::Precision];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blowup => "blowup",
            Self::Tradeoff => "tradeoff",
            Self::Resolution => "resolution",
            Self::Precision => "precision",
        }
    }

    /// Its points. `conv` is the convolution to look at, for the demo of a single layer; without it one that is small enough for a software driver.
    ///
    /// # Errors
    /// [`DemoError::OneLayer`] where a convolution is given to another demo.
    pub fn points(self, conv: Option<Conv>) -> Result<Vec<Point>, DemoError> {
        match (self, conv) {
            (Self::Tradeoff, conv) => tradeoff::points(conv),
            (_, Some(conv)) => Err(DemoError::OneLayer { demo: self.name(), conv: Box::new(conv) }),
            (Self::Blowup, None) => blowup::points(),
            (Self::Resolution, None) => resolution::points(),
            (Self::Precision, None) => precision::points(),
        }
    }

    /// The points as a suite for a run.
    pub fn suite(self, points: &[Point]) -> Suite {
        let layers = points.iter().map(|point| Layer { name: point.layer(), conv: point.conv, count: 1 }).collect();
        Suite { name: format!("demo-{}", self.name()), description: format!("convledger demo {}", self.name()), layers }
    }

    /// The patterns of the algorithms it is measured with.
    pub fn patterns(self) -> Vec<String> {
        let patterns: &[&str] = match self {
            Self::Blowup => &blowup::PATTERNS,
            Self::Tradeoff => &[],
            Self::Resolution => &resolution::PATTERNS,
            Self::Precision => &precision::ALGORITHMS,
        };
        patterns.iter().map(|&pattern| pattern.to_owned()).collect()
    }

    /// What its rows show.
    pub fn show(self, rows: &[Row]) -> Shown {
        match self {
            Self::Blowup => blowup::show(rows),
            Self::Tradeoff => tradeoff::show(rows),
            Self::Resolution => resolution::show(rows),
            Self::Precision => precision::show(rows),
        }
    }
}

/// A ratio with two or three digits.
fn times(ratio: f64) -> String {
    let decimals = if ratio >= 99.95 { 0 } else { 1 + usize::from(ratio < 9.995) };
    format!("{ratio:.decimals$}")
}

/// The least and the greatest; nothing where there is none.
fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().fold(None, |extent, value| Some(extent.map_or((value, value), |(a, b): (f64, f64)| (a.min(value), b.max(value)))))
}
