//! Which accesses of a launch need no check.
//!
//! The proofs of a kernel travel with its code, with conditions that are tested against the launch.
//! If accesses remain unproved, the solver is asked about the launch with its own values.
//!
//! | module | what it knows |
//! |---|---|
//! | [`decision`] | what is decided about the sites of a launch |
//! | [`alike`] | launches that make the same accesses as one that was checked |
//! | [`configuration`] | a launch as the prover sees it, the same in every run of the program |
//! | [`cache`] | answers that are kept on disk between runs |
//! | [`of_kernel`] | what is known of a kernel |
//! | [`known`] | the launches of a kernel that a decision is known of |
//! | [`general`] | proofs for all launches of a kernel that have some values in common |
//! | [`contents`] | what is known of the values that a launch loads |
//! | [`reach`] | which memory a launch touches, for launches that others may overlap |
//! | [`solver`] | the solver's library |
//!
//! A decision depends on the launch's values alone, never on time: the solver's limits are counted
//! in its own units, and the number of configurations that are solved for a kernel is limited too.
//!
//! ```text
//!  build    pass: protocol of a kernel ──► solver: a verdict for each access
//!  program  container = host image + description + protocols and verdicts
//!  launch   conditions hold, and all accesses are proved ──► bare
//!           else: solve with the values that this launch and the one solved before have in common,
//!                 and test the conditions of these proofs at later launches that have them too
//!           else: solve with the launch's values         ──► bare, or checked without proved sites
//!           else: look at the indices that the launch loads, and solve with what is known of them
//!           else: compare it with the launches that were checked without a finding
//!                                                        ──► bare, if it is alike one of them
//!
//!           a launch that loads words of memory (`p->width`, `p->data`) and does not change them:
//!           the same, with these words as arguments
//! ```
//!
//! A program whose kernels are proved by their conditions never loads the solver. If the library is
//! missing, accesses that the conditions leave unproved are checked.

pub mod alike;
pub mod cache;
pub mod configuration;
pub mod contents;
pub mod decision;
pub mod general;
pub mod known;
pub mod of_kernel;
pub mod reach;
pub mod solver;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_options::{CacheDir, Options};
use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::loaded;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::run::{Open, Run, Thread, ThreadWork};
use gpurace_protocol::verdict::{Verdict, Verdicts};
use gpurace_protocol::wire::{self, KernelProofs};
use parking_lot::RwLock;

use crate::backend::module::{Kernel, KernelLaunch};
use crate::host::notes::Notes;
use crate::program::Program;
use crate::prove::cache::{Cache, Key, LaunchAnswer};
use crate::prove::configuration::Configuration;
use crate::prove::contents::Looks;
use crate::prove::decision::Proofs;
use crate::prove::general::{General, LEAST_BUDGET};
use crate::prove::known::{KnownLaunches, MOST_REMEMBERED, View};
use crate::prove::of_kernel::WithWords;
use crate::prove::reach::{Footprint, Reach};
use crate::prove::solver::LaunchSolver;

pub use crate::prove::alike::Fingerprint;
pub use crate::prove::decision::{Decision, SiteFate};
pub use crate::prove::of_kernel::KernelProver;

/// The most statements of a thread that are counted: about a millisecond.
const MOST_STATEMENTS: u64 = 1 << 14;

/// Decides which accesses of launches need no check.
pub struct Prover {
    /// The solver's budget for a launch, from the options.
    budget: Duration,
    cache: Option<Cache>,
    solver: LaunchSolver,
    /// By the key of the kernel.
    kernels: RwLock<Vec<Arc<KernelProver>>>,
    notes: Arc<Notes>,
}

impl Prover {
    /// A prover with the budget and the cache that the options ask for. It adds failures to
    /// `notes`.
    pub fn new(options: &Options, notes: Arc<Notes>) -> Self {
        let cache = match &options.cache_dir {
            CacheDir::Nowhere => None,
            CacheDir::Directory(folder) => Some(Cache::at(folder)),
            CacheDir::User => cache::user_cache().map(|folder| Cache::at(&folder.join("gpurace"))),
        };
        let solver = LaunchSolver::default();
        Self { budget: options.solve_budget, cache, solver, kernels: RwLock::default(), notes }
    }

