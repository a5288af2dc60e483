//! The rows of a run, layer by layer.

use crate::conv::Conv;
use crate::record::{Cache, Measurement, Status};
use crate::suite::Suite;
use crate::units::{Bytes, Nanoseconds};
use std::collections::HashMap;

/// What names a layer in a run: suite, layer, problem, and whether its times found their inputs in the caches, since hot and cold times do not
/// compare.
pub type LayerId<'a> = (&'a str, &'a str, Conv, Cache);

/// The rows of one layer; at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerRows<'a> {
    rows: Vec<&'a Measurement>,
}

/// A verified case with its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedRow<'a> {
    /// The case.
    pub row: &'a Measurement,
    /// Median time.
    pub time: Nanoseconds,
    /// Bytes of the computation ledger, predicted.
    pub workspace: Bytes,
}

/// Groups a run's rows by layer, in the order they first appear.
pub fn by_layer(rows: &[Measurement]) -> Vec<LayerRows<'_>> {
    let mut places: HashMap<LayerId<'_>, usize> = HashMap::new();
    let mut groups: Vec<LayerRows<'_>> = Vec::new();
    for row in rows {
        let at = *places.entry(id(row)).or_insert_with(|| {
            groups.push(LayerRows { rows: Vec::new() });
            groups.len() - 1
        });
        groups[at].rows.push(row);
    }
    groups
}

fn id(row: &Measurement) -> LayerId<'_> {
    (&row.case.suite, &row.case.layer, row.case.conv, row.case.cache)
}

impl<'a> LayerRows<'a> {
    /// What names the layer.
    pub fn id(&self) -> LayerId<'a> {
        id(self.rows[0])
    }

    /// Name of the suite.
    pub fn suite(&self) -> &'a str {
        self.id().0
    }

    /// Name of the layer.
    pub fn layer(&self) -> &'a str {
        self.id().1
    }

    /// The problem.
    pub fn conv(&self) -> Conv {
        self.id().2
    }

    /// Whether its times found their inputs in the caches.
    pub fn cache(&self) -> Cache {
        self.id().3
    }

    /// Bytes of the input feature map.
    pub fn input(&self) -> Bytes {
        Bytes(self.conv().input_elements() * self.conv().element().bytes())
    }

    /// The rows, in the order their cases ended.
    pub fn rows(&self) -> &[&'a Measurement] {
        &self.rows
    }

    /// The verified cases with time and workspace.
    pub fn timed(&self) -> impl Iterator<Item = TimedRow<'a>> {
        self.rows.iter().copied().filter_map(TimedRow::of)
    }

    /// The verified case of least median time; of equally fast ones that of least workspace.
    pub fn fastest(&self) -> Option<TimedRow<'a>> {
        self.timed().min_by(TimedRow::faster)
    }

    /// Bytes of im2col's whole column matrix, whether or not it ran; `None` where no row says.
    pub fn im2col(&self) -> Option<Bytes> {
        let whole = |r: &&&Measurement| r.case.algorithm == "im2col" && r.case.variant.parts() == ("batch", None);
        self.rows.iter().find(whole).and_then(|r| r.computation_bytes).map(Bytes)
    }

    /// [`Self::im2col`] over [`Self::input`]; `None` where either is not there.
    pub fn blow_up(&self) -> Option<f64> {
        let input = self.input().0;
        self.im2col().filter(|_| input > 0).map(|columns| columns.0 as f64 / input as f64)
    }

    /// How often the network has this layer, where the suite is built in. The batch may be another than the suite's.
    pub fn count(&self) -> Option<u64> {
        let (suite, layer, conv, _) = self.id();
        let suite = Suite::names().any(|name| name == suite).then(|| Suite::builtin(suite).ok())??;
        let layer = suite.layers.iter().find(|known| known.name == layer)?;
        let same = layer.conv.with_batch(conv.batch()).is_ok_and(|known| known.to_string() == conv.to_string());
        same.then_some(layer.count)
    }
}

impl<'a> TimedRow<'a> {
    /// The row with its time and workspace; `None` where it was not verified or not timed.
    pub fn of(row: &'a Measurement) -> Option<Self> {
        let time = Nanoseconds(row.time_median_ns.filter(|_| row.status == Status::Ok)?);
        Some(Self { row, time, workspace: Bytes(row.computation_bytes?) })
    }

    /// Algorithm and variant: `im2col:batch`.
    pub fn name(&self) -> String {
        self.row.case.variant.qualify(&self.row.case.algorithm)
    }

    /// By time, then by workspace.
    pub(super) fn faster(&self, other: &Self) -> std::cmp::Ordering {
        self.time.0.total_cmp(&other.time.0).then(self.workspace.cmp(&other.workspace))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::algorithm::Variant;
    use crate::record::CaseKey;
    use crate::runner::Prediction;

    /// A verified row of the layer `layer` of suite `s`; a case is written `im2col:batch`.
    pub(in crate::analysis) fn timed(layer: &str, case: &str, time: f64, workspace: u64) -> Measurement {
        let (algorithm, variant) = case.split_once(':').unwrap_or((case, ""));
        let case = CaseKey {
            suite: "s".into(),
            layer: layer.into(),
            conv: "n1c2h4w4_k2r3s3_p1".parse().expect("key"),
            algorithm: algorithm.into(),
            variant: variant.parse::<Variant>().expect(variant),
            cache: Cache::Hot,
        };
        let row = Prediction::of_problem(case).measurement(Status::Ok, "");
        Measurement { time_median_ns: Some(time), computation_bytes: Some(workspace), ..row }
    }

    #[test]
    fn layers_keep_their_order_and_problems_of_one_name_stay_apart() {
        let mut other = timed("a", "direct", 5.0, 0);
        other.case.conv = "n2c2h4w4_k2r3s3_p1".parse().expect("key");
        let rows = [timed("b", "direct", 9.0, 0), timed("a", "direct", 9.0, 0), timed("b", "im2col:batch", 3.0, 1152), other];
        let groups = by_layer(&rows);
        assert_eq!(groups.iter().map(|g| (g.layer(), g.rows().len())).collect::<Vec<_>>(), [("b", 2), ("a", 1), ("a", 1)]);
        assert_eq!(groups[0].fastest().map(|t| t.name()), Some("im2col:batch".to_owned()));
        assert_eq!((groups[0].input(), groups[0].blow_up(), groups[1].blow_up()), (Bytes(128), Some(9.0), None));
    }

    #[test]
    fn counts_come_from_built_in_suites_whatever_the_batch() {
        let suite = Suite::builtin("resnet18").expect("there");
        let layer = suite.layers.iter().find(|layer| layer.count > 1).expect("a layer that repeats");
        let mut row = timed(&layer.name, "direct", 1.0, 0);
        row.case.suite = "resnet18".into();
        row.case.conv = layer.conv.with_batch(8).expect("possible");
        let other = timed(&layer.name, "direct", 1.0, 0);
        let mut impostor = row.clone();
        impostor.case.conv = "n1c2h4w4_k2r3s3_p1".parse().expect("key");
        let rows = [row, other, impostor];
        assert_eq!(by_layer(&rows).iter().map(LayerRows::count).collect::<Vec<_>>(), [Some(layer.count), None, None]);
    }
}
