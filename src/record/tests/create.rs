//! Beginning a run: folders, names, locks, the environment.

use super::*;
use jiff::civil::date;

#[test]
fn makes_parents_and_refuses_a_second_run() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a/b");
    drop(RunDirectory::create(&path, &environment()).expect("creates"));
    let before = contents(&path);
    assert_eq!(
        message(RunDirectory::create(&path, &environment()), &path),
        "RUN already holds a run (measurements.csv): continue it with --resume, or name another folder with --out"
    );
    assert_eq!(contents(&path), before);
    // A file of the user's own is not written over either.
    let path = folder.path().join("c");
    fs::create_dir(&path).expect("creates");
    fs::write(path.join("samples.csv"), "mine").expect("writes");
    assert!(message(RunDirectory::create(&path, &environment()), &path).starts_with("RUN already holds a run (samples.csv)"));
    assert_eq!(contents(&path).into_iter().collect::<Vec<_>>(), [("samples.csv".to_owned(), b"mine".to_vec())]);
}

#[test]
fn names_the_folder_that_cannot_be_made() {
    let folder = tempfile::tempdir().expect("temporary folder");
    fs::write(folder.path().join("file"), "").expect("writes");
    let error = message(RunDirectory::create(&folder.path().join("file/run"), &environment()), folder.path());
    assert!(error.starts_with("cannot create RUN/file/run: "), "{error}");
}

#[test]
fn one_writer_at_a_time() {
    let (folder, directory) = fresh();
    let expected = "RUN is being written by another run: wait for it to end, or name another folder with --out";
    assert_eq!(message(RunDirectory::resume(folder.path()), folder.path()), expected);
    // Reading is free.
    assert!(Run::read(folder.path()).is_ok());
    drop(directory);
    let resumed = RunDirectory::resume(folder.path()).expect("resumes");
    assert_eq!(message(RunDirectory::create(folder.path(), &environment()), folder.path()), expected);
    drop(resumed);
    assert!(!folder.path().join(".lock").exists());
}

#[test]
fn a_folder_without_a_run() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let expected = "RUN holds no run: it has no measurements.csv";
    assert_eq!(message(Run::read(folder.path()), folder.path()), expected);
    assert_eq!(message(RunDirectory::resume(folder.path()), folder.path()), expected);
    assert!(contents(folder.path()).is_empty());
}

#[test]
fn default_names() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let day = date(2026, 11, 29);
    let name = |device: &str| {
        let path = default_directory(folder.path(), device, day);
        path.file_name().expect("name").to_string_lossy().into_owned()
    };
    assert_eq!(name("NVIDIA GeForce RTX 4090 (AD102)"), "2026-11-29-nvidia-geforce-rtx-4090-ad102");
    assert_eq!(name("../..\\=évil\n"), "2026-11-29-vil");
    assert_eq!(name("层"), "2026-11-29-device");
    assert_eq!(name(&format!("{}{}", "a".repeat(39), "-b".repeat(50))), format!("2026-11-29-{}", "a".repeat(39)));
    for expected in ["2026-11-29-a", "2026-11-29-a-2", "2026-11-29-a-3"] {
        assert_eq!(name("a"), expected);
        fs::create_dir(folder.path().join(expected)).expect("creates");
    }
}

#[test]
fn environment_survives_and_is_strict() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut written = environment();
    written.expense = Some(Expense {
        wall_s: 1.0 / 3.0,
        device_s: 0.1,
        compiler_s: 0.0,
        verification_s: 0.2,
        shortest_sample_ns: None,
        timer_share: None,
    });
    written.notes.insert("peak_resident_bytes".into(), "the driver does not tell".into());
    written.write(folder.path()).expect("writes");
    assert_eq!(Environment::read(folder.path()).expect("reads"), written);
    assert_eq!(contents(folder.path()).len(), 1, "no temporary file stays");

    let path = folder.path().join("environment.json");
    let text = fs::read_to_string(&path).expect("reads");
    let error_of = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).expect("writes");
        message(Environment::read(folder.path()), folder.path())
    };
    assert_eq!(
        error_of("\"schema_version\": 1", "\"schema_version\": 2, \"new\": 3"),
        "RUN/environment.json: schema_version is 2, this version reads 1"
    );
    let unknown = error_of("\"started\":", "\"begun\":");
    assert!(
        unknown.starts_with("RUN/environment.json: unknown field `begun`, expected") && unknown.contains(" at line 6 column "),
        "{unknown}"
    );
    assert!(error_of("\"seed\":", "\"seed\": null, \"seed\":").contains("null"));
}

#[test]
fn environment_tells_host_and_time() {
    let gathered = environment();
    let fresh = Environment::gather(gathered.device, gathered.limits, Vec::new(), gathered.clock, 0, gathered.settings);
    let (time, random) = fresh.run_id.split_once('-').expect("two parts");
    assert_eq!(time, fresh.started.strftime("%Y%m%dT%H%M%SZ").to_string());
    assert!(random.len() == 4 && random.bytes().all(|b| b.is_ascii_hexdigit()), "{random}");
    assert!((jiff::Timestamp::now().as_second() - fresh.started.as_second()).abs() < 60);
    assert_eq!(fresh.started.subsec_nanosecond(), 0);
    assert!(fresh.host_memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
    assert!(fresh.os.is_some_and(|os| !os.is_empty()));
    assert!(!fresh.command_line.is_empty());
    assert!(fresh.git_commit.is_none_or(|commit| commit.trim_end_matches("-dirty").len() == 40));
}
