//! `devices`, and what happens where there is none.

use crate::{CONV, Ended, convledger, without_driver};
use predicates::prelude::*;

#[test]
fn devices_are_listed() {
    let text = Ended::good(convledger(&["devices"])).stdout;
    let header = text.lines().next().expect("a header");
    for column in ["name", "backend", "driver", "kind", "buffer", "workgroup memory", "features"] {
        assert!(header.contains(column), "{header}");
    }
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with('*') && !line.contains("is taken")).count(), 1, "{text}");
    assert!(text.ends_with("* is taken without --device\n"), "{text}");
}

#[test]
fn all_features_are_more_than_those_of_interest() {
    let length = |args| Ended::good(convledger(args)).stdout.len();
    assert!(length(&["devices", "--features"]) > length(&["devices"]));
}

/// On Linux alone can the loader be told to find nothing.
#[cfg(target_os = "linux")]
#[test]
fn without_a_driver_one_is_told_what_to_install() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run").display().to_string();
    for args in [&["devices"][..], &["run", CONV, "--out", &out]] {
        let line = Ended::error(without_driver(args));
        let told = predicate::str::starts_with("convledger: no Vulkan, Metal or DX12 adapter found: install ")
            .and(predicate::str::contains("mesa-vulkan-drivers"))
            .and(predicate::str::contains("scripts/with-vulkan"));
        assert!(told.eval(&line), "{line}");
    }
    assert!(!folder.path().join("run").exists(), "a run that cannot begin leaves nothing behind");
}
