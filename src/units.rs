//! Quantities and the one place that formats them.
//!
//! Files store plain bytes, nanoseconds and operations; people read the forms printed here. SI prefixes mean powers of
//! ten (`GFLOP/s`), the IEC ones powers of two (`MiB`).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes. `Display` gives the exact count with thousands separators; `{:#}` a rounded IEC form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The same number with a sign, for differences; what does not fit is as large as can be.
    pub fn signed(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// The sum, or `None` past 64 bits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { f.pad(&iec(self.0)) } else { f.pad(&format!("{} B", Grouped(self.0))) }
    }
}

/// Why a text is not a byte count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a size in bytes: write a whole number, alone or followed by B, kB, MB, GB, KiB, MiB or GiB")]
pub struct BytesError {
    text: String,
}

impl FromStr for Bytes {
    type Err = BytesError;

    /// Reads `268435456`, `256MiB`, `1.5 GiB`, `115,605,504 B`; a fraction must come out as whole bytes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || BytesError { text: text.to_owned() };
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let number = number.trim().replace([',', '_'], "");
        let scale: u64 = match unit {
            "" | "B" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(error()),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || fraction.len() > 9 {
            return Err(error());
        }
        let divisor = 10_u64.pow(u32::try_from(fraction.len()).map_err(|_| error())?);
        let scaled = format!("{whole}{fraction}").parse::<u64>().ok().and_then(|n| n.checked_mul(scale)).ok_or_else(error)?;
        if !scaled.is_multiple_of(divisor) {
            return Err(error());
        }
        Ok(Self(scaled / divisor))
    }
}

/// A duration in nanoseconds; fractional, since a sample is a mean over several executions.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanoseconds(pub f64);

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            t if t < 1e3 => format!("{t:.0} ns"),
            t if t < 1e6 => format!("{} µs", three_digits(t / 1e3)),
            t if t < 1e9 => format!("{} ms", three_digits(t / 1e6)),
            t => format!("{} s", three_digits(t / 1e9)),
        };
        f.pad(&text)
    }
}

/// A number of floating-point operations; a multiply-add counts two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ops(pub u64);

impl Ops {
    /// The rate in GFLOP/s (10⁹ operations a second) when the operations take `time`.
    pub fn gflops_in(self, time: Nanoseconds) -> f64 {
        self.0 as f64 / time.0
    }
}

impl fmt::Display for Ops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 as f64 {
            n if n < 1e6 => format!("{} FLOP", Grouped(self.0)),
            n if n < 1e9 => format!("{} MFLOP", three_digits(n / 1e6)),
            n if n < 1e12 => format!("{} GFLOP", three_digits(n / 1e9)),
            n => format!("{} TFLOP", three_digits(n / 1e12)),
        };
        f.pad(&text)
    }
}

/// A whole number written with thousands separators.
#[derive(Debug, Clone, Copy)]
pub struct Grouped(pub u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

/// The product of `factors`, or `None` past 64 bits.
pub fn product(factors: &[u64]) -> Option<u64> {
    factors.iter().try_fold(1_u64, |acc, &f| acc.checked_mul(f))
}

fn three_digits(x: f64) -> String {
    let decimals = if x < 9.995 { 2 } else { usize::from(x < 99.95) };
    format!("{x:.decimals$}")
}

fn iec(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_print_exactly_or_rounded() {
        assert_eq!(Bytes(115_605_504).to_string(), "115,605,504 B");
        assert_eq!(format!("{:#}", Bytes(115_605_504)), "110 MiB");
        assert_eq!(format!("{:#}", Bytes(1023)), "1023 B");
        assert_eq!(format!("{:#}", Bytes(1 << 20)), "1.00 MiB");
        assert_eq!(format!("{:#}", Bytes(u64::MAX)), "16.0 EiB");
    }

    #[test]
    fn bytes_are_read_in_the_forms_they_are_written() {
        for (text, bytes) in [("0", 0), ("256MiB", 256 << 20), ("1.5 GiB", 3 << 29), ("2MB", 2_000_000), ("115,605,504 B", 115_605_504)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "MiB", "-1", "1.3B", "12 potatoes", "99999999999GiB", "1e9", "256mib"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_operations_keep_three_digits() {
        assert_eq!(Nanoseconds(950.0).to_string(), "950 ns");
        assert_eq!(Nanoseconds(1_234_567.0).to_string(), "1.23 ms");
        assert_eq!(Ops(231_211_008).to_string(), "231 MFLOP");
        assert!((Ops(2_000).gflops_in(Nanoseconds(1_000.0)) - 2.0).abs() < 1e-12);
    }
}
