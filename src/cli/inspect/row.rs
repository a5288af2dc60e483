//! A row of `inspect`, as CSV and in a table.

use super::super::table::{lines, table};
use super::{Checks, Facts, KernelUse};
use crate::inspect::Inspected;
use crate::record::guarded;
use crate::units::{Grouped, Nanoseconds};
use serde::Serialize;

/// One kernel, compiled one way. Empty cells are what the driver does not tell.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    device: String,
    driver: String,
    algorithm: String,
    stage: String,
    shader: String,
    dtype: String,
    tile: String,
    constants: String,
    folded: String,
    workgroup: String,
    checks: &'static str,
    /// Why there is nothing else in the row; empty where all is well.
    pub(super) reason: String,
    registers: Option<u64>,
    scalar_registers: Option<u64>,
    spills: Option<u64>,
    shared_bytes: Option<u64>,
    scratch_bytes: Option<u64>,
    occupancy: Option<u64>,
    subgroup_size: Option<u32>,
    instructions: Option<u64>,
    latency_cycles: Option<u64>,
    inverse_throughput_cycles: Option<u64>,
    compile_ns: Option<u64>,
    hot_loop: String,
    hot_loop_instructions: Option<u64>,
    hot_loop_fma: Option<u64>,
    hot_loop_fma_share: Option<f64>,
    hot_loop_shared_loads: Option<u64>,
    hot_loop_shared_stores: Option<u64>,
    hot_loop_global_loads: Option<u64>,
    hot_loop_global_stores: Option<u64>,
    hot_loop_scalar_loads: Option<u64>,
    hot_loop_scratch: Option<u64>,
    hot_loop_barriers: Option<u64>,
    hot_loop_waits: Option<u64>,
    hot_loop_other_vector: Option<u64>,
    hot_loop_other_scalar: Option<u64>,
    /// Within the folder of `--isa`.
    pub(super) isa_file: String,
    first_case: String,
    driver_statistics: String,
}

impl Row {
    pub(super) fn new(facts: &Facts, kernel: &KernelUse, checks: Checks) -> Self {
        let compiled = &kernel.step.kernel;
        let [x, y, z] = compiled.workgroup;
        Self {
            device: facts.name.clone(),
            driver: facts.driver.clone(),
            algorithm: kernel.algorithms.join(" "),
            stage: kernel.stages.join(" "),
            shader: compiled.shader.clone(),
            dtype: compiled.element.to_string(),
            tile: kernel.tile(),
            constants: kernel.constants(),
            folded: kernel.folded(),
            workgroup: format!("{x}x{y}x{z}"),
            checks: checks.name(),
            reason: String::new(),
            registers: None,
            scalar_registers: None,
            spills: None,
            shared_bytes: None,
            scratch_bytes: None,
            occupancy: None,
            subgroup_size: None,
            instructions: None,
            latency_cycles: None,
            inverse_throughput_cycles: None,
            compile_ns: None,
            hot_loop: String::new(),
            hot_loop_instructions: None,
            hot_loop_fma: None,
            hot_loop_fma_share: None,
            hot_loop_shared_loads: None,
            hot_loop_shared_stores: None,
            hot_loop_global_loads: None,
            hot_loop_global_stores: None,
            hot_loop_scalar_loads: None,
            hot_loop_scratch: None,
            hot_loop_barriers: None,
            hot_loop_waits: None,
            hot_loop_other_vector: None,
            hot_loop_other_scalar: None,
            isa_file: String::new(),
            first_case: kernel.from.clone(),
            driver_statistics: String::new(),
        }
    }

    pub(super) fn fill(&mut self, inspected: &Inspected) {
        let Inspected { compiled, summary, hot_loop } = inspected;
        self.registers = summary.registers;
        self.scalar_registers = summary.scalar_registers;
        self.spills = summary.spills;
        self.shared_bytes = summary.shared_bytes;
        self.scratch_bytes = summary.scratch_bytes;
        self.occupancy = summary.occupancy;
        self.subgroup_size = Some(compiled.subgroup_size).filter(|&size| size > 0);
        self.instructions = summary.instructions;
        self.latency_cycles = summary.latency;
        self.inverse_throughput_cycles = summary.inverse_throughput;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of day or less, and not negative")]
        let whole = compiled.time.0.round() as u64;
        self.compile_ns = Some(whole);
        if let Some(hot) = hot_loop {
            self.hot_loop.clone_from(&hot.label);
            let counts = hot.counts;
            self.hot_loop_fma_share = Some(counts.fma_share());
            self.hot_loop_instructions = Some(counts.instructions);
            self.hot_loop_fma = Some(counts.fma);
            self.hot_loop_shared_loads = Some(counts.shared_loads);
            self.hot_loop_shared_stores = Some(counts.shared_stores);
            self.hot_loop_global_loads = Some(counts.global_loads);
            self.hot_loop_global_stores = Some(counts.global_stores);
            self.hot_loop_scalar_loads = Some(counts.scalar_loads);
            self.hot_loop_scratch = Some(counts.scratch);
            self.hot_loop_barriers = Some(counts.barriers);
            self.hot_loop_waits = Some(counts.waits);
            self.hot_loop_other_vector = Some(counts.other_vector);
            self.hot_loop_other_scalar = Some(counts.other_scalar);
        }
        let statistics = compiled.statistics.iter().map(|s| format!("{}={}", s.name, s.value));
        self.driver_statistics = statistics.collect::<Vec<_>>().join("; ");
    }
}

pub(super) fn as_csv(rows: &[Row]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        // What a driver says of itself is not ours.
        let [device, driver] = [&row.device, &row.driver].map(|text| guarded(text));
        let driver_statistics = guarded(&row.driver_statistics);
        writer.serialize(Row { device, driver, driver_statistics, ..row.clone() })?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

pub(super) fn as_table(facts: &Facts, rows: &[Row]) -> String {
    let number = |value: Option<u64>| value.map_or("-".to_owned(), |n| Grouped(n).to_string());
    let body = rows.iter().map(|row| {
        vec![
            row.algorithm.clone(),
            row.stage.clone(),
            if row.tile.is_empty() { row.constants.clone() } else { row.tile.clone() },
            if row.folded.is_empty() { "no" } else { "yes" }.to_owned(),
            row.workgroup.clone(),
            row.checks.to_owned(),
            number(row.registers),
            number(row.scalar_registers),
            number(row.spills),
            number(row.shared_bytes),
            number(row.scratch_bytes),
            number(row.occupancy),
            number(row.instructions),
            row.compile_ns.map_or("-".to_owned(), |ns| Nanoseconds(ns as f64).to_string()),
            if row.hot_loop.is_empty() { "-".to_owned() } else { row.hot_loop.clone() },
            number(row.hot_loop_instructions),
            number(row.hot_loop_fma),
            number(row.hot_loop_shared_loads),
            number(row.hot_loop_global_loads),
            row.hot_loop_fma_share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
        ]
    });
    let header = [
        "algorithm",
        "stage",
        "tile or constants",
        "folded",
        "workgroup",
        "checks",
        ">regs",
        ">scalar",
        ">spills",
        ">shared B",
        ">scratch B",
        ">occupancy",
        ">instr",
        ">compiled in",
        "hot loop",
        ">instr",
        ">fma",
        ">shared loads",
        ">global loads",
        ">fma share",
    ];
    format!("{} ({})\n\n{}", facts.name, facts.driver, lines(&table(&header, body)))
}
