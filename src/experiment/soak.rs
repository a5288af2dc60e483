//! `soak`: whether anything grows while one convolution runs thousands of times.

use super::held::{HELD, plan, run as load, told};
use super::{Column, Conclusion, Experiment, ExperimentError, Held, Part, Site, Trend, Verdict};
use crate::conv::Conv;
use crate::device::{Gpu, Instance};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "soak",
    question: "does anything grow over thousands of executions?",
    options: &["executions"],
    columns: &[&[Column { name: "executions", meaning: "executions so far, each submitted and waited for by itself" }], &HELD],
    parts: |settings| vec![Part::Soak { executions: settings.executions }],
};

const CASE: (&str, &str) = ("im2col", "n1c4h8w8_k4r3s3_p1");
/// Readings over the whole, beside the one before the first execution.
const READINGS: u64 = 100;
/// What a resident set may rise by: 16 pages of 4 KiB, which a heap or a stack that settles takes.
const FLOOR: u64 = 16 << 12;

/// The name of a figure, how it is read, and what it may rise by.
type Figure = (&'static str, fn(&Held) -> Option<u64>, u64);

/// What is held after some executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakRow {
    /// How many.
    pub executions: u64,
    /// What is held.
    #[serde(flatten)]
    pub held: Held,
}

pub(super) fn run(site: &Site<'_>, executions: u64) -> Result<Vec<SoakRow>, ExperimentError> {
    let conv: Conv = CASE.1.parse()?;
    // With the clock, as samples are taken.
    let gpu = Gpu::open((site.choose)(&Instance::default())?)?;
    let loaded = load(&gpu, plan(CASE.0, &conv, &gpu.limits)?)?;
    let meter = gpu.meter();
    let clock = loaded.clock().clock;
    let every = executions.div_ceil(READINGS);
    // All of it now, so that keeping the readings does not show in them.
    let mut rows = Vec::with_capacity(usize::try_from(executions / every + 1).unwrap_or(0));
    rows.push(SoakRow { executions: 0, held: Held::now(&meter, &[&gpu]) });
    for done in 1..=executions {
        loaded.execute(1, clock)?;
        if done % every == 0 {
            rows.push(SoakRow { executions: done, held: Held::now(&meter, &[&gpu]) });
        }
    }
    Ok(rows)
}

pub(super) fn conclude(rows: &[SoakRow]) -> Conclusion {
    let figures: [Figure; 3] = [
        ("resident", |held| held.resident_bytes, FLOOR),
        ("allocated", |held| held.allocated_bytes, 0),
        ("reserved", |held| held.reserved_bytes, 0),
    ];
    let executions = rows.last().map_or(0, |row| row.executions);
    let mut grows = false;
    let parts = figures.map(|(name, read, floor)| {
        let readings: Option<Vec<u64>> = rows.iter().map(|row| read(&row.held)).collect();
        match readings.and_then(|readings| Trend::of(&readings, floor)) {
            None => format!("nobody tells enough of {name}"),
            Some(Trend { verdict, rise, bound }) => {
                grows |= verdict == Verdict::Grows;
                format!("{name} {verdict} (rose by {} where noise may be {:#})", told(Some(rise)), Bytes(bound))
            }
        }
    });
    let sentence = format!("Over {executions} executions, from the first quarter after the warm-up to the last: {}.", parts.join("; "));
    Conclusion { sentences: vec![sentence], grows }
}