    /// The solver's threads, which are idle between questions.
    pub fn solver_threads(&self) -> usize {
        self.solver.threads()
    }

    /// What is known of a kernel.
    pub fn of_kernel(&self, kernel: &Kernel) -> Arc<KernelProver> {
        let at = kernel.key as usize;
        if let Some(known) = self.kernels.read().get(at) {
            return known.clone();
        }
        let mut kernels = self.kernels.write();
        while kernels.len() <= at {
            kernels.push(Arc::default());
        }
        kernels[at].clone()
    }

    /// True if a launch may touch host-visible memory, as far as its kernel's protocol says.
    pub fn may_be_met_by_host(&self, program: &Program, launch: &KernelLaunch<'_>) -> bool {
        let prover = self.of_kernel(launch.kernel);
        // Without a protocol all of it is checked, whatever memory it is in.
        let Some(view) = prover.view.get_or_init(|| self.read(launch.kernel)) else { return false };
        let protocol = &view.proofs.of_kernel.protocol;
        match self.words(program, launch, &prover, protocol) {
            Some((words, in_place)) => configuration::may_be_met_by_host(program, &words.protocol, &in_place),
            None => {
                let in_place = configuration::in_place(program, launch, protocol);
                configuration::may_be_met_by_host(program, protocol, &in_place)
            }
        }
    }

    /// Decides about a launch as if no other operation overlapped it. `checks` is the number of checks in the kernel's
    /// launches so far.
    pub fn decide(&self, program: &Program, launch: &KernelLaunch<'_>, checks: u64) -> Arc<Decision> {
        self.decide_with(program, launch, checks, || Err(None)).0
    }

    /// Decides about a launch that no other operation overlaps and that has not begun, as [`Self::decide`] does. An
    /// equal launch that was checked decides as well. Otherwise the launch's fingerprint is returned too, if it was taken.
    pub fn decide_alone(
        &self,
        program: &Program,
        launch: &KernelLaunch<'_>,
        checks: u64,
    ) -> (Arc<Decision>, Option<Fingerprint>) {
        let on_host = program.backend.get().own_checker().is_none();
        let clean = &self.of_kernel(launch.kernel).clean;
        self.decide_with(program, launch, checks, || match on_host {
            true => clean.find(program, launch, checks),
            false => Err(None),
        })
    }

    fn decide_with(
        &self,
        program: &Program,
        launch: &KernelLaunch<'_>,
        checks: u64,
        checked_before: impl FnOnce() -> Result<Arc<Decision>, Option<Fingerprint>>,
    ) -> (Arc<Decision>, Option<Fingerprint>) {
        let kernel = launch.kernel;
        let prover = self.of_kernel(kernel);
        let Some(view) = prover.view.get_or_init(|| self.read(kernel)) else {
            return checked_before()
                .map_or_else(|it| (Arc::new(Decision::unproved(kernel)), it), |it| (it, None));
        };
        let protocol = &view.proofs.of_kernel.protocol;
        let configuration = configuration::of(program, launch, protocol);
        let asks = kernel.module.solves_at_launch() && !self.budget.is_zero();
        let looks = asks && program.backend.get().own_checker().is_none();
        let words = OnceCell::new();
        let words = || words.get_or_init(|| self.words(program, launch, &prover, protocol)).as_ref();
        // The lock is held while solving: another thread with the same launch waits for the answer.
        let mut known = view.known.lock();
        let decision = known.remembered(&configuration.launch).unwrap_or_else(|| {
            let mut decision = view.proofs.decide(kernel, &configuration.launch);
            if !decision.is_bare() && asks && words().is_none() {
                let launch = (&view.proofs.of_kernel, &configuration);
                self.decide_beyond_conditions(&mut decision, &mut known, kernel, launch, checks);
            }
            if !decision.is_bare() && kernel.meta().sync.uses_atomics {
                decision.work = work(protocol, &configuration.launch, 0);
            }
            known.remember(&configuration.launch, decision)
        });
        if decision.is_bare() {
            return (decision, None);
        }
        let fingerprint = match checked_before() {
            Ok(decision) => return (decision, None),
            Err(fingerprint) => fingerprint,
        };
        let decision = match words() {
            _ if !looks => decision,
            Some((words, in_place)) => {
                drop(known);
                self.decide_with_words(decision, words, kernel, in_place, checks)
            }
            None => {
                let in_place = || configuration::in_place(program, launch, protocol);
                let launch = (&view.proofs, configuration, in_place);
                self.decide_with_contents(decision, &mut known, kernel, launch, checks)
            }
        };
        if decision.is_bare()
            && let Some(fingerprint) = fingerprint
        {
            prover.clean.add(fingerprint, &decision);
        }
        (decision, fingerprint)
    }

