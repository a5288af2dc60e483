//! What the algorithms share in writing their plans: kernels with named uniforms, linear dispatches, splitting a batch into
//! windows a step can bind.

use crate::conv::{Conv, ElementType, Tensor};
use crate::plan::{Binding, Constant, Kernel, Limits, Plan, Step, Tile, Unsupported};
use crate::units::{Bytes, Ops, product};
use std::collections::BTreeMap;

/// A step in the making: names and values of its uniforms side by side.
pub(super) struct StepBuilder {
    stage: &'static str,
    kernel: Kernel,
    problem: Vec<u32>,
    bindings: Vec<Binding>,
    operations: Ops,
    traffic: Bytes,
    once: bool,
}

/// A size as the 32-bit number kernels index with.
pub(super) fn word(what: &str, value: u64) -> Result<u32, Unsupported> {
    u32::try_from(value).map_err(|_| Unsupported::Limit {
        what: what.into(),
        needed: value.to_string(),
        limit_name: "the 32-bit index range".into(),
        limit: u32::MAX.to_string(),
    })
}

impl StepBuilder {
    /// A step of `stage` that runs `shader`.
    pub(super) fn new(stage: &'static str, shader: &str, element: ElementType) -> Self {
        let kernel = Kernel {
            shader: shader.into(),
            element,
            constants: BTreeMap::new(),
            overrides: BTreeMap::new(),
            folded: BTreeMap::new(),
            tile: None,
            workgroup: [1; 3],
            workgroup_bytes: 0,
            problem_fields: Vec::new(),
        };
        Self { stage, kernel, problem: Vec::new(), bindings: Vec::new(), operations: Ops(0), traffic: Bytes(0), once: false }
    }

    /// Folds a value into the shader's text.
    pub(super) fn constant(mut self, name: &str, value: Constant) -> Self {
        self.kernel.constants.insert(name.into(), value);
        self
    }

    /// Binds the next window.
    pub(super) fn bind(mut self, binding: Binding) -> Self {
        self.bindings.push(binding);
        self
    }

    /// Adds uniforms; all must fit 32 bits.
    pub(super) fn problem(mut self, fields: &[(&str, u64)]) -> Result<Self, Unsupported> {
        for &(name, value) in fields {
            self.problem.push(word(&format!("{}: {name}", self.stage), value)?);
            self.kernel.problem_fields.push(name.into());
        }
        Ok(self)
    }

    /// Adds sizes the shader reads as `${size.name}`: literals of its text with `fold`, uniforms without.
    pub(super) fn sizes(mut self, sizes: &[(&str, u64)], fold: bool) -> Result<Self, Unsupported> {
        if !fold {
            return self.problem(sizes);
        }
        for &(name, value) in sizes {
            self.kernel.folded.insert(name.into(), word(&format!("{}: {name}", self.stage), value)?);
        }
        Ok(self)
    }

    /// Notes how the work is cut, and the workgroup memory that takes.
    pub(super) fn tile(mut self, tile: Tile) -> Self {
        self.kernel.tile = Some(tile);
        self.kernel.workgroup_bytes = tile.workgroup_bytes();
        self
    }

    /// Notes workgroup memory of a kernel whose blocks no [`Tile`] describes.
    pub(super) fn workgroup_bytes(mut self, bytes: u32) -> Self {
        self.kernel.workgroup_bytes = bytes;
        self
    }

    /// What the stage's arithmetic is, as factors, and its least traffic, as a sum of products of factors. A plan this large is refused
    /// for other reasons; here it only must not wrap.
    pub(super) fn cost(mut self, operations: &[u64], traffic: &[&[u64]]) -> Self {
        let saturating = |factors: &[u64]| product(factors).unwrap_or(u64::MAX);
        self.operations = Ops(saturating(operations));
        self.traffic = Bytes(traffic.iter().fold(0, |sum, factors| sum.saturating_add(saturating(factors))));
        self
    }

    /// Marks a step whose results are good until the weights change.
    pub(super) fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// Ends with one invocation for each of `invocations`, in workgroups of `lanes`.
    pub(super) fn linear(mut self, invocations: u64, lanes: u32, limits: &Limits) -> Result<Step, Unsupported> {
        // The kernel's own index is 32 bits wide, and the last workgroup runs past the end.
        word(&format!("{}: invocations", self.stage), invocations.next_multiple_of(lanes.into()))?;
        self.kernel.workgroup = [lanes, 1, 1];
        self.groups(invocations.div_ceil(lanes.into()), limits)
    }

