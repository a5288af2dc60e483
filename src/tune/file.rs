//! The entry of a device in a tuning file: written with what it rests on, put beside what the file held of other devices.

use super::{Choice, Found, Knob};
use crate::device::Identity;
use crate::plan::{Rule, Tuning, TuningError, TuningFile};
use crate::units::Nanoseconds;
use std::fmt::Write as _;

/// What a search decided on a knob.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The knob.
    pub knob: Knob,
    /// The problems it was tuned on, as people read them.
    pub problems: Vec<String>,
    /// What came out.
    pub found: Found<Choice>,
}

impl Decision {
    /// Whether the winner is another than what was taken before.
    pub fn replaces(&self) -> bool {
        self.winner().is_some() && self.found.before.as_ref().is_none_or(|before| Some(before.candidate) != self.winner())
    }

    /// The choice to write: of a search that had something to compare.
    pub fn winner(&self) -> Option<Choice> {
        self.found.winner.filter(|_| self.found.verified > 1)
    }

    /// What became of it, in a few words.
    pub fn verdict(&self) -> String {
        let tried = self.found.verified;
        let speedup = self.found.speedup.unwrap_or(1.0);
        let times =
            |timed: &super::Timed<Choice>| timed.medians.iter().map(|&ns| Nanoseconds(ns).to_string()).collect::<Vec<_>>().join(", ");
        match (&self.found.before, &self.found.challenger) {
            (Some(before), Some(after)) if self.replaces() => {
                let (before_times, after_times) = (times(before), times(after));
                format!("{speedup:.2}x as fast as {}: {before_times} -> {after_times}; best of {tried}", before.candidate)
            }
            (Some(before), Some(after)) => {
                format!("kept, {}; the best other of {tried}, {}, was {speedup:.2}x as fast", times(before), after.candidate)
            }
            (Some(before), None) => format!("kept, {}; best of {tried}", times(before)),
            (None, _) => format!("the one before does not work here; best of {tried}"),
        }
    }
}

/// Where and how an entry was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance<'a> {
    /// The device.
    pub device: &'a Identity,
    /// When: a date.
    pub date: &'a str,
    /// The command line.
    pub command: &'a str,
}

/// A file that an entry cannot be put into.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The file is no tuning file.
    #[error(transparent)]
    File(#[from] TuningError),
    /// It has an entry for the device.
    #[error("{file} has an entry for '{device}' already: replace it with --force, or name another file with --out")]
    Occupied {
        /// The file.
        file: String,
        /// The device.
        device: String,
    },
    /// Its entries are not tables of their own.
    #[error("{file}: entries not written as [[device]] tables cannot be added to: name another file with --out")]
    Form {
        /// The file.
        file: String,
    },
}

/// A text in TOML's quotes.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A comment of one line, whatever the text.
fn comment(text: &str) -> String {
    format!("# {}\n", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether an entry is that of the device alone: what `--force` replaces.
fn is_own(tuning: &Tuning, device: &Identity) -> bool {
    tuning.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&device.name)) && tuning.driver.is_none()
}

