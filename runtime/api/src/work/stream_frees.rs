//! Frees in the order of a stream. The host does not wait for work that may still use the memory: a
//! later call gives it back, once the work that was submitted before the free is over.

use parking_lot::Mutex;

use crate::backend::memory::MemoryKind;
use crate::backend::{self, Until};
use crate::host::errors::Result;
use crate::order::StreamId;
use crate::program::allocations;
use crate::session;
use crate::work::allocations::release;

/// `cudaEventDisableTiming`.
const NO_TIMING: u32 = 2;
/// First handle of this module's own events. The program's events have other handles.
const FIRST_EVENT: usize = 0x5000_0000;

struct PendingFrees {
    /// Addresses of allocations, each with the event after which nothing uses it.
    pending: Vec<(usize, usize)>,
    /// Events that can be used again.
    unused: Vec<usize>,
    /// Number of events.
    made: usize,
}

static FREES: Mutex<PendingFrees> =
    Mutex::new(PendingFrees { pending: Vec::new(), unused: Vec::new(), made: 0 });

/// Frees the allocation of device memory that starts at `address`, once the work that was submitted
/// to the stream is over.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is none, and the device's.
pub fn free(address: usize, stream: StreamId) -> Result {
    allocations::retire(address, MemoryKind::Device)?;
    // If a kernel's fault prevents the record, later calls report the fault too, and the memory is
    // lost with the context.
    let event = record(stream)?;
    FREES.lock().pending.push((address, event));
    give_back();
    Ok(())
}

fn record(stream: StreamId) -> Result<usize> {
    let backend = backend::get();
    let unused = FREES.lock().unused.pop();
    let event = match unused {
        Some(event) => event,
        None => {
            let event = {
                let mut frees = FREES.lock();
                frees.made += 1;
                FIRST_EVENT + frees.made
            };
            backend.create_event(event, NO_TIMING)?;
            event
        }
    };
    backend.record(event, stream)?;
    Ok(event)
}

/// Gives back the memory that nothing uses any more.
pub fn give_back() {
    give_back_where(|event| backend::get().query(Until::Event(event)));
}

/// Waits until all freed memory can be given back. True if there was any.
pub fn wait() -> bool {
    give_back_where(|event| backend::get().wait(Until::Event(event)))
}

fn give_back_where(is_over: impl Fn(usize) -> Result) -> bool {
    // The list is taken out, so that the lock is not held while the device answers.
    let pending = std::mem::take(&mut FREES.lock().pending);
    let (over, still): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|&(_, event)| is_over(event) == Ok(()));
    FREES.lock().pending.extend(still);
    if over.is_empty() {
        return false;
    }
    // Races that were found in this memory are reported before other memory has its address.
    session::get().collect();
    for allocation in over.iter().filter_map(|&(address, _)| allocations::remove_retired(address)) {
        release(allocation);
    }
    FREES.lock().unused.extend(over.iter().map(|(_, event)| event));
    true
}
