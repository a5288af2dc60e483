//! A plan on a device: its buffers, its dispatches, and the ways data go in and out.

use super::clock::CAPACITY;
use super::encoding::{decode, encode, none_of, poison};
use super::memory::{Account, Allocation, AllocatorReport, accounts};
use super::pipeline::Pipeline;
use super::{Clock, ClockFacts, DeviceError, Gpu};
use crate::conv::{ElementType, Values};
use crate::plan::{Binding, Buffer, BufferId, Plan, Role, Slot};
use crate::units::{Bytes, Nanoseconds};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// Bytes moved to or from the device at a time, so that staging never doubles a large buffer.
const PIECE: u64 = 16 << 20;
/// The same for filling shared memory anew between two steps, which must not show in what is held meanwhile.
const SMALL_PIECE: u64 = 1 << 20;

/// A plan with its buffers created and its kernels compiled.
///
/// Executions rotate through `sets` copies of the tensors; workspace and uniforms exist once. Workspaces of one slot are one device buffer.
pub struct Loaded<'g> {
    gpu: &'g Gpu,
    plan: Plan,
    /// For each set the buffers in the plan's order; those that exist once are shared.
    sets: Vec<Vec<Rc<Allocation>>>,
    steps: Vec<LoadedStep>,
    /// Whether the steps that run once have run for the weights there are.
    prepared: Cell<bool>,
}

struct LoadedStep {
    pipeline: Rc<Pipeline>,
    /// One for each set.
    bind_groups: Vec<wgpu::BindGroup>,
    workgroups: [u32; 3],
    once: bool,
}

impl<'g> Loaded<'g> {
    /// Creates the plan's buffers, its tensors `sets` times and one for each slot, and compiles its kernels.
    ///
    /// # Errors
    /// [`DeviceError`] when memory runs out, a shader does not compile, or the device is lost.
    pub fn new(gpu: &'g Gpu, plan: Plan, sets: usize) -> Result<Self, DeviceError> {
        let mut all: Vec<Vec<Rc<Allocation>>> = Vec::with_capacity(sets);
        for _ in 0..sets.max(1) {
            let mut memory = BTreeMap::new();
            for (id, buffer) in plan.allocations() {
                let once = matches!(buffer.role, Role::Workspace | Role::Uniform);
                let allocation = match all.first().filter(|_| once) {
                    Some(first) => Rc::clone(&first[id.0]),
                    None => Rc::new(allocate(gpu, buffer)?),
                };
                memory.insert(id, allocation);
            }
            all.push(plan.numbered().map(|(id, _)| Rc::clone(&memory[&plan.memory_of(id)])).collect());
        }
        let mut loaded = Self { gpu, plan, sets: all, steps: Vec::new(), prepared: Cell::new(false) };
        loaded.write_uniforms()?;
        loaded.steps = (0..loaded.plan.steps.len()).map(|i| loaded.load_step(i)).collect::<Result<_, _>>()?;
        Ok(loaded)
    }

    pub(super) fn gpu(&self) -> &Gpu {
        self.gpu
    }

    /// The clock of the device it is loaded on.
    pub fn clock(&self) -> ClockFacts {
        self.gpu.clock()
    }

    /// The plan that is loaded.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What each buffer of the plan takes; of the copies of a tensor the first. Memory that workspaces share is booked to the largest of them.
    pub fn accounts(&self) -> Vec<Account> {
        self.accounts_by(self.gpu.allocator_report().as_ref())
    }

    /// The same by a report that was taken, or none.
    pub fn accounts_by(&self, report: Option<&AllocatorReport>) -> Vec<Account> {
        let mut accounts = accounts(report, self.sets[0].iter().map(Rc::as_ref));
        for guest in self.plan.slots.iter().flat_map(|slot| &slot.guests) {
            let account = &mut accounts[guest.0];
            *account = Account { requested: Bytes(0), allocated: account.allocated.map(|_| Bytes(0)) };
        }
        accounts
    }

    fn uniforms(&self) -> Option<usize> {
        self.plan.buffers.iter().position(|b| b.role == Role::Uniform)
    }

    fn write_uniforms(&self) -> Result<(), DeviceError> {
        let Some(index) = self.uniforms() else { return Ok(()) };
        let stride = self.plan.uniform_stride(&self.gpu.limits);
        let mut words = vec![0_u32; usize::try_from(self.plan.buffers[index].elements).unwrap_or(usize::MAX)];
        for (step, slot) in self.plan.steps.iter().zip(words.chunks_exact_mut(usize::try_from(stride / 4).unwrap_or(usize::MAX))) {
            slot[..step.problem.len()].copy_from_slice(&step.problem);
        }
        self.write(&self.sets[0][index], bytemuck::cast_slice(&words))
    }

