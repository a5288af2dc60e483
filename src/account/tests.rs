//! Bridges of lives that were made up: they close to the byte, and whatever is misreported shows, to the byte.

use super::bridge::Bridge;
use super::life::{Levels, Life, Reading, Stage};
use super::{Filed, LineKind};
use crate::device::{AllocatorReport, Source};
use crate::ledger::Ledger;
use crate::record::{Cache, CaseKey};
use crate::units::Bytes;
use proptest::prelude::*;

/// What a process holds, as it is.
#[derive(Debug, Clone, Copy)]
struct Truth {
    process: u64,
    context: u64,
    clock: u64,
    pipelines: u64,
    staging: u64,
    first: u64,
    /// Predicted parameters, activations, computation, uniforms.
    plan: [u64; 4],
    /// What the computation takes less for sharing memory.
    shared: u64,
    /// Added to each by the allocator.
    alignment: u64,
    /// wgpu's own allocation, and what is free in the blocks.
    internal: u64,
    slack: u64,
    source: Source,
    /// Whether blocks are resident before they are written, where the process is the device.
    eager: bool,
}

fn any_truth() -> impl Strategy<Value = Truth> {
    let sizes = || 0_u64..1 << 40;
    let source = prop::sample::select(vec![Source::ProcessRss, Source::VulkanMemoryBudget]);
    // So large that no lie of the tests is taken for another kind of driver.
    let plan = prop::array::uniform4(1_u64 << 33..1 << 40);
    let shared = prop_oneof![Just(0), 1_u64..1 << 32];
    (prop::array::uniform6(sizes()), (plan, shared), prop::array::uniform3(0_u64..1 << 30), source, any::<bool>()).prop_map(
        |([process, context, clock, pipelines, staging, first], (plan, shared), [alignment, internal, slack], source, eager)| Truth {
            process,
            context,
            clock,
            pipelines,
            staging,
            first,
            plan,
            shared,
            alignment,
            internal,
            slack,
            source,
            eager,
        },
    )
}

impl Truth {
    /// The life of a process of which this is true. On a GPU nobody tells what is held before there is an adapter.
    fn life(&self) -> Life {
        let process_is_device = self.source.is_process();
        let touched = process_is_device && !self.eager;
        let taken = |i, bytes: u64| if i == 2 { bytes - self.shared } else { bytes };
        let own: Vec<(String, Bytes)> =
            self.plan.iter().enumerate().map(|(i, &bytes)| (format!("convledger {i}"), Bytes(taken(i, bytes) + self.alignment))).collect();
        let stages = [
            (Stage::Process, self.process, None),
            (Stage::Adapter, self.process, None),
            (Stage::Device, self.process + self.context, Some(false)),
            (Stage::Clock, self.process + self.context + self.clock, Some(false)),
            (Stage::AllPipelines, self.process + self.context + self.clock + self.pipelines, Some(false)),
            (Stage::Buffers, self.process + self.context + self.clock + self.pipelines, Some(true)),
            (Stage::Filled, self.process + self.context + self.clock + self.pipelines, Some(true)),
            (Stage::Staged, self.process + self.context + self.clock + self.pipelines + self.staging, Some(true)),
            (Stage::FirstDispatch, self.process + self.context + self.clock + self.pipelines + self.staging + self.first, Some(true)),
            (Stage::Steady, self.process + self.context + self.clock + self.pipelines + self.staging + self.first, Some(true)),
        ];
        let reading = |(stage, besides, loaded): (Stage, u64, Option<bool>)| {
            let allocator = loaded.map(|loaded| {
                let mut allocations = vec![("(wgpu internal)".to_owned(), Bytes(self.internal))];
                allocations.extend(own.iter().filter(|_| loaded).cloned());
                let used = allocations.iter().map(|(_, bytes)| bytes.0).sum::<u64>();
                AllocatorReport { allocations, blocks: vec![Bytes(used + self.slack)] }
            });
            let written = match stage {
                Stage::Buffers => self.internal,
                _ => allocator.as_ref().map_or(0, |report| report.allocated().0),
            };
            let pool = if touched { written } else { allocator.as_ref().map_or(0, |report| report.reserved().0) };
            let told = process_is_device || stage != Stage::Process;
            Reading { stage, resident: told.then_some(Bytes(besides + pool)), host: Some(Bytes(1)), allocator }
        };
        let ledgers = [Ledger::Parameter, Ledger::Activation, Ledger::Computation, Ledger::Runtime];
        let level = |(i, (&ledger, &bytes)): (usize, (&Ledger, &u64))| Levels {
            ledger,
            predicted: Bytes(bytes),
            requested: Bytes(taken(i, bytes)),
            allocated: Some(Bytes(taken(i, bytes) + self.alignment)),
        };
        let conv = "n1c4h8w8_k4r3s3_p1".parse().expect("a key");
        let layer = String::from("=layer");
        let variant = "batch".parse().expect("a variant");
        Life {
            case: CaseKey { suite: "s".into(), layer, conv, algorithm: "im2col".into(), variant, cache: Cache::Hot },
            source: self.source,
            refusals: String::new(),
            readings: stages.map(reading).to_vec(),
            levels: ledgers.iter().zip(&self.plan).enumerate().map(level).collect(),
            shared: Bytes(self.shared),
            peak: None,
        }
    }
}

