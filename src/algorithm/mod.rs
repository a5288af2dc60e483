//! The ways to compute a convolution. One file each; [`ALGORITHMS`] is the registry that everything iterates over.

mod variant;

pub use variant::{Variant, VariantError};

use crate::conv::Conv;
use crate::plan::{Limits, Plan, Unsupported};
use crate::units::Bytes;

/// A stateless way to compute a convolution.
pub trait Algorithm: Sync {
    /// The id in files and on the command line; never changes.
    fn id(&self) -> &'static str;

    /// One line on the method, for listings.
    fn summary(&self) -> &'static str;

    /// The workspace formula in elements, for listings.
    fn workspace_formula(&self) -> &'static str;

    /// The knob settings worth measuring for this convolution, cheapest memory first; never empty.
    fn variants(&self, conv: &Conv, limits: &Limits) -> Vec<Variant>;

    /// Extra bytes by closed form, independent of [`Algorithm::plan`].
    ///
    /// # Errors
    /// [`Unsupported`] for what the algorithm is not made for, and for totals past 64 bits.
    fn workspace(&self, conv: &Conv, variant: &Variant) -> Result<Bytes, Unsupported>;

    /// Buffers and dispatches.
    ///
    /// # Errors
    /// [`Unsupported`] as [`Algorithm::workspace`], and where the device's limits are too small.
    fn plan(&self, conv: &Conv, variant: &Variant, limits: &Limits) -> Result<Plan, Unsupported>;

    /// How much larger the rounding errors of this method are than the direct one's, as a ratio of root mean squares.
    fn amplification(&self, _conv: &Conv) -> f64 {
        1.0
    }
}

/// Every algorithm, in the order reports list them.
pub static ALGORITHMS: &[&dyn Algorithm] = &[];

/// The algorithm of an id.
pub fn find(id: &str) -> Option<&'static dyn Algorithm> {
    ALGORITHMS.iter().copied().find(|a| a.id() == id)
}
