//! What can be wrong with a shader, each with the place in the file a person edits.

use std::fmt;

/// A line of a shader file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The file below `shaders/`, such as `common/problem.wgsl`.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shaders/{}:{}", self.file, self.line)
    }
}

/// Why a kernel has no usable shader.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShaderError {
    /// No file of the kernel's shader name.
    #[error("unknown shader '{name}': known are {known}")]
    UnknownShader {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A kernel's constant has a name the template context already gives a meaning.
    #[error("shader '{shader}': constant '{name}' has the name of a value every template has")]
    ReservedConstant {
        /// The kernel's shader.
        shader: String,
        /// The constant.
        name: String,
    },
    /// A file includes or imports one that does not exist.
    #[error("{at}: unknown include '{name}'")]
    UnknownInclude {
        /// The statement.
        at: Origin,
        /// The file it names.
        name: String,
    },
    /// A file includes or imports itself through others.
    #[error("{at}: include cycle {cycle}")]
    IncludeCycle {
        /// The statement that closes the cycle.
        at: Origin,
        /// The files on the way, with arrows between.
        cycle: String,
    },
    /// The template engine rejects a statement or a value.
    #[error("{at}: {message}")]
    Template {
        /// The statement or value.
        at: Origin,
        /// The engine's reason.
        message: String,
    },
    /// The composed text is not valid WGSL.
    #[error("{at}: {message}")]
    Wgsl {
        /// The line the text came from.
        at: Origin,
        /// The reason.
        message: String,
    },
    /// The shader declares something else than the plan's step says.
    #[error("{at}: {message}")]
    Disagreement {
        /// The declaration.
        at: Origin,
        /// What it says and what the plan says.
        message: String,
    },
}
