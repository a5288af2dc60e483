//! Composing WGSL from templates and reflecting what it declares.
//!
//! A kernel names a file in `shaders/` and the constants folded into its text; [`compose`] renders the file and lets naga parse and
//! validate it, so a broken shader never reaches a driver. Every error names the line of the file a person edits.
//! [`check`] holds what the shader declares against the plan's step, so that the two cannot drift apart.

mod compose;
mod error;
mod library;
mod reflect;

#[cfg(test)]
mod tests;

pub use compose::{Composed, compose};
pub use error::{Origin, ShaderError};
pub use library::Library;
pub use reflect::{Access, DeclaredBinding, Reflection, check, reflect};
