//! The launches of a kernel that a decision is known of.

use std::sync::Arc;
use std::time::Duration;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_protocol::launch::Launch as ProverLaunch;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::prove::contents::Looks;
use crate::prove::decision::{Decision, Proofs};
use crate::prove::general::Generals;

/// Configurations of one kernel that are remembered. One more, and all are forgotten.
pub const MOST_REMEMBERED: usize = 4096;
/// What the solver may cost for one kernel beyond what the kernel's checks cost, before another configuration is
/// solved. Configurations that are not solved are decided by conditions alone.
const FIRST_BUDGET: Duration = Duration::from_millis(500);
/// The cost of a check, rather too low. Measured: 1 to 20 ns.
const CHECK: Duration = Duration::from_nanos(5);
/// Configurations of one kernel that are solved if solving has not helped yet.
const FRUITLESS: usize = 6;

/// Proofs for the launches of a kernel that a protocol describes, and the decisions on these.
pub struct View {
    /// The proofs.
    pub proofs: Proofs,
    /// The decisions.
    pub known: Mutex<KnownLaunches>,
}

impl From<Proofs> for View {
    fn from(proofs: Proofs) -> Self {
        Self { proofs, known: Mutex::default() }
    }
}

/// Decisions on launches, and what they cost.
#[derive(Default)]
pub struct KnownLaunches {
    /// The decisions.
    pub decisions: FxHashMap<ProverLaunch, Arc<Decision>>,
    /// Number of configurations that were solved.
    pub solved: usize,
    /// What that cost, in the solver's units: the same in every run, also if the answers were kept.
    pub spent: Duration,
    /// Number of those for which the solver proved more than the conditions did.
    pub fruitful: usize,
    /// Proofs for launches that have values in common.
    pub general: Generals,
    /// The memory that launches load indices from.
    pub looks: Option<Looks>,
}

impl KnownLaunches {
    /// The decision about a launch, if it is remembered.
    pub fn remembered(&self, launch: &ProverLaunch) -> Option<Arc<Decision>> {
        let decision = self.decisions.get(launch).cloned();
        decision.filter(|_| ablation::is_on(Mechanism::RememberedDecisions))
    }

    /// Remembers a decision.
    pub fn remember(&mut self, launch: &ProverLaunch, decision: Decision) -> Arc<Decision> {
        let decision = Arc::new(decision);
        if self.decisions.len() == MOST_REMEMBERED {
            self.decisions.clear();
        }
        self.decisions.insert(launch.clone(), decision.clone());
        decision
    }

    /// True if another configuration is worth solving, after this number of checks in the kernel.
    pub fn solves_more(&self, checks: u64) -> bool {
        let checks = Duration::from_nanos(checks.saturating_mul(CHECK.as_nanos() as u64));
        self.spent <= FIRST_BUDGET.max(checks) && (self.fruitful > 0 || self.solved < FRUITLESS)
    }
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
