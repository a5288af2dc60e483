//! Which convolutions show what a knob does.
//!
//! No table says which algorithm uses which kernel: a convolution is planned with different choices, and where the plan differs it is a
//! problem of the knob, timed by the steps that differ.

use super::{Candidates, Choice, Knob};
use crate::algorithm::{ALGORITHMS, Variant, find, plain_variant};
use crate::conv::Conv;
use crate::ledger;
use crate::plan::{DeviceClass, Kernel, Limits, Plan, Step, TiledKernel};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashSet;

/// Convolutions of networks people run and some odd ones, of every class of shapes; what they compute suits a CPU.
const LIGHT: [&str; 16] = [
    "n1c64h28w28_k64r3s3_p1",
    "n1c64h112w112_k128r1s1",
    "n1c128h28w28_k128r3s3_p1",
    "n1c256h28w28_k512r1s1_s2",
    "n1c16h128w128_k64r3s3_p1",
    "n1c144h28w28_k144r3s3_p1_g144",
    "n1c256h14w14_k128r3s3_p1",
    "n1c64h56w56_k64r3s3_p1",
    "n1c512h7w7_k256r3s3_p1",
    "n1c512h14w14_k256r1s1",
    "n1c96h56w56_k96r3s3_p1_g96",
    "n1c960h7w7_k960r5s5_p2_g960",
    "n1c3h112w112_k8r3s3_p1",
    "n1c64h28w28_k12r3s3_p1",
    "n1c32h19w23_k48r3s3_p1",
    "n1c3h224w224_k64r7s7_s2_p3",
];

/// The same for a GPU: some in batches.
const HEAVY: [&str; 18] = [
    "n32c64h56w56_k64r3s3_p1",
    "n32c256h56w56_k64r1s1",
    "n16c128h28w28_k128r3s3_p1",
    "n32c96h112w112_k96r3s3_p1_g96",
    "n1c64h56w56_k64r3s3_p1",
    "n4c256h14w14_k256r3s3_p1",
    "n4c1024h14w14_k256r1s1",
    "n1c144h56w56_k144r3s3_p1_g144",
    "n4c576h14w14_k576r3s3_p1_g576",
    "n1c256h14w14_k256r3s3_p1",
    "n1c512h7w7_k512r3s3_p1",
    "n1c1024h14w14_k256r1s1",
    "n1c576h14w14_k576r3s3_p1_g576",
    "n1c960h7w7_k960r5s5_p2_g960",
    "n8c3h224w224_k8r3s3_p1",
    "n1c64h28w28_k12r3s3_p1",
    "n1c32h19w23_k48r3s3_p1",
    "n8c3h224w224_k64r7s7_s2_p3",
];

/// Problems of one knob, enough that a choice is not made for a single convolution: on a software driver, which is slow, and elsewhere.
const PROBLEMS: (usize, usize) = (2, 3);
/// Choices that are tried to see whether a plan depends on a knob.
const PROBES: usize = 6;

/// A convolution that shows what a knob does.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The convolution.
    pub conv: Conv,
    /// The algorithm's id.
    pub algorithm: &'static str,
    /// Its variant.
    pub variant: Variant,
    /// The steps that count, by index in the plan; empty for all.
    pub steps: Vec<usize>,
}

impl Problem {
    fn plan(&self, limits: &Limits) -> Option<Plan> {
        find(self.algorithm)?.plan(&self.conv, &self.variant, limits).ok()
    }

    /// As the command line takes it.
    pub fn title(&self) -> String {
        format!("{} {}", self.variant.qualify(self.algorithm), self.conv)
    }
}

/// A knob and the problems it is tuned on.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The knob.
    pub knob: Knob,
    /// The problems.
    pub problems: Vec<Problem>,
}

/// Each knob that changes any plan on a device with these limits.
pub fn targets(kernels: &[TiledKernel], limits: &Limits) -> Vec<Target> {
    let keys: &[&str] = if limits.class == DeviceClass::Software { &LIGHT } else { &HEAVY };
    let convs = || keys.iter().filter_map(|key| key.parse::<Conv>().ok());
    let mut plans: Vec<(Problem, Plan)> = Vec::new();
    for conv in convs() {
        for algorithm in ALGORITHMS {
            let variant = plain_variant(*algorithm, &conv, limits);
            let problem = Problem { conv, algorithm: algorithm.id(), variant, steps: Vec::new() };
            plans.extend(problem.plan(limits).map(|plan| (problem, plan)));
        }
    }
    let find = |knob: Knob| Target { knob, problems: problems(knob, limits, &plans) };
    Knob::all(kernels).into_iter().map(find).filter(|target| !target.problems.is_empty()).collect()
}

