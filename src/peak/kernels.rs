//! The kernels that reach a device's limits: their shapes, their plans, and what they compute, by closed form.

use crate::conv::ElementType;
use crate::plan::{Buffer, BufferId, Constant, Kernel, Lifetime, Limits, Plan, Role, Step, Unsupported};
use crate::units::{Bytes, Ops};
use std::collections::BTreeMap;
use std::fmt;

/// Buffer of sums, or the source of a copy.
pub(super) const FIRST: BufferId = BufferId(0);
/// Destination of a copy.
pub(super) const SECOND: BufferId = BufferId(1);

/// Steps written out in the text of the multiply-add kernel.
const UNROLL: u32 = 16;
/// Reads written out in the text of the workgroup memory kernel, and independent sums of them.
const READS: u32 = 8;
const SUMS: u32 = 4;
/// A float of 11 significand bits holds every whole number up to here, and adding 1 to it leaves it as it is, whether a tie is
/// rounded to even or towards zero.
const HALF_SATURATES: u32 = 2048;

/// A shape of `peak_fma.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MultiplyAdd {
    pub(super) element: ElementType,
    /// Independent vectors of four an invocation works on.
    pub(super) chains: u32,
    /// Whether the text says `fma`, or leaves it to the compiler to join product and sum.
    pub(super) fused: bool,
    pub(super) workgroup: u32,
}

/// A shape of `peak_copy.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copy {
    /// Components of the vectors copied: 1 or 4.
    pub(super) width: u32,
    /// Vectors an invocation copies.
    pub(super) items: u32,
    pub(super) workgroup: u32,
}

/// A shape of `peak_workgroup.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkgroupRead {
    /// Invocations of a workgroup, a power of two.
    pub(super) workgroup: u32,
}

/// How often a kernel goes round in one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) invocations: u32,
    pub(super) rounds: u32,
}

impl MultiplyAdd {
    /// The shapes worth trying, the likeliest first: enough chains to hide a multiply-add's latency, not more than the registers hold.
    pub(super) fn shapes(element: ElementType) -> Vec<Self> {
        let shapes: &[_] = match element {
            ElementType::F16 => &[(2, true, 64), (2, false, 64), (4, true, 256)],
            ElementType::F32 | ElementType::I8 | ElementType::I32 | ElementType::U32 => {
                &[(2, true, 64), (2, false, 64), (3, true, 64), (4, true, 64), (4, false, 256), (8, true, 256)]
            }
        };
        shapes.iter().map(|&(chains, fused, workgroup)| Self { element, chains, fused, workgroup }).collect()
    }

    /// Most rounds whose sums stay exact in f32: eight chains of four numbers below 2¹⁹.
    pub(super) const MOST_ROUNDS: u32 = (1 << 19) / UNROLL - 1;

    pub(super) fn operations(&self, work: Work) -> f64 {
        2.0 * f64::from(work.invocations) * f64::from(work.rounds) * f64::from(UNROLL * self.chains * 4)
    }

    pub(super) fn plan(&self, work: Work, limits: &Limits) -> Result<Plan, Unsupported> {
        let constants =
            [("chains", Constant::Size(self.chains)), ("unroll", Constant::Size(UNROLL)), ("fused", Constant::Flag(self.fused))];
        let kernel = kernel("peak_fma", self.element, &constants, self.workgroup, 0);
        let problem = [("factor", 1), ("term", 1), ("rounds", work.rounds)];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 2^64 by the limit on rounds")]
        let operations = Ops(self.operations(work) as u64);
        finish("multiply_add", kernel, &[sums(work)], &problem, work.invocations / self.workgroup, (operations, Bytes(0)), limits)
    }

    /// The sum that an invocation writes: its chains begin at small whole numbers and count the steps.
    pub(super) fn expected(&self, invocation: u32, work: Work) -> f32 {
        let steps = work.rounds * UNROLL;
        let chain = |first: u32| match self.element {
            ElementType::F16 => (first + steps).min(HALF_SATURATES),
            ElementType::F32 | ElementType::I8 | ElementType::I32 | ElementType::U32 => first + steps,
        };
        let vector = |j: u32| (0..4).map(|component| chain((invocation & 3) + j + component)).sum::<u32>();
        exact((0..self.chains).map(vector).sum())
    }
}

impl Copy {
    /// The shapes worth trying, the likeliest first, of vectors of four or of single numbers.
    pub(super) fn shapes(width: u32) -> Vec<Self> {
        [(4, 256), (4, 64), (1, 256)].map(|(items, workgroup)| Self { width, items, workgroup }).into()
    }

    /// A copy from a buffer of `bytes` to another, `passes` times over; both powers of two, several passes only where the buffer holds
    /// whole workgroups.
    pub(super) fn plan(&self, bytes: u64, passes: u64, limits: &Limits) -> Result<Plan, Unsupported> {
        let vector = if self.width == 4 { "vec4<f32>" } else { "f32" };
        let constants =
            [("vector", Constant::Word(vector.into())), ("items", Constant::Size(self.items)), ("wrap", Constant::Flag(passes > 1))];
        let vectors = bytes / (4 * u64::from(self.width));
        let kernel = kernel("peak_copy", ElementType::F32, &constants, self.workgroup, 0);
        let groups = vectors * passes / u64::from(self.workgroup * self.items);
        let groups = u32::try_from(groups).map_err(|_| Unsupported::overflow("workgroups of the copy", &[vectors, passes]))?;
        let mask = u32::try_from(vectors - 1).map_err(|_| Unsupported::overflow("vectors of the copy", &[vectors]))?;
        let buffers = [("source", Role::Input), ("destination", Role::Output)].map(|(name, role)| buffer(name, role, bytes / 4));
        let traffic = Bytes(2 * bytes * passes);
        finish("copy", kernel, &buffers, &[("mask", mask)], groups, (Ops(0), traffic), limits)
    }
}

