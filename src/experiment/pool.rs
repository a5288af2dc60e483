//! `pool`: where the allocator's blocks grow as buffers are created, and whether they go as the buffers do.

use super::held::{HELD, buffer, growth, settle, size, told};
use super::settings::wrong;
use super::{Column, Conclusion, Experiment, ExperimentError, Held, Part, Site};
use crate::device::{Gpu, Instance};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "pool",
    question: "where do the allocator's blocks grow, and are they given back?",
    options: &["size", "count"],
    columns: &[
        &[
            Column { name: "event", meaning: "opened (after a submission of nothing), created or dropped" },
            Column { name: "buffers", meaning: "buffers that are held after it; they are dropped in the order they were created" },
            Column { name: "size_bytes", meaning: "size of each; every one is written from end to end" },
        ],
        &HELD,
    ],
    parts: |settings| vec![Part::Pool { size: settings.size, count: settings.count }],
};

/// What has happened to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolEvent {
    /// None yet: the device is open and has settled.
    Opened,
    /// One more was created and written.
    Created,
    /// The oldest was dropped.
    Dropped,
}

/// What is held after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolRow {
    /// What has happened.
    pub event: PoolEvent,
    /// Buffers that are held.
    pub buffers: u64,
    /// Size of each.
    pub size_bytes: u64,
    /// What is held.
    #[serde(flatten)]
    pub held: Held,
}

pub(super) fn run(site: &Site<'_>, each: Bytes, count: u64) -> Result<Vec<PoolRow>, ExperimentError> {
    let gpu = Gpu::open_without_clock((site.choose)(&Instance::default())?)?;
    let most = gpu.limits.max_buffer_bytes;
    if each.0.next_multiple_of(4) > most {
        return Err(wrong("size", each.to_string(), format!("the device's buffers have at most {}", Bytes(most))));
    }
    settle(&gpu)?;
    let meter = gpu.meter();
    let row = |event, buffers| PoolRow { event, buffers, size_bytes: each.0, held: Held::now(&meter, &[&gpu]) };
    let mut rows = vec![row(PoolEvent::Opened, 0)];
    let mut buffers = std::collections::VecDeque::new();
    for held in 1..=count {
        let created = buffer(&gpu, each)?;
        created.poison()?;
        buffers.push_back(created);
        rows.push(row(PoolEvent::Created, held));
    }
    for held in (0..count).rev() {
        buffers.pop_front();
        rows.push(row(PoolEvent::Dropped, held));
    }
    Ok(rows)
}

pub(super) fn conclude(rows: &[PoolRow]) -> Conclusion {
    let changes: Vec<(&PoolRow, i64)> = rows
        .windows(2)
        .filter_map(|pair| Some((&pair[1], growth(pair[0].held.reserved_bytes, pair[1].held.reserved_bytes)?)))
        .filter(|(_, change)| *change != 0)
        .collect();
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Conclusion::default() };
    let Some(most) = rows.iter().filter_map(|row| row.held.reserved_bytes).max() else {
        return vec!["The allocator does not tell what it reserves, so nothing can be said of its blocks.".to_owned()].into();
    };
    let told_of = |event: PoolEvent| {
        let of_event: Vec<String> = changes
            .iter()
            .filter(|(row, _)| row.event == event)
            .map(|(row, change)| format!("{} ({})", row.buffers, told(Some(*change))))
            .collect();
        if of_event.is_empty() { "never".to_owned() } else { format!("at {}", of_event.join(", ")) }
    };
    let full = rows.iter().rev().find(|row| row.event == PoolEvent::Created);
    let slack = full.and_then(|row| growth(row.held.allocated_bytes, row.held.reserved_bytes));
    vec![
        format!(
            "With buffers of {:#} what is reserved changed, by the number of buffers held, {} as they were created and {} as they were dropped.",
            Bytes(first.size_bytes),
            told_of(PoolEvent::Created),
            told_of(PoolEvent::Dropped)
        ),
        format!(
            "Of {:#} reserved at most (all buffers held: {} of it handed out to none) {} stayed when every buffer was gone; resident was {} above its start.",
            Bytes(most),
            told(slack),
            size(last.held.reserved_bytes),
            told(growth(first.held.resident_bytes, last.held.resident_bytes))
        ),
    ]
    .into()
}
