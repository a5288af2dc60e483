//! Runs the kernels: checks each shape's result, finds how much work makes a sample, and keeps the best sample of the best shape.

use super::kernels::{Copy, FIRST, MultiplyAdd, SECOND, Work, WorkgroupRead};
use super::{ArithmeticRate, ByteRate, DispatchCost, MEMORY, PeakError, Peaks};
use crate::conv::ElementType;
use crate::device::{Clock, DeviceError, Gpu, Loaded, probe_plan};
use crate::measure::{MOST_EXECUTIONS, TICKS};
use crate::plan::{DeviceClass, Limits, Plan, Unsupported};
use crate::units::{Bytes, Nanoseconds};
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Shares of the whole budget.
const ARITHMETIC_SHARE: f64 = 0.25;
const HALF_SHARE: f64 = 0.1;
const WORKGROUP_SHARE: f64 = 0.1;
const COPY_SHARE: f64 = 0.4;
/// Working sets of copies that caches may hold.
const CACHED: [u64; 5] = [1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26];
/// The working set on which the shapes of a copy are compared; on a software driver what counts is the instructions.
const TRIAL: u64 = MEMORY.0;
const SOFTWARE_TRIAL: u64 = 1 << 22;
/// Dispatches of a pass in which one more is timed.
const DISPATCHES: u32 = 256;
/// Samples of a shape that is tried, of one that is published, and the most.
const TRIAL_SAMPLES: usize = 2;
const LEAST_SAMPLES: usize = 5;
const MOST_SAMPLES: usize = 50;
/// Period of the numbers that are copied, a prime, so that no misplaced stretch goes unseen.
const PERIOD: u16 = 16_381;

/// With less than this, one shape of each kernel has to do, and no copy past what a cache may hold.
const HURRY: Duration = Duration::from_millis(500);

/// Measures every limit within about `budget`, compiling and checking not counted; with little of it more roughly, which the notes say.
///
/// # Errors
/// [`PeakError`] when the device fails, or when no shape of a kernel gives the right result.
pub fn measure(gpu: &Gpu, budget: Duration) -> Result<Peaks, PeakError> {
    let start = Instant::now();
    let mut notes = Vec::new();
    let bench = Bench { gpu, software: gpu.identity.class == DeviceClass::Software, hurried: budget < HURRY };
    if bench.hurried {
        notes.push(format!("measured in {} s for a run in a hurry: one shape of each kernel, a few samples", budget.as_secs_f64()));
    }
    let arithmetic = |element, share| {
        let (gflops, how) = bench.best(&MultiplyAdd::shapes(element), budget.mul_f64(share))?;
        Ok::<_, PeakError>(ArithmeticRate { gflops, how })
    };
    let multiply_add_f32 = arithmetic(ElementType::F32, ARITHMETIC_SHARE)?;
    let multiply_add_f16 = if gpu.limits.f16 {
        optional("multiply_add_f16", arithmetic(ElementType::F16, HALF_SHARE), &mut notes)?
    } else {
        notes.push("multiply_add_f16: shaders have no f16 on this device".to_owned());
        None
    };
    let shapes = WorkgroupRead::shapes();
    let read = bench.best(&shapes, budget.mul_f64(WORKGROUP_SHARE)).map(|(rate, how)| ByteRate {
        bytes_per_second: rate * 1e9,
        working_set_bytes: shapes.iter().map(|shape| u64::from(shape.tile())).max().unwrap_or(0),
        how,
    });
    let workgroup_read = optional("workgroup_read", read, &mut notes)?;
    let (memory_copy, copies) = bench.copies(budget.mul_f64(COPY_SHARE), &mut notes)?;
    let dispatch = bench.dispatch()?;
    let measured_in_s = start.elapsed().as_secs_f64();
    Ok(Peaks { multiply_add_f32, multiply_add_f16, memory_copy, copies, workgroup_read, dispatch, notes, measured_in_s })
}

/// A limit that can do without: why it is missing becomes a note, unless the device is beyond use.
fn optional<T>(name: &str, measured: Result<T, PeakError>, notes: &mut Vec<String>) -> Result<Option<T>, PeakError> {
    match measured {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_fatal() => Err(error),
        Err(error) => {
            notes.push(format!("{name}: {error}"));
            Ok(None)
        }
    }
}

