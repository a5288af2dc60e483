//! From what the formulas predict to what the system says is held, line by line.
//!
//! What the plan asks for comes from closed forms and the allocator's report, never from the resident figures. The runtime's own part
//! (context, pipelines, staging, first dispatch) is what the resident figure grew by at the stages of a life in which no buffer of the case is
//! created or written for the first time, less what the allocator says it took there. So the sum of the lines is a prediction of the resident figure in
//! steady state: what a wrong formula, a misreporting allocator or a leak changes shows in the last line.

use super::{Life, Reading, Stage};
use crate::device::Source;
use crate::ledger::Ledger;
use crate::units::Grouped;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a line of a bridge says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// Bytes that are held; negative where they are held less than a line above says.
    Held,
    /// The sum of the held lines so far: a level.
    Level,
    /// What the source of the resident figure says.
    Resident,
    /// Resident less the sum of all held lines.
    Unexplained,
    /// The most while the case executed; no part of the sum.
    Peak,
}

impl LineKind {
    /// The kind as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Level => "level",
            Self::Resident => "resident",
            Self::Unexplained => "unexplained",
            Self::Peak => "peak",
        }
    }
}

impl fmt::Display for LineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A line of a bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// What the bytes are to the sum.
    pub kind: LineKind,
    /// What they are.
    pub name: String,
    /// How many.
    pub bytes: i64,
    /// Where the figure is from.
    pub how: String,
}

impl Line {
    /// How the line stands in the sum: `+`, `-`, `=`, or nothing.
    pub const fn sign(&self) -> &'static str {
        match self.kind {
            LineKind::Held if self.bytes < 0 => "-",
            LineKind::Held => "+",
            LineKind::Level | LineKind::Resident | LineKind::Unexplained => "=",
            LineKind::Peak => "",
        }
    }

    /// The bytes as they stand beside the sign.
    pub fn amount(&self) -> String {
        if self.kind == LineKind::Held { Grouped(self.bytes.unsigned_abs()).to_string() } else { super::signed_text(self.bytes) }
    }
}

/// The bridge of a life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    /// Its lines, from predicted to unexplained.
    pub lines: Vec<Line>,
}

/// The largest unexplained rest that counts as closed, as a share of resident: 1 % where a process is the device, 2 % on a GPU.
const CLOSED_SHARE: [f64; 2] = [0.01, 0.02];
/// The same in bytes; either will do where the process is the device.
const CLOSED_BYTES: i64 = 1 << 20;

/// New blocks of less than this tell too little by what the process grew.
const LEAST_BLOCK: i64 = 1 << 20;

impl Bridge {
    /// The bridge of a life; none where its steady state was not read.
    pub fn of(life: &Life) -> Option<Self> {
        let steady = life.at(Stage::Steady)?;
        let resident = steady.resident?.signed();
        let mut bridge = Builder { lines: Vec::new(), sum: 0 };
        bridge.plan(life);
        let plan = bridge.sum;
        let touched = !reserved_is_resident(life);
        if let Some(report) = &steady.allocator {
            let (allocated, own) = (report.allocated().signed(), report.own().signed());
            bridge.held("harness: timestamps, readback", own - plan, "allocator report: this program's buffers, the case's excepted");
            bridge.held("wgpu: its own buffers", allocated - own, "allocator report: all other allocations");
            bridge.held("pool slack", report.reserved().signed() - allocated, "allocator report: blocks less allocations");
            bridge.level("reserved");
            if touched {
                let slack = report.reserved().signed() - allocated;
                bridge.held(
                    "pool slack never written",
                    -slack,
                    "pages are handed out at the first touch, and nobody writes between allocations",
                );
            }
        }
        for (name, from, to) in [
            ("context: instance, adapter, device", None, Stage::Device),
            ("clock and the first dispatch of all", Some(Stage::Device), Stage::Clock),
            ("pipelines", Some(Stage::Clock), Stage::AllPipelines),
            ("staging: what uploads left behind", Some(Stage::Filled), Stage::Staged),
            ("first dispatch of the case", Some(Stage::Staged), Stage::FirstDispatch),
        ] {
            let before = match from {
                Some(stage) => life.at(stage),
                None => life.readings.iter().find(|reading| reading.resident.is_some()),
            };
            if let (Some(before), Some(after)) = (before, life.at(to))
                && let (Some(b), Some(a)) = (besides_pool(before, touched), besides_pool(after, touched))
            {
                bridge.held(
                    name,
                    a - b,
                    &format!("resident at {} less resident at {}, less what the pool grew by", after.stage, before.stage),
                );
            }
        }
        if let Some((first, base)) = life.readings.iter().find_map(|reading| Some((reading.stage, reading.resident?))) {
            bridge.held("process", base.signed(), &format!("resident at {first}, before anything of the above"));
        }
        bridge.level("explained");
        let explained = bridge.sum;
        bridge.push(LineKind::Resident, "resident", resident, &format!("{} in steady state", life.source));
        bridge.push(LineKind::Unexplained, "unexplained", resident - explained, "resident less explained");
        if let Some(peak) = life.peak {
            bridge.push(
                LineKind::Peak,
                "peak while executing, polled",
                peak.signed(),
                &format!("{}, looked at about every millisecond", life.source),
            );
            bridge.push(LineKind::Peak, "peak while executing, accounted", explained, "the sum above: executions allocate nothing");
        }
        Some(Self { lines: bridge.lines })
    }

