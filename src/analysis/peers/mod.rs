//! This program's times beside those of other programs on the same layers.
//!
//! Both sides may come in several passes. Of each program and layer the fastest pass counts (its median; medians of one kernel differ
//! from pass to pass by what else the machine does, which only ever adds), or the middle one; beside it stands the spread, slowest over
//! fastest. The ratio of a layer is their time over ours: above 1 this program is ahead.

mod error;
mod row;

pub use error::PeersError;
pub use row::{PeerRow, read_rows, write_rows};

use crate::conv::Conv;
use crate::record::Run;
use crate::stats::geometric_mean;
use crate::units::Nanoseconds;
use std::collections::HashMap;

/// Which of several passes counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The fastest.
    Best,
    /// The middle one; of two the slower.
    Median,
}

/// One program's time for one layer over all passes.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The row of the pass that counts.
    pub row: PeerRow,
    /// How many passes there are.
    pub passes: usize,
    /// Slowest over fastest median; `None` of a single pass that says nothing of others.
    pub spread: Option<f64>,
}

/// A layer with the fastest on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerComparison {
    /// Name of the layer.
    pub layer: String,
    /// The layer.
    pub conv: Conv,
    /// The fastest of this program.
    pub ours: Option<Merged>,
    /// The fastest of the others on a GPU's driver.
    pub theirs: Option<Merged>,
}

/// All layers of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// In the order they came up.
    pub layers: Vec<LayerComparison>,
    /// Multiply-adds count two: π in GFLOP/s, the highest that a run measured.
    pub peak_gflops: Option<f64>,
}

impl LayerComparison {
    /// Their time over ours.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.theirs.as_ref()?.row.median.0 / self.ours.as_ref()?.row.median.0)
    }

    /// Share of `peak_gflops` at which the fastest of this program computes, by the operations of its own method.
    pub fn share_of_peak(&self, peak_gflops: f64) -> Option<f64> {
        let row = &self.ours.as_ref()?.row;
        Some(row.operations? as f64 / row.median.0 / peak_gflops)
    }
}

impl Comparison {
    /// The ratios of the layers that have one.
    pub fn ratios(&self) -> impl Iterator<Item = f64> {
        self.layers.iter().filter_map(LayerComparison::ratio)
    }

    /// Geometric mean of the ratios.
    pub fn geometric_mean(&self) -> Option<f64> {
        geometric_mean(&self.ratios().collect::<Vec<_>>())
    }
}

/// The rows of runs, one after the other, and the highest π they measured.
///
/// # Errors
/// [`PeersError::Devices`] for runs of different devices.
pub fn rows_of_runs(runs: &[Run]) -> Result<(Vec<PeerRow>, Option<f64>), PeersError> {
    let name = |run: &Run| run.environment.device.name.clone();
    if let Some([one, other]) = runs.windows(2).map(|pair| [name(&pair[0]), name(&pair[1])]).find(|[one, other]| one != other) {
        return Err(PeersError::Devices { one, other });
    }
    let rows = runs.iter().flat_map(|run| {
        let environment = &run.environment;
        run.measurements.iter().filter_map(|row| PeerRow::of(row, &environment.version, &environment.device.name))
    });
    let peak = runs.iter().filter_map(|run| run.environment.peaks.as_ref().map(|peaks| peaks.multiply_add_f32.gflops)).reduce(f64::max);
    Ok((rows.collect(), peak))
}

/// One row for each program and layer, in the order they first come up.
///
/// # Errors
/// [`PeersError::Ambiguous`] for a layer's name that stands for two problems.
pub fn merge(rows: &[PeerRow], statistic: Statistic) -> Result<Vec<Merged>, PeersError> {
    let (mut problems, mut at) = (HashMap::new(), HashMap::new());
    let mut groups: Vec<Vec<&PeerRow>> = Vec::new();
    for row in rows {
        let first: Conv = *problems.entry(&row.layer).or_insert(row.conv);
        if first != row.conv {
            let (one, other) = (described(&first), described(&row.conv));
            return Err(PeersError::Ambiguous { layer: row.layer.clone(), one, other });
        }
        let group = *at.entry((&row.peer, &row.layer)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(row);
    }
    Ok(groups.into_iter().map(|group| Merged::of(group, statistic)).collect())
}

/// The key does not tell the type of the elements.
fn described(conv: &Conv) -> String {
    format!("{conv} in {}", conv.element())
}

impl Merged {
    fn of(mut passes: Vec<&PeerRow>, statistic: Statistic) -> Self {
        let time = |row: &PeerRow| row.median.0;
        passes.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let (fastest, slowest) = (passes[0], passes[passes.len() - 1]);
        let row = match statistic {
            Statistic::Best => fastest,
            Statistic::Median => passes[passes.len() / 2],
        };
        let here = (passes.len() > 1).then(|| time(slowest) / time(fastest));
        let spread = passes.iter().filter_map(|row| row.noise).chain(here).reduce(f64::max);
        Self { row: PeerRow { noise: spread, ..row.clone() }, passes: passes.len(), spread }
    }

    /// The time that counts.
    pub fn time(&self) -> Nanoseconds {
        self.row.median
    }
}

/// The fastest of this program and of the others' GPU code, layer by layer.
pub fn compare(merged: &[Merged], peak_gflops: Option<f64>) -> Comparison {
    let mut layers: Vec<LayerComparison> = Vec::new();
    let mut places = HashMap::new();
    let faster = |candidate: &Merged, than: &Option<Merged>| than.as_ref().is_none_or(|other| candidate.time().0 < other.time().0);
    for candidate in merged {
        let row = &candidate.row;
        let at = *places.entry(&row.layer).or_insert_with(|| {
            layers.push(LayerComparison { layer: row.layer.clone(), conv: row.conv, ours: None, theirs: None });
            layers.len() - 1
        });
        let layer = &mut layers[at];
        if row.ours().is_some() && faster(candidate, &layer.ours) {
            layer.ours = Some(candidate.clone());
        } else if row.ours().is_none() && row.is_gpu() && faster(candidate, &layer.theirs) {
            layer.theirs = Some(candidate.clone());
        }
    }
    Comparison { layers, peak_gflops }
}

#[cfg(test)]
mod tests;
