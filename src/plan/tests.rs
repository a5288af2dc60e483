//! Workspaces that share memory, in plans that were made up.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A step of no kernel that there is, with these windows.
pub(crate) fn step(bindings: Vec<Binding>) -> Step {
    let kernel = Kernel {
        shader: "none".into(),
        element: ElementType::F32,
        constants: BTreeMap::new(),
        overrides: BTreeMap::new(),
        folded: BTreeMap::new(),
        tile: None,
        workgroup: [1; 3],
        workgroup_bytes: 0,
        problem_fields: Vec::new(),
    };
    let (operations, traffic) = (Ops(0), Bytes(0));
    Step { stage: "step".into(), kernel, problem: Vec::new(), bindings, workgroups: [1; 3], operations, traffic, once: false }
}

/// A finished plan of workspaces of `sizes` elements, of which each step binds those listed. Workspace `i` is buffer `3 + i`.
fn chain(sizes: &[u64], steps: &[&[usize]]) -> Plan {
    let mut plan = Plan::new(&"n1c1h1w1_k1r1s1".parse().expect("a key"));
    for (i, &size) in sizes.iter().enumerate() {
        plan.workspace(&format!("w{i}"), &[size], ElementType::F32).expect("small");
    }
    for bound in steps {
        plan.steps.push(step(bound.iter().map(|&i| plan.whole(BufferId(3 + i))).collect()));
    }
    plan.finish(&Limits::UNLIMITED).expect("small")
}

fn tenants(plan: &Plan) -> Vec<Vec<usize>> {
    plan.slots.iter().map(|slot| slot.tenants().map(|id| id.0 - 3).collect()).collect()
}

/// Sum, arena and live, in elements.
fn figures(plan: &Plan) -> [u64; 3] {
    [plan.bytes(Ledger::Computation), plan.arena_bytes(), plan.live_bytes()].map(|bytes| bytes.0 / 4)
}

#[test]
fn workspaces_of_a_chain_share_every_other_slot() {
    let plan = chain(&[10, 20, 30, 5], &[&[0], &[0, 1], &[1, 2], &[2, 3], &[3]]);
    // Those that meet in a step do not share: one is read there, the other written.
    assert_eq!(tenants(&plan), [[2, 0], [1, 3]]);
    assert_eq!(figures(&plan), [65, 50, 50]);
    assert_eq!(plan.shared_bytes(), Bytes(60));
    assert_eq!(plan.memory_of(BufferId(3)), BufferId(5));
    assert_eq!(plan.memory_of(BufferId(5)), BufferId(5));
    assert_eq!((plan.slot_of(BufferId(4)), plan.slot_of(Plan::OUTPUT)), (Some(SlotId(1)), None));
    let held: Vec<&str> = plan.allocations().map(|(_, buffer)| buffer.name.as_str()).collect();
    assert_eq!(held, ["input", "weights", "output", "w1", "w2", "problem"]);
    assert_eq!(plan.requested_bytes().0, plan.buffers.iter().map(|buffer| buffer.bytes().0).sum::<u64>() - 60);
}

#[test]
fn what_is_not_free_between_executions_shares_with_nobody() {
    // Nobody binds w2; all the others would have room for each other.
    let bare = chain(&[8, 8, 8], &[&[0], &[1]]);
    assert_eq!((tenants(&bare), figures(&bare)), (vec![vec![0, 1]], [24, 16, 8]));

    let mut kept = chain(&[8, 8, 8], &[&[0], &[1], &[2]]);
    kept.buffers[3].lifetime = Lifetime::Cached;
    let kept = kept.finish(&Limits::UNLIMITED).expect("small");
    assert_eq!((tenants(&kept), figures(&kept)), (vec![vec![1, 2]], [24, 16, 16]));

    // w0 is made by a step that runs once and read in every execution, whatever its lifetime says. w1 is only used while that is prepared.
    let mut once = chain(&[8, 8, 8], &[&[2], &[0], &[0, 1]]);
    once.steps[2].once = true;
    let once = once.finish(&Limits::UNLIMITED).expect("small");
    assert!(once.steps[0].once && once.steps[0].bindings.len() == 2, "what runs once comes first");
    assert_eq!((tenants(&once), figures(&once)), (vec![vec![1, 2]], [24, 16, 16]));
}

#[test]
fn greedy_is_not_always_the_least() {
    let plan = chain(&[10, 5, 7, 6], &[&[0], &[0, 1], &[1, 2], &[2, 3], &[3]]);
    assert_eq!(tenants(&plan), [[0, 2], [3, 1]]);
    assert_eq!(figures(&plan), [28, 16, 15]);
}

