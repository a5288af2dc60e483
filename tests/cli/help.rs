//! `--help` and `--version`.

use crate::{Ended, convledger};
use predicates::prelude::*;

#[test]
fn version() {
    let ended = Ended::good(convledger(&["--version"]));
    assert_eq!(ended.stdout, format!("convledger {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(ended.stderr, "");
}

#[test]
fn help_of_the_program() {
    let help = Ended::good(convledger(&["-h"])).stdout;
    insta::assert_snapshot!(help, @r"
    What does each way of computing a convolution cost on your GPU, in time and in memory?

    Usage: convledger [COMMAND]

    Commands:
      run         Verify and measure convolutions with every algorithm; write CSV files and print a
                  summary
      devices     List the adapters that --device can choose from
      algorithms  List the algorithms, their variants and their workspace formulas
      ledger      Predict the bytes of every algorithm by closed form; needs no GPU
      exec        Compute one convolution of your own NumPy arrays on the device
      export      Write the rows of runs as JSON lines, Parquet or CSV
      report      Make one HTML page of a run, and pictures of its charts
      gallery     Make a page of all runs in a folder, with charts
      peers       Set runs beside the times of other programs on the same layers
      inspect     Compile each kernel and tell what the driver's compiler made of it: registers, spills,
                  occupancy, the hot loop
      show        Show a run's answers in the terminal: tables and small plots
      compare     Compare runs case by case: ratios with intervals, verdicts, memory, surroundings;
                  rules for continuous integration
      claims      Audit figures that people repeat about memory and time: ours beside each, and a
                  verdict
      demo        Measure a small sweep that shows one thing, with a chart and two sentences on what was
                  seen
      peak        Measure the device's own limits: multiply-adds, copies, workgroup memory, an empty
                  dispatch, the clock
      account     Account for every byte of a case: from what formulas predict to what the system says
                  the process holds
      experiment  Ask what allocators and drivers do with memory: alignment, pool, shapes, drop,
                  contexts, soak
      auto        Tell how good the automatic choice of an algorithm would have been in runs that
                  measured them all
      tune        Find the fastest tiles on a device and write them to a file for --tuning
      help        Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Examples:
      convledger                                         measure the default suite
      convledger run n1c64h56w56_k128r3s3_p1             measure one convolution
      convledger run --suite resnet50 --time-budget 5m   measure a network's layers
      convledger run --model net.onnx --batch 8          measure your own model
      convledger ledger --suite vgg16                    predict every byte
      convledger algorithms                              what there is to compare

    A convolution is written
    n<batch>c<channels>[d<depth>]h<height>w<width>_k<filters>[t<depth>]r<height>s<width>, then what
    differs from 1, 0, 1, 1: _s<stride>_p<padding>_d<dilation>_g<groups>; per axis with x (_s2x1),
    padding before:after (_p0:1).

    Exit codes: 0 good; 1 a case failed or a check fell short; 2 a usage or environment error.
    ");
}

/// Each command's help says what it is for and names its options.
#[test]
fn help_of_each_command() {
    let commands: &[(&str, &[&str])] = &[
        (
            "claims",
            &[
                "figures that people repeat",
                "--claims <FILE.toml>",
                "--id <GLOB>",
                "--run <DIR>",
                "--measure",
                "--time-budget <DURATION>",
                "--format <FORMAT>",
                "The rule",
                "holds_in_mib",
                "network(suite, what",
            ],
        ),
        (
            "demo",
            &["two sentences", "blowup", "tradeoff", "resolution", "precision", "[CONV]", "--time-budget <DURATION>", "--out", "--device"],
        ),
        (
            "run",
            &[
                "Verify and measure",
                "--suite <NAME|FILE>",
                "--layers <FILE.csv>",
                "layer,n,c,h,w,k,r,s,stride,pad,dilation,groups,dtype",
                "--format <FORMAT>",
                "--model",
                "--batch",
                "--dtype",
                "--algorithm <GLOB>",
                "'!direct'",
                "--workspace-limit <BYTES>",
                "--time-budget",
                "--timeout",
                "[default: 5m]",
                "--cache",
                "--resume",
                "--no-report",
                "--seed",
                "--tuning <FILE>",
                "--device",
                "--out",
            ],
        ),
        (
            "experiment",
            &["[NAME]", "--size <BYTES>", "--executions <N>", "--out <DIR>", "--format <FORMAT>", "The bound is six times", "tax_bytes"],
        ),
        ("report", &["one HTML page", "--out <FILE>", "--charts <DIR>", "--format <FORMAT>", "svg", "png", "claims.csv"]),
        ("devices", &["--features"]),
        ("peak", &["own limits", "--device", "--time-budget <DURATION>", "[default: 5s]", "--format <FORMAT>"]),
        ("algorithms", &["workspace formulas"]),
        ("ledger", &["needs no GPU", "--format <FORMAT>", "The columns of measurements.csv", "resnet50"]),
        ("auto", &["--costs <FILE.toml>", "--fit", "--workspace-limit <BYTES>"]),
        (
            "compare",
            &[
                "bootstrap",
                "does not cover",
                "SLOWER",
                "--threshold <PERCENT>",
                "[default: 5%]",
                "--fail-on <RULES>",
                "--repeat <DIR>",
                "markdown",
            ],
        ),
        ("show", &["tables and small plots", "--layer <GLOB>", "--section <PARTS>", "pareto"]),
        ("peers", &["--against <FILE.csv>", "--of <PASS>", "[default: best]", "--peak"]),
        ("inspect", &["registers", "--null <FAMILY>", "--isa <DIR>", "--checks <CHECKS>", "--device", "--format <FORMAT>", "Every column"]),
        (
            "tune",
            &[
                "fastest tiles",
                "--time-budget <DURATION>",
                "[default: 3m]",
                "--timeout",
                "--kernel <KERNEL>",
                "--tuning",
                "--out",
                "--force",
            ],
        ),
        ("export", &["--table <TABLE>", "--format <FORMAT>", "Parquet", "duckdb"]),
        ("exec", &["NumPy", "--input <x.npy>", "--weights", "--bias", "--output", "im2col:strip=8"]),
    ];
    for &(command, mentions) in commands {
        let assert = convledger(&[command, "--help"]).assert().success().stderr("");
        mentions.iter().fold(assert, |assert, &mention| assert.stdout(predicate::str::contains(mention)));
    }
}

#[test]
fn algorithms_are_listed_with_their_variants_and_formulas() {
    let text = Ended::good(convledger(&["algorithms"])).stdout;
    for algorithm in convledger::algorithm::ALGORITHMS {
        let line = text.lines().find(|line| line.trim_start().starts_with(algorithm.id())).expect("a line for each");
        assert!(line.contains(algorithm.workspace_formula()) && line.contains(algorithm.summary()), "{line}");
        assert!(algorithm.knobs().iter().all(|knob| line.contains(knob)), "{line}");
    }
}

/// The README's table is what the command prints.
#[test]
fn the_readme_has_the_table_of_algorithms() {
    let table = Ended::good(convledger(&["algorithms", "--format", "markdown"])).stdout;
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("README.md");
    assert!(readme.contains(table.trim()), "put this in place of README.md's table:\n{table}");
}
