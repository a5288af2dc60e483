use super::*;
use crate::algorithm::{ALGORITHMS, Algorithm, Direct, Variant, Winograd};
use crate::conv::Conv;
use crate::conv::tests::any_conv;
use crate::peak::made_up;
use crate::plan::Limits;
use proptest::prelude::*;

const CONV: &str = "n1c8h16w16_k8r3s3_p1";

fn conv(key: &str) -> Conv {
    key.parse().expect(key)
}

fn portion(compute: f64, transfer: f64, workgroups: u64) -> Portion {
    Portion { compute: Nanoseconds(compute), transfer: Nanoseconds(transfer), workgroups }
}

#[test]
fn the_formula() {
    let cost = KernelCost { kernel: "k".into(), compute: 0.5, bandwidth: 0.25, fill: 8 };
    for (portion, time) in [
        (portion(100.0, 10.0, 8), 200.0),
        (portion(100.0, 100.0, 9), 400.0),
        (portion(100.0, 100.0, 2), 1600.0),
        (portion(0.0, 0.0, 0), 0.0),
    ] {
        assert!((cost.time(&portion, 7.0).0 - (time + 7.0)).abs() < 1e-9, "{portion:?}");
    }
}

/// A plan takes what its steps take, by the costs of their kernels and the device's limits.
#[test]
fn plans_add_up_their_steps() {
    let peaks = made_up();
    let text = "[[device]]\nkernels = [{ kernel = 'direct', compute = 0.5, bandwidth = 1.0, fill = 1 }]";
    let costs = Costs::parse(text, "costs.toml").expect("costs");
    let plan = Direct.native_plan(&conv(CONV), &Variant::none(), &Limits::WEBGPU).expect("a plan");
    let model = Model::new(&costs, DeviceClass::Discrete, Some(&peaks));
    // 100 GFLOP/s, half of which the kernel reaches, and a dispatch of 1 µs.
    let expected = f64::from(2 * 8 * 16 * 16 * 72) / 50.0 + 1000.0;
    assert!((model.plan(&plan, ElementType::F32).0 - expected).abs() < 1e-6);
}

fn costs(text: &str) -> Costs {
    Costs::parse(text, "costs.toml").expect(text)
}

#[test]
fn the_closest_entry_of_the_shader_serves() {
    let costs = costs(
        "[[device]]\nclass = 'software'\nkernels = [\n\
         { kernel = 'gemm gemm 16x8 vector_a', compute = 0.1, bandwidth = 1, fill = 1 },\n\
         { kernel = 'gemm gemm 16x8', compute = 0.2, bandwidth = 1, fill = 1 },\n\
         { kernel = 'gemm implicit_gemm 16x8', compute = 0.3, bandwidth = 1, fill = 1 },\n]\n\
         [[device]]\nkernels = [{ kernel = 'direct direct', compute = 0.4, bandwidth = 1, fill = 1 }]\n",
    );
    for (class, kernel, compute) in [
        (DeviceClass::Software, "gemm gemm 16x8 vector_a", 0.1),
        (DeviceClass::Software, "gemm gemm 16x8 vector_a vector_b", 0.1),
        (DeviceClass::Software, "gemm gemm 16x8 vector_b", 0.2),
        (DeviceClass::Software, "gemm implicit_gemm 32x4 patches", 0.3),
        (DeviceClass::Software, "direct direct", 0.4),
        (DeviceClass::Discrete, "direct", 0.4),
    ] {
        assert!((costs.of(class, kernel).compute - compute).abs() < 1e-9, "{kernel}");
    }
    assert_eq!(costs.of(DeviceClass::Discrete, "gemm gemm").kernel, "", "nobody has measured it");
}

#[test]
fn files_round_trip_to_three_digits() {
    let text = "[[device]]\nclass = \"software\"\nkernels = [\n  \
                { kernel = \"gemm gemm\", compute = 0.125, bandwidth = 1.500, fill = 64 },\n]\n[[device]]\nkernels = [\n]\n";
    assert_eq!(costs(text).to_toml(), text);
    assert!(!Costs::builtin().devices.is_empty());
}

