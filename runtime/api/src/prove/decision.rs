//! What is decided about the sites of a launch.

use std::collections::HashMap;

use gpurace_check::ProvedSites;
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
    /// What a thread of a launch that is checked does, as far as it is known: the most of some threads.
    pub work: ThreadWork,
}

impl Decision {
    /// The decision to check every site.
    pub fn unproved(kernel: &Kernel) -> Self {
        Self { fates: vec![SiteFate::Checked; kernel.meta().sites.len()], ..Self::default() }
    }

    /// True if no site needs a check.
    pub fn is_bare(&self) -> bool {
        !self.fates.contains(&SiteFate::Checked)
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

/// Applies verdicts for all launches that a protocol describes to one of them.
pub fn by_conditions(kernel: &Kernel, proofs: &KernelProofs, launch: &ProverLaunch) -> Decision {
    let KernelProofs { protocol, verdicts } = proofs;
    let mut decision = Decision::unproved(kernel);
    let mut tested = HashMap::new();
    for site in &verdicts.sites {
        let fate = match &site.verdict {
            Verdict::Proved => SiteFate::Proved,
            Verdict::ProvedIf(conditions) => {
                let holds = conditions.iter().all(|condition| {
                    *tested
                        .entry(condition)
                        .or_insert_with(|| condition.holds(protocol, &verdicts.exprs, launch))
                });
                if !holds {
                    continue;
                }
                SiteFate::ProvedAtLaunch
            }
            Verdict::Racy(_) | Verdict::Unknown(_) => continue,
        };
        decision.add(kernel, site.site.0, fate);
    }
    decision
}
