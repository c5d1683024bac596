//! Events: a point of a stream, and when the host reached it.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;

use crate::backend::{self, Backend, Until};
use crate::edge::{api, put};
use crate::errors::{Error, Result};
use crate::graph::capture;
use crate::order::{Clock, ORDER};
use crate::stream;
use crate::types::{cudaEvent_t, cudaStream_t};

/// `cudaEventBlockingSync`, `DisableTiming`, `Interprocess`.
const FLAGS: u32 = 0x7;
/// `cudaEventDisableTiming`.
const DISABLE_TIMING: u32 = 0x2;

#[derive(Clone, Debug)]
struct Recorded {
    clock: Clock,
    at: Instant,
}

#[derive(Clone, Debug)]
struct Event {
    flags: u32,
    recorded: Option<Recorded>,
}

struct Events {
    live: HashMap<usize, Event>,
    next: usize,
}

static EVENTS: Mutex<Option<Events>> = Mutex::new(None);

fn with<T>(handle: cudaEvent_t, f: impl FnOnce(&mut Event) -> Result<T>) -> Result<T> {
    let mut events = EVENTS.lock();
    let live = events.as_mut().and_then(|events| events.live.get_mut(&(handle as usize)));
    f(live.ok_or(Error::INVALID_RESOURCE_HANDLE)?)
}

/// What the event's last record runs after, or `None` before the first.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` where the handle is no event.
pub fn recorded(handle: cudaEvent_t) -> Result<Option<Clock>> {
    with(handle, |event| Ok(event.recorded.as_ref().map(|recorded| recorded.clock.clone())))
}

fn create(to: *mut cudaEvent_t, flags: u32) -> Result {
    if to.is_null() || flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let backend = backend::get();
    let handle = {
        let mut events = EVENTS.lock();
        let events = events.get_or_insert_with(|| Events { live: HashMap::new(), next: 0x6000_0000 });
        events.next += 16;
        let handle = events.next;
        events.live.insert(handle, Event { flags, recorded: None });
        handle
    };
    backend.create_event(handle, flags)?;
    // SAFETY: not null, and the caller of the API vouches for it.
    unsafe { put(to, handle as cudaEvent_t) }
}

fn record(event: cudaEvent_t, stream: cudaStream_t) -> Result {
    let id = stream::resolve(stream)?;
    with(event, |_| Ok(()))?;
    if capture::record(event, id) {
        return Ok(());
    }
    backend::get().record(event as usize, id)?;
    let clock = stream::submit(stream)?.into_clock();
    record_at(event, clock)
}

/// Records the event at a point of a stream.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` where the handle is no event.
pub fn record_at(event: cudaEvent_t, clock: Clock) -> Result {
    with(event, |event| {
        event.recorded = Some(Recorded { clock, at: Instant::now() });
        Ok(())
    })
}

/// The host waits for the event, or asks whether it was reached.
fn wait(event: cudaEvent_t, ask: impl FnOnce(&dyn Backend, Until) -> Result) -> Result {
    capture::refuse_host_wait(event)?;
    if let Some(clock) = recorded(event)? {
        ask(backend::get(), Until::Event(event as usize))?;
        ORDER.lock().host_waits(&clock);
    }
    Ok(())
}

fn time(event: cudaEvent_t) -> Result<Instant> {
    with(event, |event| match &event.recorded {
        Some(recorded) if event.flags & DISABLE_TIMING == 0 => Ok(recorded.at),
        _ => Err(Error::INVALID_RESOURCE_HANDLE),
    })
}

api! {
    fn cudaEventCreate(to: *mut cudaEvent_t) { create(to, 0) }

    fn cudaEventCreateWithFlags(to: *mut cudaEvent_t, flags: u32) { create(to, flags) }

    @ptsz fn cudaEventRecord(event: cudaEvent_t, stream: cudaStream_t) { record(event, stream) }

    @ptsz fn cudaEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, _flags: u32) { record(event, stream) }

    fn cudaEventQuery(event: cudaEvent_t) { wait(event, |backend, until| backend.query(until)) }

    fn cudaEventSynchronize(event: cudaEvent_t) { wait(event, |backend, until| backend.wait(until)) }

    fn cudaEventDestroy(event: cudaEvent_t) {
        let mut events = EVENTS.lock();
        let removed = events.as_mut().and_then(|events| events.live.remove(&(event as usize)));
        removed.ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        backend::get().destroy_event(event as usize);
        Ok(())
    }

    fn cudaEventElapsedTime(to: *mut f32, start: cudaEvent_t, end: cudaEvent_t) {
        let handles = (start as usize, end as usize);
        let (start, end) = (time(start)?, time(end)?);
        if let Some(measured) = backend::get().elapsed(handles.0, handles.1)? {
            return put(to, measured);
        }
        let signed = match end.checked_duration_since(start) {
            Some(after) => after.as_secs_f64(),
            None => -start.duration_since(end).as_secs_f64(),
        };
        put(to, (signed * 1e3) as f32)
    }
}
