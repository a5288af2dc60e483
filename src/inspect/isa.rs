//! AMD's instructions as text: the loop that does the work, and what it spends its instructions on.
//!
//! The text is what Mesa's RADV tells under the name `Assembly`: blocks that begin with a label, an instruction a line, its encoding
//! behind a `;`.
//!
//! ```text
//! BB2:
//!         v_fmac_f32_e32 v39, v59, v98                  ; 564ec53b
//!         s_cbranch_scc1 BB2                            ; bf8500db
//! ```
//!
//! A jump back to a block that every way to the jump goes through makes a loop: that block and all from which the jump is reached
//! without it (the natural loop of a back edge; Aho, Lam, Sethi and Ullman, *Compilers*, 9.6). The hot loop is the one with the most
//! multiply-adds of its own, those of loops inside it left out. Its instructions are all of its body, those of a loop inside it once:
//! how often that runs is not in the text.

use std::collections::BTreeSet;

/// The loop that does the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotLoop {
    /// The block it begins with.
    pub label: String,
    /// What one iteration runs through.
    pub counts: Counts,
}

/// How many instructions of which kind; every instruction is of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All; both halves of a dual instruction.
    pub instructions: u64,
    /// Multiply-adds of floats, dot products and matrix products.
    pub fma: u64,
    /// Loads from workgroup memory.
    pub shared_loads: u64,
    /// Stores to it.
    pub shared_stores: u64,
    /// Loads from buffers, each invocation its own address.
    pub global_loads: u64,
    /// Stores to them.
    pub global_stores: u64,
    /// Loads from buffers, one address for the subgroup.
    pub scalar_loads: u64,
    /// Accesses of an invocation's own memory: spills and arrays indexed by variables.
    pub scratch: u64,
    /// Barriers.
    pub barriers: u64,
    /// Waits for loads and stores, and hints to the scheduler.
    pub waits: u64,
    /// Other work of each invocation: addresses, moves, conversions, exchanges within the subgroup.
    pub other_vector: u64,
    /// Other work of the subgroup as a whole: loop counters, branches.
    pub other_scalar: u64,
}

impl Counts {
    /// Multiply-adds over instructions.
    pub fn fma_share(&self) -> f64 {
        if self.instructions == 0 { 0.0 } else { self.fma as f64 / self.instructions as f64 }
    }

    fn add(&mut self, mnemonic: &str) {
        let begins = |starts: &[&str]| starts.iter().any(|start| mnemonic.starts_with(start));
        let kind = if is_multiply_add(mnemonic) {
            &mut self.fma
        } else if begins(&["ds_read", "ds_load"]) {
            &mut self.shared_loads
        } else if begins(&["ds_write", "ds_store"]) {
            &mut self.shared_stores
        } else if begins(&["buffer_load", "global_load", "flat_load"]) {
            &mut self.global_loads
        } else if begins(&["buffer_store", "global_store", "flat_store"]) {
            &mut self.global_stores
        } else if begins(&["s_load", "s_buffer_load"]) {
            &mut self.scalar_loads
        } else if begins(&["scratch_"]) {
            &mut self.scratch
        } else if begins(&["s_barrier"]) {
            &mut self.barriers
        } else if begins(&["s_wait", "s_nop", "s_clause", "s_delay_alu", "s_sleep", "s_inst_prefetch", "s_setprio"]) {
            &mut self.waits
        } else if begins(&["s_"]) {
            &mut self.other_scalar
        } else {
            &mut self.other_vector
        };
        *kind += 1;
        self.instructions += 1;
    }

    fn plus(self, other: Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            fma: self.fma + other.fma,
            shared_loads: self.shared_loads + other.shared_loads,
            shared_stores: self.shared_stores + other.shared_stores,
            global_loads: self.global_loads + other.global_loads,
            global_stores: self.global_stores + other.global_stores,
            scalar_loads: self.scalar_loads + other.scalar_loads,
            scratch: self.scratch + other.scratch,
            barriers: self.barriers + other.barriers,
            waits: self.waits + other.waits,
            other_vector: self.other_vector + other.other_vector,
            other_scalar: self.other_scalar + other.other_scalar,
        }
    }
}

