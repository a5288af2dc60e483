//! `account.csv` and `runtime.csv`: the bridge and the stages of a run's account.

use super::{Bridge, FiledError, Life, Line, LineKind, Stage};
use crate::algorithm::Variant;
use crate::device::Source;
use crate::record::{self, CaseKey, replace};
use crate::units::{Bytes, Grouped};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The bridge's file.
pub const FILE: &str = "account.csv";
/// The file of the stages.
pub const RUNTIME_FILE: &str = "runtime.csv";

/// A row of `account.csv`: a line of a bridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccountRow {
    /// Canonical key of the problem.
    pub conv: String,
    /// Type of its elements.
    pub dtype: String,
    /// Algorithm's id.
    pub algorithm: String,
    /// Setting of its knob.
    pub variant: String,
    /// Place in the bridge, from 0.
    pub line: u64,
    /// What the bytes are to the sum.
    pub kind: LineKind,
    /// What they are.
    pub name: String,
    /// How many.
    pub bytes: i64,
    /// Where the figure is from.
    pub how: String,
}

impl AccountRow {
    fn case(&self) -> [&str; 4] {
        [&self.conv, &self.dtype, &self.algorithm, &self.variant]
    }
}

impl RuntimeRow {
    fn case(&self) -> [&str; 4] {
        [&self.conv, &self.dtype, &self.algorithm, &self.variant]
    }
}

/// A row of `runtime.csv`: what is held at a stage. Empty where nobody tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuntimeRow {
    /// Canonical key of the problem.
    pub conv: String,
    /// Type of its elements.
    pub dtype: String,
    /// Algorithm's id.
    pub algorithm: String,
    /// Setting of its knob.
    pub variant: String,
    /// The stage.
    pub stage: Stage,
    /// What the source says the process holds.
    pub resident_bytes: Option<u64>,
    /// Growth since the stage before.
    pub growth_bytes: Option<i64>,
    /// The source.
    pub source: Source,
    /// Resident set of the process on the host.
    pub host_resident_bytes: Option<u64>,
    /// Allocations the allocator has handed out.
    pub allocations: Option<u64>,
    /// Their bytes.
    pub allocated_bytes: Option<u64>,
    /// Of these, bytes of this program's own buffers.
    pub own_allocated_bytes: Option<u64>,
    /// Blocks the allocator holds.
    pub blocks: Option<u64>,
    /// Their bytes.
    pub reserved_bytes: Option<u64>,
}

/// What the files of an account hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Filed {
    /// The bridge.
    pub account: Vec<AccountRow>,
    /// The stages.
    pub runtime: Vec<RuntimeRow>,
}

impl Filed {
    /// The rows of a life and its bridge.
    pub fn of(life: &Life, bridge: &Bridge) -> Self {
        let CaseKey { conv, algorithm, variant, .. } = &life.case;
        let account = (0_u64..).zip(&bridge.lines).map(|(line, said)| AccountRow {
            conv: conv.to_string(),
            dtype: conv.element().to_string(),
            algorithm: algorithm.clone(),
            variant: variant.to_string(),
            line,
            kind: said.kind,
            name: said.name.clone(),
            bytes: said.bytes,
            how: said.how.clone(),
        });
        Self { account: account.collect(), runtime: runtime_rows(life) }
    }

    /// The case, as `im2col:strip=8 of n1c64h56w56_k64r3s3_p1`; empty without rows.
    pub fn case(&self) -> String {
        let Some(row) = self.account.first() else { return String::new() };
        let variant: Variant = row.variant.parse().unwrap_or_default();
        format!("{} of {}", variant.qualify(&row.algorithm), row.conv)
    }

    /// Who told what is resident; none without rows.
    pub fn source(&self) -> Option<Source> {
        self.runtime.first().map(|row| row.source)
    }

    /// The bridge.
    pub fn bridge(&self) -> Bridge {
        let line = |row: &AccountRow| Line { kind: row.kind, name: row.name.clone(), bytes: row.bytes, how: row.how.clone() };
        Bridge { lines: self.account.iter().map(line).collect() }
    }

    /// Whether the bridge closes, in a sentence.
    pub fn verdict(&self) -> String {
        let bridge = self.bridge();
        let closed = self.source().is_some_and(|source| bridge.closes(source));
        format!(
            "{}: of {} B resident, {} B ({:.2} %) are explained by no line",
            if closed { "closed" } else { "not closed" },
            signed_text(bridge.resident()),
            signed_text(bridge.unexplained()),
            // Without the sign of a zero.
            100.0 * bridge.unexplained_share() + 0.0
        )
    }

    /// `account.csv`.
    pub fn account_csv(&self) -> Vec<u8> {
        lines(&self.account)
    }

