//! Broken files and failing disks.

use super::*;
use crate::record::files::Storage;
use std::fs::{File, OpenOptions};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What reading says after `edit` has changed a file of a run with three cases. Resuming says the same and changes nothing.
fn broken(file: &str, edit: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let (folder, mut directory) = fresh();
    for name in ["a", "b", "c"] {
        directory.append(&case_rows(name, Status::Skipped)).expect("appends");
    }
    drop(directory);
    let path = folder.path().join(file);
    let sound = fs::read(&path).expect("reads");
    let edited = edit(sound.clone());
    assert!(edited != sound, "the edit does something");
    fs::write(&path, edited).expect("writes");
    let before = contents(folder.path());
    let text = message(Run::read(folder.path()), folder.path());
    assert_eq!(message(RunDirectory::resume(folder.path()), folder.path()), text);
    assert!(contents(folder.path()) == before, "nothing is changed");
    text
}

/// Replaces the `nth` occurrence, from 0.
fn swap(from: &str, to: &str, nth: usize) -> impl FnOnce(Vec<u8>) -> Vec<u8> {
    move |bytes| {
        let text = String::from_utf8(bytes).expect("text");
        let (at, _) = text.match_indices(from).nth(nth).expect("there");
        format!("{}{to}{}", &text[..at], &text[at + from.len()..]).into_bytes()
    }
}