/// A kernel whose invocations go round a loop and write what they counted.
trait Counted: Display {
    /// Most rounds whose results are exact.
    const MOST_ROUNDS: u32;

    fn plan(&self, work: Work, limits: &Limits) -> Result<Plan, Unsupported>;

    /// Operations or bytes of one execution.
    fn amount(&self, work: Work) -> f64;

    /// What each invocation writes.
    fn expected(&self, work: Work) -> Vec<f32>;
}

impl Counted for MultiplyAdd {
    const MOST_ROUNDS: u32 = Self::MOST_ROUNDS;

    fn plan(&self, work: Work, limits: &Limits) -> Result<Plan, Unsupported> {
        self.plan(work, limits)
    }

    fn amount(&self, work: Work) -> f64 {
        self.operations(work)
    }

    fn expected(&self, work: Work) -> Vec<f32> {
        (0..work.invocations).map(|invocation| self.expected(invocation, work)).collect()
    }
}

impl Counted for WorkgroupRead {
    const MOST_ROUNDS: u32 = Self::MOST_ROUNDS;

    fn plan(&self, work: Work, limits: &Limits) -> Result<Plan, Unsupported> {
        Self::plan(*self, work, limits)
    }

    fn amount(&self, work: Work) -> f64 {
        Self::bytes(work)
    }

    fn expected(&self, work: Work) -> Vec<f32> {
        Self::expected(*self, work).repeat((work.invocations / self.workgroup) as usize)
    }
}

/// The best of some samples.
struct Best {
    time: Nanoseconds,
    samples: usize,
    clock: Clock,
}

impl Best {
    fn how(&self, kernel: &impl Display) -> String {
        let clock = if self.clock == Clock::GpuTimestamp { "the device's clock" } else { "the host's clock" };
        format!("{kernel}; best of {} samples, {} by {clock}", self.samples, self.time)
    }
}

fn best_of(loaded: &Loaded<'_>, clock: Clock, grain: f64, (least, budget): (usize, Duration)) -> Result<Best, DeviceError> {
    let start = Instant::now();
    let one = loaded.execute(1, clock)?.0;
    let executions = (TICKS * grain / one).ceil().clamp(1.0, MOST_EXECUTIONS.into());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small positive number")]
    let executions = executions as u32;
    let (mut time, mut samples) = if executions == 1 { (one, 1) } else { (f64::INFINITY, 0) };
    while samples < least.max(1) || (samples < MOST_SAMPLES && start.elapsed() < budget) {
        time = time.min(loaded.execute(executions, clock)?.0 / f64::from(executions));
        samples += 1;
    }
    Ok(Best { time: Nanoseconds(time), samples, clock })
}

struct Bench<'g> {
    gpu: &'g Gpu,
    software: bool,
    hurried: bool,
}

