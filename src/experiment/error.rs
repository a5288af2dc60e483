//! What goes wrong with an experiment.

use crate::conv::KeyError;
use crate::device::DeviceError;
use crate::plan::Unsupported;

/// Why an experiment cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// There is no such experiment.
    #[error("'{name}' is no experiment: there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Every name.
        known: String,
    },
    /// An option has a value that nothing can be done with.
    #[error("--{option} {value}: {reason}")]
    Setting {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// Why not.
        reason: String,
    },
    /// An option that the experiment does not have.
    #[error("--{option} is no option of experiment {experiment}: {owner} has it")]
    Foreign {
        /// The option.
        option: &'static str,
        /// The experiment.
        experiment: &'static str,
        /// The experiment that has it.
        owner: &'static str,
    },
    /// A convolution that is none.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The device allows less than the convolution of an experiment needs.
    #[error("{case}: {reason}")]
    Unsupported {
        /// Algorithm and convolution.
        case: String,
        /// Why, with the numbers.
        reason: Unsupported,
    },
    /// The device fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The process that was to run beside this one did not do its part.
    #[error("the second process: {0}")]
    Beside(String),
    /// Parts of different experiments.
    #[error("rows of experiment {found} among those of {expected}")]
    Mixed {
        /// Whose rows there were.
        expected: &'static str,
        /// Whose rows came.
        found: &'static str,
    },
}
