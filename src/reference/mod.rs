//! Convolution on the CPU in f64: what every kernel is held against.