    /// The kernel for launches that do not change the words of memory that they load, and the launch with these words.
    /// `None` if the kernel loads no such words, if the launch changes them, or if it is not worth the effort.
    fn words<'p>(
        &self,
        program: &Program,
        launch: &KernelLaunch<'_>,
        prover: &'p KernelProver,
        protocol: &Protocol,
    ) -> Option<(&'p WithWords, ProverLaunch)> {
        // A GPU has memory of its own.
        let asks = launch.kernel.module.solves_at_launch() && !self.budget.is_zero();
        (asks && program.backend.get().own_checker().is_none()).then_some(())?;
        let words = prover.with_words.get_or_init(|| {
            let protocol = loaded::as_arguments(protocol)?;
            let (view, reaches, unchanged, use_so_far) = Default::default();
            Some(WithWords { protocol, view, reaches, unchanged, use_so_far })
        });
        let words = words.as_ref().filter(|words| words.use_so_far.lock().is_worth_it())?;
        let in_place = configuration::with_words(program, launch, &words.protocol)?;
        let configuration = configuration::moved(in_place.clone(), &words.protocol);
        let mut unchanged = words.unchanged.lock();
        if unchanged.len() == MOST_REMEMBERED {
            unchanged.clear();
        }
        let is_unchanged = unchanged
            .entry(configuration.launch)
            .or_insert_with_key(|launch| loaded::is_unchanged(&words.protocol, launch));
        is_unchanged.then_some((words, in_place))
    }

    /// Adds the sites that are proved with the words of memory that a launch loads.
    fn decide_with_words(
        &self,
        decision: Arc<Decision>,
        words: &WithWords,
        kernel: &Kernel,
        in_place: &ProverLaunch,
        checks: u64,
    ) -> Arc<Decision> {
        let view = words.view.get_or_init(|| {
            let (proofs, cost) = self.ask_for_all(words.protocol.clone(), LEAST_BUDGET.min(self.budget));
            let unproved =
                || KernelProofs { protocol: words.protocol.clone(), verdicts: Verdicts::default() }.into();
            let view = View::from(proofs.unwrap_or_else(unproved));
            view.known.lock().spent = cost;
            view
        });
        let configuration = configuration::moved(in_place.clone(), &words.protocol);
        let mut known = view.known.lock();
        let more = known.remembered(&configuration.launch).unwrap_or_else(|| {
            let mut more = Decision::clone(&decision);
            more.add_at_launch(kernel, &view.proofs.decide(kernel, &configuration.launch));
            let launch = (&view.proofs.of_kernel, &configuration);
            self.decide_beyond_conditions(&mut more, &mut known, kernel, launch, checks);
            known.remember(&configuration.launch, more)
        });
        let more = if more.is_bare() {
            more
        } else {
            let launch = (&view.proofs, configuration, || in_place.clone());
            self.decide_with_contents(more, &mut known, kernel, launch, checks)
        };
        words.use_so_far.lock().note(more != decision);
        more
    }

    /// Adds the sites that what is known of loaded values shows. `in_place` returns the launch with its addresses.
    fn decide_with_contents(
        &self,
        decision: Arc<Decision>,
        known: &mut KnownLaunches,
        kernel: &Kernel,
        (proofs, mut configuration, in_place): (&Proofs, Configuration, impl FnOnce() -> ProverLaunch),
        checks: u64,
    ) -> Arc<Decision> {
        let KernelProofs { protocol, verdicts } = &proofs.of_kernel;
        let looks = known.looks.get_or_insert_with(|| {
            let proved = verdicts.sites.iter().filter(|site| site.verdict == Verdict::Proved);
            let proved: BTreeSet<_> = proved.map(|site| site.site).collect();
            Looks::new(protocol, |site| !proved.contains(&site))
        });
        if !looks.are_worth_it() {
            return decision;
        }
        // SAFETY: the launch's allocations are in use. This backend's memory is the process's.
        configuration.launch.contents = unsafe { looks.look(protocol, in_place()) };
        let more = if configuration.launch.contents.is_empty() {
            decision.clone()
        } else if let Some(remembered) = known.remembered(&configuration.launch) {
            remembered
        } else {
            let mut more = Decision::clone(&decision);
            // Bounds of loaded values may meet conditions.
            more.add_at_launch(kernel, &proofs.decide(kernel, &configuration.launch));
            if !more.is_bare() && known.solves_more(checks) {
                known.spent += self.solve(&mut more, kernel, &proofs.of_kernel, &configuration);
                known.solved += 1;
                known.fruitful += usize::from(more != *decision);
            }
            known.remember(&configuration.launch, more)
        };
        if let Some(looks) = &mut known.looks {
            looks.have_helped(more != decision);
        }
        more
    }

    /// Adds the sites that proofs for similar launches or for this one show, as far as the budget allows.
    fn decide_beyond_conditions(
        &self,
        decision: &mut Decision,
        known: &mut KnownLaunches,
        kernel: &Kernel,
        (proofs, configuration): (&KernelProofs, &Configuration),
        checks: u64,
    ) {
        let launch = &configuration.launch;
        for general in known.general.of(launch) {
            if decision.is_bare() {
                return;
            }
            decision.add_at_launch(kernel, &general.proofs.decide(kernel, launch));
        }
        if decision.is_bare() || !known.solves_more(checks) {
            return;
        }
        let before = decision.clone();
        if let Some((common, budget)) = known.general.next(&proofs.protocol, launch) {
            let protocol = common.protocol(&proofs.protocol);
            let (proofs, cost) = self.ask_for_all(protocol, budget.min(self.budget));
            let general = proofs.map(|proofs| General { common, proofs });
            known.spent += cost;
            if let Some(general) = &general {
                decision.add_at_launch(kernel, &general.proofs.decide(kernel, launch));
            }
            known.general.add(general.filter(|_| *decision != before));
        }
        if !decision.is_bare() {
            let cost = self.solve(decision, kernel, proofs, configuration);
            known.spent += cost;
            known.general.solved(launch, cost);
        }
        known.solved += 1;
        known.fruitful += usize::from(*decision != before);
    }

    /// The memory that a launch may touch, and its accesses if they follow from its protocol alone.
    pub fn reach(&self, program: &Program, launch: &KernelLaunch<'_>) -> Reach {
        let kernel = launch.kernel;
        let prover = self.of_kernel(kernel);
        let Some(view) = prover.view.get_or_init(|| self.read(kernel)) else {
            return Reach { footprint: Footprint::ANYTHING, repeat: None, accesses: 0 };
        };
        let protocol = &view.proofs.of_kernel.protocol;
        match self.words(program, launch, &prover, protocol) {
            Some((words, in_place)) => words.reaches.of(kernel, &words.protocol, in_place),
            None => {
                let in_place = configuration::in_place(program, launch, protocol);
                prover.reaches.of(kernel, protocol, in_place)
            }
        }
    }

    /// The proofs of a kernel. `None` if it has none, or if they cannot be read.
    fn read(&self, kernel: &Kernel) -> Option<View> {
        let bytes = kernel.module.proofs_of(kernel.name.to_str().ok()?)?;
        match wire::kernel_proofs(bytes) {
            Ok(proofs) => Some(Proofs::from(proofs).into()),
            Err(error) => {
                let name = &kernel.demangled;
                self.notes.add(format!("proofs of `{name}` not used, all of it is checked: {error}"));
                None
            }
        }
    }

    /// Adds the sites that can be proved for this launch alone. Returns what the solver's answer cost, now or when it
    /// was found.
    fn solve(
        &self,
        decision: &mut Decision,
        kernel: &Kernel,
        proofs: &KernelProofs,
        Configuration { launch, portable }: &Configuration,
    ) -> Duration {
        let place = self.kept(&proofs.protocol, Some(launch), self.budget).filter(|_| *portable);
        let kept = place.and_then(|(cache, key)| LaunchAnswer::from_bytes(&cache.get(&key)?));
        let answer = match kept {
            Some(kept) => kept,
            None => {
                let answer = self.solver.ask(&proofs.protocol, Some(launch), self.budget, &self.notes);
                let Some(answer) = answer else { return Duration::ZERO };
                let cost_ms = answer.cost_ms;
                let found = KernelProofs { protocol: proofs.protocol.clone(), verdicts: answer.verdicts };
                let found = Proofs::from(found).decide(kernel, launch);
                let sites = kernel.meta().sites.iter().zip(&found.fates);
                let proved = sites.filter(|(_, fate)| **fate != SiteFate::Checked).map(|(site, _)| *site);
                let answer = LaunchAnswer { cost_ms, proved: proved.collect() };
                if let Some((cache, key)) = place {
                    cache.put(&key, &answer.to_bytes());
                }
                answer
            }
        };
        for site in answer.proved {
            decision.add(kernel, site, SiteFate::ProvedAtLaunch);
        }
        Duration::from_millis(answer.cost_ms)
    }

    /// Proofs for all launches that a protocol describes, and what the solver's answer cost, now or when it was found.
    fn ask_for_all(&self, protocol: Protocol, budget: Duration) -> (Option<Proofs>, Duration) {
        let place = self.kept(&protocol, None, budget);
        let kept = place.and_then(|(cache, key)| wire::answer(&cache.get(&key)?, &protocol).ok());
        let answer = kept.or_else(|| {
            let answer = self.solver.ask(&protocol, None, budget, &self.notes)?;
            if let Some((cache, key)) = place {
                cache.put(&key, &wire::to_bytes(&answer));
            }
            Some(answer)
        });
        let Some(answer) = answer else { return (None, Duration::ZERO) };
        let proofs = KernelProofs { protocol, verdicts: answer.verdicts };
        (Some(proofs.into()), Duration::from_millis(answer.cost_ms))
    }

    /// Where the cache keeps an answer.
    fn kept(
        &self,
        protocol: &Protocol,
        launch: Option<&ProverLaunch>,
        budget: Duration,
    ) -> Option<(&Cache, Key)> {
        let cache = self.cache.as_ref().filter(|_| ablation::is_on(Mechanism::SolverCache))?;
        Some((cache, cache::key(self.solver.file()?, protocol, launch, budget)))
    }
}

/// The work of a thread: of the first thread of a launch and one in its middle, the one that does more, up to
/// [`MOST_STATEMENTS`]. Values that the protocol leaves open are taken to be `open`.
fn work(protocol: &Protocol, launch: &ProverLaunch, open: u64) -> ThreadWork {
    let mut choose = |_: &Open| open;
    let mut run = Run::new(protocol, launch, &mut choose);
    let middle = |dims: [u32; 3]| dims.map(|n| n / 2);
    let middle = Thread { ctaid: middle(launch.shape.grid), tid: middle(launch.shape.block) };
    let counted = [Thread::default(), middle].map(|thread| run.count(thread, MOST_STATEMENTS));
    counted.into_iter().flatten().max_by_key(|work| work.statements).unwrap_or_default()
}
