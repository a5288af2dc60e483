//! The `convledger` binary: parse, call, turn errors into exit codes.

use std::process::ExitCode;

fn main() -> ExitCode {
    convledger::cli::main()
}
