//! Runs with real worker processes that misbehave in every way a driver can. The worker is this very test program, started
//! again with [`MODE`] set; what it does with a case is the name of the case's layer.

use convledger::algorithm::{Algorithm, Variant};
use convledger::conv::{Conv, ElementType};
use convledger::device::{Clock, ClockFacts, Identity};
use convledger::plan::{DeviceClass, Kernel, Limits, Plan, Step, Unsupported};
use convledger::record::{Cache, CaseKey, CaseRows, Status};
use convledger::runner::{
    Counts, Event, Execute, Execution, Hello, Job, Observer, Phase, RunnerError, Settings, Sink, SinkError, Task, predict, refuse, run,
    serve_stdio,
};
use convledger::suite::{Layer, Suite};
use convledger::units::{Bytes, Ops};
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const MODE: &str = "CONVLEDGER_TEST_WORKER";

/// Runs everything.
struct Direct;

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

    fn variants(&self, _: &Conv, _: &Limits) -> Vec<Variant> {
        vec![Variant::none()]
    }

    fn workspace(&self, _: &Conv, _: &Variant) -> Result<Bytes, Unsupported> {
        Ok(Bytes(0))
    }

    fn plan(&self, conv: &Conv, _: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let mut plan = Plan::new(conv);
        let kernel = Kernel {
            shader: "none".into(),
            element: ElementType::F32,
            constants: BTreeMap::new(),
            overrides: BTreeMap::new(),
            workgroup: [1, 1, 1],
            workgroup_bytes: 0,
            problem_fields: Vec::new(),
        };
        let bindings = vec![plan.whole(Plan::INPUT), plan.whole(Plan::WEIGHTS), plan.whole(Plan::OUTPUT).write()];
        plan.steps.push(Step {
            stage: "all".into(),
            kernel,
            problem: Vec::new(),
            bindings,
            workgroups: [1, 1, 1],
            operations: Ops(1),
            traffic: Bytes(1),
        });
        plan.finish(limits)
    }
}

static ALGORITHMS: &[&dyn Algorithm] = &[&Direct];

/// The worker: does what the layer says, and gives its process id as the reason.
struct Fake {
    device: &'static str,
}

impl Execute for Fake {
    fn hello(&self) -> Hello {
        Hello {
            identity: Identity {
                name: self.device.into(),
                backend: "vulkan".into(),
                driver: "fake".into(),
                driver_info: "1.0".into(),
                class: DeviceClass::Software,
                vendor: 0,
                device: 0,
            },
            limits: Limits::WEBGPU,
            features: Vec::new(),
            clock: ClockFacts { clock: Clock::Host, resolution_ns: 1.0, dispatch_overhead_ns: 1.0 },
            notes: BTreeMap::new(),
        }
    }

    fn execute(&mut self, task: &Task, phase: &mut dyn FnMut(Phase)) -> Execution {
        let rows = predict(&task.case, &Direct, &Limits::WEBGPU).0.rows(Status::Ok, std::process::id().to_string());
        let mut execution = Execution { rows, device_lost: false };
        phase(Phase::Compiling);
        match task.case.layer.as_str() {
            "aborts" => {
                eprintln!("driver: assertion failed\n");
                std::process::abort();
            }
            "exits" => {
                phase(Phase::Verifying);
                std::process::exit(3);
            }
            "hangs" => loop {
                thread::sleep(Duration::from_secs(1));
            },
            "closes" => {
                print!("@convledger {{\"done\":");
                std::process::exit(0);
            }
            "chatters" => {
                for i in 0..10_000 {
                    println!("driver: {i} of many lines that fill a pipe");
                    eprintln!("driver: {i} of many lines that fill a pipe");
                }
                print!("and one that does not end");
            }
            "garbles" => println!("\n@convledger {{\"done\": 1}}"),
            "panics" => {
                phase(Phase::Measuring);
                panic!("device says\nno");
            }
            "mistakes" => execution.rows.measurement.case.layer = "another".into(),
            "loses" => {
                execution.rows.measurement.status = Status::DeviceLost;
                execution.device_lost = true;
            }
            "fades" => drop(thread::spawn(|| {
                // After the row has been sent.
                thread::sleep(Duration::from_millis(100));
                std::process::abort();
            })),
            "measures" => {
                phase(Phase::Measuring);
                execution.rows.measurement.tuning = task.budget.as_millis().to_string();
                thread::sleep(Duration::from_millis(300));
            }
            "waits" => thread::sleep(Duration::from_millis(300)),
            name => assert!(name.starts_with("good"), "no layer {name}"),
        }
        execution
    }
}