/// `v_fmac_f32`, `v_pk_fma_f16`, `v_mad_f32`, `v_dot4_i32_i8`, `v_wmma_…`; not the integer `v_mad_u32_u24` of index arithmetic.
fn is_multiply_add(mnemonic: &str) -> bool {
    let Some(rest) = mnemonic.strip_prefix("v_") else { return false };
    let rest = rest.strip_prefix("dual_").or_else(|| rest.strip_prefix("pk_")).unwrap_or(rest);
    let (operation, types) = rest.split_once('_').unwrap_or((rest, ""));
    match operation {
        "fma" | "fmac" | "fmaak" | "fmamk" | "mac" | "mad" | "madak" | "madmk" => {
            // `v_fma_mix_f32` and its like take halves.
            let types = ["mix_", "mixlo_", "mixhi_", "legacy_"].iter().find_map(|mode| types.strip_prefix(mode)).unwrap_or(types);
            types.starts_with('f') || types.starts_with("bf")
        }
        "wmma" | "swmmac" | "mfma" => true,
        _ => operation.starts_with("dot"),
    }
}

/// A run of instructions that is entered at its beginning only.
#[derive(Debug, Default)]
struct Block<'t> {
    label: &'t str,
    counts: Counts,
    jumps: Vec<&'t str>,
    /// Whether control never goes on to the next block.
    ends: bool,
}

/// The hot loop of a text; none without a loop with multiply-adds, or where the text is not of this kind.
pub fn hot_loop(text: &str) -> Option<HotLoop> {
    let blocks = blocks(text);
    let loops = loops(&blocks);
    let mut best: Option<(u64, HotLoop)> = None;
    for (header, body) in &loops {
        let sum = |chosen: &BTreeSet<usize>| chosen.iter().fold(Counts::default(), |sum, &block| sum.plus(blocks[block].counts));
        let inner = |other: &&(usize, BTreeSet<usize>)| other.0 != *header && body.contains(&other.0) && body.is_superset(&other.1);
        let inside: BTreeSet<usize> = loops.iter().filter(inner).flat_map(|(_, inside)| inside.iter().copied()).collect();
        let own = sum(&(body - &inside)).fma;
        if own > best.as_ref().map_or(0, |(most, _)| *most) {
            best = Some((own, HotLoop { label: blocks[*header].label.to_owned(), counts: sum(body) }));
        }
    }
    best.map(|(_, hot)| hot)
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut last: Vec<&str> = Vec::new();
    for line in text.lines() {
        let code = line.split(';').next().unwrap_or_default().trim();
        if let Some(label) = code.strip_suffix(':').filter(|label| !label.contains(char::is_whitespace)) {
            blocks.push(Block { label, ..Block::default() });
            continue;
        }
        // What comes before the first label is no code.
        let Some(block) = blocks.last_mut() else { continue };
        if let Some(times) = code.strip_prefix("(then repeated ").and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok()) {
            (0..times).for_each(|_| last.iter().for_each(|mnemonic| block.counts.add(mnemonic)));
            continue;
        }
        last.clear();
        for half in code.split("::") {
            let mut words = half.split_whitespace();
            let Some(mnemonic) = words.next().filter(|word| word.contains('_')) else { continue };
            block.counts.add(mnemonic);
            last.push(mnemonic);
            if mnemonic == "s_branch" || mnemonic.starts_with("s_cbranch") {
                block.jumps.extend(words.next());
            }
            block.ends |= matches!(mnemonic, "s_branch" | "s_endpgm" | "s_setpc_b64");
        }
    }
    blocks
}

/// The natural loops: the block each begins with, and all its blocks. Jumps back to one block are one loop.
fn loops(blocks: &[Block<'_>]) -> Vec<(usize, BTreeSet<usize>)> {
    let place = |label: &str| blocks.iter().position(|block| block.label == label);
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for (number, block) in blocks.iter().enumerate() {
        for target in block.jumps.iter().filter_map(|label| place(label)) {
            before[target].push(number);
        }
        if !block.ends && number + 1 < blocks.len() {
            before[number + 1].push(number);
        }
    }
    let mut loops = Vec::new();
    for header in 0..blocks.len() {
        let mut body = BTreeSet::from([header]);
        for &jump in before[header].iter().filter(|&&from| from >= header) {
            if let Some(natural) = reaching(&before, jump, header) {
                body.extend(natural);
                // A block that jumps to itself has no other.
                loops.retain(|(known, _)| *known != header);
                loops.push((header, body.clone()));
            }
        }
    }
    loops
}

/// The blocks from which `jump` is reached without going through `header`; none where the beginning is among them, for then the
/// jump enters the middle of something.
fn reaching(before: &[Vec<usize>], jump: usize, header: usize) -> Option<BTreeSet<usize>> {
    let mut found = BTreeSet::from([header]);
    let mut open = vec![jump];
    while let Some(block) = open.pop() {
        if found.insert(block) {
            if block == 0 {
                return None;
            }
            open.extend(&before[block]);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
