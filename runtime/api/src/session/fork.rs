//! A forked child answers for what it finds itself, not for what its parent found.

use std::mem::take;
use std::sync::atomic::Ordering;

use super::expected::Expectation;
use super::{Session, SessionState, collector};

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
        *state = SessionState {
            launches: take(&mut state.launches),
            largest_grid: state.largest_grid,
            expected: state.expected.iter().map(|_| Expectation::default()).collect(),
            ..SessionState::new(collector(self.options()))
        };
    }
}
