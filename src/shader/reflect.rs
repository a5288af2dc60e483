//! What a shader declares once its overrides have values, held against what the plan says it declares.

use super::{Composed, Origin, ShaderError};
use crate::plan::{Kernel, Step};
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::valid::{GlobalUse, ModuleInfo};
use naga::{AddressSpace, ShaderStage, StorageAccess};
use std::borrow::Cow;
use std::fmt;

/// How a shader may use a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// A uniform.
    Uniform,
    /// A storage buffer that is only read.
    Read,
    /// A storage buffer that is written, and perhaps read.
    ReadWrite,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Uniform => "uniform",
            Self::Read => "read",
            Self::ReadWrite => "read_write",
        })
    }
}

/// A binding as the shader declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredBinding {
    /// Its number; the group is always 0.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// The declared use.
    pub access: Access,
    /// Where it is declared.
    pub at: Origin,
}

/// What a shader declares once its overrides have values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reflection {
    /// Bindings by number.
    pub bindings: Vec<DeclaredBinding>,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Workgroup memory in use, each variable rounded up to 16 bytes as the WebGPU limit counts it.
    pub workgroup_bytes: u32,
}

/// The entry point every shader has.
const ENTRY: &str = "main";

impl Composed {
    /// Values for the shader's `override` declarations, as pipelines take them: the kernel's overrides, and its workgroup size
    /// along the axes the shader declares.
    pub fn override_values<'a>(&self, kernel: &'a Kernel) -> Vec<(&'a str, f64)> {
        let declared = |name: &str| self.module.overrides.iter().any(|(_, o)| o.name.as_deref() == Some(name));
        let axes = ["workgroup_x", "workgroup_y", "workgroup_z"].into_iter().zip(kernel.workgroup).filter(|(name, _)| declared(name));
        let named = kernel.overrides.iter().map(|(name, &value)| (name.as_str(), value));
        named.chain(axes).map(|(name, value)| (name, f64::from(value))).collect()
    }

    /// The module with its overrides folded to constants, as every back end wants it.
    ///
    /// # Errors
    /// [`ShaderError::Disagreement`] for an override without a value and a value without an override.
    pub fn fold(&self, kernel: &Kernel) -> Result<(Cow<'_, naga::Module>, Cow<'_, ModuleInfo>), ShaderError> {
        let values = self.override_values(kernel).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        process_overrides(&self.module, &self.info, Some((ShaderStage::Compute, ENTRY)), &values).map_err(|error| match error {
            PipelineConstantError::MissingValue(name) => {
                let declaration = self.module.overrides.iter().find(|(_, o)| o.name.as_ref() == Some(&name));
                let at = self.place(declaration.map(|(handle, _)| self.line(self.module.overrides.get_span(handle))));
                ShaderError::Disagreement { at, message: format!("override '{name}' has no value in the plan") }
            }
            PipelineConstantError::NotFound(name) => {
                self.disagreement(None, format!("the plan sets override '{name}', which is not declared"))
            }
            other => self.disagreement(None, other.to_string()),
        })
    }

    fn line(&self, span: naga::Span) -> usize {
        span.location(&self.source).line_number as usize
    }

    fn disagreement(&self, line: Option<usize>, message: String) -> ShaderError {
        ShaderError::Disagreement { at: self.place(line), message }
    }

    /// The first line that holds `text`, for what naga keeps no place of.
    fn line_with(&self, text: &str) -> Option<usize> {
        self.source.lines().position(|line| line.contains(text)).map(|index| index + 1)
    }
}

