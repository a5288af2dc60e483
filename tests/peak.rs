//! The device's own limits on a device: every kernel's result is checked on the way, so a rate stands for the work it names.

#[path = "common/device.rs"]
mod device;

use convledger::device::{Clock, Loaded};
use convledger::peak::{self, Peaks};
use convledger::plan::BufferId;
use std::time::Duration;

fn is_sane(peaks: &Peaks, f16: bool) {
    assert!(peaks.multiply_add_f32.gflops.is_finite() && peaks.multiply_add_f32.gflops > 0.0);
    assert_eq!(peaks.multiply_add_f16.as_ref().map(|rate| rate.gflops > 0.0), f16.then_some(true), "{:?}", peaks.notes);
    assert!(peaks.copies.iter().all(|copy| copy.bytes_per_second.is_finite() && copy.bytes_per_second > 0.0));
    assert!(peaks.copies.contains(&peaks.memory_copy), "{peaks:?}");
    assert!(peaks.workgroup_read.as_ref().is_some_and(|read| read.bytes_per_second > 0.0), "{:?}", peaks.notes);
    assert!(peaks.measured_in_s > 0.0);
}

#[test]
fn limits_are_measured_and_name_their_kernels() {
    let gpu = device::open();
    let peaks = peak::measure(&gpu, Duration::from_secs(1)).unwrap_or_else(|error| panic!("{error}"));
    is_sane(&peaks, gpu.limits.f16);
    for vector in ["vec4<f32>", "of f32"] {
        assert!(peaks.copies.iter().any(|copy| copy.how.contains(vector)), "{:?}", peaks.copies);
    }
    let largest = peaks.copies.iter().map(|copy| copy.working_set_bytes).max();
    if gpu.limits.max_storage_binding_bytes >= peak::MEMORY.0 / 2 {
        assert!(largest >= Some(peak::MEMORY.0), "{largest:?}: {:?}", peaks.notes);
    }
    // Of the copies from memory none is faster than the one that bounds.
    let from_memory = peaks.copies.iter().filter(|copy| copy.working_set_bytes >= peak::MEMORY.0);
    assert!(from_memory.map(|copy| copy.bytes_per_second).all(|rate| rate <= peaks.memory_copy.bytes_per_second));
}

#[test]
fn a_hurry_is_noted() {
    let gpu = device::open();
    let peaks = peak::measure(&gpu, Duration::from_millis(50)).unwrap_or_else(|error| panic!("{error}"));
    is_sane(&peaks, gpu.limits.f16);
    assert!(peaks.notes.iter().any(|note| note.contains("in a hurry")), "{:?}", peaks.notes);
    assert!(peaks.notes.iter().any(|note| note.starts_with("memory_copy: ")), "{:?}", peaks.notes);
}

/// A kernel that is not run leaves its poison: what is measured is what was written.
#[test]
fn every_shape_writes_all_of_its_output() {
    let gpu = device::open();
    for plan in peak::plans(&gpu.limits) {
        let output = BufferId(plan.steps[0].bindings.len() - 1);
        let kernel = format!("{:?}", plan.steps[0].kernel);
        let loaded = Loaded::new(&gpu, plan, 1).unwrap_or_else(|error| panic!("{kernel}: {error}"));
        if output != BufferId(0) {
            let elements = usize::try_from(loaded.plan().buffer(BufferId(0)).elements).expect("small");
            loaded.upload(BufferId(0), &vec![1.0; elements]).expect("uploaded");
        }
        loaded.poison().expect("poisoned");
        assert!(loaded.download(output).expect("read").into_floats().iter().all(|value| value.is_nan()), "{kernel}");
        loaded.execute(1, Clock::Host).expect("executed");
        assert!(loaded.download(output).expect("read").into_floats().iter().all(|value| value.is_finite()), "{kernel}");
    }
}