/// Workspaces of any size and lifetime, steps that bind any of them, some of them once.
fn any_plan() -> impl Strategy<Value = Plan> {
    let element = prop::sample::select(vec![ElementType::F32, ElementType::F16]);
    let lifetime = prop_oneof![4 => Just(Lifetime::Call), 1 => Just(Lifetime::Cached)];
    let buffers = prop::collection::vec((1_u64..100, element, lifetime), 1..12);
    let step_ = (prop::collection::vec(any::<prop::sample::Index>(), 0..3), prop::bool::weighted(0.2));
    (buffers, prop::collection::vec(step_, 0..16)).prop_map(|(buffers, steps)| {
        let mut plan = Plan::new(&"n1c1h1w1_k1r1s1".parse().expect("a key"));
        for (i, (elements, element, lifetime)) in buffers.iter().enumerate() {
            let id = plan.workspace(&format!("w{i}"), &[*elements], *element).expect("small");
            plan.buffers[id.0].lifetime = *lifetime;
        }
        for (bound, once) in steps {
            let windows = bound.iter().map(|index| plan.whole(BufferId(3 + index.index(buffers.len())))).collect();
            plan.steps.push(Step { once, ..step(windows) });
        }
        plan
    })
}

/// Who uses a slot, step by step through an execution; a tenant that stays is told once.
fn users(steps: &[&Step], slot: &Slot) -> Vec<BufferId> {
    let mut users = Vec::new();
    for step in steps {
        let mut bound: Vec<BufferId> = slot.tenants().filter(|id| step.bindings.iter().any(|b| b.buffer == *id)).collect();
        assert!(bound.len() < 2, "{bound:?} in one step");
        if bound.last().is_some_and(|id| users.last() != Some(id)) {
            users.append(&mut bound);
        }
    }
    users
}

proptest! {
    #[test]
    fn no_two_tenants_disturb_each_other(plan in any_plan()) {
        let plan = plan.finish(&Limits::UNLIMITED).expect("small");
        prop_assert!(plan.steps.is_sorted_by_key(|step| !step.once));
        // The first execution, which prepares, and every other.
        let (once, always): (Vec<&Step>, Vec<&Step>) = plan.steps.iter().partition(|step| step.once);
        for slot in &plan.slots {
            for steps in [plan.steps.iter().collect::<Vec<_>>(), always.clone()] {
                let users = users(&steps, slot);
                for (i, user) in users.iter().enumerate() {
                    prop_assert!(!users[..i].contains(user), "{user:?} comes back to what another wrote: {users:?}");
                }
            }
            prop_assert!(slot.tenants().count() > 1);
            for id in slot.tenants() {
                let bound = |steps: &[&Step]| steps.iter().any(|step| step.bindings.iter().any(|b| b.buffer == id));
                prop_assert!(bound(&once) != bound(&always), "either used while preparing or in every execution");
                let tenant = plan.buffer(id);
                prop_assert!(tenant.role == Role::Workspace && tenant.lifetime == Lifetime::Call);
                prop_assert!(tenant.bytes() <= plan.buffer(slot.holder).bytes());
                prop_assert_eq!(plan.slots.iter().filter(|other| other.tenants().any(|tenant| tenant == id)).count(), 1);
            }
        }
    }

    #[test]
    fn an_arena_lies_between_what_is_live_and_the_sum(plan in any_plan()) {
        let finished = plan.clone().finish(&Limits::UNLIMITED).expect("small");
        let [sum, arena, live] = [finished.bytes(Ledger::Computation), finished.arena_bytes(), finished.live_bytes()];
        prop_assert!(live <= arena && arena <= sum, "{live} {arena} {sum}");
        let sizes = finished.slots.iter().map(|slot| finished.buffer(slot.holder).bytes().0).sum::<u64>();
        let alone = finished.numbered().filter(|(id, b)| b.role == Role::Workspace && finished.slot_of(*id).is_none());
        prop_assert_eq!(arena.0, sizes + alone.map(|(_, b)| b.bytes().0).sum::<u64>());
        prop_assert_eq!(sum.0 - arena.0, finished.shared_bytes().0);
        // Step by step, as the documentation says it.
        let kept = |id: BufferId| {
            let bound = |once| finished.steps.iter().any(|step| step.once == once && step.bindings.iter().any(|b| b.buffer == id));
            (finished.buffer(id).lifetime == Lifetime::Cached && (bound(true) || bound(false))) || (bound(true) && bound(false))
        };
        let at = |step: usize| {
            let holds = |id| kept(id) || finished.live_range(id).is_some_and(|(first, last)| first <= step && step <= last);
            finished.numbered().filter(|(id, b)| b.role == Role::Workspace && holds(*id)).map(|(_, b)| b.bytes().0).sum::<u64>()
        };
        prop_assert_eq!(live.0, (0..finished.steps.len()).map(at).max().unwrap_or(0));
    }

    #[test]
    fn equal_plans_share_equally(plan in any_plan()) {
        let first = plan.clone().finish(&Limits::UNLIMITED).expect("small");
        prop_assert_eq!(&plan.finish(&Limits::UNLIMITED).expect("small"), &first);
        let json = serde_json::to_string(&first).expect("serialises");
        prop_assert_eq!(&serde_json::from_str::<Plan>(&json).expect("own JSON"), &first);
    }
}
