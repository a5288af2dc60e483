//! What allocators and drivers do with memory, one question at a time.
//!
//! An [`Experiment`] is one or more [`Part`]s, each run in a process of its own that did nothing before: what an earlier part left in
//! the heap would be in its figures. A part gives typed [`Rows`]; the sentences of a [`Conclusion`] are computed from the rows, and say
//! what was seen whatever was expected. Nothing here depends on a driver: where one does not tell a figure its cell is empty.

mod alignment;
mod contexts;
mod drop;
mod error;
mod held;
mod pool;
mod settings;
mod shapes;
mod soak;
#[cfg(test)]
mod tests;
mod trend;

pub use alignment::AlignmentRow;
pub use contexts::{Arrangement, ContextRow};
pub use drop::{DropRow, Moment};
pub use error::ExperimentError;
pub use held::Held;
pub use pool::{PoolEvent, PoolRow};
pub use settings::{Choice, Settings};
pub use shapes::{Sequence, ShapeRow};
pub use soak::SoakRow;
pub use trend::{Trend, Verdict};

use crate::device::{Adapter, DeviceError, Identity, Instance, Source};
use crate::record::guarded;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An experiment.
#[derive(Debug)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// What it answers, in a line.
    pub question: &'static str,
    /// The options it has.
    pub options: &'static [&'static str],
    /// The columns of its file, in groups.
    columns: &'static [&'static [Column]],
    /// What is run, each in a process of its own.
    pub parts: fn(&Settings) -> Vec<Part>,
}

/// A column of an experiment's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub meaning: &'static str,
}

/// Every experiment.
pub static EXPERIMENTS: [&Experiment; 6] =
    [&alignment::EXPERIMENT, &pool::EXPERIMENT, &shapes::EXPERIMENT, &drop::EXPERIMENT, &contexts::EXPERIMENT, &soak::EXPERIMENT];

impl Experiment {
    /// The experiment of a name.
    ///
    /// # Errors
    /// [`ExperimentError::Unknown`] with the names there are.
    pub fn find(name: &str) -> Result<&'static Self, ExperimentError> {
        let known = || EXPERIMENTS.iter().map(|experiment| experiment.name).collect::<Vec<_>>().join(", ");
        let found = EXPERIMENTS.iter().copied().find(|experiment| experiment.name == name);
        found.ok_or_else(|| ExperimentError::Unknown { name: name.into(), known: known() })
    }

    /// The columns of its file, in order.
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        self.columns.iter().copied().flatten().copied()
    }
}

/// What one process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Buffers of many sizes, one at a time.
    Alignment,
    /// Buffers of one size, created one by one and dropped one by one.
    Pool {
        /// Their size.
        size: Bytes,
        /// How many.
        count: u64,
    },
    /// One convolution after another.
    Shapes {
        /// How they differ and follow each other.
        sequence: Sequence,
        /// How many.
        iterations: u64,
    },
    /// Things held and dropped.
    Drop,
    /// Devices and plans at once.
    Contexts(Arrangement),
    /// One convolution, many times.
    Soak {
        /// How many.
        executions: u64,
    },
}

/// What a part has of its surroundings.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// Chooses the adapter.
    pub choose: &'a dyn Fn(&Instance) -> Result<Adapter, DeviceError>,
    /// Has another process run a part, to its end.
    pub beside: &'a dyn Fn(&Part) -> Result<Measured, String>,
}

/// What a part measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// On which device.
    pub device: Identity,
    /// Who said what was resident; none where nobody did.
    pub source: Option<Source>,
    /// Why better sources did not; empty where the best one did.
    pub refusals: String,
    /// The rows.
    pub rows: Rows,
}

impl Part {
    /// Runs it, in this process.
    ///
    /// # Errors
    /// [`ExperimentError`] where a setting is more than the device allows, the device fails, or the process beside this one does.
    pub fn run(&self, site: &Site<'_>) -> Result<Measured, ExperimentError> {
        let rows = match *self {
            Self::Alignment => Rows::Alignment(alignment::run(site)?),
            Self::Pool { size, count } => Rows::Pool(pool::run(site, size, count)?),
            Self::Shapes { sequence, iterations } => Rows::Shapes(shapes::run(site, sequence, iterations)?),
            Self::Drop => Rows::Drop(drop::run(site)?),
            Self::Contexts(arrangement) => Rows::Contexts(contexts::run(site, arrangement)?),
            Self::Soak { executions } => Rows::Soak(soak::run(site, executions)?),
        };
        // Asked at the end: what an adapter loads would be in the figures.
        let adapter = (site.choose)(&Instance::default())?;
        let meter = adapter.meter();
        Ok(Measured {
            source: meter.source(),
            refusals: if meter.refused() { meter.refusals() } else { String::new() },
            device: adapter.identity,
            rows,
        })
    }
}

