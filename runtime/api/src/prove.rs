//! What needs no check in a launch: the proofs that travel with a kernel, their
//! conditions tested against the launch, and the launch solved again with its
//! own values where that is not enough.
//!
//! | module | what it knows |
//! |---|---|
//! | [`configuration`] | a launch as the prover sees it, the same in every run of the program |
//! | [`cache`] | answers kept on disk between runs |
//! | [`reach`] | which memory a launch touches, where others may run beside it |
//! | [`solver`] | the solver's library |
//!
//! A decision rests on the launch's values alone, never on time: the solver's
//! limits are counted in its own units, and how many configurations of a kernel
//! are solved is counted too.

pub mod cache;
pub mod configuration;
pub mod reach;
pub mod solver;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gpurace_check::ProvedSites;
use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::repeat::Repeat;
use gpurace_protocol::verdict::{Verdict, Verdicts};
use gpurace_protocol::wire::{self, KernelProofs};
use parking_lot::Mutex;

use crate::launch::Launch;
use crate::modules::Kernel;
use crate::session;
use crate::watch;
use cache::Cache;
use reach::{Footprint, Reach, Values};

/// Configurations of one kernel that are remembered; then all are forgotten.
const MOST_REMEMBERED: usize = 4096;
/// Configurations of one kernel that are solved; what comes later is decided
/// by conditions alone.
const MOST_SOLVED: usize = 64;
/// Configurations after which a kernel that solving has never helped is not
/// solved any more.
const FRUITLESS: usize = 6;

/// What becomes of an access site in a launch, from least to most proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Checked.
    Checked,
    /// Proved for this launch: by conditions that it fulfils, or by solving
    /// with its values.
    ProvedAtLaunch,
    /// Proved for every launch.
    Proved,
}

/// What becomes of the sites of a kernel in a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// In the order of [`KernelMeta::sites`](gpurace_abi::meta::KernelMeta::sites).
    pub fates: Vec<Fate>,
    /// The sites that need no check.
    pub proved: ProvedSites,
}

impl Decision {
    /// Every site is checked.
    pub fn unproved(kernel: &Kernel) -> Self {
        Self { fates: vec![Fate::Checked; kernel.meta().sites.len()], proved: ProvedSites::default() }
    }

    /// No site needs a check.
    pub fn is_bare(&self) -> bool {
        !self.fates.contains(&Fate::Checked)
    }
}

/// What is known of a kernel, and what was decided of its launches.
#[derive(Default)]
pub struct Prover {
    proofs: OnceLock<Option<KernelProofs>>,
    /// Its accesses, where its launches can be repeated.
    repeat: OnceLock<Option<Arc<Repeat>>>,
    /// A launch of it had to be repeated: later ones that others may run beside are checked.
    pub met: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    decisions: HashMap<ProverLaunch, Arc<Decision>>,
    values: HashMap<ProverLaunch, Arc<Values>>,
    /// Configurations that were solved.
    solved: usize,
    /// How many of those had sites proved that conditions had not.
    fruitful: usize,
}

/// What becomes of the sites of a launch that no other runs beside.
pub fn decide(launch: &Launch<'_>) -> Arc<Decision> {
    let kernel = launch.kernel;
    let prover = &kernel.prover;
    let Some(proofs) = prover.proofs.get_or_init(|| read(kernel)) else {
        return Arc::new(Decision::unproved(kernel));
    };
    // The host may touch managed memory before it waits for the launch: what
    // the launch did there has to be known then.
    if watch::is_needed() && configuration::may_touch_managed(launch, &proofs.protocol) {
        return Arc::new(Decision::unproved(kernel));
    }
    let configuration = configuration::of(launch, &proofs.protocol);
    // Held while solving: another thread that launches the same waits for the answer.
    let mut known = prover.known.lock();
    if let Some(decision) = known.decisions.get(&configuration.launch) {
        return decision.clone();
    }
    let mut decision = by_conditions(kernel, proofs, &proofs.verdicts, &configuration.launch);
    let budget = session::get().options.solve_budget;
    let more = known.solved < MOST_SOLVED && (known.fruitful > 0 || known.solved < FRUITLESS);
    if !decision.is_bare() && more && kernel.module.solves_at_launch() && !budget.is_zero() {
        let before = decision.clone();
        solve(&mut decision, kernel, proofs, &configuration, budget);
        known.solved += 1;
        known.fruitful += usize::from(decision != before);
    }
    let decision = Arc::new(decision);
    if known.decisions.len() == MOST_REMEMBERED {
        known.decisions.clear();
    }
    known.decisions.insert(configuration.launch, decision.clone());
    decision
}