#[test]
#[ignore = "the worker process of the other tests"]
fn worker() {
    match std::env::var(MODE).as_deref() {
        Ok("refuses") => refuse(std::io::stdout(), "no adapter named 'Fake'").expect("a parent"),
        Ok("dies") => {
            eprintln!("driver: cannot load");
            std::process::exit(7);
        }
        Ok("sleeps") => thread::sleep(Duration::from_mins(1)),
        Ok("other") => serve_stdio(&mut Fake { device: "Other" }).expect("served"),
        Ok(_) => serve_stdio(&mut Fake { device: "Fake" }).expect("served"),
        Err(_) => {}
    }
}

fn command(mode: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    // The harness prints an unfinished line of its own before the worker says hello: noise from the start.
    command.args(["--ignored", "--exact", "worker", "--nocapture"]).env(MODE, mode);
    command
}

/// Keeps rows in memory.
#[derive(Default)]
struct Memory {
    recorded: HashSet<CaseKey>,
    rows: Vec<CaseRows>,
    /// Fails when it holds so many.
    full: Option<usize>,
}

impl Sink for Memory {
    fn open(&mut self, hello: &Hello) -> Result<HashSet<CaseKey>, SinkError> {
        assert_eq!(hello.identity.name, "Fake");
        Ok(self.recorded.clone())
    }

    fn append(&mut self, rows: &CaseRows) -> Result<(), SinkError> {
        if self.full == Some(self.rows.len()) {
            return Err("the disk is full".into());
        }
        self.rows.push(rows.clone());
        Ok(())
    }
}

/// Notes what it is told.
#[derive(Default)]
struct Log(Vec<String>);

impl Observer for Log {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(match event {
            Event::Started { total, recorded, hello } => format!("started {total}+{recorded} on {}", hello.identity.name),
            Event::CaseStarted { index, total, case } => format!("case {index}/{total} {}", case.layer),
            Event::Phase { phase, .. } => phase.to_string(),
            Event::WorkerDied { case, .. } => format!("death of {}", case.map_or("nobody", |c| &c.layer)),
            Event::CaseEnded { index, rows, .. } => format!("ended {index} {:?}", rows.measurement.status),
            Event::Finished { counts } => format!("finished {}, {} bad", counts.total(), counts.failures()),
        });
    }
}

struct Outcome {
    result: Result<Counts, RunnerError>,
    rows: Vec<CaseRows>,
    log: Vec<String>,
}

impl Outcome {
    /// Status and reason of each row.
    fn ends(&self) -> Vec<(Status, &str)> {
        self.rows.iter().map(|r| (r.measurement.status, r.measurement.reason.as_str())).collect()
    }
}

fn suite(layers: &[&str]) -> Suite {
    let conv: Conv = "n1c2h4w4_k2r3s3_p1".parse().expect("key");
    let layers = layers.iter().map(|&name| Layer { name: name.into(), conv, count: 1 }).collect();
    Suite { name: "fake".into(), description: String::new(), layers }
}

fn settings() -> Settings {
    Settings { timeout: Duration::from_secs(20), ..Settings::default() }
}

/// Runs layers with workers of the given modes, one after the other; the last mode stays.
fn run_in(layers: &[&str], modes: &[&str], settings: &Settings, mut sink: Memory) -> Outcome {
    let started = Cell::new(0);
    let next = || {
        let mode = modes[started.get().min(modes.len() - 1)];
        started.set(started.get() + 1);
        command(mode)
    };
    let suites = [suite(layers)];
    let job = Job { suites: &suites, algorithms: ALGORITHMS, settings, worker: &next };
    let mut log = Log::default();
    let result = run(&job, &mut sink, &mut [&mut log]);
    Outcome { result, rows: sink.rows, log: log.0 }
}

fn run_layers(layers: &[&str]) -> Outcome {
    let outcome = run_in(layers, &["serves"], &settings(), Memory::default());
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    outcome
}

/// A good case, one of `layer`, a good case: the good ones must not notice. Returns the bad one's row, and whether it cost a
/// worker.
fn between_good_ones(layer: &str, settings: &Settings) -> (Status, String, bool) {
    let outcome = run_in(&["good1", layer, "good2"], &["serves"], settings, Memory::default());
    let [before, bad, after] = outcome.ends()[..] else { panic!("{layer}: {:?}, {:?}", outcome.ends(), outcome.result) };
    assert_eq!((before.0, after.0), (Status::Ok, Status::Ok), "{layer}");
    (bad.0, bad.1.to_owned(), before.1 != after.1)
}

