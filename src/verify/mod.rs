//! Filling inputs, tolerances, comparison with the reference.
