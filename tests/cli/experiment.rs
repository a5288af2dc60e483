//! `convledger experiment`, each on the device: rows that hold together, files, exit codes, hostile options.

use crate::{Ended, convledger, errors, without_driver};
use serde_json::Value;
use std::fs;

/// What an experiment with some arguments says, as JSON.
fn experiment(args: &[&str]) -> Value {
    let mut command = convledger(&[&["experiment"], args, &["--format", "json"]].concat());
    command.args(crate::device().iter().flat_map(|device| ["--device", device]));
    serde_json::from_str(&Ended::good(command).stdout).expect("JSON")
}

fn rows(told: &Value) -> &[Value] {
    told["rows"].as_array().expect("rows")
}

/// A number of a row that must be there.
#[track_caller]
fn number(row: &Value, column: &str) -> u64 {
    row[column].as_u64().unwrap_or_else(|| panic!("{column} of {row}"))
}

#[test]
fn what_is_allocated_is_at_least_what_was_asked_for() {
    let told = experiment(&["alignment"]);
    assert!(rows(&told).len() > 200);
    let sentence = told["sentences"][0].as_str().expect("a sentence");
    let (_, alignment) = sentence.split_once("takes a multiple of ").expect("an alignment");
    let alignment: u64 = alignment.split_once(" B, ").expect("bytes").0.parse().expect("a number");
    for (row, nth) in rows(&told).iter().zip((1..=4).cycle()) {
        assert_eq!(number(row, "buffer"), nth, "{row}");
        let [size, requested, allocated, tax] = ["size_bytes", "requested_bytes", "allocated_bytes", "tax_bytes"].map(|c| number(row, c));
        assert!(size <= requested && requested <= allocated, "{row}");
        assert!(number(row, "new_blocks") == 0 || allocated <= number(row, "new_reserved_bytes"), "{row}");
        assert!(nth == 1 || number(row, "new_blocks") > 0 || allocated == requested.next_multiple_of(alignment), "{alignment}: {row}");
        assert_eq!(requested, size.next_multiple_of(4), "{row}");
        assert_eq!(tax, allocated - size, "{row}");
        let share = row["tax_share"].as_f64().expect("a share");
        assert!((share - tax as f64 / allocated as f64).abs() < 1e-12, "{row}");
    }
}

#[test]
fn a_pool_holds_what_it_handed_out_and_ends_with_what_it_began_with() {
    let told = experiment(&["pool", "--size", "1500000", "--count", "6"]);
    let rows = rows(&told);
    let buffers: Vec<u64> = rows.iter().map(|row| number(row, "buffers")).collect();
    assert_eq!(buffers, [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]);
    for row in rows {
        assert!(number(row, "allocated_bytes") >= number(row, "buffers") * 1_500_000, "{row}");
        assert!(number(row, "allocated_bytes") <= number(row, "reserved_bytes"), "{row}");
        assert!(number(row, "resident_bytes") > 0, "{row}");
    }
    let (first, full, last) = (&rows[0], &rows[6], &rows[12]);
    assert!(number(full, "blocks") > number(first, "blocks"), "six buffers of 1.5 MB do not fit one block of 4 MiB");
    assert!(number(last, "blocks") < number(full, "blocks"));
    for column in ["allocations", "allocated_bytes"] {
        assert_eq!(number(last, column), number(first, column), "what was there before the first buffer is there after the last");
    }
    for row in &rows[1..=6] {
        assert_eq!(number(row, "allocations"), number(first, "allocations") + number(row, "buffers"), "{row}");
    }
}

#[test]
fn sizes_that_change_are_set_against_sizes_that_do_not() {
    let told = experiment(&["shapes", "--iterations", "4"]);
    assert_eq!(rows(&told).len(), 5 * 4);
    let of = |sequence: &str| rows(&told).iter().filter(|row| row["sequence"] == sequence).collect::<Vec<_>>();
    for row in &of("kept")[1..] {
        assert_eq!(number(row, "new_allocations"), 0, "{row}");
    }
    for sequence in ["same_drop_first", "same_create_first", "varying_drop_first", "varying_create_first"] {
        let own = of(sequence);
        assert_eq!(own.iter().map(|row| number(row, "iteration")).collect::<Vec<_>>(), [0, 1, 2, 3]);
        for row in own {
            // Input, weights, column matrix, output, uniforms.
            assert_eq!(number(row, "new_allocations"), 5, "{row}");
            assert!(number(row, "plan_bytes") <= number(row, "allocated_bytes"), "{row}");
            let held = 1.0 - number(row, "allocated_bytes") as f64 / number(row, "reserved_bytes") as f64;
            assert!((row["fragmentation"].as_f64().expect("a share") - held).abs() < 1e-12, "{row}");
        }
    }
    let bytes = |sequence| of(sequence).iter().map(|row| number(row, "plan_bytes")).sum::<u64>();
    let (varying, same) = (bytes("varying_drop_first"), bytes("same_drop_first"));
    assert!(varying.abs_diff(same) * 100 < same, "the same in the mean: {varying}, {same}");
    let most = |sequence| of(sequence).iter().map(|row| number(row, "reserved_bytes")).max();
    assert!(most("same_create_first") >= most("same_drop_first"));
}

