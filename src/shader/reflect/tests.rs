use super::*;
use crate::conv::ElementType;
use crate::plan::{Binding, BufferId};
use crate::shader::Library;
use crate::units::{Bytes, Ops};
use std::collections::BTreeMap;

const GOOD: &str = "\
@group(0) @binding(0) var<uniform> count: u32;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
override workgroup_x: u32;
override workgroup_y: u32;
override depth: u32;
override fill: f32 = 0.5;
var<workgroup> tile: array<vec4<f32>, 2 * workgroup_x * depth>;
var<workgroup> flag: u32;
var<workgroup> unused: array<f32, 1000>;
fn index(lane: u32) -> u32 {
    return min(lane, count - 1u);
}
@compute @workgroup_size(workgroup_x, workgroup_y)
fn main(@builtin(local_invocation_index) lane: u32) {
    tile[lane] = vec4<f32>(x[index(lane)]);
    flag = 1u;
    workgroupBarrier();
    y[index(lane)] = tile[lane + flag].x + fill;
}
";

fn step() -> Step {
    let kernel = Kernel {
        shader: "main".into(),
        element: ElementType::F32,
        constants: BTreeMap::new(),
        overrides: BTreeMap::from([("depth".into(), 3)]),
        folded: BTreeMap::new(),
        tile: None,
        workgroup: [8, 4, 1],
        workgroup_bytes: 16 * 2 * 8 * 3 + 16,
        problem_fields: vec!["count".into()],
    };
    let window = |writes| Binding { buffer: BufferId(0), offset: 0, size: 4, writes };
    Step {
        stage: "main".into(),
        kernel,
        problem: vec![1],
        bindings: vec![window(false), window(true)],
        workgroups: [1; 3],
        operations: Ops(0),
        traffic: Bytes(0),
        once: false,
    }
}

fn composed(text: &str, step: &Step) -> Composed {
    Library::new([("main.wgsl", text)]).compose(&step.kernel).expect("valid WGSL")
}

/// The complaint about `GOOD` with `from` replaced by `to`, run as `step`.
fn complaint(from: &str, to: &str, step: &Step) -> String {
    assert!(GOOD.contains(from));
    check(&composed(&GOOD.replacen(from, to, 1), step), step).expect_err("should disagree").to_string()
}

#[test]
fn reflection_sees_through_overrides_and_calls() {
    let step = step();
    let composed = composed(GOOD, &step);
    let found = reflect(&composed, &step.kernel).expect("reflects");
    let bindings: Vec<(u32, &str, Access, usize)> =
        found.bindings.iter().map(|b| (b.binding, b.name.as_str(), b.access, b.at.line)).collect();
    assert_eq!(bindings, [(0, "count", Access::Uniform, 1), (1, "x", Access::Read, 3), (2, "y", Access::ReadWrite, 2)]);
    assert_eq!(found.workgroup, [8, 4, 1]);
    // 2·8·3 vectors of 16 bytes, and the flag rounded up to 16; the unused array does not count.
    assert_eq!(found.workgroup_bytes, 768 + 16);
    check(&composed, &step).expect("agrees");
}

#[test]
fn override_values_name_only_declared_axes() {
    let step = step();
    let mut values = composed(GOOD, &step).override_values(&step.kernel);
    values.sort_by_key(|value| value.0);
    assert_eq!(values, [("depth", 3.0), ("workgroup_x", 8.0), ("workgroup_y", 4.0)]);
}

#[test]
fn what_the_kernel_says_must_be_declared() {
    let with = |change: &dyn Fn(&mut Step)| {
        let mut step = step();
        change(&mut step);
        check(&composed(GOOD, &step), &step).expect_err("should disagree").to_string()
    };
    let window = step().bindings[0];
    let complaints = [
        with(&|step| step.kernel.workgroup = [8, 4, 2]),
        with(&|step| step.kernel.workgroup_bytes = 768),
        with(&|step| step.bindings[0].writes = true),
        with(&|step| step.bindings[1].writes = false),
        with(&|step| step.bindings.truncate(1)),
        with(&|step| step.bindings.push(window)),
        with(&|step| step.kernel.overrides.clear()),
        with(&|step| step.kernel.overrides.extend([("width".into(), 1)])),
        with(&|step| step.kernel.workgroup = [0, 4, 1]),
    ];
    let expected = [
        "shaders/main.wgsl:14: workgroup size is 8 x 4 x 1, the plan says 8 x 4 x 2",
        "shaders/main.wgsl:8: workgroup memory is 784 B, the plan says 768 B",
        "shaders/main.wgsl:3: binding 1 'x' is read, the plan says read_write",
        "shaders/main.wgsl:2: binding 2 'y' is read_write, the plan says read",
        "shaders/main.wgsl:2: binding 2 'y' is not in the plan, which has 2",
        "shaders/main.wgsl:1: 3 bindings are declared, the plan has 4",
        "shaders/main.wgsl:6: override 'depth' has no value in the plan",
        "shaders/main.wgsl:1: the plan sets override 'width', which is not declared",
        "shaders/main.wgsl:1: workgroup_size override isn't strictly positive",
    ];
    assert_eq!(complaints, expected);
}

#[test]
fn what_the_shader_declares_must_be_used_and_planned() {
    let step = step();
    let complaints = [
        complaint("@binding(2)", "@binding(3)", &step),
        complaint("@group(0) @binding(1)", "@group(1) @binding(1)", &step),
        complaint("x[index(lane)]", "1.0", &step),
        complaint("y[index(lane)] =", "_ = y[index(lane)] +", &step),
        complaint("var<uniform> count", "var<storage> count", &step),
        complaint("workgroup_y)", "2)", &step),
        complaint("fn main", "fn other", &step),
    ];
    let expected = [
        "shaders/main.wgsl:2: binding 3 'y' follows 2 bindings: numbers leave no gaps",
        "shaders/main.wgsl:3: binding 1 'x' is not in group 0",
        "shaders/main.wgsl:3: binding 1 'x' is never used",
        "shaders/main.wgsl:2: binding 2 'y' is read_write but never written",
        "shaders/main.wgsl:1: binding 0 'count' is read, the plan says uniform",
        "shaders/main.wgsl:14: workgroup size is 8 x 2 x 1, the plan says 8 x 4 x 1",
        "shaders/main.wgsl:1: no compute entry point 'main'",
    ];
    assert_eq!(complaints, expected);
}
