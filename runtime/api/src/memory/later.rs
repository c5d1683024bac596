//! Frees in a stream's order: the host does not wait for what may still use the memory. It is given back by a later call, once what was submitted
//! to the stream before the free is over.

use parking_lot::Mutex;

use crate::backend::{self, Until};
use crate::errors::Result;
use crate::memory::map::{self, Kind};
use crate::order::StreamId;
use crate::session;

/// `cudaEventDisableTiming`.
const NO_TIMING: u32 = 2;
/// Handles of events of this module's own: the program's are others.
const FIRST_EVENT: usize = 0x5000_0000;

struct Frees {
    /// The address of an allocation, and the event behind which nothing uses it.
    pending: Vec<(usize, usize)>,
    /// Events that wait for their next use.
    unused: Vec<usize>,
    made: usize,
}

static FREES: Mutex<Frees> = Mutex::new(Frees { pending: Vec::new(), unused: Vec::new(), made: 0 });

/// Frees the allocation of device memory that starts at `address`, once what was submitted to the stream is over.
///
/// # Errors
/// `cudaErrorInvalidValue` where there is none, and the device's.
pub fn free(address: usize, stream: StreamId) -> Result {
    map::retire(address, Kind::Device)?;
    let event = record(stream);
    // What a kernel did wrong comes with later calls, too; the memory is lost with the context.
    FREES.lock().pending.push((address, event?));
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

/// Gives back what nothing uses any more.
pub fn give_back() {
    give_back_where(|event| backend::get().query(Until::Event(event)));
}

/// Waits until all that was freed can be given back; whether there was anything.
pub fn wait() -> bool {
    give_back_where(|event| backend::get().wait(Until::Event(event)))
}

fn give_back_where(is_over: impl Fn(usize) -> Result) -> bool {
    // Nobody else has those that are looked at; the lock is not held while the device is asked.
    let pending = std::mem::take(&mut FREES.lock().pending);
    let (over, still): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|&(_, event)| is_over(event) == Ok(()));
    FREES.lock().pending.extend(still);
    if over.is_empty() {
        return false;
    }
    // What was found there is told of this memory, not of the next that is at its address.
    session::get().collect();
    for &(address, _) in &over {
        map::release_retired(address);
    }
    FREES.lock().unused.extend(over.iter().map(|(_, event)| event));
    true
}