/// The entry of a device as text: what was decided, and behind it what `earlier` held beyond that.
pub fn block(provenance: &Provenance<'_>, decisions: &[Decision], earlier: Option<&Tuning>) -> String {
    let Provenance { device, date, command } = provenance;
    let mut text = comment(&format!("{}: {}, driver {} {}", device.name, device.backend, device.driver, device.driver_info));
    text += &comment(&format!("Tuned on {date} by convledger {}: {command}", env!("CARGO_PKG_VERSION")));
    text += "# Each was verified before it was timed. Times are medians of interleaved pairs, on the convolutions named.\n";
    text += "[[device]]\n";
    let _ = writeln!(text, "name = {}", quoted(&device.name));
    let (mut lanes, mut specialise, mut vector_loads, mut tiles) = (None, None, None, Vec::new());
    for decision in decisions {
        let note = comment(&format!("{}; {}", decision.verdict(), decision.problems.join("; ")));
        match (decision.knob, decision.winner()) {
            (Knob::Tile(kernel, shape), Some(Choice::Tile(tile))) => tiles.push((note, Rule { kernel, shape: Some(shape), tile })),
            (Knob::Lanes, Some(Choice::Lanes(value))) => lanes = Some((note, value)),
            (Knob::Specialise, Some(Choice::Specialise(value))) => specialise = Some((note, value)),
            (Knob::VectorLoads, Some(Choice::VectorLoads(value))) => vector_loads = Some((note, value)),
            _ => {}
        }
    }
    let kept = || "# As the entry had it before.\n".to_owned();
    if let Some(earlier) = earlier {
        lanes = lanes.or_else(|| earlier.lanes.map(|value| (kept(), value)));
        specialise = specialise.or_else(|| earlier.specialise.map(|value| (kept(), value)));
        vector_loads = vector_loads.or_else(|| earlier.vector_loads.map(|value| (kept(), value)));
        let decided = |rule: &Rule| tiles.iter().any(|(_, new)| new.kernel == rule.kernel && new.shape == rule.shape);
        let rest: Vec<_> = earlier.tiles.iter().filter(|rule| !decided(rule)).map(|&rule| (kept(), rule)).collect();
        tiles.extend(rest);
    }
    let _ = lanes.map(|(note, value)| writeln!(text, "{note}lanes = {value}"));
    let _ = specialise.map(|(note, value)| writeln!(text, "{note}specialise = {value}"));
    let _ = vector_loads.map(|(note, value)| writeln!(text, "{note}vector_loads = {value}"));
    if !tiles.is_empty() {
        text += "tiles = [\n";
        for (note, Rule { kernel, shape, tile }) in tiles {
            let shape = shape.map_or(String::new(), |shape| format!("shape = \"{shape}\", "));
            let _ = writeln!(text, "  {note}  {{ kernel = \"{kernel}\", {shape}tile = \"{tile}\" }},");
        }
        text += "]\n";
    }
    text
}

/// The text of a file with the entry of a device: `before` is what the file called `file` held. Entries of other devices stay as they
/// are, to the letter.
///
/// # Errors
/// [`MergeError`] where the file is none, or holds an entry of the device and `force` is not given.
pub fn merge(file: &str, before: &str, provenance: &Provenance<'_>, decisions: &[Decision], force: bool) -> Result<String, MergeError> {
    let device = provenance.device;
    let known = TuningFile::parse(before, file)?;
    let own: Vec<&Tuning> = known.device.iter().filter(|tuning| is_own(tuning, device)).collect();
    if !own.is_empty() && !force {
        return Err(MergeError::Occupied { file: file.to_owned(), device: device.name.clone() });
    }
    let new = block(provenance, decisions, own.first().copied());
    let entries = entries(before);
    let keep = |entry: &&str| TuningFile::parse(entry, file).map_or(true, |parsed| !parsed.device.iter().any(|t| is_own(t, device)));
    let mut text: String = entries.iter().copied().filter(keep).collect();
    while !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    text += &new;
    // The text was cut by lines; that it says what it should is checked, not assumed.
    let mut expected: Vec<Tuning> = known.device.iter().filter(|tuning| !is_own(tuning, device)).cloned().collect();
    expected.extend(TuningFile::parse(&new, file)?.device);
    match TuningFile::parse(&text, file) {
        Ok(merged) if merged.device == expected => Ok(text),
        _ => Err(MergeError::Form { file: file.to_owned() }),
    }
}

/// A file cut into pieces of one entry each, with the comment lines right above it; what stands before the first goes by itself.
fn entries(text: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    let mut at = 0;
    // Where the comment lines begin that end at the current line.
    let mut comments = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with("[[device]]") {
            cuts.push(comments);
        }
        at += line.len();
        if !trimmed.starts_with('#') {
            comments = at;
        }
    }
    cuts.push(text.len());
    cuts.dedup();
    cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect()
}
