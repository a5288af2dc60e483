//! `convledger inspect`: what the drivers' compilers make of the kernels, on GPUs that are not there.
//!
//! These tests need Mesa's RADV driver, which comes in the same package as its software driver: `scripts/with-vulkan cargo test`.

use crate::{CONV, Ended, convledger, device, without_driver};
use std::collections::BTreeMap;

/// Rows by column name.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<_> = reader.deserialize().collect::<Result<_, _>>().expect("CSV");
    assert!(!rows.is_empty(), "no rows in\n{csv}");
    rows
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} is '{}', no number, in {row:?}", row[column]))
}

/// Checked and unchecked, for a GPU with 32 and one with 64 invocations to a subgroup.
#[test]
fn every_kernel_of_the_default_suite_fits_the_registers() {
    for family in ["navi21", "vega20"] {
        // The suite has no kernels of five taps, nor of several along one axis alone in two dimensions.
        let more = ["n1c64h28w28_k64r5s5_p2", "n1c128h1w1000_k128r1s3_p0x1", "n1c64w512_k64s5_p2", "n1c192h17w17_k192r1s7_p0x3"];
        let ended = Ended::good(convledger(&[&["inspect", "--null", family, "--suite", "default", "--format", "csv"][..], &more].concat()));
        let rows = rows(&ended.stdout);
        for row in &rows {
            let which = format!("{family} {} {} {} {}", row["algorithm"], row["stage"], row["tile"], row["checks"]);
            println!("{which}: compiled in {:.1} ms", number(row, "compile_ns") / 1e6);
            assert_eq!(row["reason"], "", "{which}");
            assert_eq!((number(row, "spills"), number(row, "scratch_bytes")), (0.0, 0.0), "{which}");
            assert!(number(row, "registers") > 0.0 && number(row, "occupancy") > 0.0, "{which}: {row:?}");
            assert!(row["driver_statistics"].contains("VGPRs="), "{which}: {row:?}");
        }
        let of = |checks: &str| rows.iter().filter(|row| row["checks"] == checks).count();
        assert_eq!((of("checked"), of("unchecked")), (rows.len() / 2, rows.len() / 2));
        let algorithms = |id: &str| rows.iter().any(|row| row["algorithm"].split(' ').any(|one| one == id));
        let missing: Vec<_> = convledger::algorithm::ALGORITHMS.iter().map(|a| a.id()).filter(|id| !algorithms(id)).collect();
        assert_eq!(missing, [""; 0], "algorithms without a kernel on {family}");
    }
}

/// A tile can be looked at before it is taken.
#[test]
fn the_tiles_of_a_tuning_file_go_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tuning.toml");
    std::fs::write(&file, "[[device]]\ntiles = [{ kernel = 'gemm', tile = '4x8 lanes 8x8 depth 4 cache' }]\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let args = ["inspect", "--null", "navi21", "--algorithm", "im2col", "--checks", "off", "--format", "csv", "--tuning", file];
    let ended = Ended::good(convledger(&[&args[..], &["n1c64h56w56_k64r3s3_p1"]].concat()));
    let tiles: Vec<_> = rows(&ended.stdout).into_iter().filter(|row| row["stage"] == "gemm").map(|row| row["tile"].clone()).collect();
    assert!(!tiles.is_empty() && tiles.iter().all(|tile| tile == "4x8 lanes 8x8 depth 4 cache"), "{tiles:?}");
}

/// The multiply-adds of a matrix product are in a loop, which is found, counted, and there in the file.
#[test]
fn the_hot_loop_is_named_and_its_instructions_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let isa = folder.path().join("isa").to_str().expect("UTF-8").to_owned();
    let table = folder.path().join("table.csv").to_str().expect("UTF-8").to_owned();
    let args =
        ["inspect", "--null", "navi21", "--algorithm", "im2col", "--format", "csv", "--checks", "off", "--isa", &isa, "--out", &table];
    let ended = Ended::good(convledger(&[&args[..], &["n1c64h56w56_k64r3s3_p1"]].concat()));
    assert_eq!(ended.stdout, "");
    let rows = rows(&std::fs::read_to_string(&table).expect("the table"));
    let gemm = rows.iter().find(|row| row["stage"] == "gemm").expect("a matrix product");
    let (instructions, fma) = (number(gemm, "hot_loop_instructions"), number(gemm, "hot_loop_fma"));
    assert!(0.0 < fma && fma < instructions && instructions < number(gemm, "instructions"), "{gemm:?}");
    assert!((number(gemm, "hot_loop_fma_share") - fma / instructions).abs() < 1e-9, "{gemm:?}");
    for row in &rows {
        let text = std::fs::read_to_string(folder.path().join("isa").join(&row["isa_file"])).expect("the instructions");
        assert!(text.contains("s_endpgm"), "no end in {}", row["isa_file"]);
        assert!(row["hot_loop"].is_empty() || text.contains(&format!("{}:\n", row["hot_loop"])), "{row:?}");
    }
}