    /// Writes both files into a folder, each whole or not at all.
    ///
    /// # Errors
    /// [`record::RecordError`] where the system refuses.
    pub fn write(&self, folder: &Path) -> Result<(), record::RecordError> {
        // A folder with the first file has an account: it comes last.
        replace(&folder.join(RUNTIME_FILE), &lines(&self.runtime))?;
        replace(&folder.join(FILE), &self.account_csv())
    }

    /// Reads both files; none where the folder has no account.
    ///
    /// # Errors
    /// [`FiledError`] for a file that cannot be read or is not as written.
    pub fn read(folder: &Path) -> Result<Option<Self>, FiledError> {
        if !folder.join(FILE).exists() {
            return Ok(None);
        }
        let (account, runtime) = (folder.join(FILE), folder.join(RUNTIME_FILE));
        let filed = Self { account: read(&account)?, runtime: read(&runtime)? };
        let wrong = |path: &Path| {
            let path = path.to_owned();
            move |reason: String| FiledError { path, reason }
        };
        filed.check_account().map_err(wrong(&account))?;
        filed.check_runtime().map_err(wrong(&runtime))?;
        Ok(Some(filed))
    }

    /// The lines are numbered, of one case, and add up.
    fn check_account(&self) -> Result<(), String> {
        let (mut sum, mut resident, mut unexplained) = (0_i64, None, None);
        for (place, row) in (0_u64..).zip(&self.account) {
            if row.line != place {
                return Err(format!("line {} where line {place} is due", row.line));
            }
            if row.case() != self.account[0].case() {
                return Err(format!("line {place} is of another case"));
            }
            let known = match row.kind {
                LineKind::Held => {
                    sum = sum.checked_add(row.bytes).ok_or_else(|| format!("line {place}: the sum does not fit 64 bits"))?;
                    continue;
                }
                LineKind::Level => Some(sum),
                LineKind::Resident => {
                    resident = Some(row.bytes);
                    continue;
                }
                LineKind::Unexplained => {
                    unexplained = resident.and_then(|resident: i64| resident.checked_sub(sum));
                    unexplained
                }
                LineKind::Peak => continue,
            };
            if known != Some(row.bytes) {
                return Err(format!("line {place}, {}: {} B is not the sum of the lines before", row.name, row.bytes));
            }
        }
        if unexplained.is_none() { Err("no bridge from predicted to resident and unexplained".into()) } else { Ok(()) }
    }

    /// The stages are those of one life, in order, of the account's case.
    fn check_runtime(&self) -> Result<(), String> {
        let Some(first) = self.runtime.first() else { return Err("no stage".into()) };
        let case = self.account.first().map(AccountRow::case);
        for rows in self.runtime.windows(2) {
            if rows[0].stage >= rows[1].stage {
                return Err(format!("stage {} after {}", rows[1].stage, rows[0].stage));
            }
        }
        match self.runtime.iter().find(|row| Some(row.case()) != case || row.source != first.source) {
            Some(row) => Err(format!("stage {} is of another case or source", row.stage)),
            None => Ok(()),
        }
    }
}

/// The stages of a life as rows.
fn runtime_rows(life: &Life) -> Vec<RuntimeRow> {
    let CaseKey { conv, algorithm, variant, .. } = &life.case;
    let mut before: Option<Bytes> = None;
    let row = |reading: &super::Reading| {
        let growth = reading.resident.zip(before).map(|(now, before)| now.signed() - before.signed());
        before = reading.resident.or(before);
        let allocator = reading.allocator.as_ref();
        RuntimeRow {
            conv: conv.to_string(),
            dtype: conv.element().to_string(),
            algorithm: algorithm.clone(),
            variant: variant.to_string(),
            stage: reading.stage,
            resident_bytes: reading.resident.map(|bytes| bytes.0),
            growth_bytes: growth,
            source: life.source,
            host_resident_bytes: reading.host.map(|bytes| bytes.0),
            allocations: allocator.map(|report| report.allocations.len() as u64),
            allocated_bytes: allocator.map(|report| report.allocated().0),
            own_allocated_bytes: allocator.map(|report| report.own().0),
            blocks: allocator.map(|report| report.blocks.len() as u64),
            reserved_bytes: allocator.map(|report| report.reserved().0),
        }
    };
    life.readings.iter().map(row).collect()
}

/// Rows as CSV with a header. Keys, ids and our own texts begin with letters: none can run in a spreadsheet.
fn lines(rows: &[impl Serialize]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        // Neither a buffer in memory nor these types can fail to be written.
        let _ = writer.serialize(row);
    }
    writer.into_inner().unwrap_or_default()
}

fn read<R: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<R>, FiledError> {
    let wrong = |error: csv::Error| FiledError { path: path.to_owned(), reason: error.to_string() };
    let mut reader = csv::Reader::from_path(path).map_err(wrong)?;
    reader.deserialize().collect::<Result<_, _>>().map_err(wrong)
}

/// A signed number with thousands separators.
pub fn signed_text(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", Grouped(bytes.unsigned_abs()))
}
