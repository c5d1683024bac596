//! Launches that are alike: they make the same accesses in the same order, so one of them was checked for all.
//!
//! What decides the accesses of a launch is known for kernels with a description of their memory
//! ([`gpurace_abi::deciding`]): the launch's shape, its arguments, where its allocations lie, and what some of its
//! memory holds. A *fingerprint* stands for all of that. If a launch was checked to its end without a finding, a
//! later one with the same fingerprint runs bare, provided that nothing overlaps it.
//!
//! To take a fingerprint costs a pass over the memory that decides. What was read in vain stays below what the kernel's
//! checks cost.

use std::sync::Arc;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::deciding::{self, Place};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use twox_hash::xxhash3_128::Hasher;

use crate::backend::module::KernelLaunch;
use crate::program::Program;
use crate::prove::decision::Decision;

/// Bytes that may be read in vain before a kernel's launches have made checks: half a millisecond's.
const FIRST_BYTES: u64 = 1 << 22;
/// Bytes that may be read in vain for each check: about a tenth of the check's time.
const BYTES_PER_CHECK: u64 = 4;
/// Bytes that may be read in vain for each thread of a launch whose kernel has made few checks so far.
const BYTES_PER_THREAD: u64 = 8;
/// Fingerprints of a kernel that are remembered. One more, and all are forgotten.
const MOST_REMEMBERED: usize = 1 << 12;

/// What decides the accesses of a launch: its shape and arguments, where its memory lies, and what that holds.
pub type Fingerprint = u128;

/// The launches of a kernel that were checked without a finding.
#[derive(Default)]
pub struct CleanLaunches(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    clean: FxHashMap<Fingerprint, Arc<Decision>>,
    /// Bytes that were read for the other launches.
    read_in_vain: u64,
}

impl CleanLaunches {
    /// The decision about an equal launch that was checked without a finding. Otherwise the fingerprint of this one, if
    /// it may be taken. Nothing runs beside the launch, and it has not begun. `checks` is the number of checks in the
    /// kernel's launches so far.
    pub fn find(
        &self,
        program: &Program,
        launch: &KernelLaunch<'_>,
        checks: u64,
    ) -> Result<Arc<Decision>, Option<Fingerprint>> {
        if !ablation::is_on(Mechanism::LaunchesAlike) {
            return Err(None);
        }
        let known = &mut *self.0.lock();
        let threads = launch.shape.blocks().saturating_mul(launch.shape.threads().into());
        let most = FIRST_BYTES
            .saturating_add(checks.saturating_mul(BYTES_PER_CHECK))
            .saturating_add(threads.saturating_mul(BYTES_PER_THREAD));
        let left = most.saturating_sub(known.read_in_vain);
        let Some((fingerprint, bytes)) = fingerprint(program, launch, left) else { return Err(None) };
        known.clean.get(&fingerprint).cloned().ok_or_else(|| {
            known.read_in_vain += bytes;
            Some(fingerprint)
        })
    }

    /// A launch with this fingerprint was proved, or was checked to its end without a finding.
    pub fn add(&self, fingerprint: Fingerprint, decision: &Arc<Decision>) {
        let known = &mut *self.0.lock();
        if known.clean.len() == MOST_REMEMBERED {
            known.clean.clear();
        }
        known
            .clean
            .insert(fingerprint, Arc::new(Decision { was_checked: true, ..Decision::clone(decision) }));
    }
}

/// The fingerprint of a launch, and how many bytes of memory were read for it: `most` at most. `None` if more than
/// memory decides, or if some of the memory is not known.
fn fingerprint(program: &Program, launch: &KernelLaunch<'_>, most: u64) -> Option<(Fingerprint, u64)> {
    let kernel = launch.kernel;
    let all = kernel.meta().memory.as_ref()?;
    let address = |place: &Place| match place {
        Place::Pointer(at) => {
            let start = kernel.meta().params.get(at.index as usize)?.offset + at.offset;
            pointer_at(launch.argument_bytes(), start as usize)
        }
        Place::Variable(symbol) => kernel.module.address_of(symbol),
        Place::Shared | Place::Anywhere => None,
    };
    let spans: Vec<_> = all.iter().map(|of| Some(program.memory_at(address(&of.place)?)?.1)).collect();
    let span_of = |place: &Place| spans[all.iter().position(|of| of.place == *place)?].as_ref();
    let may_overlap = |a: &Place, b: &Place| match (a, b) {
        (Place::Shared, Place::Shared) => true,
        (Place::Shared, Place::Pointer(_) | Place::Variable(_)) => false,
        (Place::Pointer(_) | Place::Variable(_), Place::Shared) => false,
        _ => match (span_of(a), span_of(b)) {
            (Some(a), Some(b)) => a.start < b.end && b.start < a.end,
            _ => true,
        },
    };
    let deciding = deciding::of_launch(all, may_overlap)?;
    let deciding = deciding.into_iter().filter(|&at| all[at].place != Place::Shared);
    let mut deciding = deciding.map(|at| spans[at].clone()).collect::<Option<Vec<_>>>()?;
    deciding.sort_by_key(|span| (span.start, span.end));
    deciding.dedup();
    let bytes: u64 = deciding.iter().map(|span| span.len() as u64).sum();
    if bytes > most {
        return None;
    }
    let mut hasher = Hasher::new();
    let shape = &launch.shape;
    let cluster = shape.cluster.unwrap_or_default();
    for number in shape.grid.iter().chain(&shape.block).chain(&cluster).chain([&shape.dynamic_shared]) {
        hasher.write(&number.to_le_bytes());
    }
    hasher.write(launch.argument_bytes());
    for span in spans.iter().flatten() {
        hasher.write(&span.start.to_le_bytes());
        hasher.write(&span.end.to_le_bytes());
    }
    for span in deciding {
        // SAFETY: the allocation or variable is in use. What writes it meanwhile would overlap the launch.
        hasher.write(unsafe { std::slice::from_raw_parts(span.start as *const u8, span.len()) });
    }
    Some((hasher.finish_128(), bytes))
}

/// The pointer at a byte of the arguments.
fn pointer_at(arguments: &[u8], at: usize) -> Option<usize> {
    Some(usize::from_le_bytes(arguments.get(at..at + 8)?.try_into().ok()?))
}
