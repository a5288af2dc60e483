//! What goes wrong between a kernel and a driver's compiler.

use crate::shader::ShaderError;

/// Why a kernel cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The Vulkan loader is not there.
    #[error("no Vulkan loader ({reason}): install a Vulkan driver, or run under `scripts/with-vulkan`, which finds or installs Mesa's")]
    NoLoader {
        /// Why it did not load.
        reason: String,
    },
    /// The loader finds no driver.
    #[error("no Vulkan driver: install your GPU's, or run under `scripts/with-vulkan`, which finds or installs Mesa's")]
    NoDriver,
    /// No Vulkan device is the one asked for.
    #[error("no Vulkan device is '{wanted}': {known}")]
    NoDevice {
        /// What was asked for.
        wanted: String,
        /// The devices there are.
        known: String,
    },
    /// The driver keeps what its compiler made to itself.
    #[error(
        "'{device}' ({driver}) does not tell what its compiler makes: it has no {extension}; choose another --device, or --null navi21 \
         for Mesa's RADV compiler, which needs no GPU"
    )]
    NoExtension {
        /// The device's name.
        device: String,
        /// Its driver.
        driver: String,
        /// The extension's name.
        extension: &'static str,
    },
    /// Mesa's driver for AMD GPUs is not among the drivers.
    #[error(
        "no RADV driver, which --null compiles with: install Mesa's Vulkan drivers (Debian, Ubuntu and Fedora: mesa-vulkan-drivers; Arch: \
         vulkan-radeon), or run under `scripts/with-vulkan`{chosen}; the devices there are: {known}"
    )]
    NoRadv {
        /// What keeps the loader from finding it, if that is the user's choice.
        chosen: String,
        /// The devices there are.
        known: String,
    },
    /// A kernel's shader does not compose.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// Naga does not translate a kernel.
    #[error("shaders/{shader}.wgsl does not translate to SPIR-V: {reason}")]
    Translation {
        /// The shader's name.
        shader: String,
        /// Naga's words.
        reason: String,
    },
    /// The driver refused a call.
    #[error("{device}: {what}: {reason}")]
    Refused {
        /// The device's name, or the loader.
        device: String,
        /// What was asked of it.
        what: String,
        /// Its error code.
        reason: String,
    },
}
