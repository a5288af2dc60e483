//! `scripts/with-vulkan`: what it does where a driver is there. (Where none is, it installs one: no matter for a test.)
//! `scripts/compare-peers`: which passes it runs, in which order, and what it makes of them.
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

/// `scripts/compare-peers` with a program and peers that are scripts: both append what they are called with to `calls`.
fn compare_peers(directory: &Path, passes: &str, peers: bool, program: &str) -> Output {
    use std::os::unix::fs::PermissionsExt;
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).expect("is writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("is ours");
        path
    };
    let program = write("program", &format!("#!/bin/sh\necho \"program $*\" >>calls\n{program}\n"));
    let others = write("others", "#!/bin/sh\necho \"others $*\" >>calls\necho theirs >\"$2\"\n");
    write("layers.csv", "layer\n");
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/compare-peers"));
    command.current_dir(directory).args(["layers.csv", "out", "--algorithm", "!direct"]).env("CONVLEDGER", program).env("PASSES", passes);
    command.env("LD_LIBRARY_PATH", directory).env("VK_DRIVER_FILES", directory.join("driver.json")).env("XDG_CACHE_HOME", directory);
    command.env_remove("DEVICE").env("AGAINST", "kept.csv");
    if peers {
        command.env("PEERS_RUN", others);
    }
    command.output().expect("the script starts")
}

/// The calls since the last time this was asked.
fn calls(directory: &Path) -> Vec<String> {
    let path = directory.join("calls");
    let calls = std::fs::read_to_string(&path).expect("something was called");
    std::fs::remove_file(path).expect("is ours");
    calls.lines().map(str::to_owned).collect()
}

#[test]
fn both_sides_are_timed_in_turn_and_passes_are_kept() {
    let directory = driver("libdriver.so");
    let output = compare_peers(directory.path(), "2", true, "echo \"of $1\"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "of peers\n");
    let ours = |pass| format!("program run --layers layers.csv --format peers --out out/pass-{pass} --algorithm !direct");
    let theirs = |pass| format!("others layers.csv out/peers-{pass}.partial.csv");
    let table = "program peers out/pass-1 out/pass-2 --against out/peers-1.csv --against out/peers-2.csv";
    assert_eq!(calls(directory.path()), [&ours(1), &theirs(1), &ours(2), &theirs(2), &format!("{table} --format peers"), table]);
    let holds = |name: &str| std::fs::read_to_string(directory.path().join("out").join(name)).expect(name);
    assert_eq!([holds("pass-1.csv"), holds("peers-2.csv"), holds("table.md")], ["of run\n", "theirs\n", "of peers\n"]);

    // One more pass runs that pass only; without peers of its own the kept rows serve.
    assert_eq!(compare_peers(directory.path(), "3", false, "").status.code(), Some(0));
    let table = "program peers out/pass-1 out/pass-2 out/pass-3 --against kept.csv";
    assert_eq!(calls(directory.path()), [&ours(3), &format!("{table} --format peers"), table]);
}

#[test]
fn a_pass_that_fails_ends_the_comparison() {
    let directory = driver("libdriver.so");
    let output = compare_peers(directory.path(), "2", true, "echo broken >&2; exit 5");
    assert_eq!(output.status.code(), Some(5));
    let told = "compare-peers: pass 1 of 2: convledger\nbroken\ncompare-peers: convledger run ended with 5: see out/pass-1.log\n";
    assert_eq!(text(&output.stderr), told);
    assert_eq!(calls(directory.path()).len(), 1);
    assert!(!directory.path().join("out/pass-1.csv").exists(), "it is no pass that could be kept");
    let output = compare_peers(directory.path(), "none", true, "");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), "compare-peers: PASSES=none is not a positive whole number\n"));
}
