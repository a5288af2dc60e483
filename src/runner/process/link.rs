//! A child process as a stream of replies, and what it prints besides.

use super::{Cause, Death};
use crate::runner::protocol::{Order, Phase, Reply};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a worker may take to end by itself: a device takes a moment to tear down, a core dump to write.
const LEAVING: Duration = Duration::from_secs(5);
/// How long a killed process may take to disappear. One that waits for its GPU inside the kernel may take for ever.
const DYING: Duration = Duration::from_secs(5);
/// How often the end of a process is looked for.
const POLL: Duration = Duration::from_millis(2);
/// How long to wait, after the end of a process, for what it printed last.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// A reply holds every sample of a case and is still far from this.
const LONGEST_REPLY: u64 = 256 << 20;
/// A longer line of noise is cut into several.
const LONGEST_NOISE: u64 = 1 << 10;
/// Lines of noise that are kept.
const TAIL_LINES: usize = 20;
/// Characters of such a line that are kept.
const TAIL_CHARS: usize = 300;

/// A child process and the threads that read what it prints.
#[derive(Debug)]
pub(super) struct Link {
    /// None once it is reaped.
    child: Option<Child>,
    stdin: Option<ChildStdin>,
    replies: Receiver<serde_json::Result<Reply>>,
    /// What it printed to standard output last, apart from replies.
    noise: Tail,
    /// What it printed to standard error last.
    complaints: Tail,
    /// Disconnected when its standard error is read to the end.
    stderr_open: Receiver<()>,
}

impl Link {
    pub(super) fn open(mut command: Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let (noise, complaints) = (Tail::default(), Tail::default());
        let (sender, replies) = mpsc::channel();
        let (open, stderr_open) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            let noise = noise.clone();
            thread::spawn(move || listen(stdout, &noise, &sender));
        }
        if let Some(stderr) = child.stderr.take() {
            let complaints = complaints.clone();
            thread::spawn(move || {
                let _open: Sender<()> = open;
                each_line(stderr, LONGEST_NOISE, |line| complaints.push(line));
            });
        }
        Ok(Self { child: Some(child), stdin, replies, noise, complaints, stderr_open })
    }

    pub(super) fn is_running(&mut self) -> bool {
        let running = self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
        if !running {
            self.child = None;
        }
        running
    }

    /// Sends an order and forgets what was printed before it.
    pub(super) fn send(&mut self, order: &Order) -> Result<(), Cause> {
        self.noise.clear();
        self.complaints.clear();
        let sent = serde_json::to_string(order).map_err(io::Error::from).and_then(|json| match &mut self.stdin {
            Some(stdin) => stdin.write_all(format!("{json}\n").as_bytes()).and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        });
        // A pipe breaks because the process at its other end has ended: that is what there is to tell.
        sent.map_err(|_| Cause::Exited(self.end(LEAVING)))
    }

    /// The next reply, `timeout` after `started` at the latest; on an error the process has ended.
    pub(super) fn receive(&mut self, timeout: Duration, started: Instant) -> Result<Reply, Cause> {
        let cause = match self.replies.recv_timeout(timeout.saturating_sub(started.elapsed())) {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => Cause::Protocol(error.to_string()),
            Err(RecvTimeoutError::Timeout) => Cause::TimedOut(timeout),
            Err(RecvTimeoutError::Disconnected) => return Err(Cause::Exited(self.end(LEAVING))),
        };
        self.end(Duration::ZERO);
        Err(cause)
    }

    /// Lets the process end by itself, for a while.
    pub(super) fn leave(&mut self) {
        self.end(LEAVING);
    }

    /// Ends the process, if it has not, and says how it died.
    pub(super) fn death(&mut self, cause: Cause, phase: Option<Phase>) -> Death {
        let grace = if matches!(cause, Cause::Panicked(_)) { LEAVING } else { Duration::ZERO };
        self.end(grace);
        Death { cause, phase, last_words: [self.noise.lines(), self.complaints.lines()].concat() }
    }

    /// Ends the input, waits `grace` for the process to end, then kills it. Returns how it ended.
    fn end(&mut self, grace: Duration) -> String {
        self.stdin = None;
        let Some(mut child) = self.child.take() else { return "an unknown status".to_owned() };
        let mut status = wait(&mut child, grace);
        if status.is_none() {
            // An error means that it has ended in the meantime.
            let _ = child.kill();
            status = wait(&mut child, DYING);
        }
        let Some(status) = status else {
            // Reaped whenever the kernel lets go of it, so that it does not stay a zombie.
            thread::spawn(move || child.wait());
            return "a kill it does not obey".to_owned();
        };
        // Not for ever: a process that the worker started may hold the pipe open.
        let _ = self.stderr_open.recv_timeout(LAST_WORDS);
        status
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end(LEAVING);
    }
}

/// How a child ended, or none if it is still there after `patience`.
fn wait(child: &mut Child, patience: Duration) -> Option<String> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.to_string()),
            Ok(None) if started.elapsed() < patience => thread::sleep(POLL),
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// Passes on replies and keeps the rest, to the end of the pipe even if nobody listens: a full pipe would block the worker.
fn listen(stdout: impl Read, noise: &Tail, replies: &Sender<serde_json::Result<Reply>>) {
    each_line(stdout, LONGEST_REPLY, |line| match Reply::read(line) {
        Some(reply) => drop(replies.send(reply)),
        None => noise.push(line),
    });
}

/// Calls `take` for each line that is not blank; a line longer than `longest` bytes comes in pieces.
fn each_line(source: impl Read, longest: u64, mut take: impl FnMut(&str)) {
    let mut source = BufReader::new(source);
    let mut line = Vec::new();
    loop {
        line.clear();
        match source.by_ref().take(longest).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    take(text.trim_end());
                }
            }
        }
    }
}

/// The last lines that a process printed.
#[derive(Debug, Clone, Default)]
struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    fn push(&self, line: &str) {
        let mut lines = self.lock();
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().filter(|c| !c.is_control()).take(TAIL_CHARS).collect());
    }

    fn clear(&self) {
        self.lock().clear();
    }

    fn lines(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_kept_bounded() {
        let tail = Tail::default();
        let mut lines: Vec<_> = (0..100).map(|i| format!("line {i}\x1b[0m\r\n")).collect();
        lines.push("x".repeat(5000));
        let text = lines.join("\n");
        each_line(text.as_bytes(), LONGEST_NOISE, |line| tail.push(line));
        let lines = tail.lines();
        assert_eq!(lines.len(), TAIL_LINES);
        assert_eq!(lines[0], "line 85[0m");
        assert_eq!(lines[TAIL_LINES - 1].len(), TAIL_CHARS);
    }

    #[test]
    fn noise_need_not_be_text() {
        let mut lines = Vec::new();
        each_line(&b"\xff\xfe\nfine"[..], LONGEST_NOISE, |line| lines.push(line.to_owned()));
        assert_eq!(lines, ["\u{fffd}\u{fffd}", "fine"]);
    }
}
