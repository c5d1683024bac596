//! Which accesses of a launch need no check.
//!
//! The proofs of a kernel travel with its code, with conditions that are tested against the launch.
//! If accesses remain unproved, the solver is asked about the launch with its own values.
//!
//! | module | what it knows |
//! |---|---|
//! | [`decision`] | what is decided about the sites of a launch |
//! | [`configuration`] | a launch as the prover sees it, the same in every run of the program |
//! | [`cache`] | answers that are kept on disk between runs |
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
//! ```
//!
//! A program whose kernels are proved by their conditions never loads the solver. If the library is
//! missing, accesses that the conditions leave unproved are checked.

pub mod cache;
pub mod configuration;
pub mod contents;
pub mod decision;
pub mod general;
pub mod reach;
pub mod solver;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_options::{CacheDir, Options};
use gpurace_protocol::common::Common;
use gpurace_protocol::contents::Contents;
use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::protocol::{Protocol, SiteId};
use gpurace_protocol::repeat::Repeat;
use gpurace_protocol::run::{Open, Run, Thread, ThreadWork};
use gpurace_protocol::touched;
use gpurace_protocol::verdict::Verdict;
use gpurace_protocol::wire::{self, KernelProofs};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use crate::backend::module::{Kernel, KernelLaunch};
use crate::host::notes::Notes;
use crate::program::Program;
use crate::prove::cache::{Cache, Key, LaunchAnswer};
use crate::prove::configuration::Configuration;
use crate::prove::contents::Looks;
use crate::prove::decision::Proofs;
use crate::prove::general::{General, Generals};
use crate::prove::reach::{Footprint, FootprintValues, Reach};
use crate::prove::solver::LaunchSolver;

pub use crate::prove::decision::{Decision, SiteFate};

/// Configurations of one kernel that are remembered. One more, and all are forgotten.
const MOST_REMEMBERED: usize = 4096;
/// What the solver may cost for one kernel beyond what the kernel's checks cost, before another configuration is
/// solved. Configurations that are not solved are decided by conditions alone.
const FIRST_BUDGET: Duration = Duration::from_millis(500);
/// The cost of a check, rather too low. Measured: 1 to 20 ns.
const CHECK: Duration = Duration::from_nanos(5);
/// Configurations of one kernel that are solved if solving has not helped yet.
const FRUITLESS: usize = 6;
/// The most statements of a thread that are counted: about a millisecond.
const MOST_STATEMENTS: u64 = 1 << 14;

/// What is known of a kernel, and the decisions on its launches.
#[derive(Default)]
pub struct KernelProver {
    proofs: OnceLock<Option<Proofs>>,
    /// Lists the accesses of its launches, if they follow from its protocol alone.
    repeat: OnceLock<Option<Arc<Repeat>>>,
    /// A launch of it had to be repeated. Later launches that others may overlap are checked.
    pub was_repeated: AtomicBool,
    known: Mutex<KnownLaunches>,
}

impl KernelProver {
    /// The kernel's protocol, if its proofs have been read.
    pub fn protocol(&self) -> Option<&Protocol> {
        Some(&self.proofs.get()?.as_ref()?.of_kernel.protocol)
    }

    /// The remembered launches for which this holds, in the order of their values.
    pub fn launches(&self, wanted: impl Fn(&ProverLaunch) -> bool) -> Vec<ProverLaunch> {
        let known = self.known.lock();
        let all = known.decisions.keys().chain(known.values.keys());
        let mut launches: Vec<_> = all.filter(|launch| wanted(launch)).cloned().collect();
        launches.sort_by(|a, b| a.params.cmp(&b.params));
        launches.dedup();
        launches
    }

    /// The sites at which no remembered launch accesses memory, as far as conditions show. None if there are
    /// more than `most` launches: some may have been forgotten.
    pub fn unreached(&self, most: usize) -> BTreeSet<SiteId> {
        let launches = self.launches(|_| true);
        let Some(protocol) = self.protocol().filter(|_| launches.len() <= most) else {
            return BTreeSet::new();
        };
        let unreached = launches.iter().map(|launch| touched::unreached(protocol, launch));
        unreached.reduce(|a, b| &a & &b).unwrap_or_default()
    }
}

