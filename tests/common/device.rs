//! The device that tests run on. Without one they fail and say how to get one.

use convledger::device::{Gpu, choose};

/// An open device; `CONVLEDGER_TEST_DEVICE` names another than the default.
pub(crate) fn open() -> Gpu {
    let selector = std::env::var("CONVLEDGER_TEST_DEVICE").ok();
    let adapter = choose(selector.as_deref()).unwrap_or_else(|error| {
        panic!("this test needs a device: {error}. Run `scripts/with-vulkan cargo test`, which finds or installs a software driver.")
    });
    Gpu::open(adapter).expect("the adapter opens")
}
