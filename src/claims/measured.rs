//! The functions of expressions that ask a run, and what they ask: of a run's rows ([`Book`]), or of nothing, to learn what a run must
//! measure ([`Needs`]).

use super::audit::Evidence;
use super::closed::conv;
use super::{Contexts, network};
use crate::algorithm::{Variant, find};
use crate::conv::Conv;
use crate::plan::DeviceClass;
use crate::record::{Cache, Measurement, Status};
use crate::suite::Layer;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Why a function of an expression gives no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Stop {
    /// What it needs is not there in this version.
    #[error("{0}")]
    NotHere(String),
    /// What it needs was not measured.
    #[error("{0}")]
    NotMeasured(String),
    /// It was called wrongly.
    #[error("{0}")]
    Wrong(String),
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        Self::new(ErrorKind::InvalidOperation, stop.to_string()).with_source(stop)
    }
}

/// What is known of one measured case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    /// Algorithm and variant.
    pub(super) name: String,
    /// Median time in nanoseconds.
    pub(super) time: f64,
    /// Bytes handed out, or asked for where the platform does not tell, by ledger.
    pub(super) parameters: f64,
    pub(super) activations: f64,
    pub(super) workspace: f64,
}

/// Something that can be asked for measured cases.
pub(super) trait Measurements: Send + Sync {
    /// The fastest case of `conv` of those that `case` names: all where it is none, those of an algorithm where it has no variant.
    fn fastest(&self, conv: &Conv, case: Option<&str>, limit: Option<f64>) -> Result<Known, Stop>;

    /// Every case of `conv`.
    fn all(&self, conv: &Conv) -> Result<Vec<Known>, Stop>;

    /// A column of an arrangement of `experiment contexts`, summed over its processes.
    fn contexts(&self, arrangement: &str, column: &str) -> Result<f64, Stop>;

    /// Refuses where times, and which case is the fastest, say nothing of what claims are about.
    fn times_count(&self) -> Result<(), Stop> {
        Ok(())
    }
}

/// Adds the functions.
pub(super) fn add(environment: &mut Environment<'static>, measurements: &Arc<dyn Measurements>) {
    let single = |environment: &mut Environment<'static>, name: &'static str, value: fn(&Known) -> f64| {
        let asked = Arc::clone(measurements);
        environment.add_function(name, move |case: &str, key: &str| -> Result<f64, Error> {
            there(case)?;
            Ok(value(&asked.fastest(&conv(key)?, Some(case), None)?))
        });
    };
    let asked = Arc::clone(measurements);
    environment.add_function("measured_time", move |case: &str, key: &str| -> Result<f64, Error> {
        there(case)?;
        asked.times_count()?;
        Ok(asked.fastest(&conv(key)?, Some(case), None)?.time)
    });
    single(environment, "measured_workspace", |known| known.workspace);
    single(environment, "measured_activations", |known| known.activations);
    single(environment, "measured_parameters", |known| known.parameters);
    let asked = Arc::clone(measurements);
    environment.add_function("measured_workspaces", move |key: &str| -> Result<BTreeMap<String, f64>, Error> {
        Ok(asked.all(&conv(key)?)?.into_iter().map(|known| (known.name, known.workspace)).collect())
    });
    let asked = Arc::clone(measurements);
    environment.add_function("measured_contexts", move |arrangement: &str, column: &str| -> Result<f64, Error> {
        Ok(asked.contexts(arrangement, column)?)
    });
    let asked = Arc::clone(measurements);
    environment.add_function("fastest", move |key: &str, options: Kwargs| -> Result<String, Error> {
        let limit = options.get("limit")?;
        options.assert_all_used()?;
        asked.times_count()?;
        Ok(asked.fastest(&conv(key)?, None, limit)?.name)
    });
    let asked = Arc::clone(measurements);
    environment.add_function("measured_network", move |suite: &str, what: &str, options: Kwargs| -> Result<f64, Error> {
        let case: Option<String> = options.get("case")?;
        let limit = options.get("limit")?;
        options.assert_all_used()?;
        case.as_deref().map_or(Ok(()), there)?;
        if what == "time" || case.is_none() {
            asked.times_count()?;
        }
        let layers = network::layers(suite, 1, None).map_err(Stop::Wrong)?;
        let known = |layer: &Layer| Ok::<_, Stop>((asked.fastest(&layer.conv, case.as_deref(), limit)?, layer.count));
        let known = layers.iter().map(known).collect::<Result<Vec<_>, _>>()?;
        match what {
            "time" => Ok(known.iter().map(|(known, count)| known.time * *count as f64).sum()),
            "workspace" => Ok(known.iter().map(|(known, _)| known.workspace).fold(0.0, f64::max)),
            other => Err(Stop::Wrong(format!("'{}' of a network is not one of time, workspace", crate::suite::printable(other))).into()),
        }
    });
}

/// Whether the algorithm of a case is there at all.
fn there(case: &str) -> Result<(), Stop> {
    let id = case.split(':').next().unwrap_or_default();
    find(id).map(|_| ()).ok_or_else(|| Stop::NotHere(format!("no algorithm {} here", crate::suite::printable(id))))
}

