//! Tests of the search, the targets and the file.
