//! The ways to compute a convolution. One file each; [`ALGORITHMS`] is the registry that everything iterates over.

mod backward;
mod bias;
mod build;
mod cook_toom;
mod coop;
mod depthwise;
mod direct;
mod direct_tiled;
mod fft_tiled;
mod gemm;
mod gemm_1x1;
mod im2col;
mod implicit_gemm;
mod implicit_precomp;
mod indirect;
mod kn2row;
mod layout;
mod mec;
mod packed;
mod reading;
mod row;
mod split;
#[cfg(test)]
mod tests;
mod unfold;
mod variant;
mod winograd;
mod winograd_fused;

pub use bias::add_bias;
pub use depthwise::Depthwise;
pub use direct::Direct;
pub use direct_tiled::DirectTiled;
pub use fft_tiled::FftTiled;
pub use gemm_1x1::Gemm1x1;
pub use im2col::Im2col;
pub use implicit_gemm::ImplicitGemm;
pub use implicit_precomp::ImplicitPrecomp;
pub use indirect::Indirect;
pub use kn2row::Kn2row;
pub use mec::Mec;
pub use variant::{Variant, VariantError};
pub use winograd::Winograd;
pub use winograd_fused::WinogradFused;

use crate::conv::{Conv, ElementType, Layout, Pass};
use crate::ledger;
use crate::plan::{Limits, Plan, Unsupported};
use crate::units::{Bytes, Ops};

/// A stateless way to compute a convolution.
pub trait Algorithm: Sync {
    /// The id in files and on the command line; never changes.
    fn id(&self) -> &'static str;

    /// One line on the method, for listings.
    fn summary(&self) -> &'static str;

    /// The workspace formula in elements, for listings; nothing unless the algorithm says otherwise.
    fn workspace_formula(&self) -> &'static str {
        "0"
    }

    /// How its variants are written, for listings and messages: `strip=p`, `batch`; empty where it has none.
    fn knobs(&self) -> &'static [&'static str] {
        &[]
    }

    /// The passes it computes, where a transposed convolution's forward pass counts as the backward data pass of the one it mirrors.
    fn passes(&self) -> &'static [Pass] {
        &[Pass::Forward]
    }

    /// The element types it computes in.
    fn elements(&self) -> &'static [ElementType] {
        &[ElementType::F32]
    }

    /// Whether its kernels read and write feature maps in the order of the convolution; if not, they are converted from and to nchw.
    fn knows_layout(&self, conv: &Conv) -> bool {
        conv.layout() == Layout::Nchw
    }

    /// The knob settings worth measuring for this convolution, cheapest memory first; never empty.
    fn variants(&self, _conv: &Conv, _limits: &Limits) -> Vec<Variant> {
        vec![Variant::none()]
    }

    /// Extra bytes by closed form, independent of the plan, in a layout of the algorithm's own.
    ///
    /// # Errors
    /// [`Unsupported`] for what the algorithm is not made for, and for totals past 64 bits.
    fn native_workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported>;

    /// Buffers and dispatches, in a layout of the algorithm's own.
    ///
    /// # Errors
    /// [`Unsupported`] as [`Algorithm::native_workspace`], and where the device's limits are too small.
    fn native_plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported>;

    /// Operations of the method by closed form, independent of the plan; the direct method's unless it saves some.
    ///
    /// # Errors
    /// [`Unsupported`] as [`Algorithm::native_workspace`].
    fn native_operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_workspace(conv, variant)?;
        Ok(ledger::operations(conv))
    }

    /// What a row should tell of a result though it is right; empty where there is nothing.
    fn warning(&self, _conv: &Conv) -> &'static str {
        ""
    }

    /// How much larger the rounding errors of this method are than the direct one's, as a ratio of root mean squares.
    fn amplification(&self, _conv: &Conv) -> f64 {
        1.0
    }
}

impl dyn Algorithm + '_ {
    /// The convolution in a layout that the algorithm's kernels know, and whether feature maps are converted for that.
    fn native(&self, conv: &Conv) -> (Conv, bool) {
        let known = self.knows_layout(conv);
        (if known { *conv } else { conv.with_layout(Layout::Nchw) }, !known)
    }

    /// Extra bytes by closed form, independent of `plan`: the method's own, and those of feature maps in another order.
    ///
    /// # Errors
    /// [`Unsupported`] for what the algorithm is not made for, and for totals past 64 bits.
    pub fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported> {
        let (native, converts) = self.native(conv);
        if converts && conv.element() == ElementType::I8 {
            let reason = format!("{} does not convert 8-bit feature maps from and to {}", self.id(), conv.layout());
            return Err(Unsupported::Problem(reason));
        }
        let bytes = self.native_workspace(&native, variant)?;
        if !converts {
            return Ok(bytes);
        }
        let maps = layout::workspace(conv)?;
        bytes.checked_add(maps).ok_or_else(|| Unsupported::overflow("workspace with converted feature maps", &[bytes.0, maps.0]))
    }

    /// Buffers and dispatches.
    ///
    /// # Errors
    /// [`Unsupported`] as `workspace`, and where the device's limits are too small.
    pub fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported> {
        let (native, converts) = self.native(conv);
        if !converts {
            return self.native_plan(&native, variant, limits);
        }
        // The closed form first: it tells totals past 64 bits.
        self.workspace(conv, variant)?;
        layout::converted(self.native_plan(&native, variant, limits)?, conv, limits)
    }

    /// Operations by closed form, independent of `plan`.
    ///
    /// # Errors
    /// [`Unsupported`] as `workspace`.
    pub fn operations(&self, conv: &Conv, variant: &Variant) -> Result<Ops, Unsupported> {
        self.native_operations(&self.native(conv).0, variant)
    }
}

