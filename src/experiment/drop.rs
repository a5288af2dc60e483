//! `drop`: what comes back when buffers, a plan and the device itself are dropped, and whether doing it all again takes more.

use super::held::{HELD, buffer, growth, plan, run as load, settle, told};
use super::{Column, Conclusion, Experiment, ExperimentError, Held, Part, Site};
use crate::conv::Conv;
use crate::device::{Gpu, Instance, Meter, Source};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "drop",
    question: "does memory come back when buffers, a plan and the device are dropped?",
    options: &[],
    columns: &[
        &[
            Column { name: "round", meaning: "from 1: the same is done six times in one process" },
            Column {
                name: "moment",
                meaning: "start, opened (after a submission of nothing), buffers_held, buffers_dropped, plan_held, plan_dropped or device_dropped, \
                    in this order",
            },
        ],
        &HELD,
    ],
    parts: |_| vec![Part::Drop],
};

const ROUNDS: u64 = 6;
/// Buffers of a round, and the size of each.
const BUFFERS: (usize, Bytes) = (8, Bytes(2 << 20));
/// A column matrix of 6.9 MiB.
const CASE: (&str, &str) = ("im2col", "n1c64h56w56_k64r3s3_p1");

/// A moment of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before the device is opened.
    Start,
    /// The device is open and has settled.
    Opened,
    /// Buffers are created and written.
    BuffersHeld,
    /// They are dropped.
    BuffersDropped,
    /// A plan is loaded and has run.
    PlanHeld,
    /// It is dropped; its kernels stay compiled for the next one.
    PlanDropped,
    /// The device is dropped, and the instance.
    DeviceDropped,
}

/// What is held at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRow {
    /// From 1.
    pub round: u64,
    /// When.
    pub moment: Moment,
    /// What is held; of the allocator nothing while there is no device to ask.
    #[serde(flatten)]
    pub held: Held,
}

pub(super) fn run(site: &Site<'_>) -> Result<Vec<DropRow>, ExperimentError> {
    let conv: Conv = CASE.1.parse()?;
    let process = Meter::of_process();
    let mut rows = Vec::new();
    let mut meter: Option<Meter> = None;
    for round in 1..=ROUNDS {
        let mut note = |moment, meter: &Meter, gpus: &[&Gpu]| rows.push(DropRow { round, moment, held: Held::now(meter, gpus) });
        // In the first round nobody knows the adapter's own meter yet.
        note(Moment::Start, meter.as_ref().unwrap_or(&process), &[]);
        let instance = Instance::default();
        let gpu = Gpu::open_without_clock((site.choose)(&instance)?)?;
        let own = meter.get_or_insert_with(|| gpu.meter());
        settle(&gpu)?;
        note(Moment::Opened, own, &[&gpu]);
        let buffers = (0..BUFFERS.0).map(|_| buffer(&gpu, BUFFERS.1)).collect::<Result<Vec<_>, _>>()?;
        buffers.iter().try_for_each(crate::device::Loaded::poison)?;
        note(Moment::BuffersHeld, own, &[&gpu]);
        drop(buffers);
        note(Moment::BuffersDropped, own, &[&gpu]);
        let loaded = load(&gpu, plan(CASE.0, &conv, &gpu.limits)?)?;
        note(Moment::PlanHeld, own, &[&gpu]);
        drop(loaded);
        note(Moment::PlanDropped, own, &[&gpu]);
        drop(gpu);
        drop(instance);
        note(Moment::DeviceDropped, own, &[]);
    }
    if meter.and_then(|meter| meter.source()) != Some(Source::ProcessRss)
        && let Some(first) = rows.first_mut()
    {
        first.held.resident_bytes = None;
    }
    Ok(rows)
}

pub(super) fn conclude(rows: &[DropRow]) -> Conclusion {
    let at = |round, moment| rows.iter().find(|row| row.round == round && row.moment == moment).map(|row| row.held).unwrap_or_default();
    let pair = |before: Held, held: Held, after: Held, read: fn(&Held) -> Option<u64>| {
        format!("{} of {}", told(growth(read(&after), read(&held))), told(growth(read(&before), read(&held))))
    };
    let came_back = |before, held, after| {
        let (before, held, after) = (at(1, before), at(1, held), at(1, after));
        let resident = pair(before, held, after, |held| held.resident_bytes);
        let allocated = pair(before, held, after, |held| held.allocated_bytes);
        let reserved = pair(before, held, after, |held| held.reserved_bytes);
        format!("{resident} resident, {allocated} allocated and {reserved} reserved")
    };
    let left = |round| told(growth(at(round, Moment::Start).resident_bytes, at(round, Moment::DeviceDropped).resident_bytes));
    let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
    let again: Vec<String> = (2..=rounds).map(left).collect();
    vec![
        format!(
            "Dropping the buffers gave back {}; dropping the plan {}.",
            came_back(Moment::Opened, Moment::BuffersHeld, Moment::BuffersDropped),
            came_back(Moment::BuffersDropped, Moment::PlanHeld, Moment::PlanDropped)
        ),
        format!(
            "With the device dropped as well, the process held {} more than before it was opened; doing all of it again added {}.",
            left(1),
            if again.is_empty() { "-".to_owned() } else { again.join(", then ") }
        ),
    ]
    .into()
}
