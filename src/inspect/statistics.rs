//! A driver's figures under names of their own, and the few every report wants under one.
//!
//! Drivers name their statistics as they like. The lists here say which names mean which column; what is in no list still stands,
//! as told, in the row's `driver_statistics`. The names are those in the drivers' sources: Mesa's `radv_shader.c`, `anv_pipeline.c` and
//! `nvk_shader.c`, AMDVLK's `vk_pipeline.cpp`; NVIDIA's as its driver prints them.

use std::fmt;

/// One figure of a compiled kernel, as the driver tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistic {
    /// The driver's name for it.
    pub name: String,
    /// What it means, in the driver's words.
    pub description: String,
    /// The figure.
    pub value: Value,
}

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number that may be negative.
    Signed(i64),
    /// A whole number.
    Unsigned(u64),
    /// A fraction.
    Real(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
        }
    }
}

/// What drivers call the registers of one invocation: RADV, AMDVLK, NVK, NVIDIA, Intel (Mesa).
const REGISTERS: &[&str] = &["VGPRs", "numUsedVgprs", "Number of GPRs", "Register Count", "GRF registers"];
const SCALAR_REGISTERS: &[&str] = &["SGPRs", "numUsedSgprs"];
/// RADV, Intel, NVK. What only moves to another kind of register (NVK's "Spills to reg") is no memory traffic.
const SPILLS: &[&str] = &["Spilled VGPRs", "Spilled SGPRs", "Spill Count", "Spills to memory"];
const SHARED: &[&str] = &["LDS size", "ldsUsageSizeInBytes", "Workgroup Memory Size"];
const SCRATCH: &[&str] = &["Scratch size", "scratchMemUsageInBytes", "Scratch Memory Size", "SLM size"];
const OCCUPANCY: &[&str] = &["Subgroups per SIMD", "Max warps/SM", "Max Waves Per Core"];
const INSTRUCTIONS: &[&str] = &["Instructions", "Instruction Count"];
const LATENCY: &[&str] = &["Latency", "Cycle Count", "Static cycle count"];
const INVERSE_THROUGHPUT: &[&str] = &["Inverse Throughput"];

/// A figure as a count; none for one that is negative, no number, or a flag.
fn whole(value: Value) -> Option<u64> {
    match value {
        Value::Flag(_) => None,
        Value::Signed(number) => u64::try_from(number).ok(),
        Value::Unsigned(number) => Some(number),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range by the condition")]
        Value::Real(number) => (0.0..9e15).contains(&number).then_some(number.round() as u64),
    }
}

/// The figures that most drivers have, under one name each; none where the driver does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Registers an invocation has to itself: vector registers where the GPU has two kinds.
    pub registers: Option<u64>,
    /// Registers a subgroup shares.
    pub scalar_registers: Option<u64>,
    /// Registers that found no place and went to memory.
    pub spills: Option<u64>,
    /// Workgroup memory, in bytes.
    pub shared_bytes: Option<u64>,
    /// Memory of each invocation's own, in bytes: spilled registers and arrays indexed by variables.
    pub scratch_bytes: Option<u64>,
    /// Subgroups that fit one SIMD unit (AMD) or core at a time.
    pub occupancy: Option<u64>,
    /// Instructions.
    pub instructions: Option<u64>,
    /// Cycles one subgroup takes, by the compiler's estimate.
    pub latency: Option<u64>,
    /// Cycles between subgroups when the unit is full, by the compiler's estimate.
    pub inverse_throughput: Option<u64>,
}

impl Summary {
    /// What a driver told.
    pub fn of(statistics: &[Statistic]) -> Self {
        let sum = |names: &[&str]| {
            let mut found = statistics.iter().filter(|s| names.iter().any(|name| name.eq_ignore_ascii_case(&s.name)));
            let first = whole(found.next()?.value)?;
            Some(found.filter_map(|s| whole(s.value)).fold(first, u64::saturating_add))
        };
        Self {
            registers: sum(REGISTERS),
            scalar_registers: sum(SCALAR_REGISTERS),
            spills: sum(SPILLS),
            shared_bytes: sum(SHARED),
            scratch_bytes: sum(SCRATCH),
            occupancy: sum(OCCUPANCY),
            instructions: sum(INSTRUCTIONS),
            latency: sum(LATENCY),
            inverse_throughput: sum(INVERSE_THROUGHPUT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(statistics: &[(&str, Value)]) -> Summary {
        let one = |&(name, value): &(&str, Value)| Statistic { name: name.to_owned(), description: String::new(), value };
        Summary::of(&statistics.iter().map(one).collect::<Vec<_>>())
    }

    #[test]
    fn every_driver_has_its_own_names() {
        let radv = [("SGPRs", Value::Unsigned(128)), ("VGPRs", Value::Unsigned(88)), ("Spilled SGPRs", Value::Unsigned(2))];
        let summary = told(&[&radv[..], &[("Spilled VGPRs", Value::Unsigned(3)), ("Subgroups per SIMD", Value::Unsigned(10))]].concat());
        let expected =
            Summary { registers: Some(88), scalar_registers: Some(128), spills: Some(5), occupancy: Some(10), ..Summary::default() };
        assert_eq!(summary, expected);

        let nvk = told(&[
            ("Number of GPRs", Value::Unsigned(40)),
            ("Instruction count", Value::Unsigned(7)),
            ("Spills to reg", Value::Unsigned(1)),
        ]);
        assert_eq!(nvk, Summary { registers: Some(40), instructions: Some(7), ..Summary::default() });
    }

    #[test]
    fn what_is_no_count_is_not_told() {
        assert_eq!(
            told(&[("VGPRs", Value::Signed(-1)), ("Instructions", Value::Real(f64::NAN)), ("Scratch size", Value::Flag(true))]),
            Summary::default()
        );
        assert_eq!(told(&[("VGPRs", Value::Signed(4)), ("Latency", Value::Real(9.6))]).latency, Some(10));
        assert_eq!(told(&[]), Summary::default());
    }
}
