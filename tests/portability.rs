//! Every kernel that plans ask for, without a device: it agrees with its plan, and the compilers of Vulkan, Metal and DX12 take it.
//!
//! Naga translates each kernel to SPIR-V, MSL and HLSL with the settings wgpu uses. spirv-val checks the SPIR-V and DXC compiles the
//! HLSL to DXIL, where they are at hand; `scripts/shader-validators` sees to it. There is no Metal compiler outside of macOS.

#[path = "common/validators.rs"]
mod validators;

use convledger::algorithm::{ALGORITHMS, add_bias};
use convledger::conv::{Conv, ElementType, Layout, Pass};
use convledger::device::probe_plan;
use convledger::peak;
use convledger::plan::{Constant, DeviceClass, Kernel, Limits, Plan, Step, Unsupported};
use convledger::shader::{self, Access, Composed, Library, Reflection, ShaderError};
use naga::ShaderStage;
use naga::back::{hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::sync::LazyLock;
use validators::{DxCompiler, SpirvVal};

/// A kernel, composed, beside the first step that asked for it.
struct Case {
    /// The plan's name, such as `im2col:batch of n1c3h8w8_k8r3s3`.
    from: String,
    step: Step,
    shader: Result<(Composed, Reflection), ShaderError>,
}

/// Problems of every rank with sizes that are and are not multiples of a tile or a vector, dense, grouped and depthwise.
fn problems() -> Vec<Conv> {
    let channels = [(1, 1, 1), (3, 5, 1), (8, 12, 4), (33, 130, 1), (32, 32, 32)];
    let mut keys = Vec::new();
    for (c, k, groups) in channels {
        for (batch, size) in [(1, 1), (5, 7), (1, 8)] {
            for kernel in [1, 2, 3] {
                for place in ["", "_p1", "_s2_p1_d2"] {
                    keys.push(format!("n{batch}c{c}w{size}_k{k}s{kernel}{place}_g{groups}"));
                    keys.push(format!("n{batch}c{c}h{size}w{}_k{k}r{kernel}s{kernel}{place}_g{groups}", size + 1));
                    keys.push(format!("n{batch}c{c}d2h{size}w{size}_k{k}t2r{kernel}s{kernel}{place}_g{groups}"));
                }
            }
        }
    }
    // A kernel larger than its padded input leaves no output: no problem.
    let f32s: Vec<Conv> = keys.iter().filter_map(|key| key.parse().ok()).collect();
    assert!(f32s.len() > keys.len() / 2, "only {} of {} keys are problems", f32s.len(), keys.len());
    // All of them forward in f32, and some in each other pass, type and layout: strides without a factor in common with the lists above.
    let some = |step: usize, from: usize| f32s.iter().skip(from).step_by(step);
    let mut all = f32s.clone();
    for (from, element) in [ElementType::F16, ElementType::I8].into_iter().enumerate() {
        all.extend(some(7, from).filter_map(|conv| conv.with_element(element).ok()));
    }
    for (from, pass) in [Pass::BackwardData, Pass::BackwardWeights].into_iter().enumerate() {
        for element in [ElementType::F32, ElementType::F16] {
            all.extend(some(11, from).filter_map(|conv| conv.with_pass(pass).with_element(element).ok()));
        }
    }
    all.extend(some(13, 0).map(|conv| conv.with_layout(Layout::Nhwc)));
    all
}

/// Devices of every class, with the least and the most limits, and one whose bindings and dispatches are so small that plans split.
fn devices() -> Vec<Limits> {
    use DeviceClass::{Discrete, Integrated, Other, Software, Virtual};
    let split = Limits { max_storage_binding_bytes: 20_000, max_workgroups: 13, storage_alignment: 64, f16: true, ..Limits::WEBGPU };
    let eight = Limits { coop: 8, ..Limits::UNLIMITED };
    let classes = [Discrete, Integrated, Virtual, Software, Other];
    classes
        .iter()
        .flat_map(|&class| [Limits::WEBGPU, Limits::UNLIMITED].map(|limits| Limits { class, ..limits }))
        .chain([split, eight])
        .collect()
}

/// The steps with all different kernels that all plans for all devices ask for.
fn steps() -> Vec<(String, Step)> {
    let mut steps: BTreeMap<(Kernel, Vec<bool>), (String, Step)> = BTreeMap::new();
    let mut add = |from: &str, plan: Result<Plan, Unsupported>| match plan {
        Ok(plan) => {
            for step in plan.steps {
                let writes = step.bindings.iter().map(|binding| binding.writes).collect();
                steps.entry((step.kernel.clone(), writes)).or_insert_with(|| (from.to_owned(), step));
            }
        }
        Err(Unsupported::Problem(_) | Unsupported::Limit { .. }) => {}
        Err(error @ Unsupported::Variant(_)) => panic!("{from}: {error}"),
    };
    let problems = problems();
    for limits in devices() {
        add("clock probe", probe_plan(&limits));
        for plan in peak::plans(&limits) {
            add("device limits", Ok(plan));
        }
        for conv in &problems {
            for algorithm in ALGORITHMS {
                let variants = algorithm.variants(conv, &limits);
                // The ends of a curve: what lies between is the same kernels for other sizes.
                for variant in [variants.first(), variants.last().filter(|_| variants.len() > 1)].into_iter().flatten() {
                    let from = format!("{} of {conv}", variant.qualify(algorithm.id()));
                    let plan = algorithm.plan(conv, variant, &limits);
                    if let (Ok(plan), Pass::Forward) = (&plan, conv.pass()) {
                        add(&from, add_bias(plan.clone(), conv, &limits));
                    }
                    add(&from, plan);
                }
            }
        }
    }
    steps.into_values().collect()
}

/// Planned and composed once for all tests of this file.
fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let compose = |(from, step): (String, Step)| {
            let shader = shader::compose(&step.kernel).and_then(|composed| {
                let declared = shader::reflect(&composed, &step.kernel)?;
                Ok((composed, declared))
            });
            Case { from, step, shader }
        };
        steps().into_iter().map(compose).collect()
    });
    &CASES
}