fn steady(life: &mut Life) -> &mut Reading {
    life.readings.last_mut().expect("stages")
}

proptest! {
    #[test]
    fn what_is_true_closes_to_the_byte(truth in any_truth()) {
        let life = truth.life();
        let bridge = Bridge::of(&life).expect("a steady state");
        prop_assert_eq!(bridge.unexplained(), 0, "{:#?}", bridge.lines);
        prop_assert!(bridge.closes(life.source));
        let held: i64 = bridge.lines.iter().filter(|line| line.kind == LineKind::Held).map(|line| line.bytes).sum();
        prop_assert_eq!(held, bridge.resident());
        let shared = bridge.lines.iter().find(|line| line.name == "workspaces that share memory").map_or(0, |line| line.bytes);
        prop_assert_eq!(shared, -Bytes(truth.shared).signed());
        let rounding = bridge.lines.iter().find(|line| line.name == "rounding to whole words").map(|line| line.bytes);
        prop_assert_eq!(rounding, Some(0));
    }

    #[test]
    fn what_is_not_shows_as_it_is(truth in any_truth(), lie in 1_u64..1 << 30) {
        let resident = |change: &dyn Fn(&mut Life)| {
            let mut life = truth.life();
            change(&mut life);
            Bridge::of(&life).expect("a steady state").unexplained()
        };
        let hole = i64::try_from(lie).expect("small");
        // More is resident than the allocator and the stages tell.
        let leak = resident(&|life| { let r = &mut steady(life).resident; *r = r.map(|bytes| Bytes(bytes.0 + lie)); });
        prop_assert_eq!(leak, hole);
        // An allocator that hides an allocation, block and all, from the moment the buffers are there.
        let hidden = resident(&|life| {
            for reading in life.readings.iter_mut().filter(|reading| reading.stage >= Stage::Buffers) {
                let report = reading.allocator.as_mut().expect("a report");
                report.allocations[1].1.0 += lie;
                report.blocks[0].0 += lie;
            }
            life.levels[0].allocated = life.levels[0].allocated.map(|bytes| Bytes(bytes.0 + lie));
        });
        prop_assert_eq!(hidden, -hole, "one that reports more than it holds explains too much");
    }
}

#[test]
fn files_hold_what_was_accounted() {
    let truth = Truth {
        process: 1,
        context: 2,
        clock: 3,
        pipelines: 4,
        staging: 6,
        first: 5,
        plan: [100, 200, 300, 16],
        shared: 0,
        alignment: 8,
        internal: 64,
        slack: 32,
        source: Source::VulkanMemoryBudget,
        eager: true,
    };
    let mut life = truth.life();
    life.peak = Some(Bytes(9));
    let bridge = Bridge::of(&life).expect("a steady state");
    let filed = Filed::of(&life, &bridge);
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(Filed::read(folder.path()).expect("none is no fault"), None);
    filed.write(folder.path()).expect("written");
    let read = Filed::read(folder.path()).expect("as written").expect("there");
    assert_eq!(read, filed);
    assert_eq!(read.bridge(), bridge);
    assert_eq!(read.case(), "im2col:batch of n1c4h8w8_k4r3s3_p1");
    assert_eq!(read.verdict(), "closed: of 765 B resident, 0 B (0.00 %) are explained by no line");
    let account = String::from_utf8(filed.account_csv()).expect("UTF-8");
    let runtime = std::fs::read_to_string(folder.path().join(super::RUNTIME_FILE)).expect("written");
    let without =
        |text: &str, what: &str| text.lines().filter(|line| !line.contains(what)).map(|line| line.to_owned() + "\n").collect::<String>();
    for (file, wrong, why) in [
        (super::FILE, String::new(), "no bridge"),
        (super::FILE, without(&account, ",unexplained,"), "line 22 where line 21 is due"),
        (super::FILE, without(&account, ",computation,"), "line 3 where line 2 is due"),
        (super::FILE, account.clone() + account.lines().nth(1).expect("a row") + "\n", "line 0 where line"),
        (super::FILE, account.replacen("computation,300", "computation,-300", 1), "line 3, predicted: 600 B is not the sum"),
        (super::FILE, account.replacen("n1c4h8w8", "n9c4h8w8", 1), "line 1 is of another case"),
        (super::RUNTIME_FILE, String::new(), "no stage"),
        (super::RUNTIME_FILE, runtime.clone() + runtime.lines().nth(1).expect("a row") + "\n", "stage process after steady"),
        (super::RUNTIME_FILE, runtime.replace("n1c4h8w8", "n9c4h8w8"), "stage process is of another case"),
    ] {
        filed.write(folder.path()).expect("written");
        std::fs::write(folder.path().join(file), wrong).expect("written");
        let error = Filed::read(folder.path()).expect_err(why).to_string();
        assert!(error.contains(file) && error.contains(why), "{error}");
    }
    for (wrong, why) in [("conv,stage\nx,nowhere\n", "unknown variant `nowhere`"), ("conv,dtype\nx,f32\n", "missing field")] {
        std::fs::write(folder.path().join(super::RUNTIME_FILE), wrong).expect("written");
        let error = Filed::read(folder.path()).expect_err("not as written").to_string();
        assert!(error.contains(super::RUNTIME_FILE) && error.contains(why), "{error}");
    }
}