#[test]
fn the_allocator_has_back_what_is_dropped() {
    let told = experiment(&["drop"]);
    let at = |round: u64, moment: &str| {
        let found = rows(&told).iter().find(|row| row["round"] == round && row["moment"] == moment);
        found.unwrap_or_else(|| panic!("{moment} of round {round}"))
    };
    assert_eq!(rows(&told).len(), 6 * 7);
    for round in 1..=6 {
        let allocated = |moment| number(at(round, moment), "allocated_bytes");
        assert!(allocated("buffers_held") >= allocated("opened") + (8 << 21));
        assert_eq!(allocated("buffers_dropped"), allocated("opened"));
        assert_eq!(allocated("plan_dropped"), allocated("buffers_dropped"));
        assert!(allocated("plan_held") > allocated("plan_dropped") + (6 << 20));
        let reserved = |moment| number(at(round, moment), "reserved_bytes");
        assert!(reserved("plan_dropped") <= reserved("plan_held"));
        let gone = at(round, "device_dropped");
        assert!(gone["allocated_bytes"].is_null() && gone["reserved_bytes"].is_null(), "there is no allocator to ask: {gone}");
    }
    // What the first round leaves behind is loaded once: the last leaves next to nothing.
    let left = |round| number(at(round, "device_dropped"), "resident_bytes").saturating_sub(number(at(round, "start"), "resident_bytes"));
    assert!(left(6) < left(1) / 4 + (1 << 20), "{} after {}", left(6), left(1));
}

#[test]
fn two_contexts_are_there_at_once() {
    let told = experiment(&["contexts"]);
    let of = |arrangement: &str| rows(&told).iter().filter(|row| row["arrangement"] == arrangement).collect::<Vec<_>>();
    let counts = |arrangement| {
        of(arrangement).iter().map(|row| (number(row, "process"), number(row, "devices"), number(row, "plans"))).collect::<Vec<_>>()
    };
    assert_eq!(counts("one"), [(1, 1, 1)]);
    assert_eq!(counts("two_plans"), [(1, 1, 2)]);
    assert_eq!(counts("two_devices"), [(1, 2, 2)]);
    assert_eq!(counts("two_processes"), [(1, 1, 1), (2, 1, 1)]);
    let workspace = |arrangement| of(arrangement).iter().map(|row| number(row, "workspace_bytes")).sum::<u64>();
    // The column matrix of 3x3 patches of 64 channels at 56x56 places.
    assert_eq!(workspace("one"), 64 * 9 * 56 * 56 * 4);
    for row in rows(&told) {
        assert!(number(row, "resident_bytes") > number(row, "workspace_bytes"), "{row}");
        assert!(number(row, "allocated_bytes") >= number(row, "workspace_bytes"), "{row}");
    }
    let times = workspace("two_devices") as f64 / workspace("one") as f64;
    assert!(told["sentences"][0].as_str().expect("a sentence").contains(&format!("two devices in one process {times:.3} times that")));
}

