//! The parent's side of a worker: starts it, sends it tasks, waits no longer than it may take, tells how it died.

mod death;
mod link;

pub use death::{Cause, Death};

use self::link::Link;
use super::RunnerError;
use super::protocol::{Hello, Order, Phase, Reply, Task, Work};
use crate::account::Life;
use crate::experiment::{Measured, Part};
use crate::peak::Peaks;
use crate::record::{CaseKey, CaseRows};
use crate::tune::{Trial, TrialFailure};
use std::process::Command;
use std::time::{Duration, Instant};

/// Settings of glibc under which a process gives freed memory back at once. By default it keeps what it thinks it may need again (up to
/// 64 MiB, growing with what is freed), which in an account would be held by nobody. Other C libraries do not read them.
const GIVE_BACK: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

/// Has a process of its own follow one order and reply, with a heap that keeps nothing back.
///
/// # Errors
/// [`RunnerError::Spawn`] when there is no such program, [`RunnerError::StartUp`] when it dies or does not reply within `timeout`.
pub(super) fn once<T>(
    mut command: Command,
    order: &Order,
    timeout: Duration,
    take: impl FnOnce(Reply) -> Result<T, Cause>,
) -> Result<T, RunnerError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.envs(GIVE_BACK);
    let mut link = Link::open(command).map_err(|source| RunnerError::Spawn { program, source })?;
    let (started, mut phase) = (Instant::now(), None);
    let reply = link.send(order).and_then(|()| {
        loop {
            match link.receive(timeout, started)? {
                Reply::Phase(next) => phase = Some(next),
                Reply::Panicked(message) => break Err(Cause::Panicked(message)),
                reply => break take(reply),
            }
        }
    });
    reply.map_err(|cause| RunnerError::StartUp(link.death(cause, phase)))
}

/// Has a process of its own live through a case.
///
/// # Errors
/// [`RunnerError::Refused`] with the reason where the case cannot be lived through, others as for any worker: [`RunnerError::Spawn`] when
/// there is no such program, [`RunnerError::StartUp`] when it dies or does not reply within `timeout`.
pub fn live(command: Command, case: &CaseKey, timeout: Duration) -> Result<Life, RunnerError> {
    let life = once(command, &Order::Life(Box::new(case.clone())), timeout, |reply| match reply {
        Reply::Life(life) => Ok(life),
        other => Err(Cause::Protocol(format!("{} instead of a life", other.name()))),
    })?;
    life.map(|life| *life).map_err(RunnerError::Refused)
}

/// Has a process of its own run a part of an experiment.
///
/// # Errors
/// As [`live`].
pub fn measure_apart(command: Command, part: &Part, timeout: Duration) -> Result<Measured, RunnerError> {
    let measured = once(command, &Order::Experiment(*part), timeout, |reply| match reply {
        Reply::Experiment(measured) => Ok(measured),
        other => Err(Cause::Protocol(format!("{} instead of an experiment's rows", other.name()))),
    })?;
    measured.map(|measured| *measured).map_err(RunnerError::Refused)
}

/// A worker process with its device open. It ends when this value is dropped, by force if need be.
#[derive(Debug)]
pub struct WorkerProcess {
    link: Link,
    hello: Hello,
}

impl WorkerProcess {
    /// Starts `command` and waits for it to open its device.
    ///
    /// # Errors
    /// [`RunnerError::Spawn`] when there is no such program, [`RunnerError::Refused`] when it has no device to open,
    /// [`RunnerError::StartUp`] when it dies or says nothing within `timeout`.
    pub fn spawn(command: Command, timeout: Duration) -> Result<Self, RunnerError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut link = Link::open(command).map_err(|source| RunnerError::Spawn { program, source })?;
        let cause = match link.receive(timeout, Instant::now()) {
            Ok(Reply::Hello(hello)) => return Ok(Self { link, hello: *hello }),
            Ok(Reply::Refused(reason)) => return Err(RunnerError::Refused(reason)),
            Ok(other) => Cause::Protocol(format!("{} instead of hello", other.name())),
            Err(cause) => cause,
        };
        Err(RunnerError::StartUp(link.death(cause, None)))
    }

    /// Who the worker is.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Whether it can take a case: it was healthy after its last one and has not ended since.
    pub fn is_running(&mut self) -> bool {
        self.link.is_running()
    }

    /// Runs a case, calling back as its phases begin. After a death, and after a case that cost the worker its device, the
    /// worker has ended.
    ///
    /// # Errors
    /// [`Death`] when the worker dies, says something out of place, or does not answer within `timeout` and is killed. Its
    /// phase is none when it had not begun with the case: then another worker may.
    pub fn run(&mut self, task: &Task, timeout: Duration, on_phase: &mut dyn FnMut(Phase)) -> Result<(CaseRows, Work), Death> {
        let order = Order::Case(Box::new(task.clone()));
        let (rows, leaving, work) = self.ask(&order, timeout, on_phase, |reply| match reply {
            Reply::Done { rows, leaving, work } if rows.measurement.case == task.case => Ok((rows, leaving, work)),
            Reply::Done { rows, .. } => {
                let case = rows.measurement.case;
                Err(Cause::Protocol(format!("rows of {} in {} of {}", case.algorithm, case.layer, case.suite)))
            }
            other => Err(Cause::Protocol(format!("{} in the middle of a case", other.name()))),
        })?;
        if leaving {
            self.link.leave();
        }
        Ok((*rows, work))
    }

    /// Measures the device's own limits in about `budget`; a text is why there are none.
    ///
    /// # Errors
    /// As [`WorkerProcess::run`].
    pub fn measure_peaks(&mut self, budget: Duration, timeout: Duration) -> Result<(Result<Peaks, String>, Work), Death> {
        let (peaks, work) = self.ask(&Order::Peaks(budget), timeout, &mut |_| (), |reply| match reply {
            Reply::Peaks { peaks, work } => Ok((peaks, work)),
            other => Err(Cause::Protocol(format!("{} instead of the device's limits", other.name()))),
        })?;
        Ok((peaks.map(|peaks| *peaks), work))
    }

    /// Tries a candidate of tuning; nanoseconds of its sample, or why there are none.
    ///
    /// # Errors
    /// As [`WorkerProcess::run`].
    pub fn try_out(&mut self, trial: &Trial, timeout: Duration) -> Result<Result<f64, TrialFailure>, Death> {
        let outcome = self.ask(&Order::Trial(Box::new(trial.clone())), timeout, &mut |_| (), |reply| match reply {
            Reply::Trial(outcome) => Ok(outcome),
            other => Err(Cause::Protocol(format!("{} instead of a trial's outcome", other.name()))),
        })?;
        if matches!(&outcome, Err(failure) if failure.device_lost) {
            self.link.leave();
        }
        Ok(outcome)
    }

    /// Gives an order and waits for the reply that `take` is content with.
    fn ask<T>(
        &mut self,
        order: &Order,
        timeout: Duration,
        on_phase: &mut dyn FnMut(Phase),
        take: impl FnOnce(Reply) -> Result<T, Cause>,
    ) -> Result<T, Death> {
        let started = Instant::now();
        let mut phase = None;
        let answer = self.link.send(order).and_then(|()| {
            loop {
                match self.link.receive(timeout, started)? {
                    Reply::Phase(next) => {
                        phase = Some(next);
                        on_phase(next);
                    }
                    Reply::Panicked(message) => break Err(Cause::Panicked(message)),
                    reply => break take(reply),
                }
            }
        });
        answer.map_err(|cause| self.link.death(cause, phase))
    }
}