/// Runs `check` on every kernel that composes and fails with all its complaints.
fn check_all(what: &str, check: impl Fn(&Step, &Composed, &Reflection) -> Result<(), String>) {
    let mut complaints = String::new();
    let mut checked = 0;
    for Case { from, step, shader } in cases() {
        // One that does not compose is the complaint of one test, not of all.
        let Ok((composed, declared)) = shader else { continue };
        checked += 1;
        if let Err(complaint) = check(step, composed, declared) {
            let Kernel { shader, element, constants, .. } = &step.kernel;
            let _ = writeln!(complaints, "{what}: shaders/{shader}.wgsl for {from}, {element}, {constants:?}: {complaint}");
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
    assert!(checked > 0, "no kernel composes");
}

#[test]
fn plans_reach_every_shader() {
    let reached: BTreeSet<&str> = cases().iter().map(|case| case.step.kernel.shader.as_str()).collect();
    let known: BTreeSet<&str> = Library::builtin().shaders().collect();
    assert_eq!(reached, known, "shaders that plans reach, and the files in shaders/");
    assert!(cases().len() >= known.len() && known.len() >= 8, "only {} kernels of {} shaders", cases().len(), known.len());
}

#[test]
fn every_kernel_composes() {
    let complaints: String = cases().iter().filter_map(|case| Some(format!("{}: {}\n", case.from, case.shader.as_ref().err()?))).collect();
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn shaders_agree_with_their_plans() {
    check_all("plan", |step, composed, _| shader::check(composed, step).map_err(|error| error.to_string()));
}

#[test]
fn vulkan_takes_every_kernel() {
    let validator = SpirvVal::find();
    if let Some(validator) = &validator {
        validator.check(&[0x0723_0203, 0x0001_0300, 0, 1, 0]).expect_err("a module without a memory model is invalid");
    }
    check_all("SPIR-V", |step, composed, _| {
        let words = spirv(step, composed)?;
        match validator.as_ref().map_or(Ok(()), |validator| validator.check(&words)) {
            // CooperativeMatrixKHR: validators may be older than it.
            Err(message) if message.contains("Invalid capability operand: 6022") => Ok(()),
            checked => checked,
        }
    });
}

#[test]
fn metal_takes_every_kernel() {
    check_all("MSL", |step, composed, declared| {
        let text = metal(step, composed, declared)?;
        if text.contains("kernel void") { Ok(()) } else { Err(format!("no kernel in\n{text}")) }
    });
}

#[test]
fn dx12_takes_every_kernel() {
    let compiler = DxCompiler::find();
    if let Some(compiler) = &compiler {
        let wrong = "[numthreads(1, 1, 1)] void main() { undeclared = 1; }";
        compiler.compile(wrong, "main", "cs_6_0", &[]).expect_err("an undeclared name is an error");
    }
    // Kernels that differ in their plans only come out as the same text; the compiler takes most of this file's time, so of each shader in
    // each type it sees the first texts, and some of the others.
    let known = RefCell::new(HashSet::new());
    let seen = RefCell::new(BTreeMap::<(String, ElementType), u32>::new());
    let turn = |step: &Step| {
        let mut seen = seen.borrow_mut();
        let count = seen.entry((step.kernel.shader.clone(), step.kernel.element)).or_default();
        *count += 1;
        *count <= 6 || count.is_multiple_of(6)
    };
    check_all("HLSL", |step, composed, declared| {
        // HLSL has no cooperative matrices: naga's writer stops at them, and wgpu offers them on Vulkan and Metal only.
        // Nor are its devices given `dot4I8Packed`, see `Limits::packed_dot`.
        let constants = &step.kernel.constants;
        if ["cooperative", "packed_dot"].iter().any(|name| constants.get(*name) == Some(&Constant::Flag(true))) {
            return Ok(());
        }
        let (text, entry) = direct_x(step, composed, declared)?;
        let Some(compiler) = compiler.as_ref().filter(|_| known.borrow_mut().insert(text.clone()) && turn(step)) else { return Ok(()) };
        let (profile, arguments) = match step.kernel.element {
            // Whether it takes a kernel does not depend on how hard it optimises, and its time does.
            ElementType::F16 => ("cs_6_2", ["-HV", "2018", "-Od", "-enable-16bit-types"].as_slice()),
            _ => ("cs_6_0", ["-HV", "2018", "-Od"].as_slice()),
        };
        let container = compiler.compile(&text, &entry, profile, arguments)?;
        if container.starts_with(b"DXBC") { Ok(()) } else { Err("the result is no DXIL container".into()) }
    });
}

/// The checks wgpu asks for: an index past the end reads or writes something inside.
fn bounds_checks() -> BoundsCheckPolicies {
    let index = BoundsCheckPolicy::Restrict;
    BoundsCheckPolicies { index, buffer: index, image_load: index, binding_array: BoundsCheckPolicy::Unchecked }
}

fn spirv(step: &Step, composed: &Composed) -> Result<Vec<u32>, String> {
    let (module, info) = composed.fold(&step.kernel).map_err(|error| error.to_string())?;
    let options = spv::Options { lang_version: (1, 3), bounds_check_policies: bounds_checks(), ..Default::default() };
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: "main".into() };
    spv::write_vec(&module, &info, &options, Some(&pipeline)).map_err(|error| error.to_string())
}

fn metal(step: &Step, composed: &Composed, declared: &Reflection) -> Result<String, String> {
    let (module, info) = composed.fold(&step.kernel).map_err(|error| error.to_string())?;
    let mut slots = 0_u8..;
    let mut slot = || slots.next().ok_or("out of slots");
    let mut resources = msl::EntryPointResources { sizes_buffer: Some(slot()?), ..Default::default() };
    for binding in &declared.bindings {
        let target = msl::BindTarget { buffer: Some(slot()?), mutable: binding.access == Access::ReadWrite, ..Default::default() };
        resources.resources.insert(naga::ResourceBinding { group: 0, binding: binding.binding }, target);
    }
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: msl::EntryPointResourceMap::from([("main".to_owned(), resources)]),
        fake_missing_bindings: false,
        bounds_check_policies: bounds_checks(),
        ..Default::default()
    };
    let pipeline = msl::PipelineOptions { entry_point: Some((ShaderStage::Compute, "main".into())), ..Default::default() };
    let (text, names) = msl::write_string(&module, &info, &options, &pipeline).map_err(|error| error.to_string())?;
    names.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    Ok(text)
}

/// The HLSL and the name of its entry point.
fn direct_x(step: &Step, composed: &Composed, declared: &Reflection) -> Result<(String, String), String> {
    let (module, info) = composed.fold(&step.kernel).map_err(|error| error.to_string())?;
    let target = |register| hlsl::BindTarget { register, restrict_indexing: true, ..Default::default() };
    let numbers = declared.bindings.iter().map(|binding| binding.binding);
    let shader_model = match step.kernel.element {
        ElementType::F16 => hlsl::ShaderModel::V6_2,
        _ => hlsl::ShaderModel::V6_0,
    };
    let options = hlsl::Options {
        shader_model,
        binding_map: numbers.map(|binding| (naga::ResourceBinding { group: 0, binding }, target(binding))).collect(),
        fake_missing_bindings: false,
        ..Default::default()
    };
    let pipeline = hlsl::PipelineOptions { entry_point: Some((ShaderStage::Compute, "main".into())) };
    let mut text = String::new();
    let names = hlsl::Writer::new(&mut text, &options, &pipeline).write(&module, &info, None).map_err(|error| error.to_string())?;
    let name = names.entry_point_names.into_iter().next().ok_or("no entry point")?;
    Ok((text, name.map_err(|error| error.to_string())?))
}
