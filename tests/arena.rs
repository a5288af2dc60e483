//! Workspaces that share memory, on a device: plans made up of the kernels there are.

#[path = "common/device.rs"]
mod device;

use convledger::conv::ElementType;
use convledger::device::{Clock, Gpu, Loaded};
use convledger::plan::{Binding, Buffer, BufferId, Constant, Kernel, Lifetime, Plan, Role, Step};
use convledger::units::{Bytes, Ops};
use std::collections::BTreeMap;

const INPUT: BufferId = BufferId(0);
const OUTPUT: BufferId = BufferId(1);
/// Elements of the first buffer; every window is whole workgroups and begins where any device lets it.
const ELEMENTS: u64 = 4096;
const LANES: u32 = 64;

fn buffer(name: &str, role: Role, elements: u64) -> Buffer {
    Buffer { name: name.into(), role, element: ElementType::F32, elements, lifetime: Lifetime::Call }
}

fn step(shader: &str, constants: &[(&str, Constant)], problem: &[(&str, u64)], bindings: [Binding; 2], invocations: u64) -> Step {
    let groups = invocations / u64::from(LANES);
    let problem: Vec<(&str, u32)> =
        problem.iter().chain(&[("groups_x", groups)]).map(|&(name, n)| (name, u32::try_from(n).expect("small"))).collect();
    let kernel = Kernel {
        shader: shader.into(),
        element: ElementType::F32,
        constants: constants.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        overrides: BTreeMap::new(),
        folded: BTreeMap::new(),
        tile: None,
        workgroup: [LANES, 1, 1],
        workgroup_bytes: 0,
        problem_fields: problem.iter().map(|(name, _)| (*name).to_owned()).collect(),
    };
    Step {
        stage: shader.into(),
        kernel,
        problem: problem.iter().map(|&(_, n)| n).collect(),
        bindings: bindings.to_vec(),
        workgroups: [u32::try_from(groups).expect("small"), 1, 1],
        operations: Ops(0),
        traffic: Bytes(0),
        once: false,
    }
}

/// Copies a buffer to another's window of its size, from byte `offset` on.
fn copy(plan: &Plan, from: BufferId, to: BufferId, offset: u64) -> Step {
    let source = plan.whole(from);
    let window = Binding { buffer: to, offset, size: source.size, writes: true };
    let constants = [("vector", Constant::Word("f32".into())), ("items", Constant::Size(1)), ("wrap", Constant::Flag(false))];
    step("peak_copy", &constants, &[("mask", source.size / 4 - 1)], [source, window], source.size / 4)
}

/// Adds up the four quarters of a buffer.
fn quarters(plan: &Plan, from: BufferId, to: BufferId) -> Step {
    let outputs = plan.buffer(to).elements;
    assert_eq!(plan.buffer(from).elements, 4 * outputs);
    let problem = [("outputs", outputs), ("parts", 4), ("parts_skip", 0), ("output_skip", 0)];
    step("sum_parts", &[("vector", Constant::Flag(false))], &problem, [plan.whole(from), plan.whole(to).write()], outputs)
}

/// `a = input, b = quarters of a, c = b, d = quarters of c, output = d and what a step that runs once keeps of the input`: a and c, b and d are
/// never in use together.
fn chain(gpu: &Gpu) -> Plan {
    let workspace = |name, elements| buffer(name, Role::Workspace, elements);
    let mut plan = Plan::of_buffers(vec![
        buffer("input", Role::Input, ELEMENTS),
        buffer("output", Role::Output, ELEMENTS / 16 + ELEMENTS / 4),
        workspace("a", ELEMENTS),
        workspace("b", ELEMENTS / 4),
        workspace("c", ELEMENTS / 4),
        workspace("d", ELEMENTS / 16),
        Buffer { lifetime: Lifetime::Cached, ..workspace("kept", ELEMENTS / 4) },
    ]);
    let [a, b, c, d, kept] = [2, 3, 4, 5, 6].map(BufferId);
    plan.steps = vec![
        copy(&plan, INPUT, a, 0),
        quarters(&plan, a, b),
        copy(&plan, b, c, 0),
        quarters(&plan, c, d),
        copy(&plan, d, OUTPUT, 0),
        copy(&plan, kept, OUTPUT, ELEMENTS / 16 * 4),
        Step { once: true, ..quarters(&plan, INPUT, kept) },
    ];
    plan.finish(&gpu.limits).expect("small")
}

fn input() -> Vec<f32> {
    (0..ELEMENTS).map(|i| (i * 7 % 1013) as f32).collect()
}

fn expected() -> Vec<f32> {
    let quarters = |values: &[f32]| -> Vec<f32> {
        let quarter = values.len() / 4;
        (0..quarter).map(|i| (0..4).map(|part| values[part * quarter + i]).sum()).collect()
    };
    let kept = quarters(&input());
    [quarters(&kept), kept].concat()
}