    fn load_step(&self, index: usize) -> Result<LoadedStep, DeviceError> {
        let step = &self.plan.steps[index];
        let pipeline = self.gpu.pipelines.of(self.gpu, step)?;
        let stride = self.plan.uniform_stride(&self.gpu.limits);
        let uniforms = self.uniforms().map(|buffer| Binding {
            buffer: BufferId(buffer),
            offset: index as u64 * stride,
            size: (step.problem.len() as u64 * 4).next_multiple_of(16),
            writes: false,
        });
        let bind_groups = self.gpu.guarded(&format!("binding the buffers of {}", step.stage), || {
            let bind = |buffers: &Vec<Rc<Allocation>>| {
                let windows = uniforms.iter().chain(&step.bindings);
                let entries: Vec<wgpu::BindGroupEntry> = windows
                    .zip(0_u32..)
                    .map(|(window, binding)| wgpu::BindGroupEntry {
                        binding,
                        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                            buffer: &buffers[window.buffer.0].buffer,
                            offset: window.offset,
                            size: std::num::NonZeroU64::new(window.size),
                        }),
                    })
                    .collect();
                self.gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(&step.stage),
                    layout: &pipeline.layout,
                    entries: &entries,
                })
            };
            self.sets.iter().map(bind).collect()
        })?;
        Ok(LoadedStep { pipeline, bind_groups, workgroups: step.workgroups, once: step.once })
    }

    /// Writes a tensor's values, to all its copies, as the nearest values of its type.
    ///
    /// # Errors
    /// [`DeviceError`] from the device.
    ///
    /// # Panics
    /// When `values` are not as many as the buffer has elements.
    pub fn upload(&self, id: BufferId, values: &[f32]) -> Result<(), DeviceError> {
        assert_eq!(values.len() as u64, self.plan.buffer(id).elements, "values for {}", self.plan.buffer(id).name);
        self.prepared.set(false);
        let element = self.plan.buffer(id).element;
        let piece = usize::try_from(PIECE / 4).unwrap_or(usize::MAX);
        for (piece, offset) in values.chunks(piece).zip((0..).step_by(usize::try_from(PIECE / 4 * element.bytes()).unwrap_or(usize::MAX))) {
            let bytes = encode(element, piece);
            self.sets.iter().try_for_each(|set| self.write_piece(&set[id.0], offset, &bytes))?;
        }
        Ok(())
    }

    /// Writes every buffer but the uniforms from the host, piece by piece through staging as a run does: tensors that are read with ones, the
    /// rest as [`Loaded::poison`] does.
    ///
    /// # Errors
    /// [`DeviceError`] from the device.
    pub fn write_all(&self) -> Result<(), DeviceError> {
        for (id, buffer) in self.plan.numbered() {
            if id != self.plan.result && matches!(buffer.role, Role::Input | Role::Weights | Role::Output | Role::Bias) {
                self.upload(id, &vec![1.0; usize::try_from(buffer.elements).unwrap_or(usize::MAX)])?;
            }
        }
        self.poison()
    }

    /// Has the device write zeros to every buffer but the uniforms, from end to end and with no staging.
    ///
    /// # Errors
    /// [`DeviceError`] from the device.
    pub fn clear(&self) -> Result<(), DeviceError> {
        self.prepared.set(false);
        self.gpu.guarded("clearing the buffers", || {
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for set in &self.sets {
                for (id, _) in self.plan.allocations().filter(|(_, buffer)| buffer.role != Role::Uniform) {
                    encoder.clear_buffer(&set[id.0].buffer, 0, None);
                }
            }
            self.gpu.queue.submit([encoder.finish()]);
        })?;
        self.gpu.wait("clearing the buffers")
    }

    /// Fills the result and workspaces with NaN, so that an element nobody wrote, or read before it was written, shows; those of integers
    /// with what is no right result.
    ///
    /// # Errors
    /// [`DeviceError`] from the device.
    pub fn poison(&self) -> Result<(), DeviceError> {
        self.prepared.set(false);
        let result = self.plan.result;
        for (id, buffer) in self.plan.allocations().filter(|&(id, buffer)| id == result || buffer.role == Role::Workspace) {
            let copies = if buffer.role == Role::Workspace { 1 } else { self.sets.len() };
            self.sets[..copies].iter().try_for_each(|set| self.fill_with_nan(&set[id.0], buffer.element, PIECE))?;
        }
        Ok(())
    }

    fn fill_with_nan(&self, allocation: &Allocation, element: ElementType, most: u64) -> Result<(), DeviceError> {
        let size = allocation.buffer.size();
        let piece = poison(element, usize::try_from(size.min(most)).unwrap_or(usize::MAX));
        for offset in (0..size).step_by(piece.len().max(1)) {
            let bytes = usize::try_from((size - offset).min(most)).unwrap_or(usize::MAX);
            self.write_piece(allocation, offset, &piece[..bytes])?;
        }
        Ok(())
    }

    fn write(&self, allocation: &Allocation, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut offset = 0;
        for piece in bytes.chunks(usize::try_from(PIECE).unwrap_or(usize::MAX)) {
            self.write_piece(allocation, offset, piece)?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    fn write_piece(&self, allocation: &Allocation, offset: u64, piece: &[u8]) -> Result<(), DeviceError> {
        self.gpu.guarded(&format!("writing {} to the device", Bytes(piece.len() as u64)), || {
            self.gpu.moving(|| self.gpu.queue.write_buffer(&allocation.buffer, offset, piece));
            self.gpu.queue.submit([]);
        })?;
        self.gpu.wait("writing to the device")
    }

    /// Reads a buffer back; of the copies of a tensor the first.
    ///
    /// # Errors
    /// [`DeviceError`] from the device.
    pub fn download(&self, id: BufferId) -> Result<Values, DeviceError> {
        let source = &self.sets[0][id.0];
        let size = self.plan.whole(id).size;
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let readback = Allocation::new(self.gpu, "readback", size.min(PIECE), usage)?;
        let &Buffer { element, elements, .. } = self.plan.buffer(id);
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        let mut values = none_of(element, elements);
        for offset in (0..size).step_by(usize::try_from(PIECE).unwrap_or(usize::MAX)) {
            let bytes = (size - offset).min(PIECE);
            self.gpu.guarded("reading from the device", || {
                let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                encoder.copy_buffer_to_buffer(&source.buffer, offset, &readback.buffer, 0, bytes);
                self.gpu.queue.submit([encoder.finish()]);
            })?;
            let read = read_mapped(self.gpu, &readback, bytes)?;
            self.gpu.moving(|| decode(element, &read, &mut values));
        }
        // A last word may hold more than the last element.
        values.truncate(elements);
        Ok(values)
    }

    /// Runs the steps whose results are kept between executions, unless they have run since the last upload.
    fn prepare(&self) -> Result<(), DeviceError> {
        if !self.prepared.get() && self.steps.iter().any(|step| step.once) {
            self.submit_passes(self.steps.iter().filter(|step| step.once), None)?;
            self.gpu.wait("preparing the plan")?;
        }
        self.prepared.set(true);
        Ok(())
    }

    /// Runs the plan `executions` times in one submission; gives the time of all of them together. Steps that run once run before it and
    /// do not count.
    ///
    /// On the device's clock it counts from the first dispatch to the last, on the host's from submission to completion.
    ///
    /// # Errors
    /// [`DeviceError::Clock`] when the device's clock shows no time; others from the device.
    pub fn execute(&self, executions: u32, clock: Clock) -> Result<Nanoseconds, DeviceError> {
        self.prepare()?;
        let timestamps = self.gpu.timestamps.as_ref().filter(|_| clock == Clock::GpuTimestamp);
        let start = self.gpu.guarded("executing the plan", || {
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let timestamp_writes = timestamps.map(|t| span(&t.queries, 0));
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
                for execution in 0..executions {
                    for step in self.steps.iter().filter(|step| !step.once) {
                        self.dispatch(&mut pass, step, execution);
                    }
                }
            }
            if let Some(timestamps) = timestamps {
                timestamps.resolve(&mut encoder, 2);
            }
            let commands = encoder.finish();
            let start = Instant::now();
            self.gpu.queue.submit([commands]);
            start
        })?;
        self.gpu.wait("executing the plan")?;
        let host = start.elapsed();
        match timestamps {
            Some(timestamps) => Ok(Nanoseconds(timestamps.differences(self.gpu, 1)?[0])),
            None => Ok(Nanoseconds(host.as_secs_f64() * 1e9)),
        }
    }

    /// Runs the plan once from buffers that [`Loaded::poison`] has filled. Memory that workspaces share is filled again before the first step of each
    /// of them, so that none can take what another left for its own.
    ///
    /// # Errors
    /// [`DeviceError`] from the device.
    pub fn execute_poisoned(&self) -> Result<(), DeviceError> {
        if self.plan.slots.is_empty() {
            return self.execute(1, Clock::Host).map(|_| ());
        }
        let tenants = self.plan.slots.iter().flat_map(Slot::tenants);
        let begun: Vec<_> = tenants.filter_map(|id| Some((self.plan.live_range(id)?.0, id))).collect();
        for (index, step) in self.steps.iter().enumerate() {
            for (_, id) in begun.iter().filter(|(first, _)| *first == index) {
                self.fill_with_nan(&self.sets[0][id.0], self.plan.buffer(*id).element, SMALL_PIECE)?;
            }
            self.submit_passes([step], None)?;
            self.gpu.wait("executing a step")?;
        }
        self.prepared.set(true);
        Ok(())
    }

    /// Runs the plan once with each step timed by itself, those that run once included; nanoseconds in the order of the steps.
    ///
    /// # Errors
    /// As [`Loaded::execute`].
    pub fn execute_steps(&self, clock: Clock) -> Result<Vec<f64>, DeviceError> {
        let mut times = Vec::with_capacity(self.steps.len());
        let Some(timestamps) = self.gpu.timestamps.as_ref().filter(|_| clock == Clock::GpuTimestamp) else {
            for step in &self.steps {
                let start = Instant::now();
                self.submit_passes([step], None)?;
                self.gpu.wait("executing a step")?;
                times.push(start.elapsed().as_secs_f64() * 1e9);
            }
            return Ok(times);
        };
        for steps in self.steps.chunks(CAPACITY as usize / 2) {
            self.submit_passes(steps, Some(timestamps))?;
            self.gpu.wait("executing steps")?;
            times.extend(timestamps.differences(self.gpu, u32::try_from(steps.len()).unwrap_or(CAPACITY / 2))?);
        }
        Ok(times)
    }

    /// Submits one pass for each step, with a pair of timestamps for each where there is a device clock.
    fn submit_passes<'s>(
        &self,
        steps: impl IntoIterator<Item = &'s LoadedStep>,
        timestamps: Option<&super::clock::Timestamps>,
    ) -> Result<(), DeviceError> {
        self.gpu.guarded("executing steps", || {
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pairs = 0;
            for step in steps {
                let timestamp_writes = timestamps.map(|t| span(&t.queries, pairs));
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
                self.dispatch(&mut pass, step, 0);
                pairs += 1;
            }
            if let Some(timestamps) = timestamps {
                timestamps.resolve(&mut encoder, pairs * 2);
            }
            self.gpu.queue.submit([encoder.finish()]);
        })
    }

    fn dispatch(&self, pass: &mut wgpu::ComputePass, step: &LoadedStep, execution: u32) {
        let [x, y, z] = step.workgroups;
        pass.set_pipeline(&step.pipeline.pipeline);
        pass.set_bind_group(0, &step.bind_groups[execution as usize % self.sets.len()], &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}

/// Memory for a buffer of a plan.
fn allocate(gpu: &Gpu, buffer: &Buffer) -> Result<Allocation, DeviceError> {
    let kind = if buffer.role == Role::Uniform { wgpu::BufferUsages::UNIFORM } else { wgpu::BufferUsages::STORAGE };
    Allocation::new(gpu, &buffer.name, buffer.bytes().0, kind | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC)
}

/// The pair of queries that a pass writes at its beginning and its end.
fn span(queries: &wgpu::QuerySet, pair: u32) -> wgpu::ComputePassTimestampWrites<'_> {
    wgpu::ComputePassTimestampWrites {
        query_set: queries,
        beginning_of_pass_write_index: Some(pair * 2),
        end_of_pass_write_index: Some(pair * 2 + 1),
    }
}

/// The first `bytes` of a host-readable buffer, once the work submitted before is done.
pub(super) fn read_mapped(gpu: &Gpu, readback: &Allocation, bytes: u64) -> Result<Vec<u8>, DeviceError> {
    let refused = |reason: String| DeviceError::Refused { what: "mapping a buffer for reading".into(), reason };
    let (sender, receiver) = std::sync::mpsc::channel();
    gpu.guarded("mapping a buffer for reading", || {
        readback.buffer.map_async(wgpu::MapMode::Read, 0..bytes, move |result| {
            // The receiver is gone only when waiting failed, which is reported there.
            let _ = sender.send(result);
        });
    })?;
    gpu.wait("mapping a buffer for reading")?;
    let mapped = receiver.recv().map_err(|error| refused(error.to_string()))?;
    mapped.map_err(|error| refused(error.to_string()))?;
    let copy = readback.buffer.get_mapped_range(0..bytes).map(|range| gpu.moving(|| range.to_vec()));
    let copy = copy.map_err(|error| refused(error.to_string()))?;
    readback.buffer.unmap();
    Ok(copy)
}