/// Rows of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// Of `alignment`.
    Alignment(Vec<AlignmentRow>),
    /// Of `pool`.
    Pool(Vec<PoolRow>),
    /// Of `shapes`.
    Shapes(Vec<ShapeRow>),
    /// Of `drop`.
    Drop(Vec<DropRow>),
    /// Of `contexts`.
    Contexts(Vec<ContextRow>),
    /// Of `soak`.
    Soak(Vec<SoakRow>),
}

/// What the rows show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conclusion {
    /// One sentence or a few.
    pub sentences: Vec<String>,
    /// Whether something grows that must not.
    pub grows: bool,
}

impl From<Vec<String>> for Conclusion {
    fn from(sentences: Vec<String>) -> Self {
        Self { sentences, grows: false }
    }
}

impl Rows {
    /// The experiment they are of.
    pub fn experiment(&self) -> &'static Experiment {
        match self {
            Self::Alignment(_) => &alignment::EXPERIMENT,
            Self::Pool(_) => &pool::EXPERIMENT,
            Self::Shapes(_) => &shapes::EXPERIMENT,
            Self::Drop(_) => &drop::EXPERIMENT,
            Self::Contexts(_) => &contexts::EXPERIMENT,
            Self::Soak(_) => &soak::EXPERIMENT,
        }
    }

    /// Adds the rows of another part of the same experiment.
    ///
    /// # Errors
    /// [`ExperimentError::Mixed`] where it is another one.
    pub fn append(&mut self, other: Self) -> Result<(), ExperimentError> {
        let (expected, found) = (self.experiment().name, other.experiment().name);
        match (self, other) {
            (Self::Alignment(own), Self::Alignment(more)) => own.extend(more),
            (Self::Pool(own), Self::Pool(more)) => own.extend(more),
            (Self::Shapes(own), Self::Shapes(more)) => own.extend(more),
            (Self::Drop(own), Self::Drop(more)) => own.extend(more),
            (Self::Contexts(own), Self::Contexts(more)) => own.extend(more),
            (Self::Soak(own), Self::Soak(more)) => own.extend(more),
            _ => return Err(ExperimentError::Mixed { expected, found }),
        }
        Ok(())
    }

    /// What they show.
    pub fn conclude(&self) -> Conclusion {
        match self {
            Self::Alignment(rows) => alignment::conclude(rows),
            Self::Pool(rows) => pool::conclude(rows),
            Self::Shapes(rows) => shapes::conclude(rows),
            Self::Drop(rows) => drop::conclude(rows),
            Self::Contexts(rows) => contexts::conclude(rows),
            Self::Soak(rows) => soak::conclude(rows),
        }
    }

    /// The rows as objects whose keys are the columns.
    pub fn objects(&self) -> Vec<Map<String, Value>> {
        fn of(rows: &[impl Serialize]) -> Vec<Map<String, Value>> {
            let object = |row| match serde_json::to_value(row) {
                Ok(Value::Object(object)) => object,
                _ => Map::new(), // every row is a struct
            };
            rows.iter().map(object).collect()
        }
        match self {
            Self::Alignment(rows) => of(rows),
            Self::Pool(rows) => of(rows),
            Self::Shapes(rows) => of(rows),
            Self::Drop(rows) => of(rows),
            Self::Contexts(rows) => of(rows),
            Self::Soak(rows) => of(rows),
        }
    }

    /// The cells of each row, in the order of the columns; what was not measured is empty.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let cell = |value: Option<&Value>| match value {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => guarded(text),
            Some(value) => value.to_string(),
        };
        let row = |object: &Map<String, Value>| self.experiment().columns().map(|column| cell(object.get(column.name))).collect();
        self.objects().iter().map(row).collect()
    }

    /// The text of the experiment's file.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let header = self.experiment().columns().map(|column| column.name.to_owned()).collect();
        for record in std::iter::once(header).chain(self.cells()) {
            // Neither a buffer in memory nor rows of one length can fail to be written.
            let _ = writer.write_record(record);
        }
        String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
    }
}