impl WorkgroupRead {
    /// The shapes worth trying, the likeliest first.
    pub(super) fn shapes() -> Vec<Self> {
        [256, 64].map(|workgroup| Self { workgroup }).into()
    }

    /// Most rounds whose sums stay exact in f32: no entry is above 15.
    pub(super) const MOST_ROUNDS: u32 = (1 << 24) / (READS * 4 * 15) - 1;

    /// Bytes of the tile.
    pub(super) const fn tile(self) -> u32 {
        (self.workgroup + READS) * 16
    }

    /// Bytes read in one execution.
    pub(super) fn bytes(work: Work) -> f64 {
        f64::from(work.invocations) * f64::from(work.rounds) * f64::from(READS * 16)
    }

    pub(super) fn plan(self, work: Work, limits: &Limits) -> Result<Plan, Unsupported> {
        let constants =
            [("entries", Constant::Size(self.workgroup + READS)), ("unroll", Constant::Size(READS)), ("sums", Constant::Size(SUMS))];
        let kernel = kernel("peak_workgroup", ElementType::F32, &constants, self.workgroup, self.tile());
        finish(
            "workgroup_read",
            kernel,
            &[sums(work)],
            &[("rounds", work.rounds)],
            work.invocations / self.workgroup,
            (Ops(0), Bytes(0)),
            limits,
        )
    }

    /// The sums that the invocations of a workgroup write.
    pub(super) fn expected(self, work: Work) -> Vec<f32> {
        let entry = |i: u32| (i * 7) & 15;
        let reads: Vec<u32> = (0..self.workgroup).map(|first| (first..first + READS).map(entry).sum()).collect();
        let whole = work.rounds / self.workgroup * reads.iter().sum::<u32>();
        let rest = |lane: u32| (0..work.rounds % self.workgroup).map(|r| reads[((lane + r) % self.workgroup) as usize]).sum::<u32>();
        (0..self.workgroup).map(|lane| exact(4 * (whole + rest(lane)))).collect()
    }
}

/// A whole number that f32 holds.
fn exact(sum: u32) -> f32 {
    debug_assert!(sum <= 1 << 24, "{sum} is not exact");
    sum as f32
}

fn kernel(shader: &str, element: ElementType, constants: &[(&str, Constant)], workgroup: u32, workgroup_bytes: u32) -> Kernel {
    Kernel {
        shader: shader.into(),
        element,
        constants: constants.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        overrides: BTreeMap::new(),
        folded: BTreeMap::new(),
        tile: None,
        workgroup: [workgroup, 1, 1],
        workgroup_bytes,
        problem_fields: Vec::new(),
    }
}

fn buffer(name: &str, role: Role, elements: u64) -> Buffer {
    Buffer { name: name.into(), role, element: ElementType::F32, elements, lifetime: Lifetime::Call }
}

fn sums(work: Work) -> Buffer {
    buffer("sums", Role::Output, work.invocations.into())
}

/// A plan of one step whose workgroups, a power of two, are laid out over as many rows as the device's limit asks for, none of them
/// partly filled. The last buffer is written.
fn finish(
    stage: &str,
    mut kernel: Kernel,
    buffers: &[Buffer],
    problem: &[(&str, u32)],
    groups: u32,
    (operations, traffic): (Ops, Bytes),
    limits: &Limits,
) -> Result<Plan, Unsupported> {
    let mut rows = 1;
    while groups / rows > limits.max_workgroups && rows < groups {
        rows *= 2;
    }
    let problem = [problem, &[("groups_x", groups / rows)]].concat();
    kernel.problem_fields = problem.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut plan = Plan::of_buffers(buffers.to_vec());
    let mut bindings: Vec<_> = (0..buffers.len()).map(|i| plan.whole(BufferId(i))).collect();
    if let Some(last) = bindings.last_mut() {
        last.writes = true;
    }
    plan.steps.push(Step {
        stage: stage.into(),
        kernel,
        problem: problem.iter().map(|&(_, value)| value).collect(),
        bindings,
        workgroups: [groups / rows, rows, 1],
        operations,
        traffic,
        once: false,
    });
    plan.finish(limits)
}

impl fmt::Display for MultiplyAdd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, chains, fused, workgroup } = self;
        let how = if *fused { "fma" } else { "multiply and add" };
        let plural = if *chains == 1 { "chain" } else { "chains" };
        write!(f, "{how}, {chains} {plural} of vec4<{element}>, {UNROLL} steps unrolled, workgroups of {workgroup}")
    }
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vector = if self.width == 4 { "vec4<f32>" } else { "f32" };
        write!(f, "copy of {vector}, {} an invocation, workgroups of {}", self.items, self.workgroup)
    }
}

impl fmt::Display for WorkgroupRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reads of vec4<f32>, {READS} unrolled, workgroups of {}", self.workgroup)
    }
}

/// A plan for each kernel that measuring may use on a device with these limits; those it has no room for are left out.
pub fn plans(limits: &Limits) -> Vec<Plan> {
    let work = Work { invocations: 1024, rounds: 1 };
    let elements = [ElementType::F32, ElementType::F16].into_iter().filter(|&e| e == ElementType::F32 || limits.f16);
    let arithmetic = elements.flat_map(MultiplyAdd::shapes).map(|shape| shape.plan(work, limits));
    let copies = [1, 4].into_iter().flat_map(Copy::shapes).flat_map(|shape| [1, 2].map(|passes| shape.plan(1 << 14, passes, limits)));
    let reads = WorkgroupRead::shapes().into_iter().map(|shape| shape.plan(work, limits));
    arithmetic.chain(copies).chain(reads).filter_map(Result::ok).collect()
}
