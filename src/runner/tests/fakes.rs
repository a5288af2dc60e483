//! Algorithms whose ledgers are easy to follow.

use crate::algorithm::{Algorithm, Variant};
use crate::conv::{Conv, ElementType};
use crate::plan::{Kernel, Limits, Plan, Step, Unsupported, workspace_bytes};
use crate::suite::{Layer, Suite};
use crate::units::{Bytes, Ops};
use std::collections::BTreeMap;

pub(super) static ALL: &[&dyn Algorithm] = &[&Direct, &Columns, &Three];

/// No workspace, no knob, does everything.
pub(super) struct Direct;

/// A column matrix of the whole batch, of one image or of some rows.
pub(super) struct Columns;

/// Only 3×3.
pub(super) struct Three;

fn finish(conv: &Conv, workspace: &[u64], operations: u64, limits: &Limits) -> Result<Plan, Unsupported> {
    let mut plan = Plan::new(conv);
    let mut bindings = vec![plan.whole(Plan::INPUT), plan.whole(Plan::WEIGHTS), plan.whole(Plan::OUTPUT).write()];
    if !workspace.is_empty() {
        let id = plan.workspace("columns", workspace, conv.element())?;
        bindings.push(plan.whole(id).write());
    }
    plan.steps.push(Step {
        stage: "all".into(),
        kernel: Kernel {
            shader: "none".into(),
            element: ElementType::F32,
            constants: BTreeMap::new(),
            overrides: BTreeMap::new(),
            folded: BTreeMap::new(),
            tile: None,
            workgroup: [1, 1, 1],
            workgroup_bytes: 0,
            problem_fields: vec!["n".into()],
        },
        problem: vec![1],
        bindings,
        workgroups: [1, 1, 1],
        operations: Ops(operations),
        traffic: Bytes(0),
        once: false,
    });
    plan.tuning = "tile=1".into();
    plan.finish(limits)
}

impl Algorithm for Direct {
    fn id(&self) -> &'static str {
        "direct"
    }

    fn summary(&self) -> &'static str {
        "fake"
    }

    fn workspace_formula(&self) -> &'static str {
        "0"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &[]
    }

    fn variants(&self, _: &Conv, _: &Limits) -> Vec<Variant> {
        vec![Variant::none()]
    }

    fn native_workspace(&self, _: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        if *variant == Variant::none() { Ok(Bytes(0)) } else { Err(Unsupported::Variant(format!("direct has no {variant}"))) }
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        self.native_workspace(conv, variant)?;
        finish(conv, &[], crate::ledger::operations(conv).0, limits)
    }
}

impl Columns {
    fn factors(conv: &Conv, variant: &Variant) -> Result<[u64; 3], Unsupported> {
        let rows = conv.channels_in() * conv.taps();
        match variant.parts() {
            ("batch", None) => Ok([rows, conv.output_points(), conv.batch()]),
            ("image", None) => Ok([rows, conv.output_points(), 1]),
            ("strip", Some(strip @ 1..)) => Ok([rows, conv.axes_3d()[2].output(), strip]),
            _ => Err(Unsupported::Variant(format!("columns has no {variant}"))),
        }
    }
}

impl Algorithm for Columns {
    fn id(&self) -> &'static str {
        "columns"
    }

    fn summary(&self) -> &'static str {
        "fake"
    }

    fn workspace_formula(&self) -> &'static str {
        "C·R·S·points"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["strip=p", "image", "batch"]
    }

    fn variants(&self, _: &Conv, _: &Limits) -> Vec<Variant> {
        vec![Variant::knob("strip", 1), Variant::word("image"), Variant::word("batch")]
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        workspace_bytes("columns", &Self::factors(conv, variant)?, conv.element())
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        finish(conv, &Self::factors(conv, variant)?, crate::ledger::operations(conv).0, limits)
    }
}

impl Algorithm for Three {
    fn id(&self) -> &'static str {
        "three"
    }

    fn summary(&self) -> &'static str {
        "fake"
    }

    fn workspace_formula(&self) -> &'static str {
        "t"
    }

    fn knobs(&self) -> &'static [&'static str] {
        &["tiles=t"]
    }

    fn variants(&self, _: &Conv, _: &Limits) -> Vec<Variant> {
        vec![Variant::knob("tiles", 4), Variant::knob("tiles", 8)]
    }

    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        if conv.taps() != 9 {
            return Err(Unsupported::Problem(format!("the kernel has {} taps, must have 9", conv.taps())));
        }
        match variant.parts() {
            ("tiles", Some(tiles)) => Ok(Bytes(tiles * conv.element().bytes())),
            _ => Err(Unsupported::Variant(format!("three has no {variant}"))),
        }
    }

    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let bytes = self.native_workspace(conv, variant)?;
        finish(conv, &[bytes.0 / conv.element().bytes()], 1000, limits)
    }
}

/// A suite of layers `l0`, `l1` and so on.
pub(super) fn suite(name: &str, keys: &[&str]) -> Suite {
    let layer = |(i, key): (usize, &&str)| Layer { name: format!("l{i}"), conv: key.parse().expect("key"), count: 1 };
    Suite { name: name.into(), description: String::new(), layers: keys.iter().enumerate().map(layer).collect() }
}
