//! The worker's side: takes orders, has them executed, replies.

use super::RunnerError;
use super::protocol::{Hello, Order, Phase, Reply, Task, Work};
use crate::peak::Peaks;
use crate::record::CaseRows;
use crate::tune::{Trial, TrialFailure};
use std::any::Any;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a worker whose parent is gone may go on.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// Runs cases on an open device.
pub trait Execute {
    /// Who the device is.
    fn hello(&self) -> Hello;

    /// Runs a case to its row, whatever becomes of it. Calls back as each phase begins; [`Phase::Preparing`] is already
    /// announced.
    ///
    /// # Panics
    /// May: a panic costs the case its numbers and the worker its life, not the run.
    fn execute(&mut self, task: &Task, phase: &mut dyn FnMut(Phase)) -> Execution;

    /// Measures the device's own limits in about `budget`.
    ///
    /// # Errors
    /// One line that says why they cannot be measured.
    ///
    /// # Panics
    /// As [`Execute::execute`].
    fn measure_peaks(&mut self, budget: Duration) -> Result<Peaks, String> {
        let _ = budget;
        Err("this worker measures no limits of its device".to_owned())
    }

    /// Tries a candidate of tuning; nanoseconds of its sample.
    ///
    /// # Errors
    /// Why there are none, and whether the device is lost by it.
    ///
    /// # Panics
    /// As [`Execute::execute`].
    fn try_out(&mut self, trial: &Trial, phase: &mut dyn FnMut(Phase)) -> Result<f64, TrialFailure> {
        let _ = (trial, phase);
        Err(TrialFailure { reason: "this worker tunes nothing".to_owned(), device_lost: false })
    }

    /// What it spent time on since this was last asked.
    fn take_work(&mut self) -> Work {
        Work::default()
    }
}

/// How a case ended in the worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Its rows; their case is the task's.
    pub rows: CaseRows,
    /// Whether the device can no longer be trusted; the next case gets a fresh worker then.
    pub device_lost: bool,
}

/// Says hello, then follows the orders of `input`, one a line, until it ends, the device is lost or a case panics.
///
/// # Errors
/// [`RunnerError::Pipe`] when either end is gone, [`RunnerError::Task`] for a line that is not a task.
pub fn serve(execute: &mut dyn Execute, input: impl BufRead, output: impl Write) -> Result<(), RunnerError> {
    serve_lines(execute, input.lines(), output)
}

/// Serves on the standard streams of this process. When the parent goes away the process ends soon after, even in the middle
/// of a case that never does.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio(execute: &mut dyn Execute) -> Result<(), RunnerError> {
    serve_lines(execute, stdin_lines().iter(), io::stdout())
}

/// Follows the one order of a process that opens its own device, and replies; the first line of the standard input is the order. When the
/// parent goes away the process ends soon after, as with [`serve_stdio`].
///
/// # Errors
/// [`RunnerError::Pipe`] when either end is gone, [`RunnerError::Task`] for a line that is not an order.
pub fn serve_once(follow: impl FnOnce(Order) -> Reply) -> Result<(), RunnerError> {
    let lines = stdin_lines();
    let Ok(line) = lines.recv() else { return Ok(()) };
    let order = serde_json::from_str(&line?).map_err(|source| RunnerError::Task { line: 1, source })?;
    let mut output = io::stdout();
    Reply::Phase(Phase::Memory).write(&mut output)?;
    let reply = catch_unwind(AssertUnwindSafe(|| follow(order)));
    let reply = reply.unwrap_or_else(|panic| Reply::Panicked(message(panic.as_ref()).to_owned()));
    Ok(reply.write(&mut output)?)
}

/// The lines of the standard input, read by a thread that ends this process some time after the last.
fn stdin_lines() -> mpsc::Receiver<io::Result<String>> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lines() {
            // Where nobody listens any more, the end is still to be waited for.
            let _ = sender.send(line);
        }
        drop(sender);
        thread::sleep(ORPHAN_GRACE);
        std::process::exit(1);
    });
    lines
}

/// Tells the parent why there is no device to serve with.
///
/// # Errors
/// [`RunnerError::Pipe`] when the parent is gone.
pub fn refuse(mut output: impl Write, reason: &str) -> Result<(), RunnerError> {
    Ok(Reply::Refused(reason.to_owned()).write(&mut output)?)
}

fn serve_lines(
    execute: &mut dyn Execute,
    lines: impl Iterator<Item = io::Result<String>>,
    mut output: impl Write,
) -> Result<(), RunnerError> {
    Reply::Hello(Box::new(execute.hello())).write(&mut output)?;
    for (index, line) in lines.enumerate() {
        let order: Order = serde_json::from_str(&line?).map_err(|source| RunnerError::Task { line: index + 1, source })?;
        let first = if matches!(order, Order::Peaks(_)) { Phase::Limits } else { Phase::Preparing };
        Reply::Phase(first).write(&mut output)?;
        let mut broken = None;
        let mut announce = |phase| {
            if let Err(error) = Reply::Phase(phase).write(&mut output) {
                broken.get_or_insert(error);
            }
        };
        // What a panic leaves half done is not looked at again: the worker ends.
        let ended = catch_unwind(AssertUnwindSafe(|| follow(execute, order, &mut announce)));
        if let Some(error) = broken {
            return Err(error.into());
        }
        let (reply, leaving) = ended.unwrap_or_else(|panic| (Reply::Panicked(message(panic.as_ref()).to_owned()), true));
        reply.write(&mut output)?;
        if leaving {
            break;
        }
    }
    Ok(())
}

/// Follows an order; the reply, and whether the worker ends with it.
fn follow(execute: &mut dyn Execute, order: Order, announce: &mut dyn FnMut(Phase)) -> (Reply, bool) {
    match order {
        Order::Case(task) => {
            let Execution { rows, device_lost: leaving } = execute.execute(&task, announce);
            (Reply::Done { rows: Box::new(rows), leaving, work: execute.take_work() }, leaving)
        }
        Order::Peaks(budget) => {
            let peaks = execute.measure_peaks(budget).map(Box::new);
            (Reply::Peaks { peaks, work: execute.take_work() }, false)
        }
        Order::Trial(trial) => {
            let outcome = execute.try_out(&trial, announce);
            let leaving = matches!(&outcome, Err(failure) if failure.device_lost);
            (Reply::Trial(outcome), leaving)
        }
        Order::Life(_) => (Reply::Life(Err("this worker's life has begun already".to_owned())), false),
        Order::Experiment(_) => (Reply::Experiment(Err("this worker has a device open already".to_owned())), false),
    }
}

/// What a panic said; `panic!` carries one of two types.
fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    panic.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no message")
}
