//! The report at the program's end.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gpurace_report::barriers::Unordered;
use gpurace_report::collect::Added;
use gpurace_report::schema::{self, Report, Run};
use gpurace_report::{fix, sources};
use parking_lot::MutexGuard;

use super::counts::stats;
use super::found::{FoundResolved, find_launch};
use super::{Session, SessionState, collector};
use crate::backend::module::Kernel;
use crate::backend::{Backend, OwnChecker};
use crate::session::resolve::{self, InKernel};

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
                found.widest = resolve::scope(record.widest);
            }
            for note in checker.notes() {
                last.note(note);
            }
        }
        let found = state.found.iter_mut().flatten().chain(&mut state.elsewhere);
        for found in found.filter(|found| !found.left_out) {
            if last.add_race(found.race.clone(), &found.cause) == Added::First && !found.written {
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
        for fault in &state.faults {
            last.add_fault(fault.clone());
        }
        for note in self.notes.all()? {
            last.note(note);
        }
        for (by, count) in &state.suppressed {
            last.note(format!("{count} suppressed by `{by}`"));
        }
        let device = backend.map_or(schema::Device::Cpu, Backend::device);
        let mut stats = stats(&self.program.modules, &state.counts);
        stats.trials = self.explored.try_lock_for(Duration::from_secs(1))?.counts;
        let mut report = last.report(device, stats);
        report.stats.trials.races = report.races.iter().filter(|race| race.seed.is_some()).count() as u64;
        report.run = Some(self.run());
        self.add_fixes(&mut report, state);
        report.sources = sources::around_findings(&report, self.sources());
        Some(report)
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
            seed: self.options.seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Adds the barriers that would order the races of findings.
    fn add_fixes(&self, report: &mut Report, state: &SessionState) {
        let found = state.found.iter().flatten().chain(&state.elsewhere);
        let mut of_finding: HashMap<&str, Vec<&FoundResolved>> = HashMap::new();
        for found in found.filter(|found| !found.left_out) {
            of_finding.entry(&found.cause.fingerprint).or_default().push(found);
        }
        for finding in report.findings.iter_mut().filter(|finding| fix::may_need_barriers(finding)) {
            let Some(races) = of_finding.get(&*finding.fingerprint) else { continue };
            if let Some(diff) = self.barriers_for(races) {
                finding.fix.advice = Some(diff.advice);
                finding.fix.diff = Some(diff.diff);
            }
        }
    }

    /// The barriers that would order all these races.
    fn barriers_for(&self, races: &[&FoundResolved]) -> Option<fix::Barriers> {
        let mut kernels: Vec<(&'static Kernel, Unordered<'static>)> = Vec::new();
        for race in races {
            let InKernel { kernel, flow, pair } = race.in_kernel?;
            match kernels.iter_mut().find(|(known, _)| std::ptr::eq(*known, kernel)) {
                Some((_, unordered)) => unordered.pairs.push(pair),
                None => kernels.push((kernel, Unordered { flow, pairs: vec![pair] })),
            }
        }
        let (first, _) = kernels.first()?;
        let file = |kernel: &Kernel| {
            let meta = kernel.module.meta;
            meta.files.get(kernel.meta().frame.as_ref()?.file as usize).map(|file| file.name.clone())
        };
        let name = file(first)?;
        kernels.iter().all(|(kernel, _)| file(kernel).as_ref() == Some(&name)).then_some(())?;
        let unordered: Vec<_> = kernels.into_iter().map(|(_, unordered)| unordered).collect();
        let widest = races.iter().map(|found| found.widest).max()?;
        fix::barriers(widest, &unordered, &name, self.sources())
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
        let mut text = renderer.findings(report, self.options.max_reports);
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
