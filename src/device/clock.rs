//! The device's clock: timestamps around passes, how finely it ticks, and what it shows around an empty dispatch and around nothing.
//!
//! Some drivers offer timestamps and return zeros or run backwards. The clock is tried before it is trusted, and a sample whose
//! difference is not positive is refused, upon which a session falls back to the host's clock and says so.

use super::executor::Loaded;
use super::memory::Allocation;
use super::{Clock, ClockFacts, DeviceError, Gpu};
use crate::conv::ElementType;
use crate::plan::{Buffer, BufferId, Kernel, Lifetime, Limits, Plan, Role, Step, Unsupported};
use crate::units::{Bytes, Ops};
use std::collections::BTreeMap;

/// Timestamps one query set holds; WebGPU allows 4,096.
pub(super) const CAPACITY: u32 = 2048;

/// Probes of the clock.
const PROBES: usize = 33;

/// What stands in until [`measure`] has run.
pub(super) const UNMEASURED: ClockFacts =
    ClockFacts { clock: Clock::Host, resolution_ns: 1.0, dispatch_overhead_ns: 0.0, timer_overhead_ns: None };

/// A query set and the way of its values back to the host.
pub(super) struct Timestamps {
    pub(super) queries: wgpu::QuerySet,
    resolved: Allocation,
    readback: Allocation,
    /// Nanoseconds of one tick.
    period: f64,
}

impl Timestamps {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, DeviceError> {
        let descriptor = wgpu::QuerySetDescriptor { label: Some("timestamps"), ty: wgpu::QueryType::Timestamp, count: CAPACITY };
        let bytes = u64::from(CAPACITY) * 8;
        Ok(Self {
            queries: gpu.guarded("timestamp queries", || gpu.device.create_query_set(&descriptor))?,
            resolved: Allocation::new(gpu, "timestamps", bytes, wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC)?,
            readback: Allocation::new(gpu, "timestamp readback", bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)?,
            period: f64::from(gpu.queue.get_timestamp_period()),
        })
    }

    /// Appends the copying of the first `count` timestamps to the host.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder, count: u32) {
        encoder.resolve_query_set(&self.queries, 0..count, &self.resolved.buffer, 0);
        encoder.copy_buffer_to_buffer(&self.resolved.buffer, 0, &self.readback.buffer, 0, u64::from(count) * 8);
    }

    /// Nanoseconds between the timestamps of each pair, after the commands that wrote them were submitted.
    pub(super) fn differences(&self, gpu: &Gpu, pairs: u32) -> Result<Vec<f64>, DeviceError> {
        let bytes = super::executor::read_mapped(gpu, &self.readback, u64::from(pairs) * 16)?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
        ticks
            .chunks_exact(2)
            .map(|pair| match i128::from(pair[1]) - i128::from(pair[0]) {
                ticks if ticks > 0 => Ok(ticks as f64 * self.period),
                ticks => Err(DeviceError::Clock { ticks }),
            })
            .collect()
    }
}

/// A plan of one dispatch that stores one word: what a dispatch costs when there is nothing to do.
///
/// # Errors
/// [`Unsupported::Limit`] on a device that cannot bind a word.
pub fn probe_plan(limits: &Limits) -> Result<Plan, Unsupported> {
    let word = Buffer { name: "word".into(), role: Role::Output, element: ElementType::F32, elements: 1, lifetime: Lifetime::Call };
    let mut plan = Plan::of_buffers(vec![word]);
    let kernel = Kernel {
        shader: "probe".into(),
        element: ElementType::F32,
        constants: BTreeMap::new(),
        overrides: BTreeMap::new(),
        folded: BTreeMap::new(),
        tile: None,
        workgroup: [1; 3],
        workgroup_bytes: 0,
        problem_fields: vec!["value".into()],
    };
    let bindings = vec![plan.whole(BufferId(0)).write()];
    let (operations, traffic) = (Ops(0), Bytes(4));
    plan.steps.push(Step {
        stage: "probe".into(),
        kernel,
        problem: vec![1],
        bindings,
        workgroups: [1; 3],
        operations,
        traffic,
        once: false,
    });
    plan.finish(limits)
}

/// Tries the device's clock and takes the host's where it does not tell time.
pub(super) fn measure(gpu: &mut Gpu) -> Result<ClockFacts, DeviceError> {
    let plan = probe_plan(&gpu.limits).map_err(|error| DeviceError::Refused { what: "clock probe".into(), reason: error.to_string() })?;
    let loaded = Loaded::new(gpu, plan, 1)?;
    if gpu.timestamps.is_some() {
        match probe(&loaded, Clock::GpuTimestamp) {
            Ok(facts) => return Ok(facts),
            Err(DeviceError::Clock { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let facts = probe(&loaded, Clock::Host);
    drop(loaded);
    gpu.timestamps = None;
    facts
}

fn probe(loaded: &Loaded, clock: Clock) -> Result<ClockFacts, DeviceError> {
    loaded.execute(1, clock)?;
    let times = |executions| {
        let mut times = (0..PROBES).map(|_| loaded.execute(executions, clock).map(|t| t.0)).collect::<Result<Vec<f64>, _>>()?;
        times.sort_by(f64::total_cmp);
        Ok::<_, DeviceError>(times)
    };
    let nothing = match times(0) {
        Ok(times) => Some(times[times.len() / 2]),
        // No time between the two timestamps is less than a tick.
        Err(DeviceError::Clock { .. }) => None,
        Err(error) => return Err(error),
    };
    let times = times(1)?;
    // Differences between the times of equal work are whole ticks; the smallest is the best bound on one there is.
    let tick = loaded.tick(clock);
    let resolution = times.windows(2).map(|w| w[1] - w[0]).filter(|&d| d >= tick).fold(f64::INFINITY, f64::min);
    let resolution_ns = if resolution.is_finite() { resolution } else { tick };
    let timer_overhead_ns = Some(nothing.unwrap_or(resolution_ns));
    Ok(ClockFacts { clock, resolution_ns, dispatch_overhead_ns: times[times.len() / 2], timer_overhead_ns })
}

impl Loaded<'_> {
    /// Nominal length of one tick, in nanoseconds.
    fn tick(&self, clock: Clock) -> f64 {
        match (clock, &self.gpu().timestamps) {
            (Clock::GpuTimestamp, Some(timestamps)) => timestamps.period,
            _ => 1.0,
        }
    }
}
