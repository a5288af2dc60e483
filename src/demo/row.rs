//! `demo-<name>.csv`: the cases of a demo with their places in its sweeps.

use super::{DemoError, Point};
use crate::record::{Measurement, guarded};

/// A case and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What is varied.
    pub sweep: &'static str,
    /// Its value here.
    pub value: u64,
    /// What was measured.
    pub measurement: Measurement,
}

impl Row {
    /// Algorithm and variant.
    pub fn name(&self) -> String {
        self.measurement.case.variant.qualify(&self.measurement.case.algorithm)
    }

    /// Bytes of the input.
    pub fn input_bytes(&self) -> f64 {
        let conv = &self.measurement.case.conv;
        (conv.input_elements() * conv.element().bytes()) as f64
    }

    /// Workspace by closed form over the input.
    pub fn blow_up(&self) -> Option<f64> {
        Some(self.measurement.computation_bytes? as f64 / self.input_bytes()).filter(|ratio| ratio.is_finite())
    }
}

/// The rows of a run's measurements that are of the points, in the order of the points.
pub fn rows(points: &[Point], measurements: &[Measurement]) -> Vec<Row> {
    let of = |point: &Point| {
        let layer = point.layer();
        let own = measurements.iter().filter(move |row| row.case.layer == layer);
        own.map(|row| Row { sweep: point.sweep, value: point.value, measurement: row.clone() }).collect::<Vec<_>>()
    };
    points.iter().flat_map(of).collect()
}

/// The header of the file.
pub const COLUMNS: [&str; 18] = [
    "sweep",
    "value",
    "conv",
    "dtype",
    "algorithm",
    "variant",
    "status",
    "reason",
    "reduction",
    "input_bytes",
    "parameter_bytes",
    "activation_bytes",
    "computation_bytes",
    "computation_over_input",
    "time_median_ns",
    "time_over_output_ns",
    "error_rel_l2",
    "tolerance",
];

/// The rows as the text of the file; what was not measured is an empty cell.
///
/// # Errors
/// [`DemoError::Csv`] never in practice: the text is made in memory.
pub fn to_csv(rows: &[Row]) -> Result<String, DemoError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    let number = |number: Option<f64>| number.filter(|n| n.is_finite()).map_or_else(String::new, |n| format!("{n:?}"));
    for row in rows {
        let m = &row.measurement;
        let conv = &m.case.conv;
        writer.write_record([
            row.sweep.to_owned(),
            row.value.to_string(),
            conv.to_string(),
            conv.element().to_string(),
            m.case.algorithm.clone(),
            m.case.variant.to_string(),
            m.status.name().to_owned(),
            guarded(&m.reason),
            conv.reduction().to_string(),
            (conv.input_elements() * conv.element().bytes()).to_string(),
            m.parameter_bytes.to_string(),
            m.activation_bytes.to_string(),
            m.computation_bytes.map_or_else(String::new, |bytes| bytes.to_string()),
            number(row.blow_up()),
            number(m.time_median_ns),
            number(m.time_median_ns.map(|time| time / conv.output_elements() as f64)),
            number(m.error_rel_l2),
            number(m.tolerance),
        ])?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