impl Bench<'_> {
    /// The best time of one execution among at least `least` samples and as many as `budget` has room for. A sample is as many
    /// executions as make reading the time a hundredth of it.
    fn time(&self, loaded: &Loaded<'_>, least: usize, budget: Duration) -> Result<Best, PeakError> {
        let facts = self.gpu.clock();
        let grain = facts.timer_overhead_ns.unwrap_or(0.0).max(facts.resolution_ns);
        match best_of(loaded, facts.clock, grain, (least, budget)) {
            Err(DeviceError::Clock { .. }) => Ok(best_of(loaded, Clock::Host, grain, (least, budget))?),
            other => Ok(other?),
        }
    }

    /// Amount per nanosecond of the best sample of any shape, and how it was reached. Half the budget goes to trying all shapes, half to
    /// the two that did best, since a disturbance may have hit one of them.
    fn best<K: Counted>(&self, shapes: &[K], budget: Duration) -> Result<(f64, String), PeakError> {
        let shapes = if self.hurried { &shapes[..1.min(shapes.len())] } else { shapes };
        let trial = budget.mul_f64(0.5 / shapes.len() as f64);
        let mut tried: Vec<(f64, String, Loaded<'_>, &K, Work)> = Vec::new();
        let mut refused = None;
        for shape in shapes {
            match self.load(shape).and_then(|(loaded, work)| Ok((self.time(&loaded, TRIAL_SAMPLES, trial)?, loaded, work))) {
                Ok((timed, loaded, work)) => tried.push((shape.amount(work) / timed.time.0, timed.how(shape), loaded, shape, work)),
                Err(error) if error.is_fatal() => return Err(error),
                Err(error) => refused = Some(error),
            }
        }
        tried.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut best: Option<(f64, String)> = None;
        for (rate, how, loaded, shape, work) in tried.into_iter().take(2) {
            let timed = self.time(&loaded, LEAST_SAMPLES, budget / 4)?;
            let again = shape.amount(work) / timed.time.0;
            let found = if again >= rate { (again, timed.how(shape)) } else { (rate, how) };
            if best.as_ref().is_none_or(|best| found.0 > best.0) {
                best = Some(found);
            }
        }
        let nothing = || Unsupported::Problem("there is no shape of the kernel to try".into()).into();
        best.ok_or_else(|| refused.unwrap_or_else(nothing))
    }

    /// A kernel with enough rounds for a sample, its result checked.
    fn load<K: Counted>(&self, shape: &K) -> Result<(Loaded<'_>, Work), PeakError> {
        // Enough invocations to fill a device, and few enough that a software driver's threads have several workgroups each.
        let (invocations, target) = if self.software { (1 << 14, 8e6) } else { (1 << 20, 4e6) };
        let mut work = Work { invocations, rounds: 4 };
        for _ in 0..3 {
            let loaded = Loaded::new(self.gpu, shape.plan(work, &self.gpu.limits)?, 1)?;
            loaded.execute(1, Clock::Host)?;
            let time = self.time(&loaded, 1, Duration::ZERO)?.time.0;
            let wanted = (f64::from(work.rounds) * target / time).clamp(1.0, f64::from(K::MOST_ROUNDS));
            if time >= target / 2.0 || wanted <= f64::from(work.rounds) {
                break;
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a positive number below 2^24")]
            let rounds = wanted as u32;
            work.rounds = rounds;
        }
        let loaded = Loaded::new(self.gpu, shape.plan(work, &self.gpu.limits)?, 1)?;
        loaded.poison()?;
        loaded.execute(1, Clock::Host)?;
        compare(shape, &loaded.download(FIRST)?.into_floats(), &shape.expected(work))?;
        Ok((loaded, work))
    }

    /// The best copy from memory, and all copies measured.
    fn copies(&self, budget: Duration, notes: &mut Vec<String>) -> Result<(ByteRate, Vec<ByteRate>), PeakError> {
        let each = budget.mul_f64(1.0 / 20.0);
        let (vector, single) = (self.best_copy(4, each)?, self.best_copy(1, each)?);
        let mut copies = Vec::new();
        let cached: &[u64] = if self.hurried { &CACHED[3..] } else { &CACHED };
        for &bytes in cached.iter().filter(|&&bytes| self.fits(bytes)) {
            copies.push(self.copy(&vector, bytes, LEAST_SAMPLES, each)?);
        }
        let mut from_memory = Vec::new();
        let past_caches: &[u64] = if self.hurried { &[] } else { &[2 * MEMORY.0, MEMORY.0] };
        for &bytes in past_caches.iter().filter(|&&bytes| self.fits(bytes)) {
            for (shape, least) in [(&vector, LEAST_SAMPLES), (&single, TRIAL_SAMPLES)] {
                from_memory.extend(optional("copy", self.copy(shape, bytes, least, 2 * each), notes)?);
            }
        }
        if from_memory.is_empty() {
            let largest = copies.last().map_or(0, |copy| copy.working_set_bytes);
            notes
                .push(format!("memory_copy: of {:#}, which a cache may hold: the device or its host has no room for more", Bytes(largest)));
            from_memory.extend(copies.last().cloned());
        }
        let best = from_memory.iter().max_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second)).cloned();
        let best = best.ok_or_else(|| {
            let limit = Bytes(self.gpu.limits.max_storage_binding_bytes);
            Unsupported::bytes("source of the smallest copy", Bytes(CACHED[0] / 2), "storage binding limit", limit)
        })?;
        copies.extend(from_memory);
        copies.sort_by_key(|copy| copy.working_set_bytes);
        Ok((best, copies))
    }

    /// Whether both halves of a working set can be bound.
    fn fits(&self, working_set: u64) -> bool {
        working_set / 2 <= self.gpu.limits.max_storage_binding_bytes.min(self.gpu.limits.max_buffer_bytes)
    }

    fn best_copy(&self, width: u32, budget: Duration) -> Result<Copy, PeakError> {
        let shapes = Copy::shapes(width);
        if let (true, Some(&first)) = (self.hurried, shapes.first()) {
            return Ok(first);
        }
        let mut best: Option<(f64, Copy)> = None;
        let trials = if self.software { [SOFTWARE_TRIAL, CACHED[0]] } else { [TRIAL, CACHED[0]] };
        let bytes = trials.into_iter().find(|&bytes| self.fits(bytes)).unwrap_or(CACHED[0]);
        let mut refused = None;
        for shape in shapes {
            match self.copy(&shape, bytes, TRIAL_SAMPLES, budget / 2) {
                Ok(copy) if best.is_none_or(|(rate, _)| copy.bytes_per_second > rate) => best = Some((copy.bytes_per_second, shape)),
                Ok(_) => {}
                Err(error) if error.is_fatal() => return Err(error),
                Err(error) => refused = Some(error),
            }
        }
        match (best, refused) {
            (Some((_, shape)), _) => Ok(shape),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Unsupported::Problem("there is no shape of the copy to try".into()).into()),
        }
    }

    /// A copy within a working set, over and over where it is small, its result checked.
    fn copy(&self, shape: &Copy, working_set: u64, least: usize, budget: Duration) -> Result<ByteRate, PeakError> {
        let traffic: u64 = if self.software { 1 << 25 } else { 1 << 30 };
        let passes = if working_set >= MEMORY.0 { 1 } else { (traffic / working_set).max(1) };
        let loaded = Loaded::new(self.gpu, shape.plan(working_set / 2, passes, &self.gpu.limits)?, 1)?;
        let block: Vec<f32> = (0..PERIOD).map(f32::from).collect();
        let elements = usize::try_from(working_set / 8).unwrap_or(usize::MAX);
        let mut pattern = block.repeat(elements.div_ceil(block.len()));
        pattern.truncate(elements);
        loaded.upload(FIRST, &pattern)?;
        loaded.poison()?;
        loaded.execute(1, Clock::Host)?;
        compare(shape, &loaded.download(SECOND)?.into_floats(), &pattern)?;
        let best = self.time(&loaded, least, budget)?;
        let bytes_per_second = (working_set * passes) as f64 / best.time.0 * 1e9;
        Ok(ByteRate { bytes_per_second, working_set_bytes: working_set, how: best.how(shape) })
    }

    /// What one more empty dispatch takes.
    fn dispatch(&self) -> Result<DispatchCost, PeakError> {
        let loaded = Loaded::new(self.gpu, probe_plan(&self.gpu.limits)?, 1)?;
        loaded.execute(1, Clock::Host)?;
        let clock = self.gpu.clock().clock;
        let of = |executions| {
            let times = (0..5).map(|_| loaded.execute(executions, clock).map(|t| t.0)).collect::<Result<Vec<f64>, _>>()?;
            Ok::<_, PeakError>(times.into_iter().fold(f64::INFINITY, f64::min))
        };
        let (one, many) = (of(1)?, of(1 + DISPATCHES)?);
        Ok(DispatchCost {
            ns: (many - one).max(0.0) / f64::from(DISPATCHES),
            how: format!("a pass of {} dispatches that store one word each, less a pass of one, shared out", 1 + DISPATCHES),
        })
    }
}

/// Holds a result against the closed form, to the bit.
pub(super) fn compare(kernel: &impl Display, found: &[f32], expected: &[f32]) -> Result<(), PeakError> {
    // As bytes it is one comparison of memory; NaN differs from everything that is expected.
    if bytemuck::cast_slice::<f32, u8>(found) == bytemuck::cast_slice::<f32, u8>(expected) {
        return Ok(());
    }
    let at = found.iter().zip(expected).position(|(a, b)| a.to_bits() != b.to_bits()).unwrap_or(found.len().min(expected.len()));
    let value = |values: &[f32]| values.get(at).copied().unwrap_or(f32::NAN);
    Err(PeakError::Wrong { kernel: kernel.to_string(), at, found: value(found), expected: value(expected) })
}
