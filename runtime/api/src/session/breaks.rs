//! `halt_on_error=break`: a debugger gets control before an access that races, in the thread that makes it.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gpurace_check::Checker;
use gpurace_cpu::debugger;
use gpurace_options::HaltOnError;
use gpurace_report::text::TextRenderer;
use parking_lot::Mutex;

use super::Session;
use super::finish::own_session;

/// The races at which the program has stopped.
#[derive(Default)]
pub(super) struct Breaks {
    /// Their texts.
    text: Mutex<String>,
    /// Number of races among those of the session that were looked at.
    seen: AtomicUsize,
}

/// Text that a debugger reads.
#[repr(C)]
pub struct DebuggerText {
    start: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

/// The races so far, under a name that a debugger finds.
#[unsafe(no_mangle)]
#[used]
pub static GPURACE_RACES: DebuggerText =
    DebuggerText { start: AtomicPtr::new(std::ptr::null_mut()), bytes: AtomicUsize::new(0) };

/// The program stops here in a debugger. Its callers are the access that races, or the call that found the race.
///
/// # Safety
/// A debugger is attached. It goes on after the first instruction.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn gpurace_race_found() {
    // The function has no lines, so a debugger shows none of this file.
    std::arch::naked_asm!("int3", "ret");
}

/// True if a debugger, or another tracer, is attached to this process.
fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Stops at the new race that a device thread has found. The checker calls this.
fn at_new_race() {
    let Some(session) = own_session().filter(|session| session.stops_in_debugger()) else { return };
    if debugger::in_device_thread() {
        session.stop_at_new_races();
    }
}

impl Session {
    /// True if the program stops in a debugger at each new race.
    pub fn stops_in_debugger(&self) -> bool {
        self.options().halt_on_error == HaltOnError::Break && is_traced()
    }

    /// Before a launch is checked: lets the checker stop at its new races.
    pub(super) fn prepare_stops(&self) {
        if self.stops_in_debugger() {
            debugger::track();
            self.checker().on_new_race(at_new_race);
        }
    }

    /// Writes the new races, and stops if there are any that are not left out. Otherwise goes on.
    pub(super) fn stop_at_new_races(&self) {
        let found = self.checker.get().map_or(0, Checker::race_count);
        if found == self.breaks.seen.load(Ordering::Relaxed) {
            return;
        }
        // The stack of a device thread is small.
        let found = std::thread::scope(|scope| scope.spawn(|| self.tell_debugger()).join());
        if found.unwrap_or_default() {
            // SAFETY: a debugger is attached.
            unsafe { gpurace_race_found() };
        }
    }

    /// Writes the new races, for a debugger too. True if there are any that are not left out.
    fn tell_debugger(&self) -> bool {
        let mut state = self.state.lock();
        self.write_new_races(&mut state);
        let seen = self.breaks.seen.swap(state.found.len(), Ordering::Relaxed);
        let renderer = TextRenderer { color: false, ..self.renderer() };
        let new: String = state
            .found
            .iter()
            .skip(seen)
            .flatten()
            .filter(|found| found.written)
            .map(|found| renderer.race(&found.race))
            .collect();
        if new.is_empty() {
            return false;
        }
        let mut text = self.breaks.text.lock();
        text.push_str(&new);
        GPURACE_RACES.bytes.store(text.len(), Ordering::Relaxed);
        GPURACE_RACES.start.store(text.as_mut_ptr(), Ordering::Relaxed);
        true
    }
}