/// Every algorithm, in the order reports list them.
pub static ALGORITHMS: &[&dyn Algorithm] = &[
    &Direct,
    &DirectTiled,
    &Depthwise,
    &Im2col,
    &Gemm1x1,
    &ImplicitGemm,
    &Winograd::F2,
    &Winograd::F4,
    &Winograd::F6,
    &Winograd::F2_5,
    &Winograd::F4_5,
    &Winograd::LINE_F4,
    &Winograd::LINE_F4_5,
    &Winograd::LINE_F2_7,
    &WinogradFused::F2,
    &WinogradFused::F4,
    &Mec,
    &Kn2row,
    &ImplicitPrecomp,
    &Indirect,
    &FftTiled,
];

/// The plain form of an algorithm for a convolution: no setting where it can do without, else the proposed variant of most memory.
pub fn plain_variant(algorithm: &dyn Algorithm, conv: &Conv, limits: &Limits) -> Variant {
    let mut proposed = algorithm.variants(conv, limits);
    if proposed.contains(&Variant::none()) { Variant::none() } else { proposed.pop().unwrap_or_default() }
}

/// The algorithm of an id.
pub fn find(id: &str) -> Option<&'static dyn Algorithm> {
    ALGORITHMS.iter().copied().find(|a| a.id() == id)
}

/// Floating-point types: what kernels compute that accumulate in f32 whatever they store.
const FLOATS: &[ElementType] = &[ElementType::F32, ElementType::F16];

/// Those and 8-bit integers, whose sums are exact in 32 bits.
const ALL_TYPES: &[ElementType] = &[ElementType::F32, ElementType::F16, ElementType::I8];

/// The most products of 8-bit integers whose sum is below 2³¹, wherever it stands between its ends: products are at most 2¹⁴.
const MOST_PRODUCTS: u64 = (i32::MAX as u64) >> 14;

/// The spatial sizes as the kernels' uniforms name them.
fn geometry(conv: &Conv) -> Vec<(&'static str, u64)> {
    let [depth, height, width] = conv.axes_3d();
    vec![
        ("d", depth.size),
        ("h", height.size),
        ("w", width.size),
        ("t", depth.kernel),
        ("r", height.kernel),
        ("s", width.kernel),
        ("o", depth.output()),
        ("p", height.output()),
        ("q", width.output()),
        ("stride_d", depth.stride),
        ("stride_h", height.stride),
        ("stride_w", width.stride),
        ("pad_d", depth.pad_before),
        ("pad_h", height.pad_before),
        ("pad_w", width.pad_before),
        ("dilation_d", depth.dilation),
        ("dilation_h", height.dilation),
        ("dilation_w", width.dilation),
    ]
}

/// Whether every tap of an input element meets an output: no stride leaves some out.
fn is_dense(conv: &Conv) -> bool {
    conv.axes_3d().iter().all(|axis| axis.stride == 1)
}

/// Refuses passes, element types and layouts that the algorithm has no kernels for.
fn require(algorithm: &dyn Algorithm, conv: &Conv) -> Result<(), Unsupported> {
    let id = algorithm.id();
    let refuse = |reason| Err(Unsupported::Problem(reason));
    if !algorithm.passes().contains(&conv.computes()) {
        let what = if conv.is_transposed() { "of a transposed convolution " } else { "" };
        return refuse(format!("{id} does not compute the {} pass {what}", conv.pass()).trim_end().to_owned());
    }
    if !algorithm.elements().contains(&conv.element()) {
        let known = algorithm.elements().iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        return refuse(format!("{id} has {known} kernels only, not {}", conv.element()));
    }
    if conv.element() == ElementType::I8 && conv.computes() != Pass::Forward {
        return refuse(format!("{id} computes 8-bit integers in the forward pass only, not {}", conv.pass()));
    }
    if conv.element() == ElementType::I8 && conv.summed() > MOST_PRODUCTS {
        return refuse(format!(
            "{id} sums 8-bit integers in 32 bits, which hold {MOST_PRODUCTS} products whatever they are, not {}",
            conv.summed()
        ));
    }
    Ok(())
}

/// The workspace of an algorithm without knobs and without any.
fn no_workspace(algorithm: &dyn Algorithm, variant: &Variant) -> Result<Bytes, Unsupported> {
    if *variant == Variant::none() { Ok(Bytes(0)) } else { Err(unknown_variant(algorithm, variant)) }
}

fn unknown_variant(algorithm: &dyn Algorithm, variant: &Variant) -> Unsupported {
    let known = match algorithm.knobs() {
        [] => "it has none".to_owned(),
        knobs => format!("known are {}", knobs.join(", ")),
    };
    Unsupported::Variant(format!("'{variant}' is not a variant of {}: {known}", algorithm.id()))
}