#[test]
fn headers_are_held_to_the_letter() {
    insta::assert_snapshot!(broken("measurements.csv", swap("layer", "Layer", 0)), @r#"RUN/measurements.csv, line 1: column 6 is "Layer", must be layer"#);
    insta::assert_snapshot!(broken("measurements.csv", swap(",verified_points\n", "\n", 0)), @"RUN/measurements.csv, line 1: column 49 is missing, must be verified_points");
    insta::assert_snapshot!(broken("samples.csv", swap("outlier\n", "outlier,colour\n", 0)), @r#"RUN/samples.csv, line 1: column 16 is "colour", which is not known"#);
    insta::assert_snapshot!(broken("ledger.csv", |_| b"lunch,price\nsoup,3\n".to_vec()), @r#"RUN/ledger.csv, line 1: column 1 is "lunch", must be run_id"#);
    insta::assert_snapshot!(broken("steps.csv", |_| Vec::new()), @"RUN/steps.csv, line 1: column 1 is missing, must be run_id");
}

#[test]
fn cells_are_held_to_their_columns() {
    // The time of the second case's first sample: row 4 of the file, after the header.
    insta::assert_snapshot!(broken("samples.csv", swap("1234.5", "NaN", 1)), @r#"RUN/samples.csv, line 4, column time_ns: "NaN" is not a finite number"#);
    insta::assert_snapshot!(broken("samples.csv", swap("1234.5", "1e999", 1)), @r#"RUN/samples.csv, line 4, column time_ns: "1e999" is not a finite number"#);
    insta::assert_snapshot!(broken("samples.csv", swap("1234.5", "", 1)), @r#"RUN/samples.csv, line 4, column time_ns: "" is not a number"#);
    insta::assert_snapshot!(broken("samples.csv", swap("1234.5", "\"12\n34\"", 1)), @r#"RUN/samples.csv, line 4, column time_ns: "12\n34" is not a number"#);
    insta::assert_snapshot!(broken("samples.csv", swap("false", "no", 0)), @r#"RUN/samples.csv, line 2, column outlier: "no" is neither true nor false"#);
    insta::assert_snapshot!(broken("measurements.csv", swap(",7,", ",-7,", 0)), @r#"RUN/measurements.csv, line 2, column computation_bytes: "-7" is not a whole number from 0 to 2^64 - 1"#);
    insta::assert_snapshot!(broken("measurements.csv", swap("skipped", "done", 1)), @r#"RUN/measurements.csv, line 3, column status: "done" is not known, must be one of `ok`, `wrong`, `unsupported`, `over_limit`, `over_budget`, `out_of_memory`, `timeout`, `device_lost`, `crashed`, `skipped`"#);
    insta::assert_snapshot!(broken("measurements.csv", swap("_s2_", "_s0_", 2)), @r#"RUN/measurements.csv, line 4, column conv: "n1c64h56w56_k128r3s3_s0_p0:1" is impossible: stride along h is 0, must be at least 1"#);
    insta::assert_snapshot!(broken("ledger.csv", swap("u32", &"u".repeat(1000), 0)), @r#"RUN/ledger.csv, line 3, column buffer_dtype: "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu…" is not known, must be one of `f32`, `f16`, `i8`, `i32`, `u32`"#);
    insta::assert_snapshot!(broken("steps.csv", swap("strip=8", "strip=", 0)), @r#"RUN/steps.csv, line 2, column variant: "strip=" is neither a word such as batch nor a word with a number such as strip=8"#);
}

#[test]
fn rows_are_held_to_the_run() {
    insta::assert_snapshot!(broken("steps.csv", swap("20261129T183800Z-3f9a", "20261129T183800Z-0000", 1)), @r#"RUN/steps.csv, line 3, column run_id: "20261129T183800Z-0000" is of another run: environment.json says "20261129T183800Z-3f9a""#);
    insta::assert_snapshot!(broken("measurements.csv", swap("made up 1.2.3", "made up 1.2.4", 1)), @r#"RUN/measurements.csv, line 3, column driver: "made up 1.2.4" is of another run: environment.json says "made up 1.2.3""#);
    insta::assert_snapshot!(broken("steps.csv", swap(",gemm,", ",gemm,gemm,", 1)), @"RUN/steps.csv, line 3: 19 cells, the header has 18");
    insta::assert_snapshot!(broken("ledger.csv", swap(",columns,", ",\"columns,", 0)), @"RUN/ledger.csv, line 2: a quote opens in this row and does not close");
    let invalid = |mut bytes: Vec<u8>| {
        let at = bytes.iter().position(|&b| b == b'\n').expect("header") + 1;
        bytes[at] = 0xff;
        bytes
    };
    insta::assert_snapshot!(broken("samples.csv", invalid), @"RUN/samples.csv, line 2: is not UTF-8");
}

/// A disk that has room for `left` more bytes, over all files that share it.
struct Disk {
    file: File,
    left: Arc<AtomicUsize>,
}

impl Storage for Disk {
    fn write_at(&mut self, length: u64, bytes: &[u8]) -> io::Result<()> {
        let room = self.left.load(Ordering::Relaxed).min(bytes.len());
        self.left.fetch_sub(room, Ordering::Relaxed);
        self.file.write_at(length, &bytes[..room])?;
        if room == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.cut(length)
    }
}

#[test]
fn a_full_disk_keeps_what_was_measured() {
    let (folder, mut directory) = fresh();
    let (first, second) = (case_rows("one", Status::Ok), case_rows("two", Status::Ok));
    directory.append(&first).expect("appends");
    let before = contents(folder.path());
    directory.append(&second).expect("appends");
    let after = contents(folder.path());
    let total = after.values().map(Vec::len).sum::<usize>() - before.values().map(Vec::len).sum::<usize>();
    drop(directory);
    let mut directory = RunDirectory::resume(folder.path()).expect("resumes").directory;
    let left = Arc::new(AtomicUsize::new(0));
    for file in &mut directory.files {
        let same = OpenOptions::new().write(true).open(&file.path).expect("opens");
        file.storage = Box::new(Disk { file: same, left: Arc::clone(&left) });
        file.cut_back(before[&*file.path.file_name().expect("name").to_string_lossy()].len() as u64);
    }
    for room in 0..total {
        left.store(room, Ordering::Relaxed);
        let error = message(directory.append(&second), folder.path());
        assert!(error.starts_with("cannot write RUN/") && error.contains(".csv: "), "{error}");
        assert!(contents(folder.path()) == before, "{room} of {total} bytes");
    }
    // With room again the run goes on.
    left.store(total, Ordering::Relaxed);
    directory.append(&second).expect("appends");
    assert!(contents(folder.path()) == after);
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_says_why() {
    let (folder, mut directory) = fresh();
    directory.append(&case_rows("one", Status::Ok)).expect("appends");
    let before = contents(folder.path());
    let full = OpenOptions::new().write(true).open("/dev/full").expect("opens");
    directory.files[2].storage = Box::new(Full(full));
    let error = message(directory.append(&case_rows("two", Status::Ok)), folder.path());
    assert_eq!(error, "cannot write RUN/ledger.csv: No space left on device (os error 28)");
    assert!(contents(folder.path()) == before);
}

/// The device that is always full; it has no length to set.
#[cfg(target_os = "linux")]
struct Full(File);

#[cfg(target_os = "linux")]
impl Storage for Full {
    fn write_at(&mut self, _: u64, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut self.0, bytes)
    }

    fn cut(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_time_that_is_no_number_is_refused_whole() {
    let (folder, mut directory) = fresh();
    let before = contents(folder.path());
    let mut rows = case_rows("one", Status::Ok);
    rows.samples[1].time_ns = f64::NAN;
    let error = message(directory.append(&rows), folder.path());
    assert_eq!(error, "cannot write samples.csv, column time_ns: NaN is not a finite number");
    assert!(contents(folder.path()) == before);
}
