//! What differs between the surroundings of two runs: the usual culprit.
//!
//! The two `environment.json` are compared field by field, in the order of [`COMPARED`]: what explains a change of times most often comes
//! first. What two runs never share (their names, dates, what they measured of the clock, where their time went) is left out;
//! the measured limits, which differ a little each time, are [`peaks`].

use super::Sides;
use crate::record::{Environment, Run};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Fields of `environment.json` that are compared, with the names they are told by.
pub(super) const COMPARED: [(&str, &str); 24] = [
    ("device.name", "device"),
    ("device.driver", "driver"),
    ("device.driver_info", "driver version"),
    ("device.backend", "backend"),
    ("device", "device"),
    ("version", "convledger version"),
    ("git_commit", "convledger commit"),
    ("schema_version", "schema version"),
    ("clock.clock", "clock"),
    ("tuning_file", "tuning file"),
    ("resident_source", "resident is told by"),
    ("limits.tuning", "tuning"),
    ("limits", "limit"),
    ("features", "features"),
    ("os", "system"),
    ("os_version", "system version"),
    ("kernel_version", "kernel version"),
    ("cpu", "processor"),
    ("cpu_cores", "processor cores"),
    ("host_memory_bytes", "host memory, B"),
    ("seed", "seed"),
    ("settings", "setting"),
    ("command_line", "command line"),
    ("notes", "note"),
];

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// The values as text; of lists of features and the like, what only this side has. `None` where there is none.
    pub values: Sides<Option<String>>,
}

/// A limit of the device as both runs measured it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peak {
    /// Its name.
    pub what: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The values.
    pub values: Sides<f64>,
}

impl Peak {
    /// The other run's over the baseline's.
    pub fn ratio(&self) -> f64 {
        self.values.other / self.values.baseline
    }
}

/// The fields that differ, the weightiest first.
pub fn differences(baseline: &Run, other: &Run) -> Vec<Difference> {
    let [a, b] = [baseline, other].map(|run| leaves(&run.environment));
    let mut told: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for (prefix, label) in COMPARED {
        let inside = |path: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        for path in a.iter().chain(&b).map(|(path, _)| path).filter(|path| inside(path)) {
            if !told.insert(path.clone()) {
                continue;
            }
            let value = |leaves: &[(String, Value)]| leaves.iter().find(|(p, _)| p == path).map(|(_, value)| value.clone());
            let (va, vb) = (value(&a), value(&b));
            if va != vb {
                let rest = path[prefix.len()..].trim_start_matches('.');
                let what = if rest.is_empty() { label.to_owned() } else { format!("{label} {}", rest.replace(['_', '.'], " ")) };
                found.push(Difference {
                    what,
                    values: Sides { baseline: text(va.as_ref(), vb.as_ref()), other: text(vb.as_ref(), va.as_ref()) },
                });
            }
        }
    }
    found
}

/// The leaves of the file's tree with their paths; lists are leaves.
fn leaves(environment: &Environment) -> Vec<(String, Value)> {
    fn walk(path: &str, value: Value, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    walk(&if path.is_empty() { name } else { format!("{path}.{name}") }, value, found);
                }
            }
            Value::Null => {}
            value => found.push((path.to_owned(), value)),
        }
    }
    let mut found = Vec::new();
    // Its fields are plain data, of which there is always a JSON form.
    walk("", serde_json::to_value(environment).unwrap_or_default(), &mut found);
    found
}

/// A value as text; of two lists of words or entries what only the first has.
fn text(value: Option<&Value>, beside: Option<&Value>) -> Option<String> {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            fields.values().map(|field| field.as_str().map_or_else(|| field.to_string(), str::to_owned)).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    Some(match (value?, beside) {
        (Value::Array(entries), Some(Value::Array(others))) if !entries.iter().any(Value::is_number) => {
            let own: Vec<String> = entries.iter().filter(|entry| !others.contains(entry)).map(plain).collect();
            if own.is_empty() { format!("none of its own, of {}", entries.len()) } else { format!("only here: {}", own.join(", ")) }
        }
        (Value::Array(entries), _) => entries.iter().map(plain).collect::<Vec<_>>().join(" "),
        (value, _) => plain(value),
    })
}

/// π and β as both runs measured them; none where one did not.
pub fn peaks(baseline: &Run, other: &Run) -> Vec<Peak> {
    let (Some(a), Some(b)) = (&baseline.environment.peaks, &other.environment.peaks) else { return Vec::new() };
    let gigabytes = |rate: &crate::peak::ByteRate| rate.bytes_per_second / 1e9;
    vec![
        Peak {
            what: "π, multiply-adds in f32",
            unit: "GFLOP/s",
            values: Sides { baseline: a.multiply_add_f32.gflops, other: b.multiply_add_f32.gflops },
        },
        Peak {
            what: "β, memory copy",
            unit: "GB/s",
            values: Sides { baseline: gigabytes(&a.memory_copy), other: gigabytes(&b.memory_copy) },
        },
    ]
}
