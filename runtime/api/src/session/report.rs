//! The report at the program's end.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gpurace_options::select::ObjectDescription;
use gpurace_protocol::further_barrier::{self, FurtherBarrier};
use gpurace_protocol::protocol::{SiteId, Sync};
use gpurace_report::barriers::{Level, NewBarrier, Pair, Unordered};
use gpurace_report::collect::Added;
use gpurace_report::plain::MakePlain as _;
use gpurace_report::schema::{self, Report, Run};
use gpurace_report::words::plural;
use gpurace_report::{fix, join, sources};
use parking_lot::MutexGuard;

use super::counts::{KernelCounts, stats};
use super::found::{FoundResolved, find_launch};
use super::{Session, SessionState, collector};
use crate::backend::module::Kernel;
use crate::backend::{Backend, OwnChecker};
use crate::session::resolve::{self, InKernel};

/// Blocks that are run to try a new barrier.
const MOST_BLOCKS_RUN: usize = 4;
/// Launches of one shape in which each of these blocks is run.
const MOST_LAUNCHES_RUN: usize = 8;

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
        let mut last = collector(self.options());
        if let Some(checker) = self.checker.get() {
            // The checker has updated counts and values since the races were written.
            for (found, record) in state.found.iter_mut().zip(checker.races()) {
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
        for note in self.idle_filters(state) {
            last.note(note);
        }
        for (by, count) in &state.suppressed {
            last.note(format!("{count} suppressed by `{by}`"));
        }
        if state.found_as_expected > 0 {
            let races = plural(state.found_as_expected, "race was", "races were");
            last.note(format!("{races} found where the program expects races, and not reported"));
        }
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

    /// Adds the barriers that would order the races of findings. Findings that one fix mends become one.
    pub(super) fn add_fixes(&self, report: &mut Report, state: &SessionState) {
        let found = state.found.iter().flatten().chain(&state.elsewhere);
        let mut of_finding: HashMap<String, Vec<&FoundResolved>> = HashMap::new();
        for found in found.filter(|found| !found.left_out) {
            of_finding.entry(found.cause.fingerprint.clone()).or_default().push(found);
        }
        self.join_with_wider(report, &mut of_finding);
        let mut at = 0;
        while at < report.findings.len() {
            let fingerprint = report.findings[at].fingerprint.clone();
            let finding = &report.findings[at];
            let may_need_barriers =
                fix::may_need_barriers(finding) && !join::keeps_one_value(report, finding);
            let races = of_finding.get(&fingerprint).filter(|_| may_need_barriers);
            let Some(mut fixed) = races.and_then(|races| self.barriers_for(races, None)) else {
                at += 1;
                continue;
            };
            let mut other = 0;
            while other < report.findings.len() {
                let [one, two] = [at, other].map(|at| &report.findings[at]);
                let may_be_one = one.object == two.object || fix::may_need_barriers(two);
                if other == at || one.kernel != two.kernel || !may_be_one {
                    other += 1;
                    continue;
                }
                let races = |finding: &schema::Finding| of_finding.get(&finding.fingerprint).cloned();
                let both = [one, two].map(|finding| races(finding).unwrap_or_default()).concat();
                match self.barriers_for(&both, None) {
                    Some(of_both) if of_both.barriers <= fixed.barriers => {
                        fixed = of_both;
                        join::join_mended(report, other, at);
                        at -= usize::from(other < at);
                        of_finding.insert(fingerprint.clone(), both);
                    }
                    _ => other += 1,
                }
            }
            report.findings[at].fix.advice = Some(fixed.advice);
            report.findings[at].fix.diff = Some(fixed.diff);
            at += 1;
        }
        let traced = |races: &Vec<&FoundResolved>| {
            let sites = races.iter().map(|found| Some(found.in_kernel?.flow_and_pair()));
            sites.collect::<Option<Vec<_>>>()
        };
        let traces =
            of_finding.iter().filter_map(|(fingerprint, races)| Some((&**fingerprint, traced(races)?)));
        join::join(report, &traces.collect());
        join::name_several_writers(report);
        join::share_barriers(report);
    }

    /// Joins what threads of one block lack with what threads of several blocks lack on the same object, if barriers of
    /// the grid would mend both at the places where they mend the latter.
    fn join_with_wider(&self, report: &mut Report, of_finding: &mut HashMap<String, Vec<&FoundResolved>>) {
        let barriers =
            |races: &[&FoundResolved]| Some(self.barriers_for(races, Some(schema::Scope::Block))?.barriers);
        let mut at = 0;
        while at < report.findings.len() {
            let races = |finding: &schema::Finding| of_finding.get(&finding.fingerprint).cloned();
            let wide = &report.findings[at];
            let own = races(wide).filter(|races| {
                fix::may_need_barriers(wide) && races.iter().all(|found| found.widest > schema::Scope::Block)
            });
            let Some((own, needed)) =
                own.and_then(|own| Some((barriers(&own)?, own))).map(|(n, own)| (own, n))
            else {
                at += 1;
                continue;
            };
            let narrow = report.findings.iter().find_map(|narrow| {
                let is_like = narrow.kernel == wide.kernel && narrow.object == wide.object;
                let is_other = narrow.fingerprint != wide.fingerprint && fix::may_need_barriers(narrow);
                let both = [&own[..], &races(narrow).filter(|_| is_like && is_other)?].concat();
                (barriers(&both)? <= needed).then(|| (narrow.fingerprint.clone(), both))
            });
            let Some((narrow, both)) = narrow else {
                at += 1;
                continue;
            };
            of_finding.insert(wide.fingerprint.clone(), both);
            let from = report.findings.iter().position(|finding| finding.fingerprint == narrow);
            if let Some(from) = from {
                join::join_mended(report, from, at);
                at -= usize::from(from < at);
            }
        }
    }

    /// The barriers that would order all these races. With `scope` they are taken for races of that scope, and nothing is
    /// run: barriers of other groups of threads may stand at the same places.
    fn barriers_for(&self, races: &[&FoundResolved], scope: Option<schema::Scope>) -> Option<fix::Barriers> {
        let mut kernels: Vec<(InKernel, Vec<Pair>, Vec<&schema::Race>)> = Vec::new();
        for race in races {
            let in_kernel = race.in_kernel?;
            match kernels.iter_mut().find(|(known, ..)| std::ptr::eq(known.kernel, in_kernel.kernel)) {
                Some((_, pairs, shown)) => {
                    pairs.push(in_kernel.pair);
                    shown.push(&race.race);
                }
                None => kernels.push((in_kernel, vec![in_kernel.pair], vec![&race.race])),
            }
        }
        let file = |kernel: &Kernel| {
            let meta = kernel.module.meta;
            meta.files.get(kernel.meta().frame.as_ref()?.file as usize).map(|file| file.name.clone())
        };
        let name = file(kernels.first()?.0.kernel)?;
        kernels.iter().all(|(known, ..)| file(known.kernel).as_ref() == Some(&name)).then_some(())?;
        let runs: Vec<_> = kernels
            .iter()
            .map(|(known, _, shown)| {
                move |barrier: &NewBarrier, pairs: &[Pair]| {
                    scope.is_none() && self.runs_clean(known.kernel, shown, barrier, pairs)
                }
            })
            .collect();
        let unordered: Vec<_> = kernels
            .iter()
            .zip(&runs)
            .map(|((known, pairs, _), runs)| Unordered {
                flow: known.flow,
                pairs: pairs.clone(),
                runs_clean: runs,
            })
            .collect();
        let widest = scope.or_else(|| races.iter().map(|found| found.widest).max())?;
        fix::barriers(widest, &unordered, &name, self.sources())
    }

    /// True if a further barrier orders races of a kernel in launches of this run. `shown` has a race of each
    /// pair of sites.
    fn runs_clean(&self, kernel: &Kernel, shown: &[&schema::Race], new: &NewBarrier, pairs: &[Pair]) -> bool {
        let prover = self.prover.of_kernel(kernel);
        let Some(protocol) = prover.protocol() else { return false };
        let sync = match new.level {
            Level::Block => Sync::Block,
            Level::Warp => Sync::Warp,
            Level::Grid => return false,
        };
        let precedes = |site: SiteId| new.precedes.contains(&site.0);
        let barrier = FurtherBarrier { sync, precedes: &precedes, loops: new.loops };
        let Some(changed) = further_barrier::insert(protocol, barrier) else { return false };
        let sites: Vec<_> = pairs.iter().map(|pair| pair.map(SiteId)).collect();
        let mut blocks: Vec<_> = shown
            .iter()
            .filter_map(|race| {
                let launch = race.launch.as_ref()?;
                Some((launch.grid, launch.block, race.accesses[0].block?))
            })
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        let mut was_racy = false;
        for (grid, block, index) in blocks.into_iter().take(MOST_BLOCKS_RUN) {
            let of_shape = prover.launches(|launch| (launch.shape.grid, launch.shape.block) == (grid, block));
            for launch in of_shape.into_iter().take(MOST_LAUNCHES_RUN) {
                let races = |protocol| further_barrier::meet(protocol, &launch, index, &sites, sync);
                if races(&changed) != Some(false) {
                    return false;
                }
                // The protocol must show the races before it may show that they are gone.
                was_racy |= races(protocol) == Some(true);
            }
        }
        was_racy
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