#[test]
fn a_healthy_worker_runs_every_case() {
    let outcome = run_layers(&["good1", "good2"]);
    let ends = outcome.ends();
    assert_eq!(ends[0], ends[1], "one process, both ok");
    let expected = [
        "started 2+0 on Fake",
        "case 0/2 good1",
        "preparing",
        "compiling",
        "ended 0 Ok",
        "case 1/2 good2",
        "preparing",
        "compiling",
        "ended 1 Ok",
        "finished 2, 0 bad",
    ];
    assert_eq!(outcome.log, expected);
}

#[test]
fn a_crash_costs_its_row() {
    let (status, reason, fresh) = between_good_ones("exits", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true));
    assert!(reason.starts_with("the worker ended with exit ") && reason.contains(": 3 while verifying"), "{reason}");

    let (status, reason, fresh) = between_good_ones("aborts", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true));
    assert!(reason.ends_with("while compiling; its last line: driver: assertion failed"), "{reason}");
    #[cfg(unix)]
    assert!(reason.contains("SIGABRT"), "{reason}");

    let (status, reason, fresh) = between_good_ones("panics", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true));
    assert_eq!(reason, "panic while measuring: device says no");
}

#[test]
fn a_hang_costs_its_row() {
    let settings = Settings { timeout: Duration::from_millis(1500), ..settings() };
    let (status, reason, fresh) = between_good_ones("hangs", &settings);
    assert_eq!((status, fresh), (Status::Timeout, true));
    assert_eq!(reason, "no answer within 1.5 s while compiling");
}

#[test]
fn a_lost_device_costs_its_worker() {
    let (status, _, fresh) = between_good_ones("loses", &settings());
    assert_eq!((status, fresh), (Status::DeviceLost, true));
}

#[test]
fn noise_costs_nothing() {
    let (status, _, fresh) = between_good_ones("chatters", &settings());
    assert_eq!((status, fresh), (Status::Ok, false));
}

#[test]
fn nonsense_in_the_protocol_costs_its_row() {
    for (layer, beginning) in [
        ("garbles", "the worker broke the protocol (invalid type"),
        ("mistakes", "the worker broke the protocol (rows of direct in another of fake)"),
    ] {
        let (status, reason, fresh) = between_good_ones(layer, &settings());
        assert_eq!((status, fresh), (Status::Crashed, true), "{layer}");
        assert!(reason.starts_with(beginning), "{layer}: {reason}");
    }
    let (status, reason, fresh) = between_good_ones("closes", &settings());
    assert_eq!((status, fresh), (Status::Crashed, true), "a reply cut short: {reason}");
}

#[test]
fn a_case_does_not_pay_for_the_one_before_it() {
    let outcome = run_layers(&["fades", "waits", "good"]);
    // The first worker dies idle or with the second case in hand; what is certain is that the third does not notice.
    assert_eq!((outcome.ends()[0].0, outcome.ends()[2].0), (Status::Ok, Status::Ok), "{:?}", outcome.ends());
}

#[test]
fn workers_leave_nothing_behind() {
    let settings = Settings { timeout: Duration::from_millis(1500), ..settings() };
    let outcome = run_in(&["good1", "hangs", "good2"], &["serves"], &settings, Memory::default());
    for pid in [outcome.ends()[0].1, outcome.ends()[2].1] {
        assert!(pid.parse::<u32>().is_ok(), "{pid}");
        #[cfg(target_os = "linux")]
        assert!(!std::path::Path::new("/proc").join(pid).exists(), "{pid} is still there, if only as a zombie");
    }
}

#[test]
fn a_worker_without_its_parent_ends_even_in_a_hang() {
    let mut child = command("serves").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a worker");
    let layer = &suite(&["hangs"]).layers[0];
    let case = CaseKey {
        suite: "fake".into(),
        layer: layer.name.clone(),
        conv: layer.conv,
        algorithm: "direct".into(),
        variant: Variant::none(),
        cache: Cache::Hot,
    };
    let task = serde_json::to_string(&Task { case, seed: 0, budget: Duration::ZERO }).expect("JSON");
    let mut stdin = child.stdin.take().expect("piped");
    writeln!(stdin, "{task}").expect("written");
    drop(stdin);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut status = None;
    while status.is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        status = child.try_wait().expect("a child");
    }
    // In case it has not: nothing is to outlive this test.
    let _ = child.kill();
    child.wait().expect("reaped");
    assert_eq!(status.and_then(|s| s.code()), Some(1));
}

