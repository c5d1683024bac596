//! Launches in reserve: forked children that can check a launch which this process runs with its proofs.
//!
//! The host may access managed memory beside a launch until it waits for it. A proof does not cover the host, so its
//! accesses are compared with all that the launch does. If the protocol says exactly what that is, the launch is
//! repeated from it ([`super::overlapped`]). Before any other launch a child is forked, which keeps the memory as it
//! was then. If the host accesses memory that the launch may touch, the child runs the launch with all checks and
//! compares the accesses. If the host waits for the launch first, the child ends.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gpurace_check::{HostAccess, RaceRecord};
use gpurace_protocol::touched::Manner;
use serde::{Deserialize, Serialize};

use super::Session;
use crate::backend::module::Kernel;
use crate::host::child::{self, WaitingChild};
use crate::prove::reach::{Footprint, Span};

/// The most children at a time. Each may hold a copy of the memory that was written since.
const MOST: usize = 4;
/// The fewest accesses, as estimated, of a launch for which a process is forked. A fork takes as long as their checks.
const FEWEST_ACCESSES: u64 = 1 << 17;
/// Time after which a child is given up.
const LIMIT: Duration = Duration::from_secs(600);

/// A launch in reserve, and the child that can check it.
pub struct Reserve {
    operation: u64,
    kernel: &'static Kernel,
    footprint: Footprint,
    child: WaitingChild,
    /// Memory that was freed or allocated since.
    forgotten: Vec<Range<usize>>,
}

/// What a child found.
#[derive(Serialize, Deserialize)]
pub struct CheckedForHost {
    /// Races of the host with the launch.
    pub races: Vec<RaceRecord>,
    /// The checks that it has made for that.
    pub checks: u64,
}

impl Session {
    /// True if a launch with this number of accesses is worth a process, and one more may be forked.
    pub(super) fn may_reserve(&self, accesses: u64) -> bool {
        accesses >= FEWEST_ACCESSES
            && self.reserves.lock().len() < MOST
            && !self.stops_in_debugger()
            && child::may_fork(self.backend().worker_threads() + self.idle_threads()).is_ok()
    }

    /// Keeps a launch in reserve until the host has waited for it.
    pub fn keep_in_reserve(
        &self,
        operation: u64,
        kernel: &'static Kernel,
        footprint: Footprint,
        child: WaitingChild,
    ) {
        self.reserves.lock().push(Reserve { operation, kernel, footprint, child, forgotten: Vec::new() });
    }

    /// Compares accesses of the host with the launches in reserve that it has not waited for.
    pub fn ask_reserves(&self, accesses: &[HostAccess]) {
        let mut reserves = self.reserves.lock();
        if reserves.is_empty() {
            return;
        }
        let unwaited = self.order.lock().unwaited();
        for reserve in reserves.iter_mut().filter(|of| unwaited.binary_search(&of.operation).is_ok()) {
            let met: Vec<HostAccess> =
                accesses.iter().copied().filter(|access| reserve.is_met_by(access)).collect();
            if met.is_empty() {
                continue;
            }
            // Later launches of the kernel are checked.
            self.prover.of_kernel(reserve.kernel).was_repeated.store(true, Ordering::Relaxed);
            let question = serde_json::to_vec(&met).unwrap_or_default();
            let answer = reserve.child.ask(&question, LIMIT);
            let Some(found) = answer.and_then(|bytes| serde_json::from_slice::<CheckedForHost>(&bytes).ok())
            else {
                self.note_once(format!(
                    "accesses by the host beside a launch of `{}` not compared with it: a process was ended, or took too long",
                    reserve.kernel.demangled
                ));
                continue;
            };
            self.state.lock().counts.entry(reserve.kernel.key).or_default().checks += found.checks;
            for record in found.races {
                self.checker().add_race(record);
            }
        }
    }

    /// Ends the children of launches that the host has waited for.
    pub fn end_reserves(&self, unwaited: &[u64]) {
        self.reserves.lock().retain(|reserve| unwaited.binary_search(&reserve.operation).is_ok());
    }

    /// Leaves the children to the parent of this process, whose they are.
    pub(super) fn disown_reserves(&self) {
        self.reserves.lock().drain(..).for_each(std::mem::forget);
    }

    /// Forgets memory that was freed or allocated.
    pub(super) fn forget_in_reserves(&self, bytes: &Range<usize>) {
        for reserve in self.reserves.lock().iter_mut().filter(|reserve| reserve.footprint.touches(bytes)) {
            reserve.forgotten.push(bytes.clone());
        }
    }

    /// Ends a launch that was run for the host, and returns the number of its checks. This process is a child.
    pub fn end_for_host(&self, launch: &gpurace_check::Launch) -> u64 {
        self.checker().end_launch(launch).checks_executed
    }

    /// Compares accesses of the host with the records of one launch. Returns the races, and forgets all that were found
    /// before. This process is a child.
    pub fn races_with_host(&self, operation: u64, accesses: &[HostAccess]) -> Vec<RaceRecord> {
        self.take_new_races();
        for access in accesses {
            self.checker().host_access(*access, &|other| other == operation);
        }
        self.take_new_races()
    }
}

impl Reserve {
    /// True if the launch may have touched the byte of an access so that they conflict.
    fn is_met_by(&self, access: &HostAccess) -> bool {
        let bytes = access.address..access.address.saturating_add(1);
        let of_host = Footprint(Some(vec![Span { bytes, manner: Manner::of(access.writes) }]));
        let is_gone = self.forgotten.iter().any(|gone| gone.contains(&access.address));
        !is_gone && self.footprint.conflicts(&of_host)
    }
}
