//! The kernels of plans, compiled and told of: a row for each.

use super::isa::{self, HotLoop};
use super::spirv::translate;
use super::{Checks, Compiled, Device, InspectError, Summary};
use crate::plan::{Constant, Kernel, Plan, Step};
use crate::shader;
use std::collections::{BTreeMap, HashMap};

/// A kernel and the plans that ask for it.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelUse {
    /// The first step that asks for it.
    pub step: Step,
    /// The first case that asks for it, such as `im2col:batch of n1c3h8w8_k8r3s3`.
    pub from: String,
    /// The algorithms that ask for it.
    pub algorithms: Vec<String>,
    /// The stages it serves.
    pub stages: Vec<String>,
}

/// The distinct kernels of plans, in their order. A plan comes with its algorithm and the name of its case.
pub fn kernels<'p>(plans: impl IntoIterator<Item = (&'p str, &'p str, &'p Plan)>) -> Vec<KernelUse> {
    let mut places: HashMap<(Kernel, Vec<bool>), usize> = HashMap::new();
    let mut kernels: Vec<KernelUse> = Vec::new();
    for (algorithm, from, plan) in plans {
        for step in &plan.steps {
            let writes = step.bindings.iter().map(|binding| binding.writes).collect();
            let place = *places.entry((step.kernel.clone(), writes)).or_insert_with(|| {
                let (step, from) = (step.clone(), from.to_owned());
                kernels.push(KernelUse { step, from, algorithms: Vec::new(), stages: Vec::new() });
                kernels.len() - 1
            });
            let add = |list: &mut Vec<String>, name: &str| {
                if !list.iter().any(|known| known == name) {
                    list.push(name.to_owned());
                }
            };
            add(&mut kernels[place].algorithms, algorithm);
            add(&mut kernels[place].stages, &step.stage);
        }
    }
    kernels
}

impl KernelUse {
    /// The values of the kernel's template and overrides on one line: `vector_a=true repeats=8`; matrices by their size.
    pub fn constants(&self) -> String {
        let kernel = &self.step.kernel;
        let constants = kernel.constants.iter().map(|(name, constant)| match constant {
            Constant::Flag(flag) => format!("{name}={flag}"),
            Constant::Size(size) => format!("{name}={size}"),
            Constant::Sizes(sizes) => format!("{name}={}", sizes.len()),
            Constant::Word(word) => format!("{name}={word}"),
            Constant::Matrix(rows) => format!("{name}={}x{}", rows.len(), rows.first().map_or(0, Vec::len)),
        });
        constants.chain(values(&kernel.overrides)).collect::<Vec<_>>().join(" ")
    }

    /// How the work is cut, where that is a matter of tuning.
    pub fn tile(&self) -> String {
        self.step.kernel.tile.map_or_else(String::new, |tile| tile.to_string())
    }

    /// The sizes of the problem that are compiled into the kernel, on one line: `h=56 w=56`.
    pub fn folded(&self) -> String {
        values(&self.step.kernel.folded).collect::<Vec<_>>().join(" ")
    }
}

fn values(named: &BTreeMap<String, u32>) -> impl Iterator<Item = String> {
    named.iter().map(|(name, value)| format!("{name}={value}"))
}

/// What became of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected {
    /// What the driver told.
    pub compiled: Compiled,
    /// The figures that most drivers have.
    pub summary: Summary,
    /// The loop that does the work; none without loops with multiply-adds, and none where the driver's text is not AMD's.
    pub hot_loop: Option<HotLoop>,
}

/// Compiles a kernel as wgpu would and analyses what came of it.
///
/// # Errors
/// [`InspectError`] where the shader does not compose, agree with its step, translate or compile.
pub fn inspect(device: &Device<'_>, step: &Step, checks: Checks) -> Result<Inspected, InspectError> {
    let composed = shader::compose(&step.kernel)?;
    shader::check(&composed, step)?;
    let declared = shader::reflect(&composed, &step.kernel)?;
    let spirv = translate(&composed, &step.kernel, checks, &device.facts)?;
    let bindings: Vec<_> = declared.bindings.iter().map(|binding| binding.access).collect();
    let compiled = device.compile(&spirv, &bindings)?;
    let hot_loop = compiled.instructions().and_then(|(_, text)| isa::hot_loop(text));
    Ok(Inspected { summary: Summary::of(&compiled.statistics), hot_loop, compiled })
}
