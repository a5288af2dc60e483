//! Rows, files and sentences.