#[test]
fn the_table_names_the_device_and_its_columns() {
    let table = Ended::good(convledger(&["inspect", "--null", "navi21", "--algorithm", "direct", CONV])).stdout;
    let mut lines = table.lines();
    assert!(lines.next().expect("a line").contains("NAVI21"), "{table}");
    let header = lines.nth(1).expect("a header");
    for name in ["algorithm", "stage", "checks", "regs", "spills", "scratch B", "occupancy", "compiled in", "hot loop", "fma share"] {
        assert!(header.contains(name), "{header}");
    }
    assert_eq!(lines.filter(|line| line.contains("direct")).count(), 2, "checked and unchecked\n{table}");
}

/// A driver either tells or is said not to, in one line.
#[test]
fn a_driver_that_keeps_it_to_itself_is_named() {
    let device = device();
    let chosen: Vec<&str> = device.iter().flat_map(|name| ["--device", name.as_str()]).collect();
    let ended = Ended::of(convledger(&[&["inspect", "--algorithm", "direct", CONV], &chosen[..]].concat()));
    match ended.code {
        Some(0) => assert!(ended.stdout.contains("direct"), "{}", ended.stdout),
        code => {
            assert_eq!((code, ended.stdout.as_str()), (Some(2), ""));
            let says = "does not tell what its compiler makes: it has no VK_KHR_pipeline_executable_properties; choose another --device, \
                or --null navi21 for Mesa's RADV compiler, which needs no GPU\n";
            assert!(ended.stderr.ends_with(says) && ended.stderr.lines().count() == 1, "{}", ended.stderr);
        }
    }
}

#[test]
fn what_is_wrong_is_told_in_one_line() {
    let cases: [(&[&str], &str); 8] = [
        (&["--null", "navi99"], "--null 'navi99' is no GPU family of the RADV that is installed"),
        (&["--null", "navi 21"], "--null 'navi 21' is no name of a GPU family: it is written like navi21 or vega20"),
        (
            &["--null", "navi21", "--algorithm", "winograd_f2", "n1c4h8w8_k4r5s5"],
            "no kernel to inspect: n1c4h8w8_k4r5s5: winograd_f2 is for 3x3 kernels, not 5x5",
        ),
        (&["--null", "navi21", "--algorithm", "none"], "algorithm pattern 'none' matches none of the algorithms"),
        (&["--null", "navi21", "--suite", "none"], "no built-in suite and no file 'none'"),
        (&["--null", "navi21", "--tuning", "/nonexistent/tuning.toml"], "/nonexistent/tuning.toml: cannot read the tuning file"),
        (&["--null", "navi21", "--out", "/nonexistent/file", CONV], "cannot write --out /nonexistent/file: "),
        (&["--null", "navi21", "--isa", "/dev/null/folder", CONV], "cannot make --isa /dev/null/folder: "),
    ];
    for (args, says) in cases {
        let told = Ended::error(convledger(&[&["inspect"], args].concat()));
        assert!(told.starts_with(&format!("convledger: {says}")), "{args:?}: {told}");
    }
}

#[test]
fn without_radv_it_says_how_to_get_it() {
    let told = Ended::error(without_driver(&["inspect", "--null", "navi21"]));
    assert!(told.starts_with("convledger: no RADV driver, which --null compiles with: install Mesa's Vulkan drivers"), "{told}");
    assert!(told.contains("scripts/with-vulkan") && told.contains("VK_DRIVER_FILES=/nonexistent"), "{told}");
    assert!(told.ends_with("the devices there are: none"), "{told}");
}