/// The measured cases of a run: those that are right, with hot caches.
pub(super) struct Book {
    class: DeviceClass,
    cases: HashMap<Conv, Vec<Known>>,
    /// What became of those that are not.
    failures: HashMap<Conv, Vec<(String, String)>>,
    contexts: Contexts,
}

impl Book {
    /// The book of a run and what was measured beside it.
    pub(super) fn new(&Evidence { rows, class, contexts }: &Evidence<'_>) -> Self {
        let mut book = Self { class, cases: HashMap::new(), failures: HashMap::new(), contexts: contexts.clone() };
        for row in rows.iter().filter(|row| row.case.cache == Cache::Hot) {
            let name = row.case.variant.qualify(&row.case.algorithm);
            if let Some(known) = known(row, &name) {
                book.cases.entry(row.case.conv).or_default().push(known);
            } else {
                let why = if row.reason.is_empty() { row.status.name() } else { &row.reason };
                book.failures.entry(row.case.conv).or_default().push((name, why.to_owned()));
            }
        }
        book
    }
}

fn known(row: &Measurement, name: &str) -> Option<Known> {
    if row.status != Status::Ok {
        return None;
    }
    let bytes = |allocated: Option<u64>, requested: Option<u64>| allocated.or(requested).map(|bytes| bytes as f64);
    Some(Known {
        name: name.to_owned(),
        time: row.time_median_ns?,
        parameters: bytes(row.parameter_allocated_bytes, row.parameter_requested_bytes)?,
        activations: bytes(row.activation_allocated_bytes, row.activation_requested_bytes)?,
        workspace: bytes(row.computation_allocated_bytes, row.computation_requested_bytes)?,
    })
}

/// Whether a case is one of those that a text names.
fn names(text: &str, name: &str) -> bool {
    name == text || (!text.contains(':') && name.split(':').next() == Some(text))
}

impl Measurements for Book {
    fn fastest(&self, conv: &Conv, case: Option<&str>, limit: Option<f64>) -> Result<Known, Stop> {
        let named = |name: &str| case.is_none_or(|case| names(case, name));
        let fits = |known: &&Known| named(&known.name) && limit.is_none_or(|limit| known.workspace <= limit);
        let candidates = self.cases.get(conv).into_iter().flatten().filter(fits);
        candidates.min_by(|a, b| a.time.total_cmp(&b.time)).cloned().ok_or_else(|| {
            let what = case.map_or_else(|| conv.to_string(), |case| format!("{} of {conv}", crate::suite::printable(case)));
            let mut failures = self.failures.get(conv).into_iter().flatten().filter(|(name, _)| named(name));
            Stop::NotMeasured(match failures.next().filter(|_| case.is_some()) {
                Some((_, why)) => format!("{what}: {why}"),
                None => format!("the run has no such case: {what}"),
            })
        })
    }

    fn contexts(&self, arrangement: &str, column: &str) -> Result<f64, Stop> {
        self.contexts.get(arrangement, column).ok_or_else(|| {
            let what = format!("{} of {}", crate::suite::printable(column), crate::suite::printable(arrangement));
            Stop::NotMeasured(format!("the run's folder has no contexts.csv with {what}: convledger experiment contexts --out FOLDER"))
        })
    }

    fn times_count(&self) -> Result<(), Stop> {
        match self.class {
            DeviceClass::Software => Err(Stop::NotHere("the run is of a software driver, whose times are those of a CPU".into())),
            _ => Ok(()),
        }
    }

    fn all(&self, conv: &Conv) -> Result<Vec<Known>, Stop> {
        self.cases.get(conv).cloned().ok_or_else(|| Stop::NotMeasured(format!("the run has no such case: {conv}")))
    }
}

/// Which cases of a convolution are asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Those of these patterns.
    Cases(BTreeSet<String>),
    /// Every one, but `direct`, which is slow on purpose.
    All,
}

/// Takes down what is asked for; its answers are only placeholders.
#[derive(Default)]
pub(super) struct Needs(Mutex<BTreeMap<String, (Conv, Want)>>);

impl Needs {
    /// What was asked for, by the convolution's key.
    pub(super) fn taken(&self) -> BTreeMap<String, (Conv, Want)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, conv: &Conv, case: Option<&str>) -> Known {
        let mut needs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, want) = needs.entry(conv.to_string()).or_insert_with(|| (*conv, Want::Cases(BTreeSet::new())));
        match (case, want) {
            (Some(case), Want::Cases(cases)) => {
                cases.insert(case.to_owned());
            }
            (Some(_), Want::All) => {}
            (None, want) => *want = Want::All,
        }
        // Right for every convolution.
        Known { name: Variant::none().qualify("implicit_gemm"), time: 1.0, parameters: 1.0, activations: 1.0, workspace: 1.0 }
    }
}

impl Measurements for Needs {
    fn contexts(&self, _: &str, _: &str) -> Result<f64, Stop> {
        // An experiment, not a case of a run. Right for every arrangement.
        Ok(1.0)
    }

    fn fastest(&self, conv: &Conv, case: Option<&str>, _: Option<f64>) -> Result<Known, Stop> {
        Ok(self.take(conv, case))
    }

    fn all(&self, conv: &Conv) -> Result<Vec<Known>, Stop> {
        Ok(vec![self.take(conv, None)])
    }
}
