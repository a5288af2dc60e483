//! Why a demo cannot be made.

use crate::conv::{Conv, ConvError, KeyError};

/// A demo that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// One of its convolutions is impossible.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// As above.
    #[error("{0}")]
    Conv(#[from] ConvError),
    /// A convolution for a demo that has its own.
    #[error("demo {demo} has convolutions of its own: {conv} is for demo tradeoff")]
    OneLayer {
        /// The demo.
        demo: &'static str,
        /// The convolution.
        conv: Box<Conv>,
    },
    /// Its rows cannot be written.
    #[error("cannot write the rows of the demo: {0}")]
    Csv(#[from] csv::Error),
}
