use super::fakes::{ALL, suite};
use crate::algorithm::Variant;
use crate::device::{Clock, ClockFacts, Identity};
use crate::plan::{DeviceClass, Limits};
use crate::record::{Cache, CaseKey, SampleRow, Status};
use crate::runner::{Execute, Execution, Hello, Order, Phase, Reply, RunnerError, Task, predict, refuse, serve};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

fn hello() -> Hello {
    Hello {
        identity: Identity {
            name: "Fake".into(),
            backend: "vulkan".into(),
            driver: "fake".into(),
            driver_info: "1.0".into(),
            class: DeviceClass::Software,
            vendor: 0,
            device: 0,
            pci: String::new(),
        },
        limits: Limits::WEBGPU,
        features: vec!["timestamp-query".into()],
        clock: ClockFacts { clock: Clock::Host, resolution_ns: 1.0 / 3.0, dispatch_overhead_ns: 1e3, timer_overhead_ns: Some(0.25) },
        resident_source: None,
        notes: BTreeMap::from([("peak_resident_bytes".into(), "the driver does not say".into())]),
    }
}

fn task(layer: &str) -> Task {
    let conv = suite("a", &["n1c2h4w4_k2r3s3_p1:2x0"]).layers[0].conv;
    let case =
        CaseKey { suite: "a".into(), layer: layer.into(), conv, algorithm: "direct".into(), variant: Variant::none(), cache: Cache::Hot };
    Task { case, seed: u64::MAX, budget: Duration::from_nanos(1_234_567_891), peaks: Some(Box::new(crate::peak::made_up())) }
}

/// Does what the name of the layer says.
struct Fake {
    sample_ns: f64,
}

impl Execute for Fake {
    fn hello(&self) -> Hello {
        hello()
    }

    fn execute(&mut self, task: &Task, phase: &mut dyn FnMut(Phase)) -> Execution {
        phase(Phase::Measuring);
        assert!(task.case.layer != "panics", "as told,\nin {}", task.case.layer);
        let mut rows = predict(&task.case, ALL[0], &Limits::WEBGPU).0.rows(Status::Ok, "");
        rows.samples.push(SampleRow {
            case: task.case.clone(),
            clock: Clock::Host,
            sample: 0,
            executions: 1,
            time_ns: self.sample_ns,
            outlier: false,
        });
        Execution { rows, device_lost: task.case.layer == "loses" }
    }
}

/// The lines of tasks.
fn lines(layers: &[&str]) -> String {
    layers.iter().map(|l| serde_json::to_string(&Order::Case(Box::new(task(l)))).expect("JSON") + "\n").collect()
}

/// What the fake worker answers to these lines.
fn serve_lines(input: &str, sample_ns: f64) -> (Result<(), RunnerError>, Vec<Reply>) {
    let mut output = Vec::new();
    let result = serve(&mut Fake { sample_ns }, input.as_bytes(), &mut output);
    let text = String::from_utf8(output).expect("UTF-8");
    (result, text.lines().filter_map(Reply::read).map(|r| r.expect("a reply")).collect())
}

fn names(replies: &[Reply]) -> Vec<&'static str> {
    replies.iter().map(Reply::name).collect()
}

#[test]
fn a_worker_answers_every_task_and_ends_with_its_input() {
    let (result, replies) = serve_lines(&lines(&["one", "two"]), 1.0);
    result.expect("served");
    assert_eq!(replies[0], Reply::Hello(Box::new(hello())));
    assert_eq!(replies[1..3], [Reply::Phase(Phase::Preparing), Reply::Phase(Phase::Measuring)]);
    assert_eq!(names(&replies[3..]), ["rows", "a phase", "a phase", "rows"]);
    let Reply::Done { rows, leaving, .. } = &replies[6] else { panic!("{:?}", replies[6]) };
    assert_eq!((&rows.measurement.case, leaving), (&task("two").case, &false));
}

#[test]
fn a_worker_that_measures_no_limits_says_so_and_goes_on() {
    let order = serde_json::to_string(&Order::Peaks(Duration::from_secs(1))).expect("JSON") + "\n";
    let (result, replies) = serve_lines(&(order + &lines(&["one"])), 1.0);
    result.expect("served");
    assert_eq!(names(&replies), ["hello", "a phase", "limits", "a phase", "a phase", "rows"]);
    let Reply::Peaks { peaks: Err(reason), .. } = &replies[2] else { panic!("{:?}", replies[2]) };
    assert_eq!(reason, "this worker measures no limits of its device");
}

#[test]
fn a_panic_is_told_and_is_the_end() {
    let (result, replies) = serve_lines(&lines(&["panics", "two"]), 1.0);
    result.expect("served");
    assert_eq!(replies.last(), Some(&Reply::Panicked("as told,\nin panics".into())));
    assert_eq!(replies.len(), 4);
}

#[test]
fn a_lost_device_is_the_end_after_its_rows() {
    let (result, replies) = serve_lines(&lines(&["loses", "two"]), 1.0);
    result.expect("served");
    assert!(matches!(replies.last(), Some(Reply::Done { leaving: true, .. })));
    assert_eq!(replies.len(), 4);
}

#[test]
fn a_line_that_is_no_task_is_named() {
    let (result, _) = serve_lines(&(lines(&["one"]) + "{\"case\":1}\n"), 1.0);
    let message = result.expect_err("no task").to_string();
    assert!(message.starts_with("worker: line 2 of its input is not a task: "), "{message}");
}

/// A parent that is gone.
struct Gone {
    writes: usize,
}

impl Write for Gone {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.writes = self.writes.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_worker_without_a_parent_ends() {
    for writes in 0..4 {
        let result = serve(&mut Fake { sample_ns: 1.0 }, lines(&["one"]).as_bytes(), Gone { writes });
        assert!(matches!(result, Err(RunnerError::Pipe(_))), "{writes}: {result:?}");
    }
}

#[test]
fn a_refusal_is_a_reply() {
    let mut output = Vec::new();
    refuse(&mut output, "no adapter").expect("written");
    let text = String::from_utf8(output).expect("UTF-8");
    let replies: Vec<_> = text.lines().filter_map(Reply::read).map(|r| r.expect("a reply")).collect();
    assert_eq!(replies, [Reply::Refused("no adapter".into())]);
}

#[test]
fn only_a_whole_reply_is_one() {
    assert!(Reply::read("MESA: warning").is_none());
    assert!(Reply::read(" @convledger {\"phase\":\"measuring\"}").is_none());
    assert!(Reply::read("@convledger {\"phase\":\"meas").expect("a beginning").is_err());
}

proptest! {
    #[test]
    fn every_number_survives(bits in any::<u64>()) {
        let time = f64::from_bits(bits);
        prop_assume!(time.is_finite());
        let (result, replies) = serve_lines(&lines(&["one"]), time);
        prop_assert!(result.is_ok());
        let Some(Reply::Done { rows, .. }) = replies.last() else { panic!("{replies:?}") };
        prop_assert_eq!(rows.samples[0].time_ns.to_bits(), bits);
        prop_assert_eq!(rows.measurement.case.conv.to_string(), "n1c2h4w4_k2r3s3_p1:2x0");
    }
}

#[test]
fn tasks_survive() {
    let sent = Order::Case(Box::new(task("one")));
    let json = serde_json::to_string(&sent).expect("JSON");
    assert_eq!(serde_json::from_str::<Order>(&json).expect("own JSON"), sent);
}
