//! `scripts/with-vulkan`: what it does where a driver is there. (Where none is, it installs one: no matter for a test.)
//!
//! The driver is an empty file that the loader's own variables name, so that these tests need none and install nothing.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A directory with a driver's manifest that names `library`, that library, and the loader.
fn driver(library: &str) -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("is writable");
    write("driver.json", &format!(r#"{{"ICD": {{"library_path" : "{library}", "api_version": "1.1.230"}}}}"#));
    write("libdriver.so", "");
    write("libvulkan.so.1", "");
    directory
}

fn with_vulkan(directory: &Path, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/with-vulkan");
    Command::new(script)
        .args(arguments)
        .env("LD_LIBRARY_PATH", directory)
        .env("VK_DRIVER_FILES", directory.join("driver.json"))
        .env("XDG_CACHE_HOME", directory)
        .output()
        .expect("the script starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("is UTF-8")
}

#[test]
fn the_command_runs_untouched_where_a_driver_is() {
    for library in ["libdriver.so", "./libdriver.so"] {
        let directory = driver(library);
        let output = with_vulkan(directory.path(), &["sh", "-c", "printf '<%s>' \"$@\"; exit 7", "sh", "a  b", "*", ""]);
        assert_eq!(text(&output.stderr), "", "{library}");
        assert_eq!(text(&output.stdout), "<a  b><*><>", "{library}");
        assert_eq!(output.status.code(), Some(7), "{library}");
    }
}

#[test]
fn a_named_driver_without_its_library_is_an_error() {
    for library in ["libno_such_driver.so", "./libno_such_driver.so", "/no/such/driver.so"] {
        let directory = driver(library);
        let output = with_vulkan(directory.path(), &["true"]);
        let manifest = directory.path().join("driver.json");
        let message = format!("with-vulkan: VK_DRIVER_FILES or VK_ICD_FILENAMES names no driver that is there: {}\n", manifest.display());
        assert_eq!(text(&output.stderr), message, "{library}");
        assert_eq!(text(&output.stdout), "", "{library}");
        assert_eq!(output.status.code(), Some(2), "{library}");
    }
}

#[test]
fn no_command_is_a_usage_error() {
    let directory = driver("libdriver.so");
    let output = with_vulkan(directory.path(), &[]);
    assert_eq!(text(&output.stderr), "usage: scripts/with-vulkan COMMAND [ARGUMENT...]\n");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.code(), Some(2));
}
