//! Frees in the order of a stream. The host does not wait for work that may still use the memory: a
//! later call gives it back, once the work that was submitted before the free is over.
//!
//! For the checker, a free writes all of the memory: what used it on another stream must be ordered before the free.

use crate::backend::Until;
use crate::backend::memory::MemoryKind;
use crate::host::errors::Result;
use crate::host::types::EVENT_DISABLE_TIMING;
use crate::order::{DEFAULT, StreamId};
use crate::work::Process;
use crate::work::allocations::release;

/// First handle of this module's own events. The program's events have other handles.
const FIRST_EVENT: usize = 0x5000_0000;

/// The frees of the program that wait for work.
#[derive(Default)]
pub struct PendingFrees {
    /// Addresses of allocations, each with the event after which nothing uses it.
    pending: Vec<(usize, usize)>,
    /// Events that can be used again.
    unused: Vec<usize>,
    /// Number of events.
    made: usize,
}

/// Frees the allocation of device memory that starts at `address`, once the work that was submitted
/// to the stream is over.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is none, and the device's.
pub fn free(process: &Process, address: usize, stream: StreamId) -> Result {
    let allocation = process.program().allocations.retire(address, MemoryKind::Device)?;
    process.session.free(stream, address..address + allocation.size);
    give_back_later(process, address, stream)
}

/// Frees memory that a library has allocated for itself, once the work that was submitted to the default stream is
/// over. The library promises no order, so the checker learns nothing of it.
///
/// # Errors
/// As [`free`].
pub fn free_of_library(process: &Process, address: usize) -> Result {
    process.program().allocations.retire(address, MemoryKind::Device)?;
    give_back_later(process, address, DEFAULT)
}

/// Gives back retired memory once the work that was submitted to the stream is over.
fn give_back_later(process: &Process, address: usize, stream: StreamId) -> Result {
    // If a kernel's fault prevents the record, later calls report the fault too, and the memory is
    // lost with the context.
    let event = record(process, stream)?;
    process.frees.lock().pending.push((address, event));
    give_back(process);
    Ok(())
}

/// Records an event on a stream. The device reaches it once all that the stream has now is over.
fn record(process: &Process, stream: StreamId) -> Result<usize> {
    let unused = process.frees.lock().unused.pop();
    let event = match unused {
        Some(event) => event,
        None => {
            let event = {
                let mut frees = process.frees.lock();
                frees.made += 1;
                FIRST_EVENT + frees.made
            };
            process.backend().create_event(event, EVENT_DISABLE_TIMING)?;
            event
        }
    };
    process.backend().record(event, stream)?;
    Ok(event)
}

/// Gives back the memory that nothing uses any more.
pub fn give_back(process: &Process) {
    give_back_where(process, |event| process.backend().query(Until::Event(event)));
}

/// Waits until all freed memory can be given back. True if there was any.
pub fn wait(process: &Process) -> bool {
    give_back_where(process, |event| process.backend().wait(Until::Event(event)))
}

/// Gives back the memory whose event `is_over`. True if there was some.
fn give_back_where(process: &Process, is_over: impl Fn(usize) -> Result) -> bool {
    // The list is taken out, so that the lock is not held while the device answers.
    let pending = std::mem::take(&mut process.frees.lock().pending);
    let (over, still): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|&(_, event)| is_over(event) == Ok(()));
    process.frees.lock().pending.extend(still);
    if over.is_empty() {
        return false;
    }
    // Races that were found in this memory are reported before other memory has its address.
    process.session.collect();
    for allocation in
        over.iter().filter_map(|&(address, _)| process.program().allocations.remove_retired(address))
    {
        release(process, allocation);
    }
    process.frees.lock().unused.extend(over.iter().map(|(_, event)| event));
    true
}
