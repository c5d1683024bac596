//! Counts of the kernels' launches and accesses.

use std::collections::HashMap;

use gpurace_abi::meta::{ModuleMeta, Verdict};
use gpurace_report::schema::{KernelStats, Sites, Stats};

use crate::backend::module::Kernel;
use crate::program::modules::Modules;
use crate::prove::SiteFate;

/// Launches of one kernel.
#[derive(Clone, Default)]
pub(super) struct KernelCounts {
    pub(super) launches: u64,
    pub(super) unchecked: u64,
    /// Launches without checks: everything was proved, or an equal one was checked before.
    pub(super) proved: u64,
    pub(super) checks: u64,
    /// For each site, the least fate of all launches. Empty if no launch was to be checked so far.
    pub(super) fates: Vec<SiteFate>,
    /// For each site, true if some launch proved it.
    pub(super) ever_proved: Vec<bool>,
}

impl KernelCounts {
    /// Adds what became of the sites in one launch.
    pub(super) fn add_fates(&mut self, fates: &[SiteFate]) {
        if self.fates.is_empty() {
            self.fates = fates.to_vec();
            self.ever_proved = vec![false; fates.len()];
        }
        for (own, &new) in self.ever_proved.iter_mut().zip(fates) {
            *own |= new != SiteFate::Checked;
        }
        for (own, &new) in self.fates.iter_mut().zip(fates) {
            *own = (*own).min(new);
        }
    }
}

/// Number of sites by fate.
fn sites(fates: impl Iterator<Item = SiteFate>) -> Sites {
    let mut sites = Sites::default();
    for fate in fates {
        sites.total += 1;
        match fate {
            SiteFate::Proved => sites.proved += 1,
            SiteFate::ProvedAtLaunch => sites.proved_at_launch += 1,
            SiteFate::Checked => sites.checked += 1,
        }
    }
    sites
}

/// The fate of a site that no launch has reached. A proof under an untested condition does not
/// count.
fn fate_of(verdict: Verdict) -> SiteFate {
    match verdict {
        Verdict::Proved => SiteFate::Proved,
        Verdict::ProvedIf | Verdict::Racy | Verdict::Checked => SiteFate::Checked,
    }
}

/// The counts of all kernels and sites.
pub(super) fn stats(modules: &Modules, counts: &HashMap<u32, KernelCounts>) -> Stats {
    let mut keys: Vec<_> = counts.iter().collect();
    keys.sort_by_key(|(key, _)| **key);
    let mut stats = Stats::default();
    // By module and site, the least fate in the kernels that were launched.
    let mut least: HashMap<(*const ModuleMeta, u32), SiteFate> = HashMap::new();
    for (&key, count) in keys {
        stats.launches += count.launches;
        stats.launches_unchecked += count.unchecked;
        stats.launches_proved += count.proved;
        stats.checks_executed += count.checks;
        let Some(kernel) = modules.kernel_of_key(key) else {
            continue;
        };
        let fates = kernel_fates(kernel, count);
        for (&site, &fate) in kernel.meta().sites.iter().zip(&fates) {
            let least = least.entry((std::ptr::from_ref(kernel.module.meta), site)).or_insert(fate);
            *least = (*least).min(fate);
        }
        stats.kernels.push(KernelStats {
            name: kernel.demangled.clone(),
            sites: sites(fates.into_iter()),
            launches: count.launches,
            checks_executed: count.checks,
        });
    }
    let all = modules.described().filter(|meta| meta.instrumented).flat_map(|meta| {
        let least = &least;
        meta.sites.iter().zip(0u32..).map(move |(site, id)| {
            let launched = least.get(&(std::ptr::from_ref(meta), id));
            launched.copied().unwrap_or_else(|| fate_of(site.verdict))
        })
    });
    stats.sites = sites(all);
    stats
}

/// What became of a kernel's sites: in its launches or, if it had none, when it was compiled.
fn kernel_fates(kernel: &Kernel, count: &KernelCounts) -> Vec<SiteFate> {
    let meta = &kernel.module.meta;
    if !meta.instrumented {
        return Vec::new();
    }
    if !count.fates.is_empty() {
        return count.fates.clone();
    }
    let known = &kernel.meta().verdicts;
    (0..kernel.meta().sites.len()).map(|at| fate_of(known.get(at).copied().unwrap_or_default())).collect()
}
