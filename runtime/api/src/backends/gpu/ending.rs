//! The end of the program: before the driver ends, the host waits for running kernels and keeps the
//! counts.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gpurace_abi::device::Counters;
use gpurace_cuda::driver::Stream;
use parking_lot::Mutex;

use super::OnGpu;
use crate::backend::{Backend, Until};
use crate::host::{edge, message};

/// Least time for which the end of the program waits for kernels.
const LEAST_WAIT: Duration = Duration::from_secs(2);

/// The counts at the end of the program.
pub(super) struct FinalCounts {
    /// `None` if a fault has ended the context and its memory.
    counters: Option<Counters>,
    pub(super) checks: Mutex<Vec<(u64, u64)>>,
    uncovered: u64,
}

/// Registers the end of the program.
pub fn prepare(gpu: &'static OnGpu) {
    // The driver ends in an exit handler, which it has registered before. So this one runs earlier.
    edge::at_exit(at_exit, gpu);
}

extern "C" fn at_exit(_: c_int, gpu: *mut c_void) {
    // SAFETY: `prepare` has passed it, and it is never freed.
    let gpu = unsafe { &*gpu.cast::<OnGpu>() };
    edge::guard("at_exit", (), || gpu.drain());
}

impl OnGpu {
    /// Waits for all streams for as long as the program has run, and at least some seconds: a
    /// kernel may run for ever. True if nothing runs any more.
    fn comes_to_an_end(&self) -> bool {
        let end = Instant::now() + self.opened.elapsed().max(LEAST_WAIT);
        let mut streams = vec![Stream::DEFAULT, Stream::PER_THREAD];
        streams.extend(self.streams.lock().values());
        let mut pause = Duration::from_micros(10);
        while let Some(stream) = streams.last().copied() {
            match self.call(|| stream.is_over()) {
                Ok(false) if Instant::now() > end => return false,
                Ok(false) => std::thread::sleep(pause),
                // The wait after this returns the same error.
                Ok(true) | Err(_) => drop(streams.pop()),
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        true
    }

    /// Waits for running kernels and keeps the counts.
    fn drain(&self) {
        // `fail` prints the fault of a kernel.
        if self.comes_to_an_end() {
            let _ = self.wait(Until::AllIsOver);
        } else {
            message::note(
                "kernels still run at the end of the program: what they do from now on is not checked",
            );
        }
        let mut gpu = self.gpu.lock();
        let last = FinalCounts {
            counters: gpu.counters(),
            checks: Mutex::new(gpu.take_checks()),
            uncovered: gpu.memory.uncovered,
        };
        drop(gpu);
        self.session.collect();
        let _ = self.last.set(last);
    }

    /// The notes of what was not checked.
    pub(super) fn counted(&self) -> Vec<String> {
        match self.last.get() {
            Some(FinalCounts { counters: Some(counters), uncovered, .. }) => {
                let unseen = self.unseen.load(Ordering::Relaxed);
                gpurace_cuda::notes(counters, *uncovered, unseen)
            }
            _ => vec!["what the GPU has counted is lost: what was not checked is not known".to_owned()],
        }
    }
}
