//! The roofline as a closed form: the least time a piece of work takes on a device that computes π operations and moves β bytes a
//! nanosecond, and what bounds it.
//!
//! ```text
//! t_min = max(operations / π, bytes / β)          utilisation = Σ t_min of the steps / time measured
//! ```
//!
//! After S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore architectures",
//! CACM 52(4), 2009.

use crate::units::{Bytes, Nanoseconds, Ops};
use serde::{Deserialize, Serialize};

/// What bounds a piece of work by the device's measured limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Multiply-adds.
    Compute,
    /// Memory traffic.
    Bandwidth,
}

/// The two limits of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    /// π: operations a nanosecond, which is GFLOP/s; a multiply-add counts two.
    pub gflops: f64,
    /// β: bytes a nanosecond, which is GB/s.
    pub bytes_per_ns: f64,
}

/// The least time of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Least {
    /// What the arithmetic takes at π.
    pub compute: Nanoseconds,
    /// What the traffic takes at β.
    pub transfer: Nanoseconds,
}

impl Roofline {
    /// The least time of `operations` and `traffic`.
    pub fn least(&self, operations: Ops, traffic: Bytes) -> Least {
        Least { compute: Nanoseconds(operations.0 as f64 / self.gflops), transfer: Nanoseconds(traffic.0 as f64 / self.bytes_per_ns) }
    }
}

impl Least {
    /// `t_min`: the longer of the two, since a device can do both at once.
    pub fn time(&self) -> Nanoseconds {
        Nanoseconds(self.compute.0.max(self.transfer.0))
    }

    /// What bounds it; work that takes as long either way is bound by arithmetic.
    pub fn limit(&self) -> Limit {
        if self.compute.0 >= self.transfer.0 { Limit::Compute } else { Limit::Bandwidth }
    }
}

/// Least time over measured time, or `None` where either is not a positive number.
pub fn utilisation(least: Nanoseconds, measured: Nanoseconds) -> Option<f64> {
    let share = least.0 / measured.0;
    (share.is_finite() && share > 0.0 && measured.0 > 0.0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 GFLOP/s and 10 GB/s: the ridge is at 10 operations a byte.
    const DEVICE: Roofline = Roofline { gflops: 100.0, bytes_per_ns: 10.0 };

    #[test]
    fn the_longer_of_both_bounds() {
        let cases = [
            (1_000, 10, 10.0, Limit::Compute),
            (1_000, 1_000, 100.0, Limit::Bandwidth),
            (1_000, 100, 10.0, Limit::Compute),
            (0, 50, 5.0, Limit::Bandwidth),
            (50, 0, 0.5, Limit::Compute),
        ];
        for (operations, bytes, time, limit) in cases {
            let least = DEVICE.least(Ops(operations), Bytes(bytes));
            assert!((least.time().0 - time).abs() < 1e-12, "{operations} {bytes}: {least:?}");
            assert_eq!(least.limit(), limit, "{operations} {bytes}");
        }
    }

    #[test]
    fn utilisation_is_least_over_measured() {
        let of = |least, measured| utilisation(Nanoseconds(least), Nanoseconds(measured));
        assert_eq!(of(5.0, 20.0), Some(0.25));
        assert_eq!(of(30.0, 20.0), Some(1.5), "above 1 is told, not hidden");
        for (least, measured) in [(0.0, 20.0), (5.0, 0.0), (5.0, -1.0), (f64::INFINITY, 1.0), (f64::NAN, 1.0), (-5.0, -1.0)] {
            assert_eq!(of(least, measured), None, "{least} {measured}");
        }
    }
}
