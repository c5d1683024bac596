//! A forked child answers for what it finds itself, not for what its parent found.

use std::sync::atomic::Ordering;

use super::{Session, collector};

impl Session {
    /// Makes the session this process's own, before an operation. In a forked child it forgets the
    /// parent's findings. The accesses stay: what the parent did is before all that the child does.
    pub(super) fn enter(&self) {
        let own = std::process::id();
        if self.pid.swap(own, Ordering::Relaxed) == own {
            return;
        }
        self.disown_reserves();
        if let Some(checker) = self.checker.get() {
            checker.forget_races();
        }
        self.notes.clear();
        self.not_compared.store(0, Ordering::Relaxed);
        self.is_complete.store(false, Ordering::Relaxed);
        self.explored.lock().counts = Default::default();
        let mut state = self.state.lock();
        state.counts.clear();
        state.found.clear();
        state.elsewhere.clear();
        state.divergence.clear();
        state.faults.clear();
        state.suppressed.clear();
        state.told = Default::default();
        state.expected.iter_mut().for_each(|expected| *expected = Default::default());
        state.found_as_expected = 0;
        state.live = collector(self.options());
    }
}
