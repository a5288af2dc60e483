//! An open device: queue, limits, pipelines, and how its errors surface.

use super::clock::{self, Timestamps};
use super::pipeline::Pipelines;
use super::trusted::{self, Checks};
use super::{Adapter, ClockFacts, DeviceError, Identity, Meter};
use crate::plan::{Limits, Step};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the host waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// The device, to finish what it was given and to take and give bytes.
    pub device: Duration,
    /// The driver, to make pipelines.
    pub compiler: Duration,
}

/// An open device.
pub struct Gpu {
    /// Who it is.
    pub identity: Identity,
    /// What plans may ask of it.
    pub limits: Limits,
    /// Optional features it has, by wgpu's names.
    pub features: Vec<String>,
    adapter: wgpu::Adapter,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) pipelines: Pipelines,
    pub(super) timestamps: Option<Timestamps>,
    facts: ClockFacts,
    spent: Cell<Spent>,
    checks: Cell<Checks>,
    /// Set by the driver's callbacks: why the device is lost, or the first error no scope was there to catch.
    trouble: Arc<Mutex<Option<DeviceError>>>,
}

impl Gpu {
    /// Opens an adapter with all its own limits and measures its clock.
    ///
    /// # Errors
    /// [`DeviceError`] when the driver hands out no device, or a first empty dispatch fails.
    pub fn open(adapter: Adapter) -> Result<Self, DeviceError> {
        let mut gpu = Self::open_without_clock(adapter)?;
        gpu.measure_clock()?;
        Ok(gpu)
    }

    /// Opens an adapter with all its own limits; until [`Gpu::measure_clock`] its clock is the host's.
    ///
    /// # Errors
    /// [`DeviceError::Open`] when the driver hands out no device.
    pub fn open_without_clock(adapter: Adapter) -> Result<Self, DeviceError> {
        let Adapter { identity, limits, features, handle, .. } = adapter;
        let mut wanted = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SHADER_F16 | wgpu::Features::SUBGROUP;
        wanted.set(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX, limits.coop > 0);
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("convledger"),
            required_features: handle.features() & wanted,
            required_limits: handle.limits(),
            experimental_features: trusted::experimental(limits.coop > 0),
            // Small blocks keep what the allocator reserves close to what it handed out.
            memory_hints: wgpu::MemoryHints::Manual { suballocated_device_memory_block_size: (4 << 20)..(4 << 20) },
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(handle.request_device(&descriptor))
            .map_err(|error| DeviceError::Open { adapter: identity.name.clone(), reason: one_line(&error) })?;
        let trouble = Arc::new(Mutex::new(None));
        let note = |trouble: &Arc<Mutex<Option<DeviceError>>>, error: DeviceError| {
            let mut first = trouble.lock().unwrap_or_else(PoisonError::into_inner);
            // A lost device follows from other errors but is the graver news.
            if first.is_none() || matches!(error, DeviceError::Lost { .. }) {
                *first = Some(error);
            }
        };
        let lost = Arc::clone(&trouble);
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                note(&lost, DeviceError::Lost { reason: message.replace('\n', " ") });
            }
        });
        let uncaptured = Arc::clone(&trouble);
        device.on_uncaptured_error(Arc::new(move |error| note(&uncaptured, describe("device", error))));
        let pipelines = Pipelines::default();
        let facts = clock::UNMEASURED;
        let checks = Cell::new(Checks::Off);
        Ok(Self {
            identity,
            limits,
            features,
            adapter: handle,
            device,
            queue,
            pipelines,
            timestamps: None,
            facts,
            spent: Cell::default(),
            checks,
            trouble,
        })
    }

    /// Measures the clock, by the first dispatches the device runs.
    ///
    /// # Errors
    /// [`DeviceError`] when a first empty dispatch fails.
    pub fn measure_clock(&mut self) -> Result<(), DeviceError> {
        if self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            self.timestamps = Some(Timestamps::new(self)?);
        }
        self.facts = clock::measure(self)?;
        Ok(())
    }

    /// What reads what this process holds of the device's memory.
    pub fn meter(&self) -> Meter {
        Meter::of_adapter(&self.identity, &self.adapter)
    }

    /// Compiles the kernel of a step, unless that was done before.
    ///
    /// # Errors
    /// [`DeviceError`] when its shader does not compose, or the driver does not take it.
    pub fn compile(&self, step: &Step) -> Result<(), DeviceError> {
        self.pipelines.of(self, step).map(|_| ())
    }

    /// The clock in use, its resolution, and what an empty dispatch takes on it.
    pub fn clock(&self) -> ClockFacts {
        self.facts
    }

    /// Whether kernels compiled from now on get wgpu's checks; those known to stay in range have none at first.
    pub fn set_checks(&self, checks: Checks) {
        if self.checks.replace(checks) != checks {
            self.pipelines.clear();
        }
    }

    pub(super) fn checks(&self) -> Checks {
        self.checks.get()
    }

    /// Whether the backend's allocator says what it handed out.
    pub fn tells_allocations(&self) -> bool {
        self.device.generate_allocator_report().is_some()
    }

    /// Runs `action` and turns whatever the device objects to meanwhile into an error that names `what`.
    pub(super) fn guarded<T>(&self, what: &str, action: impl FnOnce() -> T) -> Result<T, DeviceError> {
        let scopes = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let result = action();
        // Scopes end in the reverse of the order they began in.
        let mut first = None;
        for scope in scopes.into_iter().rev() {
            let error = pollster::block_on(scope.pop());
            first = first.or(error);
        }
        if let Some(error) = first {
            return Err(describe(what, error));
        }
        self.trouble()?;
        Ok(result)
    }

    /// What the host waited for since this was last asked.
    pub fn take_spent(&self) -> Spent {
        self.spent.take()
    }

    /// Runs `action` and books its time as compiling.
    pub(super) fn compiling<T>(&self, action: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = action();
        let spent = self.spent.get();
        self.spent.set(Spent { compiler: spent.compiler + start.elapsed(), ..spent });
        result
    }

    /// Runs `action` and books its time as the device's: it waits for it, or moves bytes to it or from it.
    pub(super) fn moving<T>(&self, action: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = action();
        let spent = self.spent.get();
        self.spent.set(Spent { device: spent.device + start.elapsed(), ..spent });
        result
    }

    /// Waits until everything submitted has run.
    pub(super) fn wait(&self, what: &str) -> Result<(), DeviceError> {
        let waited = self.moving(|| self.device.poll(wgpu::PollType::wait_indefinitely()));
        self.trouble()?;
        waited.map(|_| ()).map_err(|error| DeviceError::Refused { what: what.into(), reason: one_line(&error) })
    }

    fn trouble(&self) -> Result<(), DeviceError> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.take().map_or(Ok(()), Err)
    }
}

fn describe(what: &str, error: wgpu::Error) -> DeviceError {
    match error {
        wgpu::Error::OutOfMemory { .. } => DeviceError::OutOfMemory { what: what.into() },
        other => DeviceError::Refused { what: what.into(), reason: one_line(&other) },
    }
}

/// An error with its sources on one line.
fn one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
