//! Races that the program expects, as a test of a racy kernel does: they are counted and left out of the report.
//!
//! Where an expectation ends, the races that were found in it are forgotten. So a race that is found again outside of
//! it is a new one, and is reported. Divergences and faults are never expected.

use gpurace_check::{Checker, RaceRecord};

use super::{Session, SessionState};

/// What had been found when the program began to expect races.
#[derive(Default)]
pub(super) struct Expectation {
    /// How often each of the checker's races had been seen.
    counts: Vec<u64>,
    pub(super) elsewhere: usize,
}

impl Expectation {
    /// Leaves out of the checker's races what was seen since.
    pub(super) fn leave_out(&self, records: &mut Vec<RaceRecord>) {
        records.truncate(self.counts.len());
        for (record, count) in records.iter_mut().zip(&self.counts) {
            record.count = *count;
        }
    }
}

impl SessionState {
    /// True if the options or a suppression leave out one of the checker's races.
    fn is_left_out(&self, index: usize) -> bool {
        self.found.get(index).and_then(Option::as_ref).is_none_or(|found| found.left_out)
    }
}

impl Session {
    /// From now on, the program expects races.
    pub fn begin_expecting(&self) {
        self.enter();
        let mut state = self.state.lock();
        let state = &mut *state;
        self.write_new_races(state);
        let records = self.checker.get().map(Checker::races).unwrap_or_default();
        let counts = records.iter().map(|record| record.count).collect();
        state.expected.push(Expectation { counts, elsewhere: state.elsewhere.len() });
    }

    /// True while the program expects races.
    pub(super) fn expects_races(&self) -> bool {
        !self.state.lock().expected.is_empty()
    }

    /// Ends what [`Session::begin_expecting`] began. Returns the number of different races since then, and forgets
    /// them.
    pub fn end_expecting(&self) -> usize {
        let mut state = self.state.lock();
        let state = &mut *state;
        self.write_new_races(state);
        let Some(Expectation { counts, elsewhere }) = state.expected.pop() else { return 0 };
        let records = self.checker.get().map(Checker::races).unwrap_or_default();
        let seen = records.iter().enumerate().filter(|(index, record)| {
            record.count > counts.get(*index).copied().unwrap_or_default() && !state.is_left_out(*index)
        });
        let seen = seen.count() + state.elsewhere[elsewhere..].iter().filter(|found| !found.left_out).count();
        if let Some(checker) = self.checker.get() {
            checker.restore_races(&counts);
        }
        state.found.truncate(counts.len());
        state.elsewhere.truncate(elsewhere);
        state.told.forget_races(counts.len(), elsewhere);
        state.found_as_expected += seen as u64;
        seen
    }
}