#[test]
fn nothing_grows_over_hundreds_of_executions() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("soak").display().to_string();
    let told = experiment(&["soak", "--executions", "300", "--out", &out]);
    assert_eq!(told["grows"], false);
    assert_eq!(told["settings"], serde_json::json!({ "executions": 300 }));
    let executions: Vec<u64> = rows(&told).iter().map(|row| number(row, "executions")).collect();
    assert_eq!(executions, (0..=100).map(|n| 3 * n).collect::<Vec<_>>());
    let sentence = told["sentences"][0].as_str().expect("a sentence");
    assert!(sentence.contains("resident flat") && sentence.contains("allocated flat") && sentence.contains("reserved flat"), "{sentence}");
    // The files say the same.
    let read = |name: &str| fs::read_to_string(folder.path().join("soak").join(name)).expect(name);
    let csv = read("soak.csv");
    assert_eq!(csv.lines().count(), 102);
    assert!(csv.starts_with("executions,resident_bytes,allocations,allocated_bytes,blocks,reserved_bytes\n0,"), "{csv}");
    let kept: Value = serde_json::from_str(&read("soak.json")).expect("JSON");
    assert_eq!((&kept["sentences"], &kept["device"]), (&told["sentences"], &told["device"]));
    assert!(kept["rows"].is_null() && kept["columns"]["executions"].is_string(), "{kept}");
}

#[test]
fn without_a_name_they_are_listed_and_a_table_ends_with_its_sentences() {
    let list = Ended::good(without_driver(&["experiment"])).stdout;
    for name in ["alignment", "pool", "shapes", "drop", "contexts", "soak"] {
        assert!(list.lines().any(|line| line.trim_start().starts_with(name)), "{list}");
    }
    for option in [["--size", "5"], ["--executions", "100"], ["--tuning", "tuning.toml"], ["--format", "json"], ["--timeout", "1m"]] {
        let told = Ended::of(without_driver(&["experiment", option[0], option[1]]));
        assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{option:?}");
        assert!(told.stderr.contains("not provided:\n  <NAME>\n") && told.stderr.contains(option[0]), "{option:?}: {}", told.stderr);
    }
    let mut command = convledger(&["experiment", "pool", "--count", "2"]);
    command.args(crate::device().iter().flat_map(|device| ["--device", device]));
    let table = Ended::good(command).stdout;
    assert!(table.starts_with("pool: where do the allocator's blocks grow") && table.contains("1.00 MiB"), "{table}");
    assert!(table.contains("\nWith buffers of 1.00 MiB what is reserved changed"), "{table}");
}

#[test]
fn help_tells_the_ranges_that_are_enforced() {
    let help = Ended::good(without_driver(&["experiment", "-h"])).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "at least 1 B, and times --count at most 4.00 GiB [default: 1.00 MiB]",
        "from 1 to 10000 [default: 12]",
        "from 2 to 10000 [default: 24]",
        "from 20 to 100000000 [default: 10000]",
        "past it there is an error and no rows",
    ] {
        assert!(help.contains(told), "{told}: {help}");
    }
}

#[test]
fn hostile_options_are_one_line() {
    let told = errors(&[
        &["experiment", "dance"],
        &["experiment", "pool", "--size", "0"],
        &["experiment", "pool", "--size", "3GiB"],
        &["experiment", "pool", "--count", "0"],
        &["experiment", "shapes", "--iterations", "1"],
        &["experiment", "soak", "--executions", "0"],
        &["experiment", "soak", "--executions", "18446744073709551615"],
        &["experiment", "alignment", "--executions", "100"],
        &["experiment", "all", "--format", "csv"],
        &["experiment", "soak", "--tuning", "no/such.toml"],
    ]);
    insta::assert_snapshot!(told, @r"
    $ experiment dance
    convledger: 'dance' is no experiment: there are alignment, pool, shapes, drop, contexts, soak
    $ experiment pool --size 0
    convledger: --size 0 B: a buffer has at least a byte
    $ experiment pool --size 3GiB
    convledger: --size 3,221,225,472 B: 12 such buffers are more than 4,294,967,296 B
    $ experiment pool --count 0
    convledger: --count 0: must be from 1 to 10000
    $ experiment shapes --iterations 1
    convledger: --iterations 1: must be from 2 to 10000
    $ experiment soak --executions 0
    convledger: --executions 0: must be from 20 to 100000000
    $ experiment soak --executions 18446744073709551615
    convledger: --executions 18446744073709551615: must be from 20 to 100000000
    $ experiment alignment --executions 100
    convledger: --executions is no option of experiment alignment: soak has it
    $ experiment all --format csv
    convledger: --format csv: the experiments have different columns; name one, or take --out
    $ experiment soak --tuning no/such.toml
    convledger: no/such.toml: cannot read the tuning file: No such file or directory (os error 2)
    ");
    let told = Ended::error(convledger(&["experiment", "soak", "--device", "no such device"]));
    assert!(told.starts_with("convledger: --device 'no such device' is none of the adapters: "), "{told}");
}
