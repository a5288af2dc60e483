use super::kernels::{Copy, MultiplyAdd, Work, WorkgroupRead};
use super::*;
use crate::plan::Limits;
use crate::units::Ops;

/// 100 GFLOP/s in f32; 10 GB/s from memory, 40 GB/s from a cache of 1 MiB whose smallest copies are slowed by the dispatch.
pub(crate) fn made_up() -> Peaks {
    let copy =
        |mib: u64, gigabytes: f64| ByteRate { bytes_per_second: gigabytes * 1e9, working_set_bytes: mib << 20, how: "made up".into() };
    Peaks {
        multiply_add_f32: ArithmeticRate { gflops: 100.0, how: "made up".into() },
        multiply_add_f16: None,
        memory_copy: copy(256, 10.0),
        copies: vec![copy(0, 5.0), copy(1, 40.0), copy(16, 20.0), copy(256, 10.0)],
        workgroup_read: None,
        dispatch: DispatchCost { ns: 1000.0, how: "made up".into() },
        notes: Vec::new(),
        measured_in_s: 1.0,
    }
}

#[test]
fn bandwidth_is_the_best_of_any_larger_working_set() {
    let peaks = made_up();
    for (bytes, rate) in [(0, 40.0), (1 << 20, 40.0), ((1 << 20) + 1, 20.0), (16 << 20, 20.0), (17 << 20, 10.0), (1 << 40, 10.0)] {
        assert!((peaks.bandwidth(Bytes(bytes)) - rate).abs() < 1e-9, "{bytes}");
    }
    let memory = peaks.roofline(ElementType::F32, Bytes(1 << 20), Residence::Memory);
    assert!((memory.bytes_per_ns - 10.0).abs() < 1e-9);
}

#[test]
fn half_precision_is_bound_by_the_faster_arithmetic() {
    let with = |gflops| Peaks { multiply_add_f16: Some(ArithmeticRate { gflops, how: String::new() }), ..made_up() };
    for (peaks, f16) in [(made_up(), 100.0), (with(200.0), 200.0), (with(30.0), 100.0)] {
        assert!((peaks.gflops(ElementType::F16) - f16).abs() < 1e-9);
        assert!((peaks.gflops(ElementType::F32) - 100.0).abs() < 1e-9);
    }
}

/// The least time of a plan is that of its steps, not that of their sums: what one step leaves idle the next cannot use.
#[test]
fn least_times_of_steps_add_up() {
    let mut plan = plans(&Limits::UNLIMITED).swap_remove(0);
    let step = plan.steps[0].clone();
    let of = |operations, traffic| Step { operations: Ops(operations), traffic: Bytes(traffic), ..step.clone() };
    plan.steps = vec![of(1_000, 0), of(0, 400)];
    let least = made_up().least_of_plan(&plan, ElementType::F32, Residence::Anywhere);
    assert!((least.0 - (10.0 + 10.0)).abs() < 1e-9, "{least:?}");
    let least = made_up().least_of_plan(&plan, ElementType::F32, Residence::Memory);
    assert!((least.0 - (10.0 + 40.0)).abs() < 1e-9, "{least:?}");
    plan.steps[0].once = true;
    let least = made_up().least_of_plan(&plan, ElementType::F32, Residence::Memory);
    assert!((least.0 - 40.0).abs() < 1e-9, "what runs once is in no execution: {least:?}");
    assert_eq!(made_up().least(&plan.steps[1], ElementType::F32, Residence::Memory).limit(), Limit::Bandwidth);
}

#[test]
fn peaks_survive_as_json_and_are_strict() {
    let text = serde_json::to_string(&made_up()).expect("JSON");
    assert_eq!(serde_json::from_str::<Peaks>(&text).expect("own JSON"), made_up());
    let error = serde_json::from_str::<Peaks>(&text.replacen("gflops", "gigaflops", 1)).expect_err("another field");
    assert!(error.to_string().contains("unknown field `gigaflops`"), "{error}");
}

/// The closed forms against the recurrences they stand for.
#[test]
fn closed_forms_are_those_of_the_kernels() {
    for element in [ElementType::F32, ElementType::F16] {
        for shape in MultiplyAdd::shapes(element) {
            for rounds in [1, 7, 129, 300] {
                let work = Work { invocations: 256, rounds };
                for invocation in [0, 1, 6, 255] {
                    let mut sum = 0.0_f32;
                    for (j, c) in (0..shape.chains).flat_map(|j| (0..4).map(move |c| (j, c))) {
                        let mut a = ((invocation & 3) + j + c) as f32;
                        for _ in 0..rounds * 16 {
                            a = if element == ElementType::F16 { half::f16::from_f32(a + 1.0).to_f32() } else { a + 1.0 };
                        }
                        sum += a;
                    }
                    assert!((shape.expected(invocation, work) - sum).abs() < 0.5, "{shape} {work:?} {invocation}");
                }
            }
        }
    }
    for shape in WorkgroupRead::shapes() {
        for rounds in [1, 63, 64, 65, 1000] {
            let work = Work { invocations: 2 * shape.workgroup, rounds };
            let expected = shape.expected(work);
            for lane in 0..shape.workgroup {
                let reads = (0..rounds).flat_map(|r| (0..8).map(move |u| ((lane + r) & (shape.workgroup - 1)) + u));
                let sum: u32 = reads.map(|entry| 4 * ((entry * 7) & 15)).sum();
                assert!((expected[lane as usize] - sum as f32).abs() < 0.5, "{shape} {rounds} {lane}");
            }
        }
    }
}

/// No workgroup runs past the end of the buffers, however few a device lets along one axis.
#[test]
fn copies_are_laid_out_exactly() {
    for max_workgroups in [65_535, 100, 13] {
        let limits = Limits { max_workgroups, ..Limits::UNLIMITED };
        for shape in [1, 4].into_iter().flat_map(Copy::shapes) {
            for (bytes, passes) in [(1 << 14, 1), (1 << 18, 1), (1 << 14, 16)] {
                let Ok(plan) = shape.plan(bytes, passes, &limits) else { continue };
                let [x, y, z] = plan.steps[0].workgroups.map(u64::from);
                assert!(x <= max_workgroups.into() && z == 1);
                let copied = x * y * u64::from(shape.workgroup * shape.items * shape.width * 4);
                assert_eq!(copied, bytes * passes, "{shape}");
                assert_eq!(plan.steps[0].traffic.0, 2 * bytes * passes);
            }
        }
    }
}

/// A device that computes something else has no rate.
#[test]
fn a_wrong_result_is_named() {
    use super::measure::compare;
    let expected = [1.0, 2.0, 3.0];
    compare(&"kernel", &expected, &expected).expect("equal");
    let message = |found: &[f32]| compare(&"kernel", found, &expected).expect_err("wrong").to_string();
    assert_eq!(message(&[1.0, 2.5, 3.0]), "measuring the device's limits: kernel gave 2.5 at 1, must be 2");
    assert_eq!(message(&[1.0, 2.0, f32::NAN]), "measuring the device's limits: kernel gave NaN at 2, must be 3");
    assert_eq!(message(&[1.0, 2.0]), "measuring the device's limits: kernel gave NaN at 2, must be 3");
}
