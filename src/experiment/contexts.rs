//! `contexts`: two models at once, as two plans on one device, two devices in one process, and two processes, against one alone.

use super::held::{HELD, growth, plan, run as load, size, told};
use super::{Column, Conclusion, Experiment, ExperimentError, Held, Part, Rows, Site};
use crate::conv::Conv;
use crate::device::{Gpu, Instance, Loaded, Meter, Source};
use crate::plan::Role;
use serde::{Deserialize, Serialize};
use std::fmt;

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "contexts",
    question: "do two models hold more than twice one, and what do they share?",
    options: &[],
    columns: &[
        &[
            Column { name: "arrangement", meaning: "one, two_plans (on one device), two_devices (in one process) or two_processes" },
            Column { name: "process", meaning: "1, or 2 for the second of two processes, which runs while the first holds what it has" },
            Column { name: "devices", meaning: "devices open in the process" },
            Column { name: "plans", meaning: "plans loaded there, each run once" },
            Column { name: "workspace_bytes", meaning: "their workspaces as handed out, or as requested where nobody tells" },
            Column { name: "start_bytes", meaning: "resident before anything was done with a GPU" },
            Column { name: "context_bytes", meaning: "what resident grew by until every device was open" },
            Column { name: "plans_bytes", meaning: "what it grew by from there until every plan had run: kernels, buffers, staging" },
        ],
        &HELD,
    ],
    parts: |_| Arrangement::ALL.map(Part::Contexts).to_vec(),
};

/// A column matrix of 6.9 MiB.
const CASE: (&str, &str) = ("im2col", "n1c64h56w56_k64r3s3_p1");

/// What is there at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// A plan on a device.
    One,
    /// Two plans on one device.
    TwoPlans,
    /// Two devices in one process with a plan each.
    TwoDevices,
    /// Two processes with a device and a plan each.
    TwoProcesses,
}

impl Arrangement {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::One, Self::TwoPlans, Self::TwoDevices, Self::TwoProcesses];

    /// Devices, and plans on each, of one process.
    const fn counts(self) -> (usize, usize) {
        match self {
            Self::One | Self::TwoProcesses => (1, 1),
            Self::TwoPlans => (1, 2),
            Self::TwoDevices => (2, 1),
        }
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::One => "one",
            Self::TwoPlans => "two plans on one device",
            Self::TwoDevices => "two devices in one process",
            Self::TwoProcesses => "two processes",
        })
    }
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextRow {
    /// What is there at once.
    pub arrangement: Arrangement,
    /// 1 or 2.
    pub process: u64,
    /// Devices open in it.
    pub devices: u64,
    /// Plans loaded in it.
    pub plans: u64,
    /// Their workspaces.
    pub workspace_bytes: u64,
    /// Resident before anything was done with a GPU; none where the source has nothing to tell then, as the following.
    pub start_bytes: Option<u64>,
    /// What resident grew by until every device was open.
    pub context_bytes: Option<i64>,
    /// What it grew by from there until every plan had run.
    pub plans_bytes: Option<i64>,
    /// What is held then.
    #[serde(flatten)]
    pub held: Held,
}

pub(super) fn run(site: &Site<'_>, arrangement: Arrangement) -> Result<Vec<ContextRow>, ExperimentError> {
    let conv: Conv = CASE.1.parse()?;
    let process = Meter::of_process().read();
    let (devices, plans) = arrangement.counts();
    let instance = Instance::default();
    let gpus =
        (0..devices).map(|_| Ok(Gpu::open_without_clock((site.choose)(&instance)?)?)).collect::<Result<Vec<Gpu>, ExperimentError>>()?;
    let meter = gpus.first().map_or_else(Meter::of_process, Gpu::meter);
    // Other sources have nothing to tell before there is an adapter to ask.
    let start = process.filter(|_| meter.source() == Some(Source::ProcessRss)).map(|bytes| bytes.0);
    let opened = meter.read().map(|bytes| bytes.0);
    let mut loaded = Vec::new();
    for gpu in &gpus {
        for _ in 0..plans {
            loaded.push(load(gpu, plan(CASE.0, &conv, &gpu.limits)?)?);
        }
    }
    let all: Vec<&Gpu> = gpus.iter().collect();
    let held = Held::now(&meter, &all);
    let mut rows = vec![ContextRow {
        arrangement,
        process: 1,
        devices: gpus.len() as u64,
        plans: loaded.len() as u64,
        workspace_bytes: loaded.iter().map(workspace).sum(),
        start_bytes: start,
        context_bytes: growth(start, opened),
        plans_bytes: growth(opened, held.resident_bytes),
        held,
    }];
    if arrangement == Arrangement::TwoProcesses {
        let second = (site.beside)(&Part::Contexts(Arrangement::One)).map_err(ExperimentError::Beside)?;
        let Rows::Contexts(second) = second.rows else {
            return Err(ExperimentError::Mixed { expected: EXPERIMENT.name, found: second.rows.experiment().name });
        };
        rows.extend(second.into_iter().map(|row| ContextRow { arrangement, process: 2, ..row }));
    }
    Ok(rows)
}

/// Bytes of a plan's workspaces.
fn workspace(loaded: &Loaded) -> u64 {
    let accounts = loaded.accounts();
    let own = loaded.plan().buffers.iter().zip(&accounts).filter(|(buffer, _)| buffer.role == Role::Workspace);
    own.map(|(_, account)| account.allocated.unwrap_or(account.requested).0).sum()
}

pub(super) fn conclude(rows: &[ContextRow]) -> Conclusion {
    let of = |arrangement| rows.iter().filter(move |row| row.arrangement == arrangement);
    let workspace = |arrangement| of(arrangement).map(|row| row.workspace_bytes).sum::<u64>();
    let resident = |arrangement| of(arrangement).map(|row| row.held.resident_bytes).sum::<Option<u64>>();
    let one = workspace(Arrangement::One);
    let two = || Arrangement::ALL.into_iter().skip(1).filter(|arrangement| of(*arrangement).next().is_some());
    let (Some(first), false) = (of(Arrangement::One).next(), one == 0) else { return Conclusion::default() };
    let listed: Vec<String> =
        two().map(|arrangement| format!("{arrangement} {:.3} times that", workspace(arrangement) as f64 / one as f64)).collect();
    let more: Vec<String> =
        two().filter(|arrangement| workspace(*arrangement) > 2 * one).map(|arrangement| arrangement.to_string()).collect();
    let more = if more.is_empty() {
        "none of them is more than twice one".to_owned()
    } else {
        format!("more than twice one: {}", more.join(", "))
    };
    let held: Vec<String> = two().map(|arrangement| format!("{arrangement} {}", size(resident(arrangement)))).collect();
    let mut sentences = vec![
        format!("One plan's workspace takes {}; {}: {more}.", size(Some(one)), listed.join(", ")),
        format!("Resident: one {}, {} (pages that processes share count in each).", size(resident(Arrangement::One)), held.join(", ")),
    ];
    let second = of(Arrangement::TwoDevices).next().and_then(|row| row.context_bytes).zip(first.context_bytes);
    if let Some((both, alone)) = second {
        sentences.push(format!(
            "Opening the second device of a process took {}, the first {}: the difference, {}, is what devices of one process share.",
            told(Some(both - alone)),
            told(Some(alone)),
            told(Some(2 * alone - both))
        ));
    }
    Conclusion::from(sentences)
}
