//! Bytes by level on a device: what plans predict, what is asked for, what the allocator hands out, what the system says is held.

#[path = "common/device.rs"]
mod device;

use convledger::account::{Bridge, Life, Stage, live};
use convledger::algorithm::ALGORITHMS;
use convledger::conv::Conv;
use convledger::device::{AllocatorReport, Loaded};
use convledger::ledger::{self, Ledger};
use convledger::record::{Cache, CaseKey};
use convledger::suite::Suite;
use convledger::units::Bytes;
use std::process::Command;
use std::sync::Mutex;

/// Lives in one process disturb each other's figures.
static ONE: Mutex<()> = Mutex::new(());

/// Some 20 MB of tensors and 50 MB of workspace.
const CONV: &str = "n1c64h150w150_k128r3s3_p1";

fn life(reported: &dyn Fn(AllocatorReport) -> AllocatorReport) -> Life {
    let conv: Conv = CONV.parse().expect("a key");
    let variant = "batch".parse().expect("a variant");
    let case = CaseKey { suite: "s".into(), layer: "l".into(), conv, algorithm: "im2col".into(), variant, cache: Cache::Hot };
    let selector = std::env::var("CONVLEDGER_TEST_DEVICE").ok();
    live(&case, |instance| instance.choose(selector.as_deref()), reported).expect("this test needs a device: scripts/with-vulkan finds one")
}

/// Whether this is a process of its own for a test, whose heap keeps nothing back that was freed, as `account` starts one; if not, the test
/// is run in one. Under glibc's own rules what a first life freed would be resident in the second.
fn alone(test: &str) -> bool {
    const HEAP: &str = "MALLOC_MMAP_THRESHOLD_";
    if std::env::var_os(HEAP).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture"]).env(HEAP, "131072").env("MALLOC_TRIM_THRESHOLD_", "131072");
    let output = command.output().expect("it starts");
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", told(&output.stdout), told(&output.stderr));
    assert!(told(&output.stdout).contains("1 passed"), "{}", told(&output.stdout));
    false
}

fn signed(bytes: Bytes) -> i64 {
    i64::try_from(bytes.0).expect("small")
}

#[test]
fn an_allocator_that_misreports_leaves_a_hole_of_its_size() {
    let _one = ONE.lock();
    if !alone("an_allocator_that_misreports_leaves_a_hole_of_its_size") {
        return;
    }
    let honest = life(&|report| report);
    let bridge = Bridge::of(&honest).expect("a steady state");
    let room = (bridge.resident() / 50).max(4 << 20);
    assert!(bridge.unexplained().abs() < room, "{:#?}", bridge.lines);

    // Half of every allocation of a megabyte or more is kept quiet, and the blocks are told to be as much smaller.
    let halved = |report: AllocatorReport| {
        let shrink = |bytes: Bytes| if bytes.0 >= 1 << 20 { Bytes(bytes.0 / 2) } else { bytes };
        let hidden: u64 = report.allocations.iter().map(|(_, bytes)| bytes.0 - shrink(*bytes).0).sum();
        let mut blocks = report.blocks.clone();
        blocks.sort();
        if let Some(largest) = blocks.last_mut() {
            largest.0 -= hidden.min(largest.0);
        }
        AllocatorReport { allocations: report.allocations.into_iter().map(|(name, bytes)| (name, shrink(bytes))).collect(), blocks }
    };
    let lied = life(&halved);
    let hidden = signed(ledger::activations(&lied.case.conv)) / 2 + signed(Bytes(64 * 9 * 150 * 150 * 4)) / 2;
    let bridge = Bridge::of(&lied).expect("a steady state");
    assert!(!bridge.closes(lied.source), "{:#?}", bridge.lines);
    assert!((bridge.unexplained() - hidden).abs() < room, "a hole of {hidden} B shows as {} B", bridge.unexplained());
}

#[test]
fn a_life_goes_through_every_stage_and_gives_its_buffers_back() {
    let _one = ONE.lock();
    if !alone("a_life_goes_through_every_stage_and_gives_its_buffers_back") {
        return;
    }
    let life = life(&|report| report);
    let stages: Vec<Stage> = life.readings.iter().map(|reading| reading.stage).collect();
    assert!(stages.is_sorted() && stages.len() == 14, "{stages:?}");
    let allocated = |stage| life.at(stage).and_then(|reading| reading.allocator.as_ref()).map(AllocatorReport::allocated);
    // Metal tells nothing of its allocator.
    if let (Some(before), Some(with), Some(after)) = (allocated(Stage::Clock), allocated(Stage::Steady), allocated(Stage::BuffersDropped)) {
        assert_eq!(before, after, "what was allocated for the case is given back");
        let plan: u64 = life.levels.iter().filter_map(|levels| levels.allocated).map(|bytes| bytes.0).sum();
        assert!(with.0 - before.0 >= plan, "{plan} B of the plan within {} B", with.0 - before.0);
    }
    let resident = |stage| life.at(stage).and_then(|reading| reading.resident).expect("told from the adapter on").0;
    let tensors = ledger::activations(&life.case.conv).0;
    assert!(resident(Stage::Steady) > resident(Stage::AllPipelines) + tensors);
    assert!(resident(Stage::BuffersDropped) + tensors < resident(Stage::Steady));
    assert!(life.peak.expect("told").0 >= resident(Stage::FirstDispatch));
}

/// The levels agree to the byte where nothing is rounded: buffer by buffer, and by ledger with the closed forms.
#[test]
fn what_is_requested_for_the_ledgers_suite_is_what_was_predicted() {
    let _one = ONE.lock();
    let gpu = device::open();
    let suite = Suite::builtin("ledgers").expect("built in");
    let (mut checked, mut over) = (0, Vec::new());
    for layer in &suite.layers {
        for algorithm in ALGORITHMS {
            for variant in algorithm.variants(&layer.conv, &gpu.limits) {
                let name = format!("{} of {}", variant.qualify(algorithm.id()), layer.name);
                let Ok(workspace) = algorithm.workspace(&layer.conv, &variant) else { continue };
                let plan = match algorithm.plan(&layer.conv, &variant, &gpu.limits) {
                    Ok(plan) => plan,
                    Err(reason) => {
                        over.push(format!("{name}: {reason}"));
                        continue;
                    }
                };
                let loaded = Loaded::new(&gpu, plan, 1).unwrap_or_else(|error| panic!("{name}: {error}"));
                let mut requested = [Bytes(0); 3];
                for ((id, buffer), account) in loaded.plan().numbered().zip(loaded.accounts()) {
                    let own = if loaded.plan().memory_of(id) == id { buffer.bytes() } else { Bytes(0) };
                    assert_eq!(account.requested, own, "{name}, {}", buffer.name);
                    let of = match buffer.role.ledger() {
                        Ledger::Parameter => 0,
                        Ledger::Activation => 1,
                        Ledger::Computation => 2,
                        Ledger::Runtime => continue,
                    };
                    requested[of].0 += account.requested.0;
                }
                let arena = Bytes(workspace.0 - loaded.plan().shared_bytes().0);
                assert_eq!(requested, [ledger::parameters(&layer.conv), ledger::activations(&layer.conv), arena], "{name}");
                checked += 1;
            }
        }
    }
    // What a device allows differs; what it does not allow is said with its numbers.
    assert!(checked >= 2 * suite.layers.len(), "{checked} cases of {} layers; {over:?}", suite.layers.len());
    assert!(over.iter().all(|reason| reason.contains('>') || reason.contains("limit")), "{over:#?}");
}