    /// Bytes of the first line of a kind.
    fn bytes(&self, kind: LineKind) -> i64 {
        self.lines.iter().find(|line| line.kind == kind).map_or(0, |line| line.bytes)
    }

    /// What the system says is held and no line explains; negative where the lines explain more than is held.
    pub fn unexplained(&self) -> i64 {
        self.bytes(LineKind::Unexplained)
    }

    /// What the system says is held.
    pub fn resident(&self) -> i64 {
        self.bytes(LineKind::Resident)
    }

    /// The unexplained rest as a share of resident.
    pub fn unexplained_share(&self) -> f64 {
        self.unexplained() as f64 / self.resident().max(1) as f64
    }

    /// Whether the bridge closes: the rest is under 1 % of resident or 1 MiB where the process is the device, under 2 % on a GPU.
    pub fn closes(&self, source: Source) -> bool {
        let share = self.unexplained_share().abs();
        if source.is_process() { share < CLOSED_SHARE[0] || self.unexplained().abs() < CLOSED_BYTES } else { share < CLOSED_SHARE[1] }
    }
}

/// Whether the allocator's blocks are resident as soon as they are reserved: always on a GPU; where the process is the device, some drivers
/// (`SwiftShader`) write a block when they make it, and others (Mesa's llvmpipe) leave it to the first touch. The life itself tells: by what it
/// grew when the case's buffers were created, or, where these fitted the blocks there were, by what it did not grow when they were filled.
fn reserved_is_resident(life: &Life) -> bool {
    if !life.source.is_process() {
        return true;
    }
    let stage = |stage| {
        let reading = life.at(stage)?;
        let report = reading.allocator.as_ref()?;
        Some((reading.resident?.signed(), report.allocated().signed(), report.reserved().signed()))
    };
    let (Some(before), Some(created), Some(filled)) = (stage(Stage::AllPipelines), stage(Stage::Buffers), stage(Stage::Filled)) else {
        return false;
    };
    let (allocated, reserved) = (created.1 - before.1, created.2 - before.2);
    if reserved >= LEAST_BLOCK { 2 * (created.0 - before.0) > reserved } else { 2 * (filled.0 - created.0) < allocated }
}

/// Resident bytes without those of the allocator's blocks, as far as they count.
fn besides_pool(reading: &Reading, touched: bool) -> Option<i64> {
    let pool = reading.allocator.as_ref().map_or(0, |report| if touched { report.allocated() } else { report.reserved() }.signed());
    Some(reading.resident?.signed() - pool)
}

struct Builder {
    lines: Vec<Line>,
    /// Of the held lines.
    sum: i64,
}

impl Builder {
    fn push(&mut self, kind: LineKind, name: &str, bytes: i64, how: &str) {
        self.lines.push(Line { kind, name: name.into(), bytes, how: how.into() });
    }

    fn held(&mut self, name: &str, bytes: i64, how: &str) {
        self.sum += bytes;
        self.push(LineKind::Held, name, bytes, how);
    }

    fn level(&mut self, name: &str) {
        self.push(LineKind::Level, name, self.sum, "sum of the lines above");
    }

    /// The case's buffers, from predicted to allocated.
    fn plan(&mut self, life: &Life) {
        let runtime = |ledger| ledger == Ledger::Runtime;
        for (ledger, name) in [(Ledger::Parameter, "parameters"), (Ledger::Activation, "activations"), (Ledger::Computation, "computation")]
        {
            let predicted = life.levels.iter().filter(|levels| levels.ledger == ledger).map(|levels| levels.predicted.signed()).sum();
            self.held(name, predicted, "closed form");
        }
        let shared = life.shared.signed();
        if shared > 0 {
            self.held("workspaces that share memory", -shared, "plan: those whose steps do not overlap");
        }
        self.level("predicted");
        let uniforms = life.levels.iter().filter(|levels| runtime(levels.ledger)).map(|levels| levels.requested.signed()).sum();
        self.held("uniforms: what the steps are told", uniforms, "plan");
        let rounding =
            life.levels.iter().filter(|levels| !runtime(levels.ledger)).map(|l| l.requested.signed() - l.predicted.signed()).sum::<i64>();
        self.held("rounding to whole words", rounding + shared, "sizes given to the device less predicted");
        self.level("requested");
        let alignment = life.levels.iter().map(|l| l.allocated.map(|allocated| allocated.signed() - l.requested.signed())).sum();
        if let Some(alignment) = alignment {
            self.held("alignment", alignment, "allocator report: the case's buffers less requested");
            self.level("allocated");
        }
    }
}