#[test]
fn costs_of_another_kind_of_device_leave_what_is_built_in() {
    let costs = Costs::parse("[[device]]\nclass = 'integrated'\nkernels = []", "costs.toml").expect("costs");
    assert!(costs.knows(DeviceClass::Integrated) && !costs.knows(DeviceClass::Software));
    let conv: Conv = "n1c64h14w14_k64r3s3_p1".parse().expect("key");
    let plan = crate::algorithm::Im2col.native_plan(&conv, &"batch".parse().expect("variant"), &Limits::WEBGPU).expect("supported");
    let time = |costs: &Costs| Model::new(costs, DeviceClass::Software, None).plan(&plan, conv.element());
    assert_eq!(time(&costs), time(Costs::builtin()));
    let every =
        Costs::parse("[[device]]\nkernels = [{ kernel = 'gemm', compute = 0.5, bandwidth = 1, fill = 1 }]", "costs.toml").expect("costs");
    assert!(every.knows(DeviceClass::Software) && time(&every) != time(Costs::builtin()));
}

#[test]
fn faults_name_file_line_column_and_value() {
    let kernel = |rest: &str| format!("[[device]]\nkernels = [\n  {{ kernel = 'gemm', {rest} }},\n]");
    for (text, starts) in [
        ("", "costs.toml:1:1: it has no entry; one is written [[device]] with class and kernels"),
        ("[[device]]\nclass = 'toaster'", "costs.toml:2:9: unknown variant `toaster`"),
        ("[[device]]\nname = 'x'", "costs.toml:2:1: unknown field `name`"),
        ("[[device]]\n[[device]]", "costs.toml:1:1: a second entry for this kind of device"),
        ("[[device]]\nclass = 'other'\n[[device]]\nclass = 'other'", "costs.toml:4:9: a second entry for this kind of device"),
        (&kernel("compute = 0.0, bandwidth = 1.0, fill = 1"), "costs.toml:3:32: compute 0 is not a share above 0 and up to 1000"),
        (&kernel("compute = 1, bandwidth = nan, fill = 1"), "costs.toml:3:47: bandwidth NaN is not a share"),
        (&kernel("compute = 1, bandwidth = -inf, fill = 1"), "costs.toml:3:47: bandwidth -inf is not a share"),
        (&kernel("compute = 1, bandwidth = 1, fill = 0"), "costs.toml:3:57: fill 0 is no number of workgroups"),
        (&kernel("compute = 1, bandwidth = 1, fill = -1"), "costs.toml:3:57: invalid value: integer `-1`"),
        (&kernel("compute = 1, bandwidth = 1"), "costs.toml:3:3: missing field `fill`"),
        ("[[device]]\nkernels = [{ kernel = ' ', compute = 1, bandwidth = 1, fill = 1 }]", "costs.toml:2:23: kernel is empty"),
        (
            "[[device]]\nkernels = [\n{ kernel = \"gemm \\u001b\", compute = 1, bandwidth = 1, fill = 1 },\n{ kernel = \"gemm \\u001b\", compute = 1, bandwidth = 1, fill = 1 }]",
            "costs.toml:4:12: a second entry for kernel 'gemm \\u{1b}'",
        ),
        (
            "[[device]]\nkernels = [{ kernel = 'banana', compute = 1, bandwidth = 1, fill = 1 }]",
            "costs.toml:2:23: kernel 'banana' is no shader here",
        ),
        (&kernel("compute = 1e300, bandwidth = 1, fill = 1"), "costs.toml:3:32: compute 1e300 is not a share"),
    ] {
        let message = Costs::parse(text, "costs.toml").expect_err(text).to_string();
        assert!(message.starts_with(starts) && !message.contains('\n'), "{text}\n{message}");
    }
}

/// Stages that took exactly what some costs say: the fit predicts them, whatever one bad moment added to another.
#[test]
fn a_fit_predicts_what_it_was_fitted_to() {
    let truth = KernelCost { kernel: "k stage".into(), compute: 0.23, bandwidth: 0.61, fill: 16 };
    let dispatch = Nanoseconds(500.0);
    let mut stages = Vec::new();
    for (index, workgroups) in [1, 4, 16, 64, 256, 300, 5, 70].into_iter().enumerate() {
        for (compute, transfer) in [(1e6, 1e4), (1e4, 1e6), (3e5, 2e5), (5e6, 4e6)] {
            let portions = vec![portion(compute, transfer, workgroups); index + 1];
            let measured = portions.iter().map(|p| truth.time(p, dispatch.0).0).sum();
            stages.push(Observation { kernel: truth.kernel.clone(), portions, measured: Nanoseconds(measured) });
        }
    }
    stages[5].measured.0 *= 10.0;
    stages.push(Observation { kernel: "empty".into(), portions: Vec::new(), measured: Nanoseconds(1.0) });
    let fitted = fit(&stages, dispatch);
    let [cost] = &fitted[..] else { panic!("one kernel: {fitted:?}") };
    assert_eq!((&cost.kernel, cost.fill), (&truth.kernel, 16));
    for (fitted, true_share) in [(cost.compute, truth.compute), (cost.bandwidth, truth.bandwidth)] {
        assert!((fitted / true_share - 1.0).abs() < 0.05, "{cost:?}");
    }
    assert_eq!(fit(&stages, dispatch), fitted);
}

