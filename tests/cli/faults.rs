//! What goes wrong in the middle: cases that do not end, workers that are killed, disks that fill up.

use crate::{CONV, Ended, run_in};
use convledger::record::{Run, Status};

#[test]
fn a_case_that_takes_too_long_is_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = [CONV, "--algorithm", "direct", "--algorithm", "im2col:batch", "--timeout", "1ms"];
    let ended = Ended::of(run_in(folder.path(), &args));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let run = Run::read(folder.path()).expect("a run");
    assert_eq!(run.measurements.len(), 2, "the run goes on");
    for row in &run.measurements {
        assert_eq!(row.status, Status::Timeout);
        assert!(row.reason.starts_with("no answer within 0.001 s "), "{}", row.reason);
        assert!(row.computation_bytes.is_some(), "what is predicted is known all the same");
    }
    assert!(ended.stdout.contains("2 cases: 2 timeout\n"), "{}", ended.stdout);
    // Going on does not make good what failed.
    let again = Ended::of(run_in(folder.path(), &[&args[..], &["--resume"]].concat()));
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert!(again.stdout.contains("2 cases: 2 timeout\n"), "{}", again.stdout);
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    use std::{fs, thread};

    /// The worker of a run, by the run's process id.
    fn worker_of(run: u32) -> String {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let children = fs::read_to_string(format!("/proc/{run}/task/{run}/children")).unwrap_or_default();
            if let Some(child) = children.split_whitespace().next() {
                let command = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
                assert!(command.split('\0').any(|word| word == "worker"), "{command:?}");
                return child.to_owned();
            }
            assert!(Instant::now() < deadline, "no worker");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_worker_that_is_killed_costs_its_case_alone() {
        // Its inputs alone take far longer to draw than the test waits.
        const LONG: &str = "n16c64h112w112_k64r3s3_p1";
        let folder = tempfile::tempdir().expect("a folder");
        let device = crate::device();
        let mut run = Command::new(env!("CARGO_BIN_EXE_convledger"))
            .args(["run", LONG, CONV, "--algorithm", "direct", "--time-budget", "1s", "--out"])
            .arg(folder.path())
            .args(device.iter().flat_map(|device| ["--device", device]))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(run.stderr.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
        // The first case begins when the device's limits have been told.
        lines.find(|line| line.starts_with("limits ")).expect("the limits are told");
        thread::sleep(Duration::from_millis(50));
        let killed = Command::new("kill").args(["-9", &worker_of(run.id())]).status().expect("kill starts");
        assert!(killed.success());
        let rest: Vec<String> = lines.collect();
        assert_eq!(run.wait().expect("it ends").code(), Some(1), "{rest:?}");
        let rows = Run::read(folder.path()).expect("a run").measurements;
        assert_eq!((rows[0].case.layer.as_str(), rows[0].status), (LONG, Status::Crashed), "{rest:?}");
        assert!(rows[0].reason.starts_with("the worker ended with signal: 9 (SIGKILL) while "), "{}", rows[0].reason);
        assert_eq!((rows[1].case.layer.as_str(), rows[1].status), (CONV, Status::Ok), "{rest:?}");
        assert_eq!(rest.iter().filter(|line| line.contains("SIGKILL")).count(), 1, "told once: {rest:?}");
    }

    /// A limit on the size of files stands in for a disk that is full: writes fail, when the signal that comes with it is
    /// ignored.
    #[test]
    fn a_disk_that_fills_up_ends_the_run_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().expect("a folder");
        let limited = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
        let run = run_in(folder.path(), &[CONV, "--algorithm", "direct", "--algorithm", "im2col*", "--seed", "3"]);
        let mut command = assert_cmd::Command::new("bash");
        command.args(["-c", limited, "bash"]).arg(run.get_program()).args(run.get_args()).env("MESA_SHADER_CACHE_DISABLE", "true");
        let ended = Ended::of(command);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        let last = ended.stderr.lines().last().expect("a line").replace(&folder.path().display().to_string(), "FOLDER");
        assert_eq!(last, "convledger: cannot write FOLDER/samples.csv: File too large (os error 27)");
        let kept = Run::read(folder.path()).expect("a run").measurements.len();
        assert!(kept < 6, "{kept}");
        // With room again it goes on where it was.
        Ended::good(run_in(
            folder.path(),
            &[CONV, "--algorithm", "direct", "--algorithm", "im2col*", "--time-budget", "200ms", "--resume"],
        ));
        let run = Run::read(folder.path()).expect("a run");
        assert_eq!((run.measurements.len(), run.environment.seed), (6, 3));
        assert!(run.measurements.iter().all(|row| row.status == Status::Ok));
    }
}
