//! The most a process held while something ran, seen from another thread.

use super::Meter;
use crate::units::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Least time between two looks.
const INTERVAL: Duration = Duration::from_millis(1);
/// A look takes from ten microseconds to some milliseconds, the more the process holds: the pause is this many times as long, so that the
/// looking stays a small part of what is looked at.
const PAUSE: u32 = 9;

/// Polls a meter until it is finished with.
#[derive(Debug)]
pub struct Watch {
    meter: Meter,
    stop: Arc<AtomicBool>,
    /// None where the system gave no thread: the ends are looked at still.
    poller: Option<JoinHandle<Option<Bytes>>>,
    first: Option<Bytes>,
}

impl Watch {
    /// Looks now, and from now on.
    pub fn begin(meter: &Meter) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let first = meter.read();
        // Where nobody answers there is nothing to poll.
        let poller = first.and_then(|_| {
            let (meter, stop) = (meter.clone(), Arc::clone(&stop));
            let poll = move || {
                let mut peak = None;
                while !stop.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    peak = peak.max(meter.read());
                    thread::sleep(INTERVAL.max(start.elapsed() * PAUSE));
                }
                peak
            };
            thread::Builder::new().name("resident".into()).spawn(poll).ok()
        });
        Self { meter: meter.clone(), stop, poller, first }
    }

    /// Looks once more and tells the most that was seen; none where the meter does not answer.
    pub fn finish(mut self) -> Option<Bytes> {
        self.stop.store(true, Ordering::Relaxed);
        let polled = self.poller.take().and_then(|poller| poller.join().ok()).flatten();
        self.first.max(polled).max(self.meter.read())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // One that an error left unfinished: its thread ends by itself.
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_for_a_moment_is_seen() {
        let meter = Meter::of_process();
        let before = meter.read().expect("a figure");
        let watch = Watch::begin(&meter);
        let held = std::hint::black_box(vec![1_u8; 96 << 20]);
        thread::sleep(Duration::from_millis(100));
        drop(held);
        let peak = watch.finish().expect("a figure");
        // Other tests of this process take and give back at the same time.
        assert!(peak.0 > before.0 + (64 << 20), "{before}, at most {peak}");
    }
}