/// The problems of a knob: of other algorithms before others of an algorithm, in the order of the convolutions.
fn problems(knob: Knob, limits: &Limits, plans: &[(Problem, Plan)]) -> Vec<Problem> {
    let choices = knob.choices(limits);
    let stride = choices.len().div_ceil(PROBES).max(1);
    let probes: Vec<Limits> = choices.iter().step_by(stride).map(|&choice| turned(knob, limits, choice)).collect();
    let mut found: Vec<Problem> = Vec::new();
    for (problem, plan) in plans {
        if probes.iter().filter_map(|limits| problem.plan(limits)).any(|other| differs(&work(&other), &work(plan))) {
            found.push(problem.clone());
        }
    }
    if !matches!(knob, Knob::Tile(..)) {
        // A large convolution says no more about these than a small one.
        found.sort_by_key(|problem| ledger::operations(&problem.conv));
    }
    let mut chosen: Vec<Problem> = Vec::new();
    let wanted = if limits.class == DeviceClass::Software { PROBLEMS.0 } else { PROBLEMS.1 };
    while chosen.len() < wanted && !found.is_empty() {
        let repeats = |problem: &Problem| chosen.iter().filter(|c| c.algorithm == problem.algorithm || c.conv == problem.conv).count();
        let next = (0..found.len()).min_by_key(|&i| repeats(&found[i])).unwrap_or_default();
        chosen.push(found.remove(next));
    }
    chosen
}

/// A device's limits with another choice.
fn turned(knob: Knob, limits: &Limits, choice: Choice) -> Limits {
    Limits { tuning: knob.turn(limits.tuning.clone(), choice), ..limits.clone() }
}

/// A step of a plan, as far as a device sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Work {
    /// Whatever its tile is called.
    kernel: Kernel,
    workgroups: [u32; 3],
    once: bool,
}

/// What a plan has a device do.
fn work(plan: &Plan) -> Vec<Work> {
    let of = |step: &Step| Work { kernel: Kernel { tile: None, ..step.kernel.clone() }, workgroups: step.workgroups, once: step.once };
    plan.steps.iter().map(of).collect()
}

/// Whether an execution of one differs from that of the other; what runs once for its weights is no part of it.
fn differs(one: &[Work], other: &[Work]) -> bool {
    let executed = |work: &'_ &Work| !work.once;
    !one.iter().filter(executed).eq(other.iter().filter(executed))
}

impl Target {
    /// The candidates on a device with these limits: those that make a plan of every problem, each of which differs from all others and
    /// from the incumbent's in what it has the device do. Notes with each problem the steps that differ.
    pub fn candidates(&mut self, limits: &Limits, seed: u64) -> Candidates<Choice> {
        let knob = self.knob;
        let plans = |choice| {
            let limits = turned(knob, limits, choice);
            self.problems.iter().map(|problem| problem.plan(&limits).map(|plan| work(&plan))).collect::<Option<Vec<_>>>()
        };
        let incumbent = plans(knob.current(limits)).unwrap_or_default();
        let mut known = HashSet::from([incumbent.clone()]);
        let mut changed: Vec<Option<Vec<bool>>> = incumbent.iter().map(|work| Some(vec![false; work.len()])).collect();
        let mut distinct = |choice: &Choice| {
            let Some(works) = plans(*choice) else { return false };
            for ((changed, before), now) in changed.iter_mut().zip(&incumbent).zip(&works) {
                // Steps of plans with different numbers of them cannot be told apart: then the whole counts.
                *changed = changed.take().filter(|_| before.len() == now.len());
                let steps = changed.iter_mut().flatten().zip(before).zip(now);
                steps.for_each(|((mark, before), now)| *mark |= !now.once && before != now);
            }
            known.insert(works)
        };
        let first: Vec<Choice> = knob.known(limits).into_iter().filter(&mut distinct).collect();
        let mut rest: Vec<Choice> = knob.choices(limits).into_iter().filter(&mut distinct).collect();
        rest.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        for (problem, changed) in self.problems.iter_mut().zip(changed) {
            let marks = changed.unwrap_or_default();
            problem.steps = (0..marks.len()).filter(|&step| marks[step]).collect();
        }
        Candidates::new(first, rest, Choice::distance)
    }
}
