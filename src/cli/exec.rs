//! `convledger exec`: one convolution of a person's own arrays, so that anyone can check a kernel
//! with `NumPy` or `PyTorch`.

use super::tuning::TuningArgument;
use super::{Outcome, auto, note, npy};
use crate::algorithm::{ALGORITHMS, Variant, add_bias, find, plain_variant};
use crate::conv::{Conv, ElementType, Layout, Pass, Tensor, Values};
use crate::cost::{Model, choose};
use crate::device::{Gpu, Loaded};
use crate::peak;
use crate::plan::{BufferId, Limits, Plan, Role};
use crate::units::Bytes;
use crate::verify::{Expectation, Inputs, on_host, tolerance};
use anyhow::{Context, anyhow, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the device's limits are measured for a choice.
const PEAK_BUDGET: Duration = Duration::from_millis(500);
/// Tolerances of random data from which an output is called wrong: other data can cancel, and a bias be large beside the sum.
const WRONG: f64 = 100.0;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The convolution by its key, such as `n1c64h56w56_k128r3s3_p1`
    #[arg(value_name = "CONV")]
    conv: String,

    /// Algorithm, with its variant where it has one: direct, im2col:strip=8; `auto` takes the one that a cost model takes for the fastest
    #[arg(long, value_name = "ID[:VARIANT]")]
    algorithm: String,

    /// What kernels reach of a device's limits, for --algorithm auto, as `convledger auto --fit` prints it; without it what is built in
    #[arg(long, value_name = "FILE.toml")]
    costs: Option<PathBuf>,

    /// The most workspace the algorithm may take, such as 256MiB
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    workspace_limit: Option<Bytes>,

    /// Which convolution of training: `forward` reads --input and --weights and writes --output, `backward_data` reads --weights and
    /// --output-gradient and writes --input-gradient, `backward_weights` reads --input and --output-gradient and writes --weight-gradient
    #[arg(long, value_name = "PASS", default_value = "forward")]
    pass: Pass,

    /// Element type: f32, f16, or i8 with results in i32; arrays are float32, float16, or int8 and int32
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    dtype: ElementType,

    /// Order of feature maps on the device: nchw or nhwc; arrays have their channels second either way
    #[arg(long, value_name = "ORDER", default_value = "nchw")]
    layout: Layout,

    #[command(flatten)]
    arrays: Arrays,

    /// Bias of the forward pass, K; none for i8
    #[arg(long, value_name = "b.npy")]
    bias: Option<PathBuf>,

    /// Adapter by number or part of its name, as `convledger devices` lists them
    #[arg(long, value_name = "N|NAME")]
    device: Option<String>,

    #[command(flatten)]
    tuning: TuningArgument,
}

/// The arrays of a pass: two are read, one is written.
#[derive(clap::Args)]
struct Arrays {
    /// Input, N,C,[D,]H,W; a C-order array
    #[arg(long, value_name = "x.npy")]
    input: Option<PathBuf>,

    /// Weights, K,C/g,[T,]R,S (of a transposed convolution C,K/g,[T,]R,S); a C-order array
    #[arg(long, value_name = "w.npy")]
    weights: Option<PathBuf>,

    /// Where the output goes, N,K,[O,]P,Q
    #[arg(long, value_name = "y.npy")]
    output: Option<PathBuf>,

    /// Gradient of the output, in its shape; a C-order array
    #[arg(long, value_name = "dy.npy")]
    output_gradient: Option<PathBuf>,

    /// Where the gradient of the input goes, in its shape
    #[arg(long, value_name = "dx.npy")]
    input_gradient: Option<PathBuf>,

    /// Where the gradient of the weights goes, in their shape
    #[arg(long, value_name = "dw.npy")]
    weight_gradient: Option<PathBuf>,
}