#[test]
fn results_are_right_however_often_the_plan_runs() {
    let gpu = device::open();
    let plan = chain(&gpu);
    assert_eq!(plan.slots.len(), 2);
    // As the worker would get it.
    let plan: Plan = serde_json::from_str(&serde_json::to_string(&plan).expect("serialises")).expect("own JSON");
    for sets in [1, 2] {
        let loaded = Loaded::new(&gpu, plan.clone(), sets).expect("loads");
        loaded.upload(INPUT, &input()).expect("upload");
        loaded.poison().expect("poison");
        loaded.execute(3, Clock::Host).expect("execute");
        assert_eq!(loaded.download(OUTPUT).expect("download").into_floats(), expected());
        loaded.poison().expect("poison");
        loaded.execute_poisoned().expect("execute");
        assert_eq!(loaded.download(OUTPUT).expect("download").into_floats(), expected());
        // What was kept then is good for later executions as well.
        loaded.execute(2, Clock::Host).expect("execute");
        assert_eq!(loaded.download(OUTPUT).expect("download").into_floats(), expected());
        loaded.execute_steps(Clock::Host).expect("execute");
        assert_eq!(loaded.download(OUTPUT).expect("download").into_floats(), expected());
    }
}

#[test]
fn a_slot_is_one_allocation_booked_once() {
    let gpu = device::open();
    let plan = chain(&gpu);
    let before = gpu.allocator_report();
    let loaded = Loaded::new(&gpu, plan.clone(), 1).expect("loads");
    if let (Some(before), Some(after)) = (before, gpu.allocator_report()) {
        let ours = |(label, _): &&(String, Bytes)| label.starts_with("convledger ");
        let made = after.allocations.iter().filter(ours).count() - before.allocations.iter().filter(ours).count();
        // Input, output, kept, uniforms, and two slots of two.
        assert_eq!((made, plan.allocations().count()), (6, 6));
        let count = |name: &str| after.allocations.iter().filter(|(label, _)| label.ends_with(&format!(" {name}"))).count();
        assert_eq!(["a", "b", "c", "d"].map(count), [1, 1, 0, 0], "{after:?}");
        let accounted: u64 = loaded.accounts().iter().map(|account| account.allocated.expect("told").0).sum();
        assert_eq!(after.own().0 - before.own().0, accounted);
    }
    let requested: Vec<u64> = loaded.accounts().iter().map(|account| account.requested.0 / 4).collect();
    assert_eq!(requested[2..7], [ELEMENTS, ELEMENTS / 4, 0, 0, ELEMENTS / 4]);
    assert_eq!(requested.iter().sum::<u64>() * 4, plan.requested_bytes().0);
    assert_eq!(plan.arena_bytes(), Bytes((ELEMENTS + ELEMENTS / 4 + ELEMENTS / 4) * 4));
    assert_eq!(plan.arena_bytes(), plan.live_bytes());
}

#[test]
fn poison_and_zeros_reach_every_tenant() {
    let gpu = device::open();
    let loaded = Loaded::new(&gpu, chain(&gpu), 1).expect("loads");
    let tenants: Vec<BufferId> = (2..7).map(BufferId).collect();
    loaded.poison().expect("poison");
    for &id in &tenants {
        let values = loaded.download(id).expect("download").into_floats();
        assert_eq!(values.len() as u64, loaded.plan().buffer(id).elements);
        assert!(values.iter().all(|x| x.is_nan()), "{}", loaded.plan().buffer(id).name);
    }
    loaded.clear().expect("clear");
    for &id in &tenants {
        assert!(loaded.download(id).expect("download").into_floats().iter().all(|x| *x == 0.0), "{}", loaded.plan().buffer(id).name);
    }
}

/// A workspace that nobody writes holds what another left in its slot: finite, and wrong.
#[test]
fn what_another_left_is_not_taken_for_written() {
    let gpu = device::open();
    let workspace = |name| buffer(name, Role::Workspace, ELEMENTS);
    let mut plan = Plan::of_buffers(vec![
        buffer("input", Role::Input, ELEMENTS),
        buffer("output", Role::Output, ELEMENTS),
        workspace("written"),
        workspace("forgotten"),
    ]);
    plan.steps = vec![copy(&plan, INPUT, BufferId(2), 0), copy(&plan, BufferId(3), OUTPUT, 0)];
    let plan = plan.finish(&gpu.limits).expect("small");
    assert_eq!(plan.memory_of(BufferId(3)), BufferId(2));
    let loaded = Loaded::new(&gpu, plan, 1).expect("loads");
    loaded.upload(INPUT, &input()).expect("upload");
    loaded.poison().expect("poison");
    loaded.execute(1, Clock::Host).expect("execute");
    assert_eq!(loaded.download(OUTPUT).expect("download").into_floats(), input(), "the slot is one");
    loaded.poison().expect("poison");
    loaded.execute_poisoned().expect("execute");
    assert!(loaded.download(OUTPUT).expect("download").into_floats().iter().all(|x| x.is_nan()));
}
