//! What a user of the command line sees: output, exit codes, errors, files. The program runs as a process of its own.
//!
//! Convolutions are tiny and cases few: the whole takes seconds on a software driver.

mod account;
mod auto;
mod claims;
mod compare;
mod demo;
mod devices;
mod exec;
mod experiment;
mod export;
mod faults;
mod files;
mod gallery;
mod help;
mod input;
#[cfg(target_os = "linux")] // RADV is there only
mod inspect;
mod ledger;
mod models;
mod network;
mod peak;
mod peers;
mod report;
mod resume;
mod run;
mod show;
mod tune;

use assert_cmd::Command;
use std::path::Path;
use std::time::Duration;

/// The convolution that most tests are about.
const CONV: &str = "n1c4h8w8_k4r3s3_p1";

/// The program with arguments. Nothing of the caller's surroundings shows in what it prints.
fn convledger(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_convledger"));
    command.args(args).timeout(Duration::from_mins(2)).env("RUST_BACKTRACE", "0").env_remove("COLUMNS");
    command
}

/// A loader without any driver to load.
fn without_driver(args: &[&str]) -> Command {
    let mut command = convledger(args);
    command.env("VK_ICD_FILENAMES", "/nonexistent").env("VK_DRIVER_FILES", "/nonexistent");
    command
}

/// The device that tests run on, as `tests/common/device.rs` has it.
fn device() -> Option<String> {
    std::env::var("CONVLEDGER_TEST_DEVICE").ok()
}

/// `run` with a folder and further arguments, on the test device. Without an account, which opens the device once more and has tests of its own.
fn run_in(folder: &Path, args: &[&str]) -> Command {
    let mut command = convledger(&["run", "--no-account", "--out"]);
    command.arg(folder).args(args);
    if let Some(device) = device() {
        command.args(["--device", &device]);
    }
    command
}

/// How a process ended and what it said.
struct Ended {
    code: Option<i32>,
    stdout: String,
    /// Without what Vulkan's loader and drivers add of their own.
    stderr: String,
}

impl Ended {
    fn of(mut command: Command) -> Self {
        let output = command.output().expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: without_noise(&text(output.stderr)) }
    }

    /// The output of a command that must succeed.
    #[track_caller]
    fn good(command: Command) -> Self {
        let ended = Self::of(command);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended
    }

    /// The one line of a command that must fail with a usage or environment error.
    #[track_caller]
    fn error(command: Command) -> String {
        let ended = Self::of(command);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
        let line = ended.stderr.strip_suffix('\n').expect("a whole line");
        assert!(!line.contains('\n'), "more than one line:\n{line}");
        line.to_owned()
    }
}

fn without_noise(stderr: &str) -> String {
    stderr.lines().filter(|line| !line.contains("XDG_RUNTIME_DIR")).map(|line| line.to_owned() + "\n").collect()
}

/// What each of several wrong command lines is told, one below the other.
#[track_caller]
fn errors(command_lines: &[&[&str]]) -> String {
    let told: Vec<String> = command_lines.iter().map(|args| format!("$ {}\n{}", args.join(" "), Ended::error(convledger(args)))).collect();
    told.join("\n")
}