impl Arrays {
    fn named(&self) -> [(&'static str, Option<&PathBuf>); 6] {
        [
            ("input", self.input.as_ref()),
            ("weights", self.weights.as_ref()),
            ("output", self.output.as_ref()),
            ("output_gradient", self.output_gradient.as_ref()),
            ("input_gradient", self.input_gradient.as_ref()),
            ("weight_gradient", self.weight_gradient.as_ref()),
        ]
    }

    /// Flag and file of a tensor.
    fn of(&self, conv: &Conv, tensor: Tensor) -> anyhow::Result<(String, &Path)> {
        let name = conv.tensor_name(tensor);
        let path = self.named().into_iter().find(|(known, _)| *known == name).and_then(|(_, path)| path);
        let verb = if tensor == conv.result() { "writes" } else { "reads" };
        let path = path.with_context(|| format!("--{} is missing: --pass {} {verb} it", flag(name), conv.pass()))?;
        Ok((format!("--{}", flag(name)), path))
    }

    /// Refuses a file that the pass has no use for.
    fn check(&self, conv: &Conv) -> anyhow::Result<()> {
        let used = Tensor::ALL.map(|tensor| conv.tensor_name(tensor));
        match self.named().into_iter().find(|(name, path)| path.is_some() && !used.contains(name)) {
            Some((name, _)) => {
                bail!("--{} has no part in --pass {}, which is about --{}", flag(name), conv.pass(), used.map(flag).join(", --"))
            }
            None => Ok(()),
        }
    }
}

fn flag(name: &str) -> String {
    name.replace('_', "-")
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let conv = args.conv.parse::<Conv>()?.with_element(args.dtype)?.with_pass(args.pass).with_layout(args.layout);
    args.arrays.check(&conv)?;
    if args.bias.is_some() && conv.pass() != Pass::Forward {
        bail!("--bias has no part in --pass {}", conv.pass());
    }
    if args.bias.is_some() && conv.element() == ElementType::I8 {
        bail!("--bias has no part in --dtype {}", conv.element());
    }
    let result = conv.result();
    let (output_flag, output_path) = args.arrays.of(&conv, result)?;
    let automatic = args.algorithm == "auto";
    let costs = auto::costs(args.costs.as_ref())?;
    // Whatever no device could do is told before anything is read.
    if automatic {
        choose(&conv, ALGORITHMS, &Limits::UNLIMITED, args.workspace_limit, &Model::new(&costs, Limits::UNLIMITED.class, None))?;
    } else {
        plan(&conv, &args.algorithm, &Limits::UNLIMITED)?;
    }
    args.tuning.read()?;
    let mut inputs = Inputs::default();
    for tensor in conv.operands() {
        let (flag, path) = args.arrays.of(&conv, tensor)?;
        *inputs.values_mut(tensor) = npy::read(path, &flag, &conv.shape(tensor), conv.element())?;
    }
    let [_, (channels, _)] = conv.result_outer();
    let bias = args.bias.as_deref().map(|path| npy::read(path, "--bias", &[channels], conv.element())).transpose()?;
    let output = Output::create(output_path, output_flag, conv.element_of(result))?;
    if conv.is_empty() {
        // The sum of no products.
        let count = usize::try_from(conv.result_elements()).unwrap_or(usize::MAX);
        let integers = conv.element_of(result) == ElementType::I32;
        return output.write(&conv.shape(result), &if integers { vec![0; count].into() } else { vec![0.0; count].into() });
    }
    let gpu = Gpu::open(args.tuning.choose(args.device.as_deref())?)?;
    let (name, mut plan) = if automatic {
        auto::tell_of_costs(args.costs.as_ref(), &costs, gpu.limits.class);
        let peaks = peak::measure(&gpu, PEAK_BUDGET)?;
        let model = Model::new(&costs, gpu.limits.class, Some(&peaks));
        let choice = choose(&conv, ALGORITHMS, &gpu.limits, args.workspace_limit, &model)?;
        (choice.variant.qualify(choice.algorithm), choice.plan)
    } else {
        plan(&conv, &args.algorithm, &gpu.limits)?
    };
    let workspace = plan.arena_bytes();
    if let Some(limit) = args.workspace_limit.filter(|limit| workspace > *limit) {
        bail!("{name} needs a workspace of {workspace} > workspace limit {limit}");
    }
    if bias.is_some() {
        plan = add_bias(plan, &conv, &gpu.limits)?;
    }
    let bias_id = plan.buffers.iter().position(|b| b.role == Role::Bias).map(BufferId);
    let loaded = Loaded::new(&gpu, plan, 1)?;
    for (tensor, values) in inputs.on_device(&conv) {
        loaded.upload(Plan::of(tensor), &values)?;
    }
    if let (Some(id), Some(bias)) = (bias_id, &bias) {
        loaded.upload(id, bias)?;
    }
    loaded.poison()?;
    loaded.execute_poisoned()?;
    note(format!("{name} on {}", gpu.identity.name));
    let values = on_host(&conv, loaded.download(loaded.plan().result)?);
    output.write(&conv.shape(result), &values)?;
    Ok(verdict(&conv, &name, &inputs, bias.as_deref(), values))
}

/// Tells how far the output is from the reference in double precision.
fn verdict(conv: &Conv, name: &str, inputs: &Inputs, bias: Option<&[f32]>, mut values: Values) -> Outcome {
    if !conv.operands().iter().all(|&tensor| inputs.values(tensor).iter().all(|x| x.is_finite())) {
        note("not compared with the reference: the arrays hold values that are not finite");
        return Outcome::Good;
    }
    // The reference knows no bias: it is taken off again, which rounds once more.
    let points = usize::try_from(conv.result_extents().iter().product::<u64>()).unwrap_or(usize::MAX);
    if let (Some(bias), Values::F32(values)) = (bias, &mut values) {
        values.iter_mut().enumerate().for_each(|(i, x)| *x -= bias[i / points % bias.len()]);
    }
    let id = name.split(':').next().unwrap_or(name);
    let amplification = find(id).map_or(1.0, |algorithm| algorithm.amplification(conv));
    let comparison = Expectation::new(conv, inputs, 0).compare(&values);
    let (error, tolerance) = (comparison.rel_l2, tolerance(conv, amplification));
    let of = if comparison.points == comparison.outputs { "all outputs".to_owned() } else { format!("{} outputs", comparison.points) };
    match conv.element() {
        ElementType::I8 => note(format!("relative L2 error {error:.1e} at {of}; integers are exact")),
        _ => note(format!("relative L2 error {error:.1e} at {of}; {tolerance:.1e} is usual for random data")),
    }
    let wrong = comparison.unwritten + comparison.infinite > 0 || error > WRONG * tolerance;
    if wrong {
        note(format!("convledger: the output of {name} is wrong on this device; it was written all the same"));
    }
    if wrong { Outcome::FellShort } else { Outcome::Good }
}

/// The plan of an `--algorithm`, and how that is written in full.
fn plan(conv: &Conv, text: &str, limits: &Limits) -> anyhow::Result<(String, Plan)> {
    let place = || format!("--algorithm '{text}'");
    let (id, variant) = text.split_once(':').map_or((text, None), |(id, variant)| (id, Some(variant)));
    let algorithm = find(id).with_context(|| {
        let known: Vec<&str> = ALGORITHMS.iter().map(|a| a.id()).collect();
        format!("{}: no algorithm '{id}', there are {}", place(), known.join(", "))
    })?;
    let variant = match variant {
        None => plain_variant(algorithm, conv, limits),
        Some(text) => text.parse::<Variant>().with_context(place)?,
    };
    let name = variant.qualify(id);
    let plan = algorithm.plan(conv, &variant, limits).map_err(|why| anyhow!("{name} cannot compute {conv}: {why}"))?;
    Ok((name, plan))
}

/// An output file that takes its name only once it is whole, and is not left behind if it never is. A link is followed; what is no
/// regular file, such as a pipe, is written to as it stands.
struct Output<'a> {
    path: &'a Path,
    /// The flag it was given by.
    flag: String,
    /// Type of what is written.
    element: ElementType,
    /// What is written and the name it takes in the end, where it is not written in place.
    rename: Option<(PathBuf, PathBuf)>,
    file: File,
}