/// What a launch may touch, and whether it can be repeated.
pub fn reach(launch: &Launch<'_>) -> Reach {
    let kernel = launch.kernel;
    let prover = &kernel.prover;
    let Some(proofs) = prover.proofs.get_or_init(|| read(kernel)) else {
        return Reach { footprint: Footprint::ANYTHING, repeat: None };
    };
    let sync = &kernel.meta().sync;
    // Nothing but barriers of the block and syncs of warps is told when it is repeated, nor
    // that races are meant.
    let more = sync.partial_masks || sync.named_barriers || sync.fences || sync.observes;
    let more = more || sync.async_copies || sync.clusters || sync.annotated;
    let repeat = prover.repeat.get_or_init(|| {
        let repeat = (!more).then(|| Repeat::of(&proofs.protocol)).flatten();
        repeat.map(Arc::new)
    });
    let (in_place, configuration) = reach::places(launch, &proofs.protocol);
    let mut known = prover.known.lock();
    if known.values.len() == MOST_REMEMBERED {
        known.values.clear();
    }
    let values = known
        .values
        .entry(configuration.launch)
        .or_insert_with_key(|launch| Arc::new(Values::of(launch, &proofs.protocol, repeat.as_deref())));
    values.reach(&in_place, repeat.as_ref())
}

/// The proofs of a kernel; `None` where it has none, or none that can be read.
fn read(kernel: &Kernel) -> Option<KernelProofs> {
    let bytes = kernel.module.proofs_of(kernel.name.to_str().ok()?)?;
    match wire::kernel_proofs(bytes) {
        Ok(proofs) => Some(proofs),
        Err(error) => {
            let name = &kernel.demangled;
            session::get().note(format!("proofs of `{name}` not used, all of it is checked: {error}"));
            None
        }
    }
}

/// What the verdicts for all launches come to in one.
fn by_conditions(
    kernel: &Kernel,
    proofs: &KernelProofs,
    verdicts: &Verdicts,
    launch: &ProverLaunch,
) -> Decision {
    let mut decision = Decision::unproved(kernel);
    let mut tested = HashMap::new();
    for site in &verdicts.sites {
        let fate = match &site.verdict {
            Verdict::Proved => Fate::Proved,
            Verdict::ProvedIf(conditions) => {
                let holds = conditions.iter().all(|condition| {
                    *tested
                        .entry(condition)
                        .or_insert_with(|| condition.holds(&proofs.protocol, &verdicts.exprs, launch))
                });
                if !holds {
                    continue;
                }
                Fate::ProvedAtLaunch
            }
            Verdict::Racy(_) | Verdict::Unknown(_) => continue,
        };
        decision.add(kernel, site.site.0, fate);
    }
    decision
}

impl Decision {
    fn add(&mut self, kernel: &Kernel, site: u32, fate: Fate) {
        // A site that the kernel is not known to reach is nobody's.
        if let Ok(at) = kernel.meta().sites.binary_search(&site) {
            self.fates[at] = self.fates[at].max(fate);
            self.proved.insert(site);
        }
    }
}

/// Adds what can be proved of this launch alone.
fn solve(
    decision: &mut Decision,
    kernel: &Kernel,
    proofs: &KernelProofs,
    configuration: &configuration::Configuration,
    budget: Duration,
) {
    let cache = configuration.portable.then(Cache::of_process).flatten();
    let key = cache.and_then(|_| cache::key(&proofs.protocol, &configuration.launch, budget));
    let kept = cache.zip(key).and_then(|(cache, key)| cache.get(&key));
    let proved = match kept {
        Some(proved) => proved,
        None => {
            let Some(answer) = solver::ask(&proofs.protocol, &configuration.launch, budget) else {
                return;
            };
            let found = by_conditions(kernel, proofs, &answer.verdicts, &configuration.launch);
            let sites = kernel.meta().sites.iter().zip(&found.fates);
            let proved: Vec<u32> =
                sites.filter(|(_, fate)| **fate != Fate::Checked).map(|(site, _)| *site).collect();
            if let Some((cache, key)) = cache.zip(key) {
                cache.put(&key, &proved);
            }
            proved
        }
    };
    for site in proved {
        decision.add(kernel, site, Fate::ProvedAtLaunch);
    }
}