#[test]
fn recorded_cases_are_not_run_again() {
    let first = run_layers(&["good1", "exits"]);
    let recorded = first.rows.iter().map(|r| r.measurement.case.clone()).collect();
    let sink = Memory { recorded, ..Memory::default() };
    let second = run_in(&["good1", "exits", "good2"], &["serves"], &settings(), sink);
    assert_eq!(second.rows.iter().map(|r| r.measurement.case.layer.as_str()).collect::<Vec<_>>(), ["good2"]);
    assert_eq!(second.log[..2], ["started 1+2 on Fake", "case 0/1 good2"]);
    assert_eq!(second.result.expect("a run").total(), 1);
}

#[test]
fn measuring_time_is_shared_out_until_it_is_spent() {
    let settings = Settings { time_budget: Some(Duration::from_millis(500)), ..settings() };
    // Layers of one name make one case; so each is a suite of its own.
    let layers = ["good", "waits", "measures", "measures", "measures"];
    let suites: Vec<Suite> = layers.iter().enumerate().map(|(i, l)| Suite { name: i.to_string(), ..suite(&[l]) }).collect();
    let job = Job { suites: &suites, algorithms: ALGORITHMS, settings: &settings, worker: &|| command("serves") };
    let mut sink = Memory::default();
    let counts = run(&job, &mut sink, &mut []).expect("a run");
    let rows: Vec<_> = sink.rows.iter().map(|r| &r.measurement).collect();
    assert_eq!(rows[2].tuning, "166", "500 ms for three: only measuring is paid for");
    let second: u64 = rows[3].tuning.parse().expect("milliseconds");
    assert!(second <= 100, "at most 200 ms for two: {second}");
    assert_eq!((rows[4].status, rows[4].reason.as_str()), (Status::Skipped, "time budget of 0.5 s spent"));
    assert!(!sink.rows[4].ledger.is_empty(), "predicted all the same");
    assert_eq!((counts.of(Status::Ok), counts.of(Status::Skipped), counts.failures()), (4, 1, 0));
}

#[test]
fn a_sink_that_fails_ends_the_run_and_keeps_its_rows() {
    let sink = Memory { full: Some(1), ..Memory::default() };
    let outcome = run_in(&["good1", "good2", "good3"], &["serves"], &settings(), sink);
    assert_eq!(outcome.result.expect_err("a full disk").to_string(), "the disk is full");
    assert_eq!(outcome.rows.len(), 1);
}

#[test]
fn a_device_that_cannot_be_opened_ends_the_run() {
    let outcome = run_in(&["good"], &["refuses"], &settings(), Memory::default());
    assert!(matches!(&outcome.result, Err(RunnerError::Refused(reason)) if reason == "no adapter named 'Fake'"), "{:?}", outcome.result);
    let job = Job { suites: &[], algorithms: ALGORITHMS, settings: &settings(), worker: &|| Command::new("/no/such/worker") };
    let error = run(&job, &mut Memory::default(), &mut []).expect_err("no program");
    assert!(error.to_string().starts_with("cannot start the worker '/no/such/worker': "), "{error}");
}

#[test]
fn workers_that_do_not_start_are_given_up() {
    let outcome = run_in(&["good"], &["dies"], &settings(), Memory::default());
    let message = outcome.result.expect_err("no worker").to_string();
    assert!(message.starts_with("gave up after 3 workers in a row did not start: the worker ended with exit "), "{message}");
    assert!(message.ends_with(": 7 before it began with a case; its last line: driver: cannot load"), "{message}");
    assert_eq!(outcome.log, ["death of nobody"; 3]);

    let settings = Settings { start_timeout: Duration::from_millis(200), ..settings() };
    let outcome = run_in(&["good"], &["sleeps"], &settings, Memory::default());
    let message = outcome.result.expect_err("no worker").to_string();
    assert!(message.contains("no answer within 0.2 s before it began with a case"), "{message}");
}

#[test]
fn a_device_may_take_a_moment_to_come_back() {
    let outcome = run_in(&["loses", "good"], &["serves", "refuses", "dies", "serves"], &settings(), Memory::default());
    assert_eq!(outcome.ends()[1].0, Status::Ok);
    let outcome = run_in(&["loses", "good"], &["serves", "refuses"], &settings(), Memory::default());
    assert_eq!(outcome.rows.len(), 1, "what was measured is kept");
    assert!(matches!(outcome.result, Err(RunnerError::StartUps { attempts: 3, .. })), "{:?}", outcome.result);
}

#[test]
fn a_run_stays_on_its_device() {
    let outcome = run_in(&["good1", "loses", "good2"], &["serves", "other"], &settings(), Memory::default());
    assert_eq!(outcome.rows.len(), 2);
    let message = outcome.result.expect_err("another device").to_string();
    assert!(message.contains("began on Fake (vulkan, fake 1.0), but the device is now Other (vulkan, fake 1.0)"), "{message}");
}
