//! Composing WGSL from templates and reflecting what it declares.
