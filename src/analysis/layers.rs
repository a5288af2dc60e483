//! Per layer: what is fastest, what it needs, and how far im2col blows the input up.

use crate::record::{Measurement, Status};
use crate::units::Bytes;

/// What the rows of one layer say together.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSummary {
    /// Name of the suite.
    pub suite: String,
    /// Name of the layer.
    pub layer: String,
    /// Bytes of the input feature map.
    pub input: Bytes,
    /// Bytes of im2col's whole column matrix, whether or not it ran here; `None` where no row says.
    pub im2col: Option<Bytes>,
    /// The verified case of least median time.
    pub fastest: Option<Measurement>,
    /// Median time of `direct` over that of the fastest.
    pub over_direct: Option<f64>,
}

/// The layers of a run's rows, in the order they first appear.
pub fn layers(rows: &[Measurement]) -> Vec<LayerSummary> {
    let mut groups: Vec<(&Measurement, Vec<&Measurement>)> = Vec::new();
    for row in rows {
        let same = |first: &Measurement| {
            (&first.case.suite, &first.case.layer, first.case.conv) == (&row.case.suite, &row.case.layer, row.case.conv)
        };
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, group)) => group.push(row),
            None => groups.push((row, vec![row])),
        }
    }
    groups.into_iter().map(|(first, group)| summary(first, &group)).collect()
}

fn summary(first: &Measurement, rows: &[&Measurement]) -> LayerSummary {
    let timed = || rows.iter().copied().filter(|r| r.status == Status::Ok).filter_map(|r| Some((r, r.time_median_ns?)));
    let fastest = timed().min_by(|a, b| a.1.total_cmp(&b.1));
    let direct = timed().find(|(r, _)| r.case.algorithm == "direct");
    let whole = |r: &&&Measurement| r.case.algorithm == "im2col" && r.case.variant.parts() == ("batch", None);
    let conv = &first.case.conv;
    LayerSummary {
        suite: first.case.suite.clone(),
        layer: first.case.layer.clone(),
        input: Bytes(conv.input_elements() * conv.element().bytes()),
        im2col: rows.iter().find(whole).and_then(|r| r.computation_bytes).map(Bytes),
        fastest: fastest.map(|(r, _)| r.clone()),
        over_direct: fastest.zip(direct).map(|((_, best), (_, direct))| direct / best),
    }
}
