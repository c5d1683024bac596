//! What is known of a kernel, for the decisions on its launches.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use gpurace_protocol::launch::Launch as ProverLaunch;
use gpurace_protocol::protocol::{Protocol, SiteId};
use gpurace_protocol::touched;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::prove::alike::CleanLaunches;
use crate::prove::contents::Usefulness;
use crate::prove::known::View;
use crate::prove::reach::Reaches;

/// What is known of a kernel, and the decisions on its launches.
#[derive(Default)]
pub struct KernelProver {
    pub(super) view: OnceLock<Option<View>>,
    /// The same for launches that do not change the words of memory that they load.
    pub(super) with_words: OnceLock<Option<WithWords>>,
    pub(super) reaches: Reaches,
    /// Its launches that were checked without a finding.
    pub clean: CleanLaunches,
    /// A launch of it had to be repeated. Later launches that others may overlap are checked.
    pub was_repeated: AtomicBool,
}

/// The kernel for launches that do not change the words of memory that they load.
pub(super) struct WithWords {
    pub(super) protocol: Protocol,
    pub(super) view: OnceLock<View>,
    pub(super) reaches: Reaches,
    /// Whether launches leave the words as they are.
    pub(super) unchanged: Mutex<FxHashMap<ProverLaunch, bool>>,
    pub(super) use_so_far: Mutex<Usefulness>,
}

impl KernelProver {
    /// The kernel's protocol, if its proofs have been read.
    pub fn protocol(&self) -> Option<&Protocol> {
        Some(&self.view.get()?.as_ref()?.proofs.of_kernel.protocol)
    }

    /// The remembered launches for which this holds, in the order of their values.
    pub fn launches(&self, wanted: impl Fn(&ProverLaunch) -> bool) -> Vec<ProverLaunch> {
        let mut all = self.reaches.launches();
        if let Some(Some(words)) = self.with_words.get() {
            all.extend(words.reaches.launches());
        }
        if let Some(Some(view)) = self.view.get() {
            all.extend(view.known.lock().decisions.keys().cloned());
        }
        let mut launches: Vec<_> = all.into_iter().filter(|launch| wanted(launch)).collect();
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
