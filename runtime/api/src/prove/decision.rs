//! What is decided about the sites of a launch.

use std::collections::HashMap;

use gpurace_abi::meta::Space;
use gpurace_check::ProvedSites;
use gpurace_protocol::condition::{AnyLaunch, Condition, ConditionTest};
use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::run::ThreadWork;
use gpurace_protocol::verdict::Verdict;
use gpurace_protocol::wire::KernelProofs;

use crate::backend::module::Kernel;

/// The verdict on a site in a launch, from least to most proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteFate {
    /// It is checked.
    Checked,
    /// It is proved for this launch: the launch meets the conditions, or the solver proved it with
    /// the launch's values.
    ProvedAtLaunch,
    /// It is proved for every launch.
    Proved,
}

/// The verdicts on all sites of a kernel in a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// In the order of [`KernelMeta::sites`](gpurace_abi::meta::KernelMeta::sites).
    pub fates: Vec<SiteFate>,
    /// The sites that need no check.
    pub proved: ProvedSites,
    /// What a thread does if the launch is checked, as far as it is known: of some threads, the one that does most.
    pub work: ThreadWork,
    /// An equal launch was checked without a finding ([`crate::prove::alike`]).
    pub was_checked: bool,
}

impl Decision {
    /// The decision to check every site.
    pub fn unproved(kernel: &Kernel) -> Self {
        Self { fates: vec![SiteFate::Checked; kernel.meta().sites.len()], ..Self::default() }
    }

    /// The decision if others or the host may overlap the launch. They do not reach shared memory, so its sites keep
    /// their fates. All other sites are checked.
    #[must_use]
    pub fn beside_others(&self, kernel: &Kernel) -> Self {
        let mut beside = Self { work: self.work, ..Self::unproved(kernel) };
        for (site, fate) in kernel.meta().sites.iter().zip(&self.fates) {
            if *fate != SiteFate::Checked && is_in_shared_memory(kernel, *site) {
                beside.add(kernel, *site, *fate);
            }
        }
        beside
    }

    /// True if no site needs a check.
    pub fn is_bare(&self) -> bool {
        self.was_checked || !self.fates.contains(&SiteFate::Checked)
    }

    /// True if some site needs no check.
    pub fn proves_any(&self) -> bool {
        self.fates.iter().any(|fate| *fate != SiteFate::Checked)
    }

    /// True if the launch meets the conditions of all proofs that were made while compiling.
    pub fn meets_conditions(&self, kernel: &Kernel) -> bool {
        let mut verdicts = kernel.meta().verdicts.iter().zip(&self.fates);
        verdicts.all(|(verdict, fate)| !verdict.is_proof() || *fate != SiteFate::Checked)
    }

    /// Adds what other proofs show for this launch.
    pub fn add_at_launch(&mut self, kernel: &Kernel, other: &Self) {
        let sites = kernel.meta().sites.iter().zip(&other.fates);
        for (site, _) in sites.filter(|(_, fate)| **fate != SiteFate::Checked) {
            self.add(kernel, *site, SiteFate::ProvedAtLaunch);
        }
    }

    /// Raises the verdict on a site.
    pub fn add(&mut self, kernel: &Kernel, site: u32, fate: SiteFate) {
        // The proofs may name a site that the kernel's description does not list. It has no fate.
        if let Ok(at) = kernel.meta().sites.binary_search(&site) {
            self.fates[at] = self.fates[at].max(fate);
            self.proved.insert(site);
        }
    }
}

/// True if a site certainly touches shared memory.
pub fn is_in_shared_memory(kernel: &Kernel, site: u32) -> bool {
    kernel.module.meta.sites.get(site as usize).is_some_and(|site| site.space == Space::Shared)
}

/// The proofs of a kernel for all launches that its protocol describes, ready to be tested on one of them.
pub struct Proofs {
    /// The protocol and the verdicts.
    pub of_kernel: KernelProofs,
    any_launch: AnyLaunch,
    /// The conditions of all sites, each once.
    conditions: Vec<Condition>,
    /// The proved sites, and which of the conditions each one needs.
    sites: Vec<(u32, SiteFate, Vec<usize>)>,
}

impl From<KernelProofs> for Proofs {
    fn from(of_kernel: KernelProofs) -> Self {
        let KernelProofs { protocol, verdicts } = &of_kernel;
        let mut at: HashMap<&Condition, usize> = HashMap::new();
        let mut conditions = Vec::new();
        let mut number = |condition| {
            *at.entry(condition).or_insert_with(|| {
                conditions.push(Condition::clone(condition));
                conditions.len() - 1
            })
        };
        let proved = verdicts.sites.iter().filter_map(|site| {
            let (fate, needs) = match &site.verdict {
                Verdict::Proved => (SiteFate::Proved, Vec::new()),
                Verdict::ProvedIf(all) => (SiteFate::ProvedAtLaunch, all.iter().map(&mut number).collect()),
                Verdict::Racy(_) | Verdict::Unknown(_) => return None,
            };
            Some((site.site.0, fate, needs))
        });
        let sites = proved.collect();
        let any_launch = AnyLaunch::of(protocol);
        Self { any_launch, conditions, sites, of_kernel }
    }
}

impl Proofs {
    /// What they show for a launch.
    pub fn decide(&self, kernel: &Kernel, launch: &ProverLaunch) -> Decision {
        let KernelProofs { protocol, verdicts } = &self.of_kernel;
        let test = ConditionTest::new(protocol, &verdicts.exprs, launch, Some(&self.any_launch));
        let mut tested = vec![None; self.conditions.len()];
        let mut decision = Decision::unproved(kernel);
        for (site, fate, needs) in &self.sites {
            let mut holds = |&at: &usize| *tested[at].get_or_insert_with(|| test.holds(&self.conditions[at]));
            if needs.iter().all(&mut holds) {
                decision.add(kernel, *site, *fate);
            }
        }
        decision
    }
}

#[cfg(test)]
mod tests {
    use gpurace_protocol::expr::{ParamId, Width};
    use gpurace_protocol::protocol::*;
    use gpurace_protocol::verdict::Verdicts;

    use super::*;

    /// The compiler writes empty verdicts, without expressions, for a kernel about which the solver had no answer.
    #[test]
    fn a_kernel_without_an_answer_has_no_proofs() {
        let mut protocol = Protocol::default();
        let (offset, size) = (protocol.exprs.c64(8), protocol.exprs.c64(4));
        protocol.params = vec![Param { name: "p".into(), width: Width::W64, offset: 0, pointer: true }];
        protocol.objects = vec![Object { name: "p".into(), kind: ObjectKind::Param(ParamId(0)) }];
        let access = Access { site: SiteId(0), op: Op::Write, object: ObjectId(0), offset, size };
        protocol.body = vec![Stmt::Access(access)];
        let proofs = Proofs::from(KernelProofs { protocol, verdicts: Verdicts::default() });
        assert!(proofs.sites.is_empty());
    }
}
