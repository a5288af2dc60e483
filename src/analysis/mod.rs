//! Answers computed from records alone.