    /// Ends with `groups` workgroups of `workgroup`, numbered by the shader's `linear_group`.
    pub(super) fn tiled(mut self, groups: u64, workgroup: [u32; 3], limits: &Limits) -> Result<Step, Unsupported> {
        self.kernel.workgroup = workgroup;
        self.groups(groups, limits)
    }

    fn groups(mut self, groups: u64, limits: &Limits) -> Result<Step, Unsupported> {
        let most = u64::from(limits.max_workgroups);
        let y = groups.div_ceil(most).max(1);
        let x = groups.div_ceil(y);
        word(&format!("{}: workgroups", self.stage), x * y)?;
        self = self.problem(&[("groups_x", x)])?;
        let workgroups = [word("workgroups along x", x)?, word("workgroups along y", y)?, 1];
        let Self { stage, kernel, problem, bindings, operations, traffic, once } = self;
        Ok(Step { stage: stage.into(), kernel, problem, bindings, workgroups, operations, traffic, once })
    }
}

/// How many images one step can handle so that none of its windows, `image_bytes` for each image, passes the binding limit.
pub(super) fn images_per_step(batch: u64, image_bytes: &[u64], limits: &Limits) -> u64 {
    // A window may begin up to one alignment before the first image.
    let room = limits.max_storage_binding_bytes.saturating_sub(limits.storage_alignment.into());
    let largest = image_bytes.iter().copied().max().unwrap_or(1).max(1);
    (room / largest).clamp(1, batch.max(1))
}

/// Some images of the batch, with the windows that hold their input and output.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) first: u64,
    pub(super) images: u64,
    pub(super) input: (Binding, u32),
    pub(super) output: (Binding, u32),
}

/// The batch in parts, each for one step that binds whole images of input and output.
pub(super) fn image_parts(plan: &Plan, conv: &Conv, limits: &Limits) -> Result<Vec<Part>, Unsupported> {
    image_parts_with(plan, conv, 0, limits)
}

/// The same for steps that also bind a window of `more` bytes for each image.
pub(super) fn image_parts_with(plan: &Plan, conv: &Conv, more: u64, limits: &Limits) -> Result<Vec<Part>, Unsupported> {
    let (input_image, output_image) = (conv.channels_in() * conv.input_points(), conv.channels_out() * conv.output_points());
    let [input_bytes, output_bytes] = [Tensor::Input, Tensor::Output].map(|tensor| conv.element_of(tensor).bytes());
    let piece = images_per_step(conv.batch(), &[input_image * input_bytes, output_image * output_bytes, more], limits);
    check_steps(conv.batch().div_ceil(piece))?;
    let part = |(first, images)| Part {
        first,
        images,
        input: plan.window(Plan::INPUT, first * input_image, images * input_image, limits),
        output: plan.window(Plan::OUTPUT, first * output_image, images * output_image, limits),
    };
    Ok(pieces(conv.batch(), piece).map(part).collect())
}

/// The part of `total` that `part` of `whole` stands for.
pub(super) fn share(total: u64, part: u64, whole: u64) -> u64 {
    // A part is at most the whole, so the result fits; the product on the way to it need not.
    u64::try_from(u128::from(total) * u128::from(part) / u128::from(whole)).unwrap_or(u64::MAX)
}

/// Most dispatches of a plan: beyond this the host, not the device, would be measured, and the plan itself be out of hand.
const MOST_STEPS: u64 = 1 << 16;

/// Refuses a plan of too many dispatches before it is made.
pub(super) fn check_steps(steps: u64) -> Result<(), Unsupported> {
    if steps <= MOST_STEPS {
        return Ok(());
    }
    Err(Unsupported::Limit {
        what: "dispatches".into(),
        needed: steps.to_string(),
        limit_name: "the most of a plan".into(),
        limit: MOST_STEPS.to_string(),
    })
}

/// `0..total` in pieces of at most `piece`, as (first, count).
pub(super) fn pieces(total: u64, piece: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..total.div_ceil(piece)).map(move |i| (i * piece, piece.min(total - i * piece)))
}