impl<'a> Output<'a> {
    /// Opened before any work is done: a place that cannot be written to should cost nobody a computation.
    fn create(path: &'a Path, flag: String, element: ElementType) -> anyhow::Result<Self> {
        if path.is_dir() {
            bail!("{flag} {}: is a directory", path.display());
        }
        let place = || format!("{flag} {}", path.display());
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if real.exists() && !real.is_file() {
            let file = File::options().write(true).open(&real).with_context(place)?;
            return Ok(Self { path, flag, element, rename: None, file });
        }
        let mut name = real.file_name().with_context(|| format!("{}: not a file name", place()))?.to_owned();
        name.push(".partial");
        let temporary = real.with_file_name(name);
        let file = File::create(&temporary).with_context(place)?;
        Ok(Self { path, flag, element, rename: Some((temporary, real)), file })
    }

    fn write(self, shape: &[u64], values: &Values) -> anyhow::Result<Outcome> {
        let written = npy::write(&self.file, shape, self.element, values)
            .and_then(|()| self.rename.as_ref().map_or(Ok(()), |(temporary, real)| fs::rename(temporary, real)));
        written.with_context(|| format!("{} {}", self.flag, self.path.display()))?;
        Ok(Outcome::Good)
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        // Where it has its name by now there is nothing to remove; where it cannot be removed, an error is being told already.
        if let Some((temporary, _)) = &self.rename {
            let _ = fs::remove_file(temporary);
        }
    }
}