#[derive(Default)]
struct KnownLaunches {
    decisions: FxHashMap<ProverLaunch, Arc<Decision>>,
    values: FxHashMap<ProverLaunch, Arc<FootprintValues>>,
    /// Number of configurations that were solved.
    solved: usize,
    /// What that cost, in the solver's units: the same in every run, also if the answers were kept.
    spent: Duration,
    /// Number of those for which the solver proved more than the conditions did.
    fruitful: usize,
    /// Proofs for launches that have values in common.
    general: Generals,
    /// The memory that launches load indices from.
    looks: Option<Looks>,
}

impl KnownLaunches {
    /// The decision about a launch, if it is remembered.
    fn remembered(&self, launch: &ProverLaunch) -> Option<Arc<Decision>> {
        let decision = self.decisions.get(launch).cloned();
        decision.filter(|_| ablation::is_on(Mechanism::RememberedDecisions))
    }

    fn remember(&mut self, launch: &ProverLaunch, decision: Decision) -> Arc<Decision> {
        let decision = Arc::new(decision);
        if self.decisions.len() == MOST_REMEMBERED {
            self.decisions.clear();
        }
        self.decisions.insert(launch.clone(), decision.clone());
        decision
    }

    /// True if another configuration is worth solving, after this number of checks in the kernel.
    fn solves_more(&self, checks: u64) -> bool {
        let checks = Duration::from_nanos(checks.saturating_mul(CHECK.as_nanos() as u64));
        self.spent <= FIRST_BUDGET.max(checks) && (self.fruitful > 0 || self.solved < FRUITLESS)
    }
}

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
        let proofs = prover.proofs.get_or_init(|| self.read(launch.kernel)).as_ref();
        // Without a protocol all of it is checked, whatever memory it is in.
        proofs.is_some_and(|of| configuration::may_be_met_by_host(program, launch, &of.of_kernel.protocol))
    }

    /// Decides about a launch as if no other operation overlapped it. `checks` is the number of checks in the kernel's
    /// launches so far.
    pub fn decide(&self, program: &Program, launch: &KernelLaunch<'_>, checks: u64) -> Arc<Decision> {
        let kernel = launch.kernel;
        let prover = self.of_kernel(kernel);
        let Some(ready) = prover.proofs.get_or_init(|| self.read(kernel)) else {
            return Arc::new(Decision::unproved(kernel));
        };
        let proofs = &ready.of_kernel;
        let configuration = configuration::of(program, launch, &proofs.protocol);
        let asks = kernel.module.solves_at_launch() && !self.budget.is_zero();
        // The lock is held while solving: another thread with the same launch waits for the answer.
        let mut known = prover.known.lock();
        let decision = known.remembered(&configuration.launch).unwrap_or_else(|| {
            let mut decision = ready.decide(kernel, &configuration.launch);
            if asks {
                let launch = (proofs, &configuration);
                self.decide_beyond_conditions(&mut decision, &mut known, kernel, launch, checks);
            }
            if !decision.is_bare() && kernel.meta().sync.uses_atomics {
                decision.work = work(&proofs.protocol, &configuration.launch, 0);
            }
            known.remember(&configuration.launch, decision)
        });
        if !asks || decision.is_bare() || program.backend.get().own_checker().is_some() {
            return decision;
        }
        let looks = known.looks.get_or_insert_with(|| {
            let verdicts = &proofs.verdicts.sites;
            let proved = verdicts.iter().filter(|site| site.verdict == Verdict::Proved).map(|site| site.site);
            let proved: BTreeSet<_> = proved.collect();
            Looks::new(&proofs.protocol, |site| !proved.contains(&site))
        });
        if !looks.are_worth_it() {
            return decision;
        }
        let in_place = configuration::in_place(program, launch, &proofs.protocol);
        // SAFETY: the launch's allocations are in use. This backend's memory is the process's.
        let contents = unsafe { looks.look(&proofs.protocol, in_place) };
        self.decide_with_contents(decision, &mut known, kernel, (ready, configuration, contents), checks)
    }

    /// Adds the sites that what is known of loaded values shows.
    fn decide_with_contents(
        &self,
        decision: Arc<Decision>,
        known: &mut KnownLaunches,
        kernel: &Kernel,
        (ready, mut configuration, contents): (&Proofs, Configuration, Vec<Contents>),
        checks: u64,
    ) -> Arc<Decision> {
        configuration.launch.contents = contents;
        let more = if configuration.launch.contents.is_empty() {
            decision.clone()
        } else if let Some(remembered) = known.remembered(&configuration.launch) {
            remembered
        } else {
            let mut more = Decision::clone(&decision);
            // Bounds of loaded values may meet conditions.
            more.add_at_launch(kernel, &ready.decide(kernel, &configuration.launch));
            if !more.is_bare() && known.solves_more(checks) {
                known.spent += self.solve(&mut more, kernel, &ready.of_kernel, &configuration);
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
            let (general, cost) = self.solve_general(common, &proofs.protocol, budget.min(self.budget));
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
        let Some(proofs) = prover.proofs.get_or_init(|| self.read(kernel)) else {
            return Reach { footprint: Footprint::ANYTHING, repeat: None, accesses: 0 };
        };
        let proofs = &proofs.of_kernel;
        let sync = &kernel.meta().sync;
        // A repetition tells the checker only of barriers of the block and of whole warps.
        let more = sync.partial_masks || sync.named_barriers || sync.fences || sync.observes;
        let more = more || sync.async_copies || sync.clusters || sync.annotated;
        let repeat = prover.repeat.get_or_init(|| {
            let repeat = (!more).then(|| Repeat::of(&proofs.protocol)).flatten();
            repeat.map(Arc::new)
        });
        let (in_place, configuration) = reach::places(program, launch, &proofs.protocol);
        let mut known = prover.known.lock();
        if known.values.len() == MOST_REMEMBERED {
            known.values.clear();
        }
        let values = known.values.entry(configuration.launch).or_insert_with_key(|launch| {
            Arc::new(FootprintValues::of(launch, &proofs.protocol, repeat.as_deref()))
        });
        values.reach(&in_place, repeat.as_ref())
    }

    /// The proofs of a kernel. `None` if it has none, or if they cannot be read.
    fn read(&self, kernel: &Kernel) -> Option<Proofs> {
        let bytes = kernel.module.proofs_of(kernel.name.to_str().ok()?)?;
        match wire::kernel_proofs(bytes) {
            Ok(proofs) => Some(proofs.into()),
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

    /// Proofs for all launches that have these values in common, and what the solver's answer cost, now or when it
    /// was found.
    fn solve_general(
        &self,
        common: Common,
        protocol: &Protocol,
        budget: Duration,
    ) -> (Option<General>, Duration) {
        let protocol = common.protocol(protocol);
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
        let proofs = KernelProofs { protocol, verdicts: answer.verdicts }.into();
        (Some(General { common, proofs }), Duration::from_millis(answer.cost_ms))
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

/// What the first thread of a launch and one in its middle do, up to [`MOST_STATEMENTS`]: the more of both. Values that
/// the protocol leaves open are `open`.
fn work(protocol: &Protocol, launch: &ProverLaunch, open: u64) -> ThreadWork {
    let mut choose = |_: &Open| open;
    let mut run = Run::new(protocol, launch, &mut choose);
    let middle = |dims: [u32; 3]| dims.map(|n| n / 2);
    let middle = Thread { ctaid: middle(launch.shape.grid), tid: middle(launch.shape.block) };
    let counted = [Thread::default(), middle].map(|thread| run.count(thread, MOST_STATEMENTS));
    counted.into_iter().flatten().max_by_key(|work| work.statements).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_costs_a_first_budget_or_as_much_as_the_checks() {
        let fruitful = |ms| KnownLaunches {
            spent: Duration::from_millis(ms),
            solved: 9,
            fruitful: 1,
            ..KnownLaunches::default()
        };
        assert!(fruitful(0).solves_more(0) && fruitful(500).solves_more(0));
        assert!(!fruitful(501).solves_more(0));
        // 100 million checks cost half a second, and 400 million two.
        assert!(!fruitful(501).solves_more(100_000_000));
        assert!(fruitful(2000).solves_more(400_000_000) && !fruitful(2001).solves_more(400_000_000));
        assert!(fruitful(2000).solves_more(u64::MAX));
        let fruitless = |solved| KnownLaunches { solved, ..KnownLaunches::default() };
        assert!(fruitless(FRUITLESS - 1).solves_more(0));
        assert!(!fruitless(FRUITLESS).solves_more(u64::MAX));
    }
}
