//! What was found since the program last asked: a test framework fails the test in which it was found.

use gpurace_check::Checker;
use gpurace_report::schema::Device;
use gpurace_report::text::TextRenderer;

use super::{Session, collector};
use crate::backend::Backend;

/// How much the program has been told.
#[derive(Default)]
pub(super) struct ToldSoFar {
    /// How often each of the checker's races had been seen.
    counts: Vec<u64>,
    elsewhere: usize,
    divergence: usize,
    faults: usize,
}

impl ToldSoFar {
    /// Forgets all but the first races.
    pub(super) fn forget_races(&mut self, kept: usize, elsewhere: usize) {
        self.counts.truncate(kept);
        self.elsewhere = self.elsewhere.min(elsewhere);
    }
}

impl Session {
    /// The number of findings since the last call, and their text. A race that was seen again since then
    /// counts again: two tests may run one racy kernel.
    pub fn recent_findings(&self) -> (usize, String) {
        // A forked child that has launched nothing has found nothing.
        if !self.is_own_process() {
            return (0, String::new());
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        self.write_new_races(state);
        let mut recent = collector(self.options());
        let told = &mut state.told;
        let mut records = self.checker.get().map(Checker::races).unwrap_or_default();
        // What the program expects is not told.
        let mut elsewhere = state.elsewhere.len();
        if let Some(outermost) = state.expected.first() {
            outermost.leave_out(&mut records);
            elsewhere = outermost.elsewhere;
        }
        told.counts.resize(state.found.len(), 0);
        let mut again = 0;
        for ((found, record), told) in state.found.iter().zip(records).zip(&mut told.counts) {
            let before = std::mem::replace(told, record.count);
            let grown = record.count.saturating_sub(before);
            let Some(found) = found.as_ref().filter(|found| grown > 0 && !found.left_out) else { continue };
            again += u32::from(before > 0);
            let mut race = found.race.clone();
            race.count = grown;
            race.same_value = record.same_value;
            recent.add_race(race, &found.cause);
        }
        if again > 0 {
            recent.note(format!(
                "{again} of these races had been seen before: the text shows their first launch, not the last"
            ));
        }
        for found in state.elsewhere[..elsewhere].iter().skip(told.elsewhere).filter(|found| !found.left_out)
        {
            recent.add_race(found.race.clone(), &found.cause);
        }
        for divergence in state.divergence.iter().skip(told.divergence) {
            recent.add_divergence(divergence.clone());
        }
        for fault in state.faults.iter().skip(told.faults) {
            recent.add_fault(fault.clone());
        }
        told.elsewhere = elsewhere;
        told.divergence = state.divergence.len();
        told.faults = state.faults.len();
        let device = self.program.backend.if_chosen().map_or(Device::Cpu, Backend::device);
        let mut report = recent.report(device, Default::default());
        if !report.has_findings() {
            return (0, String::new());
        }
        self.add_fixes(&mut report, state);
        let renderer = TextRenderer { pid: Some(std::process::id()), color: false, sources: self.sources() };
        (report.findings.len(), renderer.report(&report, false))
    }
}
