//! What the run has shown of each kernel's accesses.

use std::collections::{HashMap, HashSet};

use gpurace_abi::meta::{self, KernelMeta, ModuleMeta};
use gpurace_check::KernelKey;
use gpurace_protocol::protocol::SiteId;
use gpurace_report::demangle;
use gpurace_report::schema::{CoverageState, CoveredAccess, Effect, KernelCoverage};

use super::resolve::{position, user_frame};
use super::{Session, SessionState};

/// Launches of one kernel whose conditions are tested.
const MOST_LAUNCHES: usize = 64;

impl Session {
    /// The coverage of the program's own kernels. Empty if a GPU's own checker ran: it does not count sites.
    pub(super) fn coverage(&self, state: &SessionState) -> Vec<KernelCoverage> {
        let (Some(checker), Some(backend)) = (self.checker.get(), self.program.backend.if_chosen()) else {
            return Vec::new();
        };
        if backend.own_checker().is_some() {
            return Vec::new();
        }
        let mut all = Vec::new();
        let mut launched: HashSet<(*const ModuleMeta, &str)> = HashSet::new();
        let mut keys: Vec<_> = state.counts.iter().collect();
        keys.sort_by_key(|(key, _)| **key);
        for (&key, counts) in keys {
            let Some(kernel) = self.program.modules.kernel_of_key(key) else { continue };
            let module = kernel.module;
            launched.insert((std::ptr::from_ref(module.meta), &kernel.meta().name));
            // Of launches that the options leave out, nothing is known.
            if counts.launches == counts.unchecked || !module.meta.instrumented {
                continue;
            }
            // The check of another access stands for a covered read.
            let covered: HashMap<u32, u32> =
                module.meta.covered.iter().map(|read| (read.site, read.by)).collect();
            let unreached = self.prover.of_kernel(kernel).unreached(MOST_LAUNCHES);
            let state_of = |at: usize, site: u32| {
                let checked_by = covered.get(&site).copied().unwrap_or(site);
                if checker.was_checked(KernelKey(key), module.site_base, checked_by) {
                    CoverageState::Checked
                } else if counts.ever_proved.get(at).copied().unwrap_or_default()
                    && !unreached.contains(&SiteId(site))
                {
                    CoverageState::Proved
                } else {
                    CoverageState::NeverRan
                }
            };
            all.extend(of_kernel(module.meta, kernel.meta(), &kernel.demangled, counts.launches, state_of));
        }
        for meta in self.program.modules.described().filter(|meta| meta.instrumented) {
            for kernel in &meta.kernels {
                if !launched.contains(&(std::ptr::from_ref(meta), &*kernel.name)) {
                    let name = demangle(&kernel.name);
                    all.extend(of_kernel(meta, kernel, &name, 0, |_, _| CoverageState::NeverRan));
                }
            }
        }
        all
    }
}

/// The coverage of a kernel. `None` if none of its accesses is in the program's own files.
fn of_kernel(
    meta: &ModuleMeta,
    kernel: &KernelMeta,
    name: &str,
    launches: u64,
    state_of: impl Fn(usize, u32) -> CoverageState,
) -> Option<KernelCoverage> {
    let mut coverage = KernelCoverage { kernel: name.to_owned(), launches, accesses: Vec::new() };
    for (at, &number) in kernel.sites.iter().enumerate() {
        let Some(site) = meta.sites.get(number as usize) else { continue };
        let own = user_frame(meta, &site.frames)
            .filter(|frame| meta.files.get(frame.file as usize).is_some_and(|file| !file.system));
        let Some(frame) = own else { continue };
        let (file, line) = position(meta, frame);
        coverage.add(CoveredAccess {
            file,
            line,
            column: (frame.column != 0).then_some(frame.column),
            op: match site.op {
                meta::Op::Read => Effect::Read,
                meta::Op::Write => Effect::Write,
                meta::Op::Atomic => Effect::Atomic,
            },
            state: state_of(at, number),
        });
    }
    (!coverage.accesses.is_empty()).then_some(coverage)
}
