//! The report at the program's end.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gpurace_check::{Checker, RaceRecord};
use gpurace_options::select::ObjectDescription;
use gpurace_report::collect::{Added, Collector};
use gpurace_report::plain::MakePlain as _;
use gpurace_report::schema::{self, Report, Run};
use gpurace_report::sources;
use gpurace_report::words::plural;
use parking_lot::MutexGuard;

use super::counts::{KernelCounts, stats};
use super::found::{FoundResolved, find_launch};
use super::{Session, SessionState, collector};
use crate::backend::module::Kernel;
use crate::backend::{Backend, OwnChecker};
use crate::session::resolve;

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
        if let Some(own_checker) = backend.and_then(|backend| backend.own_checker()) {
            count_own_checks(state, own_checker);
        }
        let mut last = collector(self.options());
        if let Some(checker) = self.checker.get() {
            update_found(&mut state.found, &checker.races());
        }
        self.add_races(state, &mut last);
        for divergence in &state.divergence {
            last.add_divergence(divergence.clone());
        }
        for fault in &state.faults {
            last.add_fault(fault.clone());
        }
        self.notes_at_end(state)?.into_iter().for_each(|note| last.note(note));
        let device = backend.map_or(schema::Device::Cpu, Backend::device);
        let mut stats = stats(&self.program.modules, &state.counts);
        stats.trials = self.explored.try_lock_for(Duration::from_secs(1))?.counts;
        let mut report = last.report(device, stats);
        report.stats.trials.races = report.races.iter().filter(|race| race.seed.is_some()).count() as u64;
        report.run = Some(self.run());
        if self.options().json.is_some() || self.options().stats || report.has_findings() {
            report.coverage = self.coverage(state);
        }
        self.add_fixes(&mut report, state);
        report.sources = sources::around_positions(&report, self.sources());
        report.make_plain();
        Some(report)
    }

    /// Adds the races that are reported, and writes those that were not written yet.
    fn add_races(&self, state: &mut SessionState, last: &mut Collector) {
        let found = state.found.iter_mut().flatten().chain(&mut state.elsewhere);
        for found in found.filter(|found| !found.left_out) {
            if last.add_race(found.race.clone(), &found.cause) == Added::First && !found.written {
                found.written = true;
                self.log().write(&self.renderer().race(&found.race));
            }
        }
    }

    /// The notes of the report. `None` if a signal came while notes were being added.
    fn notes_at_end(&self, state: &SessionState) -> Option<Vec<String>> {
        let mut notes = self.checker.get().map_or_else(Vec::new, Checker::notes);
        let own_checker = self.program.backend.if_chosen().and_then(|backend| backend.own_checker());
        notes.extend(own_checker.into_iter().flat_map(OwnChecker::notes));
        let not_compared = self.not_compared.load(Ordering::Relaxed);
        if not_compared > 0 {
            notes.push(format!(
                "{not_compared} launches or copies may have run beside earlier ones: races between them were not looked for, and races within such launches may be missed; run with `device=cpu`"
            ));
        }
        notes.extend(self.notes.all()?);
        notes.extend(self.idle_filters(state));
        notes.extend(state.suppressed.iter().map(|(by, count)| format!("{count} suppressed by `{by}`")));
        if state.found_as_expected > 0 {
            let races = plural(state.found_as_expected, "race was", "races were");
            notes.push(format!("{races} found where the program expects races, and not reported"));
        }
        Some(notes)
    }

    /// What options select without effect, and whether nothing was checked.
    fn idle_filters(&self, state: &SessionState) -> Vec<String> {
        let mut notes = Vec::new();
        let kernels: Vec<&Kernel> =
            state.counts.keys().filter_map(|&key| self.program.modules.kernel_of_key(key)).collect();
        let options = [("kernels", &self.options().kernels), ("skip_kernels", &self.options().skip_kernels)];
        for (key, globs) in options {
            for glob in
                globs.iter().flat_map(|globs| globs.idle(kernels.iter().map(|kernel| &*kernel.demangled)))
            {
                notes.push(format!("`{key}={glob}` selects no kernel that was launched"));
            }
        }
        if let Some(objects) = &self.options().objects {
            let variables = self.program.modules.variables();
            let mut known = self.program.allocations.of_each_size();
            let variable =
                |shared, name, size| ObjectDescription { shared, name: Some(name), size, order: None };
            known.extend(variables.iter().map(|known| variable(false, known.name, known.size as u64)));
            for meta in kernels.iter().map(|kernel| kernel.meta()) {
                known.extend(meta.shared.iter().map(|known| variable(true, &known.name, known.size.into())));
                known.extend(meta.dynamic_shared.iter().map(|array| variable(true, &array.name, 0)));
            }
            for choice in objects.idle(&known) {
                notes.push(format!("`objects={choice}` selects no object of this run"));
            }
        }
        if let Some(blocks) = &self.options().blocks
            && blocks.lowest() >= state.largest_grid
        {
            let largest = state.largest_grid;
            notes.push(format!("`blocks` selects no block: the largest launch has {largest}"));
        }
        let sum = |of: fn(&KernelCounts) -> u64| state.counts.values().map(of).sum::<u64>();
        if kernels.iter().any(|kernel| kernel.module.meta.instrumented)
            && sum(|counts| counts.launches) == sum(|counts| counts.unchecked)
        {
            notes.push("nothing was checked: the options leave out every launch".to_owned());
        }
        notes
    }

    /// What the report says of this run.
    fn run(&self) -> Run {
        let path = |path: std::io::Result<PathBuf>| Some(path.ok()?.display().to_string());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Run {
            program: path(std::env::current_exe()),
            arguments: std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect(),
            directory: path(std::env::current_dir()),
            pid: std::process::id(),
            time: now.as_secs(),
            seed: self.options().seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The suppressions that left nothing out, for `stats=1`: after a fix, its suppression is
    /// easily forgotten.
    fn unused_suppressions(&self) -> String {
        let Some(state) = self.state_at_end() else {
            return String::new();
        };
        let unused = self.suppressions.read().unused(&state.suppressed);
        let lines = unused.iter().map(|line| format!("  unused suppression `{line}`\n"));
        lines.collect()
    }

    /// Writes the end of the report's text.
    pub fn write_end(&self, report: &Report) {
        let renderer = self.renderer();
        let mut text = renderer.findings(report, self.options().max_reports);
        text.push_str(&renderer.notes(&report.notes));
        if self.options().stats {
            text.push_str(&renderer.stats(report));
            text.push_str(&self.unused_suppressions());
        }
        text.push_str(&renderer.summary(report));
        if !text.is_empty() {
            self.log().write(&text);
        }
    }
}

/// Counts the checks that a backend's own checker has made since they were last counted.
fn count_own_checks(state: &mut SessionState, own_checker: &dyn OwnChecker) {
    for (operation, checks) in own_checker.take_checks() {
        if let Some(launch) = find_launch(&state.launches, operation) {
            state.counts.entry(launch.kernel.key).or_default().checks += checks;
        }
    }
}

/// Gives found races what the checker has learnt of them since they were written. `records`: the checker's, in the same
/// order.
fn update_found(found: &mut [Option<FoundResolved>], records: &[RaceRecord]) {
    for (found, record) in found.iter_mut().zip(records) {
        let Some(found) = found else { continue };
        found.race.count = record.count;
        found.race.same_value = record.same_value;
        found.widest = resolve::scope(record.widest);
        if let Some(in_kernel) = found.in_kernel
            && found.widest > found.race.scope
        {
            found.cause = resolve::cause_of_wider(&found.race, found.widest, found.facts, in_kernel);
        }
    }
}