/// A single stage says nothing of shares apart, nor of how many workgroups fill the device.
#[test]
fn a_fit_to_little_stays_modest() {
    let stage = Observation { kernel: "k".into(), portions: vec![portion(1e6, 1e3, 4)], measured: Nanoseconds(1e7) };
    let [cost] = &fit(&[stage], Nanoseconds(0.0))[..] else { panic!("one kernel") };
    assert!(cost.fill == 1 && (cost.compute / 0.1 - 1.0).abs() < 0.05 && (cost.bandwidth / cost.compute - 1.0).abs() < 0.2, "{cost:?}");
}

fn choice(conv: &Conv, workspace_limit: Option<u64>) -> Result<Choice, NoChoice> {
    let model = Model::new(Costs::builtin(), DeviceClass::Software, None);
    choose(conv, ALGORITHMS, &Limits::WEBGPU, workspace_limit.map(Bytes), &model)
}

proptest! {
    /// Within the limit, supported, the least predicted of all that are, and always the same.
    #[test]
    fn the_choice_is_the_best_that_is_allowed(conv in any_conv(), limit in prop_oneof![Just(None), (0_u64..1 << 20).prop_map(Some)]) {
        let model = Model::new(Costs::builtin(), DeviceClass::Software, None);
        let mut allowed = Vec::new();
        for algorithm in ALGORITHMS {
            for variant in algorithm.variants(&conv, &Limits::WEBGPU) {
                if let Ok(plan) = algorithm.plan(&conv, &variant, &Limits::WEBGPU)
                    && limit.is_none_or(|limit| plan.arena_bytes().0 <= limit)
                {
                    allowed.push((algorithm.id(), variant, model.plan(&plan, conv.element()).0));
                }
            }
        }
        match choice(&conv, limit) {
            Ok(chosen) => {
                let same = |(id, variant, time): &(&str, Variant, f64)| (*id, variant, *time) == (chosen.algorithm, &chosen.variant, chosen.predicted.0);
                prop_assert!(allowed.iter().any(same));
                prop_assert!(allowed.iter().all(|(_, _, time)| chosen.predicted.0 <= *time));
                prop_assert_eq!(chosen.workspace, chosen.plan.arena_bytes());
                prop_assert!(limit.is_none_or(|limit| chosen.workspace.0 <= limit));
                prop_assert_eq!(choice(&conv, limit), Ok(chosen));
            }
            Err(why) => {
                prop_assert!(allowed.is_empty(), "{}", why);
                prop_assert_eq!(why.obstacles.len(), ALGORITHMS.len());
            }
        }
    }

    /// More room never leads to a plan that would take longer.
    #[test]
    fn more_room_is_never_worse(conv in any_conv(), small in 0_u64..1 << 20, more in 0_u64..1 << 20) {
        if let (Ok(tight), Ok(roomy)) = (choice(&conv, Some(small)), choice(&conv, Some(small + more))) {
            prop_assert!(roomy.predicted.0 <= tight.predicted.0);
        }
    }
}

#[test]
fn what_alone_can_is_chosen_and_what_cannot_is_told() {
    let some: [&'static dyn Algorithm; 2] = [&Winograd::F4, &Direct];
    let model = Model::new(Costs::builtin(), DeviceClass::Other, None);
    let chosen = choose(&conv("n1c4w8_k4s3"), &some, &Limits::WEBGPU, None, &model).expect("direct can");
    assert_eq!((chosen.algorithm, chosen.workspace), ("direct", Bytes(0)));
    let why = choose(&conv("n1c4w8_k4s3"), &some[..1], &Limits::WEBGPU, None, &model).expect_err("winograd_f4 cannot").to_string();
    assert_eq!(why, "no algorithm can compute n1c4w8_k4s3: winograd_f4: winograd_f4 is for 2-D convolutions, not 1-D");
    let why = choose(&conv(CONV), &some[..1], &Limits::WEBGPU, Some(Bytes(64)), &model).expect_err("too little room").to_string();
    assert!(why.starts_with(&format!("no algorithm can compute {CONV} within a workspace of 64 B: winograd_f4: workspace ")), "{why}");
    let why = choose(&conv(CONV), &[], &Limits::WEBGPU, None, &model).expect_err("nothing").to_string();
    assert!(why.ends_with("there is none to choose from"), "{why}");
}
