//! The worker process of these tests, and the algorithm it pretends to run.

use convledger::algorithm::{Algorithm, Variant};
use convledger::conv::{Conv, ElementType};
use convledger::device::{Clock, ClockFacts, Identity};
use convledger::peak::{ArithmeticRate, ByteRate, DispatchCost, Peaks};
use convledger::plan::{DeviceClass, Kernel, Limits, Plan, Step, Unsupported};
use convledger::record::Status;
use convledger::runner::{Execute, Execution, Hello, Phase, Task, Work, predict, refuse, serve, serve_stdio};
use convledger::units::{Bytes, Ops};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, StdinLock};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The environment variable that makes this program a worker, and what kind of one.
pub(crate) const MODE: &str = "CONVLEDGER_TEST_WORKER";

/// Runs everything.
pub(crate) struct Direct;

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

    fn native_workspace(&self, _: &Conv, _: &Variant) -> Result<Bytes, Unsupported> {
        Ok(Bytes(0))
    }

    fn native_plan(&self, conv: &Conv, _: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let mut plan = Plan::new(conv);
        let kernel = Kernel {
            shader: "none".into(),
            element: ElementType::F32,
            constants: BTreeMap::new(),
            overrides: BTreeMap::new(),
            folded: BTreeMap::new(),
            tile: None,
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
            once: false,
        });
        plan.finish(limits)
    }
}

/// The registry.
pub(crate) static ALGORITHMS: &[&dyn Algorithm] = &[&Direct];

/// The worker: does what the layer says, and gives its process id as the reason.
struct Fake {
    device: &'static str,
    mode: String,
}

impl Fake {
    fn new(device: &'static str) -> Self {
        Self { device, mode: std::env::var(MODE).unwrap_or_default() }
    }
}

/// Limits of a device that does not exist.
pub(crate) fn peaks() -> Peaks {
    let rate = || ByteRate { bytes_per_second: 5e9, working_set_bytes: 1 << 28, how: "made up".into() };
    Peaks {
        multiply_add_f32: ArithmeticRate { gflops: 84.5, how: "made up".into() },
        multiply_add_f16: None,
        memory_copy: rate(),
        copies: vec![rate()],
        workgroup_read: None,
        dispatch: DispatchCost { ns: 1.0, how: "made up".into() },
        notes: Vec::new(),
        measured_in_s: 0.5,
    }
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
                pci: String::new(),
            },
            limits: Limits::WEBGPU,
            features: Vec::new(),
            clock: ClockFacts { clock: Clock::Host, resolution_ns: 1.0, dispatch_overhead_ns: 1.0, timer_overhead_ns: Some(0.25) },
            resident_source: None,
            notes: BTreeMap::new(),
        }
    }

    fn measure_peaks(&mut self, budget: Duration) -> Result<Peaks, String> {
        assert!(budget > Duration::ZERO);
        match self.mode.as_str() {
            "measures" => Ok(peaks()),
            "miscounts" => Err("the device cannot count".into()),
            "breaks" => std::process::exit(5),
            mode => panic!("{mode} is asked for no limits"),
        }
    }

    fn take_work(&mut self) -> Work {
        Work { device: Duration::from_millis(3), compiler: Duration::from_millis(1), verification: Duration::from_millis(2) }
    }

    fn execute(&mut self, task: &Task, phase: &mut dyn FnMut(Phase)) -> Execution {
        let rows = predict(&task.case, &Direct, &Limits::WEBGPU).0.rows(Status::Ok, std::process::id().to_string());
        let mut execution = Execution { rows, device_lost: false };
        execution.rows.measurement.utilisation = task.peaks.as_ref().map(|peaks| peaks.multiply_add_f32.gflops);
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
        // Says hello, answers so many tasks, takes one more and dies without a word.
        Ok(mode @ ("never" | "once")) => {
            let mut stdin = std::io::stdin().lock();
            let tasks = if mode == "once" { OneLine(Some(&mut stdin)) } else { OneLine(None) };
            serve(&mut Fake::new("Fake"), BufReader::new(tasks), std::io::stdout()).expect("served");
            stdin.read_line(&mut String::new()).expect("a task");
            std::process::exit(9);
        }
        Ok("sleeps") => thread::sleep(Duration::from_mins(1)),
        Ok("other") => serve_stdio(&mut Fake::new("Other")).expect("served"),
        Ok(_) => serve_stdio(&mut Fake::new("Fake")).expect("served"),
        Err(_) => {}
    }
}

/// Input that ends after its first line.
struct OneLine<'a>(Option<&'a mut StdinLock<'static>>);

impl Read for OneLine<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(stdin) = &mut self.0 else { return Ok(0) };
        let read = stdin.read(&mut buffer[..1])?;
        if buffer[0] == b'\n' {
            self.0 = None;
        }
        Ok(read)
    }
}

/// Starts this program as a worker of the given mode.
pub(crate) fn command(mode: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    // The harness prints an unfinished line of its own before the worker says hello: noise from the start.
    command.args(["--ignored", "--exact", "worker::worker", "--nocapture"]).env(MODE, mode);
    command
}
