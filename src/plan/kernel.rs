//! One dispatch: which shader with which constants, what it binds, how many workgroups.

use super::{BufferId, Limits, Plan, Tile, Unsupported};
use crate::conv::ElementType;
use crate::units::{Bytes, Ops};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value folded into a shader's text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Constant {
    /// A switch of the template.
    Flag(bool),
    /// A size, such as the rows of a register tile.
    Size(u32),
    /// Several sizes.
    Sizes(Vec<u32>),
    /// A word, such as an element type.
    Word(String),
    /// A matrix of WGSL literals, such as a Winograd transform.
    Matrix(Vec<Vec<String>>),
}

/// A shader and all that is compiled into it. Equal kernels share a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kernel {
    /// File in `shaders/` without its ending, such as `gemm`.
    pub shader: String,
    /// Type of the stored elements: `element` in the template.
    pub element: ElementType,
    /// Values the template sees under their names.
    pub constants: BTreeMap<String, Constant>,
    /// Values of the shader's `override` declarations. `workgroup_x`, `workgroup_y` and `workgroup_z` are added from `workgroup`.
    pub overrides: BTreeMap<String, u32>,
    /// Values of `size` names folded into the text: `${size.h}` is a literal then, where it is the uniform's field otherwise.
    pub folded: BTreeMap<String, u32>,
    /// How the work is cut, where that is a matter of tuning; written in the `tuning` column.
    pub tile: Option<Tile>,
    /// Invocations of a workgroup; the shader declares those above 1 as `override workgroup_x: u32;` and so on.
    pub workgroup: [u32; 3],
    /// Workgroup memory the shader declares.
    pub workgroup_bytes: u32,
    /// Names of the `u32` fields of the uniform `problem`, in order: the template writes the struct from them.
    pub problem_fields: Vec<String>,
}

/// A window of a buffer bound to a step, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Which buffer.
    pub buffer: BufferId,
    /// First byte of the window, a multiple of the device's storage alignment.
    pub offset: u64,
    /// Bytes of the window.
    pub size: u64,
    /// Whether the shader writes to it.
    pub writes: bool,
}

/// One dispatch of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What the step does, as files name it; steps of one stage are reported together.
    pub stage: String,
    /// The shader.
    pub kernel: Kernel,
    /// Values of the kernel's `problem_fields`.
    pub problem: Vec<u32>,
    /// Storage windows in binding order; binding 0 is the uniform `problem`, these follow from 1.
    pub bindings: Vec<Binding>,
    /// Workgroups along each dimension.
    pub workgroups: [u32; 3],
    /// Operations the stage's arithmetic needs; tile waste is not counted.
    pub operations: Ops,
    /// Least bytes the stage moves: what it reads and writes, once each.
    pub traffic: Bytes,
    /// Whether what it writes is good until the weights change: it runs before the first execution and not again.
    pub once: bool,
}

impl Step {
    /// Bytes of this step's uniforms, rounded up to where the next step's can begin.
    pub(super) fn uniform_slot_bytes(&self, limits: &Limits) -> u64 {
        // A WGSL uniform struct of u32 fields takes 4 bytes each; drivers want at least 16.
        let bytes = (self.problem.len() as u64 * 4).next_multiple_of(16);
        bytes.next_multiple_of(u64::from(limits.uniform_alignment))
    }

    pub(super) fn check(&self, plan: &Plan, limits: &Limits) -> Result<(), Unsupported> {
        if self.kernel.element == ElementType::F16 && !limits.f16 {
            let reason = format!("{}: f16 needs a device whose shaders have 16-bit floats, and this one's have none", self.stage);
            return Err(Unsupported::Problem(reason));
        }
        for binding in &self.bindings {
            if binding.size > limits.max_storage_binding_bytes {
                let what = format!("{}: {} window", self.stage, plan.buffer(binding.buffer).name);
                let limit = Bytes(limits.max_storage_binding_bytes);
                return Err(Unsupported::bytes(what, Bytes(binding.size), "storage binding limit", limit));
            }
        }
        let over = |what: &str, needed: u64, name: &str, limit: u64| Unsupported::Limit {
            what: format!("{}: {what}", self.stage),
            needed: needed.to_string(),
            limit_name: name.into(),
            limit: limit.to_string(),
        };
        let storage = self.bindings.len() as u64;
        if storage > limits.max_storage_buffers.into() {
            return Err(over("storage buffers", storage, "storage buffer limit", limits.max_storage_buffers.into()));
        }
        for (axis, &count) in ["x", "y", "z"].iter().zip(&self.workgroups) {
            if count > limits.max_workgroups {
                return Err(over(&format!("workgroups along {axis}"), count.into(), "dispatch limit", limits.max_workgroups.into()));
            }
        }
        for ((axis, &size), &limit) in ["x", "y", "z"].iter().zip(&self.kernel.workgroup).zip(&limits.max_workgroup_size) {
            if size > limit {
                return Err(over(&format!("workgroup size along {axis}"), size.into(), "workgroup size limit", limit.into()));
            }
        }
        let invocations: u64 = self.kernel.workgroup.iter().map(|&n| u64::from(n)).product();
        if invocations > limits.max_workgroup_invocations.into() {
            return Err(over(
                "invocations of a workgroup",
                invocations,
                "workgroup invocation limit",
                limits.max_workgroup_invocations.into(),
            ));
        }
        if self.kernel.workgroup_bytes > limits.max_workgroup_bytes {
            let (needed, limit) = (Bytes(self.kernel.workgroup_bytes.into()), Bytes(limits.max_workgroup_bytes.into()));
            return Err(Unsupported::bytes(format!("{}: workgroup memory", self.stage), needed, "workgroup memory limit", limit));
        }
        Ok(())
    }
}

impl Plan {
    /// The window of `count` elements of a buffer from element `first` on, moved down to where the device lets a window begin;
    /// beside it the elements skipped at its front, which the step passes on to its kernel.
    ///
    /// # Panics
    /// When the window ends behind the buffer.
    pub fn window(&self, id: BufferId, first: u64, count: u64, limits: &Limits) -> (Binding, u32) {
        let buffer = self.buffer(id);
        assert!(first + count <= buffer.elements, "window {first}+{count} of {} ends behind {}", buffer.name, buffer.elements);
        let bytes = buffer.element.bytes();
        let start = first * bytes;
        let offset = start - start % u64::from(limits.storage_alignment);
        // Sizes are rounded to whole words, as bindings must be.
        let size = ((first + count) * bytes - offset).next_multiple_of(4);
        let skipped = u32::try_from((start - offset) / bytes).unwrap_or(u32::MAX);
        (Binding { buffer: id, offset, size, writes: false }, skipped)
    }

    /// A whole buffer as a read-only window.
    pub fn whole(&self, id: BufferId) -> Binding {
        let buffer = self.buffer(id);
        Binding { buffer: id, offset: 0, size: buffer.bytes().0.next_multiple_of(4), writes: false }
    }
}

impl Binding {
    /// The same window, written.
    #[must_use]
    pub const fn write(self) -> Self {
        Self { writes: true, ..self }
    }
}