/// Reads bindings, workgroup size and workgroup memory off a kernel's shader.
///
/// # Errors
/// [`ShaderError::Disagreement`] when overrides lack values, when there is no compute entry point `main`, when a binding is neither a
/// uniform nor a storage buffer of group 0, is never used, or is `read_write` and never written.
pub fn reflect(composed: &Composed, kernel: &Kernel) -> Result<Reflection, ShaderError> {
    let is_entry = |entry: &naga::EntryPoint| entry.name == ENTRY && entry.stage == ShaderStage::Compute;
    let Some(entry) = composed.module.entry_points.iter().position(is_entry) else {
        return Err(composed.disagreement(None, format!("no compute entry point '{ENTRY}'")));
    };
    let usage = composed.info.get_entry_point(entry);
    let mut bindings = Vec::new();
    for (handle, variable) in composed.module.global_variables.iter() {
        let Some(resource) = variable.binding else { continue };
        let name = variable.name.clone().unwrap_or_default();
        let line = composed.line(composed.module.global_variables.get_span(handle));
        let fault = |text: &str| Err(composed.disagreement(Some(line), format!("binding {} '{name}' {text}", resource.binding)));
        let access = match variable.space {
            AddressSpace::Uniform => Access::Uniform,
            AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => Access::ReadWrite,
            AddressSpace::Storage { .. } => Access::Read,
            _ => return fault("is neither a uniform nor a storage buffer"),
        };
        if resource.group != 0 {
            return fault("is not in group 0");
        }
        if usage[handle].is_empty() {
            return fault("is never used");
        }
        if access == Access::ReadWrite && !usage[handle].contains(GlobalUse::WRITE) {
            return fault("is read_write but never written");
        }
        bindings.push(DeclaredBinding { binding: resource.binding, name, access, at: composed.place(Some(line)) });
    }
    bindings.sort_by_key(|declared| declared.binding);

    let (module, info) = composed.fold(kernel)?;
    // Folding keeps this entry point alone.
    let mut workgroup_bytes: u32 = 0;
    for (handle, variable) in module.global_variables.iter() {
        if variable.space == AddressSpace::WorkGroup && !info.get_entry_point(0)[handle].is_empty() {
            let bytes = module.types[variable.ty].inner.size(module.to_ctx());
            workgroup_bytes = workgroup_bytes.saturating_add(bytes.next_multiple_of(16));
        }
    }
    Ok(Reflection { bindings, workgroup: module.entry_points[0].workgroup_size, workgroup_bytes })
}

/// Holds a step's shader against the step: one uniform and the step's storage bindings in order, written where the step says so;
/// workgroup size and workgroup memory as in the kernel.
///
/// # Errors
/// [`ShaderError::Disagreement`] with the declaration's place and both values; as [`reflect`].
pub fn check(composed: &Composed, step: &Step) -> Result<(), ShaderError> {
    let kernel = &step.kernel;
    let declared = reflect(composed, kernel)?;
    let planned = |binding: usize| match binding.checked_sub(1).map(|index| step.bindings.get(index)) {
        None => Some(Access::Uniform),
        Some(storage) => storage.map(|window| if window.writes { Access::ReadWrite } else { Access::Read }),
    };
    for (number, binding) in declared.bindings.iter().enumerate() {
        let DeclaredBinding { binding: declared_number, name, access, at } = binding;
        let fault = |message: String| Err(ShaderError::Disagreement { at: at.clone(), message });
        if *declared_number as usize != number {
            return fault(format!("binding {declared_number} '{name}' follows {number} bindings: numbers leave no gaps"));
        }
        match planned(number) {
            None => return fault(format!("binding {number} '{name}' is not in the plan, which has {}", step.bindings.len() + 1)),
            Some(planned) if planned != *access => {
                return fault(format!("binding {number} '{name}' is {access}, the plan says {planned}"));
            }
            Some(_) => {}
        }
    }
    let (found, expected) = (declared.bindings.len(), step.bindings.len() + 1);
    if found < expected {
        return Err(composed.disagreement(None, format!("{found} bindings are declared, the plan has {expected}")));
    }
    if declared.workgroup != kernel.workgroup {
        let [x, y, z] = declared.workgroup;
        let [plan_x, plan_y, plan_z] = kernel.workgroup;
        let message = format!("workgroup size is {x} x {y} x {z}, the plan says {plan_x} x {plan_y} x {plan_z}");
        return Err(composed.disagreement(composed.line_with("@workgroup_size"), message));
    }
    if declared.workgroup_bytes != kernel.workgroup_bytes {
        let line = composed.line_with("var<workgroup>").or_else(|| composed.line_with("@workgroup_size"));
        let message = format!("workgroup memory is {} B, the plan says {} B", declared.workgroup_bytes, kernel.workgroup_bytes);
        return Err(composed.disagreement(line, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
