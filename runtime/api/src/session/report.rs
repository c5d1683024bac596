//! The report at the program's end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gpurace_report::collect::Added;
use gpurace_report::schema::{self, Report};
use parking_lot::MutexGuard;

use super::counts::stats;
use super::found::find_launch;
use super::{Session, SessionState, collector};
use crate::backend::{Backend, OwnChecker};

/// The line that closes the last finding.
const RULE: &str = "==================\n";

impl Session {
    /// Locks the state. `None` if a signal interrupted the thread that holds the lock.
    fn state_at_end(&self) -> Option<MutexGuard<'_, SessionState>> {
        self.state.try_lock_for(Duration::from_secs(1))
    }

    /// The whole report. `None` if a signal came while findings were being added.
    pub fn finish(&self) -> Option<Report> {
        let mut state = self.state_at_end()?;
        let state = &mut *state;
        self.write_new_races(state);
        let backend = self.program.backend.if_chosen();
        let own_checker = backend.and_then(|backend| backend.own_checker());
        for (operation, checks) in own_checker.into_iter().flat_map(OwnChecker::take_checks) {
            if let Some(launch) = find_launch(&state.launches, operation) {
                state.counts.entry(launch.kernel.key).or_default().checks += checks;
            }
        }
        let mut last = collector(&self.options);
        if let Some(checker) = self.checker.get() {
            // The checker has updated counts and values since the races were written.
            for (found, record) in state.found.iter_mut().zip(checker.races()) {
                let Some(found) = found else { continue };
                found.race.count = record.count;
                found.race.same_value = record.same_value;
            }
            for note in checker.notes() {
                last.note(note);
            }
        }
        let found = state.found.iter_mut().flatten().chain(&mut state.elsewhere);
        for found in found.filter(|found| !found.left_out) {
            if last.add_race(found.race.clone()) == Added::First && !found.written {
                found.written = true;
                self.log().write(&self.renderer().race(&found.race));
            }
        }
        for note in own_checker.into_iter().flat_map(OwnChecker::notes) {
            last.note(note);
        }
        let not_compared = self.not_compared.load(Ordering::Relaxed);
        if not_compared > 0 {
            last.note(format!(
                "{not_compared} launches or copies may have run beside earlier ones: races between them were not looked for, and races within such launches may be missed; run with `device=cpu`"
            ));
        }
        for divergence in &state.divergence {
            last.add_divergence(divergence.clone());
        }
        for note in self.notes.all()? {
            last.note(note);
        }
        for (by, count) in &state.suppressed {
            last.note(format!("{count} suppressed by `{by}`"));
        }
        let device = backend.map_or(schema::Device::Cpu, Backend::device);
        Some(last.report(device, stats(&self.program.modules, &state.counts)))
    }

    /// The suppressions that left nothing out, for `stats=1`: after a fix, its suppression is
    /// easily forgotten.
    fn unused_suppressions(&self) -> String {
        let Some(state) = self.state_at_end() else {
            return String::new();
        };
        let unused = self.suppressions.unused(&state.suppressed);
        let lines = unused.iter().map(|line| format!("  unused suppression `{line}`\n"));
        lines.collect()
    }

    /// Writes the end of the report's text.
    pub fn write_end(&self, report: &Report) {
        let renderer = self.renderer();
        let mut text = String::new();
        if report.has_findings() {
            text.push_str(RULE);
        }
        text.push_str(&renderer.notes(&report.notes));
        if self.options.stats {
            text.push_str(&renderer.stats(&report.stats));
            text.push_str(&self.unused_suppressions());
        }
        text.push_str(&renderer.summary(report));
        if !text.is_empty() {
            self.log().write(&text);
        }
    }
}
