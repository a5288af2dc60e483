//! Which cases run in which order, and their execution in a worker process.
//!
//! ```text
//! suites, selection, limits ─▶ schedule ─▶ run ─┬▶ process ══ JSON lines ══ worker ─▶ Execute (the device)
//!                                               └▶ sink (the files), observers (progress, log)
//! ```
//!
//! Drivers crash and hang. So the process that schedules and writes never touches the device: a worker process does, which
//! is kept while healthy. One that dies costs the case in flight its numbers; the case gets a row that says how it died, and
//! the next one runs in a fresh worker.

mod auto;
mod budget;
mod error;
mod executor;
mod files;
mod observer;
mod predict;
mod prepared;
mod process;
mod protocol;
mod run;
mod schedule;
mod selection;
mod tuning;
mod worker;

pub use error::{RunnerError, SinkError};
pub use executor::DeviceExecutor;
pub use files::Files;
pub use observer::{Counts, Event, Observer};
pub use predict::{Prediction, ledger_rows, predict};
pub use prepared::Prepared;
pub use process::{Cause, Death, WorkerProcess, live, measure_apart};
pub use protocol::{Hello, Order, Phase, Reply, Task, Work};
pub use run::{Job, Settings, Sink, run};
pub use schedule::{Planned, Request, schedule};
pub use selection::Selection;
pub use tuning::{TuneEvent, TuneSettings, TuneWatch, Tuned, TuningExecutor, tune};
pub use worker::{Execute, Execution, refuse, serve, serve_once, serve_stdio};

#[cfg(test)]
mod tests;
