//! Per layer: what is fastest, what it needs, and how far im2col blows the input up.

use super::{LayerRows, by_layer};
use crate::record::{Cache, Measurement};
use crate::units::Bytes;

/// What the rows of one layer say together.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSummary {
    /// Name of the suite.
    pub suite: String,
    /// Name of the layer.
    pub layer: String,
    /// Whether its times found their inputs in the caches.
    pub cache: Cache,
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
    by_layer(rows).iter().map(summary).collect()
}

fn summary(layer: &LayerRows<'_>) -> LayerSummary {
    let fastest = layer.fastest();
    let direct = layer.timed().find(|case| case.row.case.algorithm == "direct");
    LayerSummary {
        suite: layer.suite().to_owned(),
        layer: layer.layer().to_owned(),
        cache: layer.cache(),
        input: layer.input(),
        im2col: layer.im2col(),
        fastest: fastest.map(|case| case.row.clone()),
        over_direct: fastest.zip(direct).map(|(best, direct)| direct.time.0 / best.time.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Variant;
    use crate::analysis::group::tests::timed;
    use crate::record::Status;

    fn row(layer: &str, algorithm: &str, variant: &str, status: Status, time: Option<f64>, workspace: Option<u64>) -> Measurement {
        let case = variant.parse::<Variant>().expect(variant).qualify(algorithm);
        Measurement { status, time_median_ns: time, computation_bytes: workspace, ..timed(layer, &case, 0.0, 0) }
    }

    #[test]
    fn the_fastest_right_case_wins_and_im2col_counts_even_where_it_did_not_run() {
        let rows = [
            row("a", "direct", "", Status::Ok, Some(900.0), Some(0)),
            row("a", "im2col", "strip=1", Status::Ok, Some(600.0), Some(100)),
            row("a", "im2col", "batch", Status::OverLimit, None, Some(1152)),
            row("a", "winograd_f2", "batch", Status::Wrong, None, Some(10)),
            row("a", "winograd_f4", "batch", Status::Ok, Some(300.0), Some(20)),
            row("b", "direct", "", Status::Crashed, None, Some(0)),
        ];
        let [a, b] = &layers(&rows)[..] else { panic!("two layers") };
        assert_eq!(a.fastest.as_ref().map(|r| r.case.algorithm.as_str()), Some("winograd_f4"));
        assert_eq!((a.input, a.im2col, a.over_direct), (Bytes(128), Some(Bytes(1152)), Some(3.0)));
        assert_eq!((b.layer.as_str(), &b.fastest, b.im2col, b.over_direct), ("b", &None, None, None));
    }

    #[test]
    fn suites_and_caches_stay_apart() {
        let mut other = row("a", "direct", "", Status::Ok, Some(1.0), Some(0));
        other.case.suite = "t".into();
        let mut cold = row("a", "direct", "", Status::Ok, Some(3.0), Some(0));
        cold.case.cache = Cache::Cold;
        assert_eq!(layers(&[row("a", "direct", "", Status::Ok, Some(2.0), Some(0)), other, cold]).len(), 3);
    }
}
