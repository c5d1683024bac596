//! The end of the program: what still runs is waited for, and what was counted is kept, before the driver ends.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gpurace_abi::device::Counters;
use gpurace_cuda::LeftOut;
use gpurace_cuda::driver::Stream;
use parking_lot::Mutex;

use super::{GPU, OnGpu};
use crate::backend::{Backend, Until};
use crate::{message, session};

/// How long the end of the program waits for kernels, at least.
const LEAST_WAIT: Duration = Duration::from_secs(2);

/// What the end of the program leaves.
pub(super) struct Last {
    /// `None`: a fault has taken the device's memory along.
    counters: Option<Counters>,
    pub(super) checks: Mutex<Vec<(u64, u64)>>,
    uncovered: u64,
    untold: u64,
}

/// Has the end of the program come here.
pub fn prepare() {
    unsafe extern "C" {
        /// As `atexit`, with the exit status.
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    // The driver ends in an exit handler of its own, made when it was opened: this one runs before.
    // SAFETY: the function stays: the library is never unloaded.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}

extern "C" fn at_exit(_: c_int, _: *mut c_void) {
    crate::edge::guard("at_exit", (), || {
        if let Some(gpu) = GPU.get() {
            gpu.drain();
        }
    });
}

impl OnGpu {
    /// Waits for all streams as long as the program has run, and some seconds at least: a kernel may run for ever. Whether nothing runs any more.
    fn comes_to_an_end(&self) -> bool {
        let end = Instant::now() + self.opened.elapsed().max(LEAST_WAIT);
        let mut streams = vec![Stream::DEFAULT, Stream::PER_THREAD];
        streams.extend(self.streams.lock().values());
        let mut pause = Duration::from_micros(10);
        while let Some(stream) = streams.last().copied() {
            match self.call(|| stream.is_over()) {
                Ok(false) if Instant::now() > end => return false,
                Ok(false) => std::thread::sleep(pause),
                // What went wrong the wait behind this finds, too.
                Ok(true) | Err(_) => drop(streams.pop()),
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        true
    }

    /// The program ends: waits for what runs and keeps what it has counted.
    fn drain(&self) {
        // What a kernel did wrong is said by `fail`.
        if self.comes_to_an_end() {
            let _ = self.wait(Until::AllIsOver);
        } else {
            message::note(
                "kernels still run at the end of the program: what they do from now on is not checked",
            );
        }
        let mut gpu = self.gpu.lock();
        let last = Last {
            counters: gpu.counters(),
            checks: Mutex::new(gpu.take_checks()),
            uncovered: gpu.memory.uncovered,
            untold: gpu.untold(),
        };
        drop(gpu);
        session::get().collect();
        let _ = self.last.set(last);
    }

    /// What was counted and left out, in words.
    pub(super) fn counted(&self) -> Vec<String> {
        match self.last.get() {
            Some(Last { counters: Some(counters), uncovered, untold, .. }) => {
                let mut counters = *counters;
                counters.undecided += self.undecided.load(Ordering::Relaxed);
                let replays = self.replays.lock();
                counters.fetches += replays.fetches;
                let left_out = LeftOut {
                    uncovered: *uncovered,
                    untold: *untold,
                    held: replays.left_out,
                    ..*self.left_out.lock()
                };
                let mut notes = gpurace_cuda::notes(&counters, &left_out);
                notes.extend_from_slice(&replays.notes);
                notes
            }
            _ => vec!["what the GPU has counted is lost: what was not checked is not known".to_owned()],
        }
    }
}
