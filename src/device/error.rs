//! What goes wrong between a plan and a device.

use crate::shader::ShaderError;

/// A failure of the device or of what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// No driver offers an adapter.
    #[error("no Vulkan, Metal or DX12 adapter found: {hint}")]
    NoAdapter {
        /// What to install.
        hint: &'static str,
    },
    /// `--device` names none of the adapters.
    #[error("--device '{selector}' is none of the adapters: {known}")]
    NoSuchDevice {
        /// What was asked for.
        selector: String,
        /// The adapters there are.
        known: String,
    },
    /// `--device` fits several adapters.
    #[error("--device '{selector}' fits several adapters, name one by its number: {known}")]
    AmbiguousDevice {
        /// What was asked for.
        selector: String,
        /// The adapters it fits.
        known: String,
    },
    /// The driver does not hand out a device.
    #[error("adapter '{adapter}' gives no device: {reason}")]
    Open {
        /// The adapter's name.
        adapter: String,
        /// The driver's words.
        reason: String,
    },
    /// A shader does not compose or validate.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// Memory ran out, on the device or for it on the host.
    #[error("out of memory: {what}")]
    OutOfMemory {
        /// What was asked for, with its size.
        what: String,
    },
    /// The driver gave the device up.
    #[error("device lost: {reason}")]
    Lost {
        /// The driver's words.
        reason: String,
    },
    /// The device refused an operation.
    #[error("{what}: {reason}")]
    Refused {
        /// What was asked of it.
        what: String,
        /// Its words, on one line.
        reason: String,
    },
    /// The device clock showed no or negative time.
    #[error("the device clock showed {ticks} ticks between the first and the last dispatch")]
    Clock {
        /// The difference read.
        ticks: i128,
    },
}
