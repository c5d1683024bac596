//! Events: points of streams.

use std::collections::HashMap;
use std::time::Instant;

use crate::backend::{Backend, Until};
use crate::host::edge::put;
use crate::host::errors::{Error, Result};
use crate::host::types::{EVENT_DISABLE_TIMING, cudaEvent_t, cudaStream_t};
use crate::order::Clock;
use crate::work::graph::capture;
use crate::work::{Process, streams};

/// `cudaEventBlockingSync`, `DisableTiming`, `Interprocess`.
const FLAGS: u32 = 0x7;
/// Handles look like pointers. They lie above this one.
const FIRST_HANDLE: usize = 0x6000_0000;

#[derive(Clone, Debug)]
struct Recorded {
    clock: Clock,
    at: Instant,
}

#[derive(Clone, Debug)]
struct EventState {
    flags: u32,
    recorded: Option<Recorded>,
}

/// The events of the program.
#[derive(Default)]
pub struct Events {
    live: HashMap<usize, EventState>,
    /// Number of events that were made.
    made: usize,
}

fn with<T>(
    process: &Process,
    handle: cudaEvent_t,
    f: impl FnOnce(&mut EventState) -> Result<T>,
) -> Result<T> {
    let mut events = process.events.lock();
    f(events.live.get_mut(&(handle as usize)).ok_or(Error::INVALID_RESOURCE_HANDLE)?)
}

/// The clock of the event's last record. `None` before the first.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if the handle is no event.
pub fn recorded(process: &Process, handle: cudaEvent_t) -> Result<Option<Clock>> {
    with(process, handle, |event| Ok(event.recorded.as_ref().map(|recorded| recorded.clock.clone())))
}

/// Makes an event and writes its handle.
///
/// # Safety
/// `to` is null or valid for a write.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer or unknown flags, and the device's.
pub unsafe fn create(process: &Process, to: *mut cudaEvent_t, flags: u32) -> Result {
    if to.is_null() || flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let handle = {
        let mut events = process.events.lock();
        events.made += 1;
        let handle = FIRST_HANDLE + events.made * 16;
        events.live.insert(handle, EventState { flags, recorded: None });
        handle
    };
    process.backend().create_event(handle, flags)?;
    // SAFETY: by contract.
    unsafe { put(to, handle as cudaEvent_t) }
}

/// Records the event on a stream, or in the capture that the stream takes part in.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if one of the handles is none, and the device's.
pub fn record(process: &Process, event: cudaEvent_t, stream: cudaStream_t) -> Result {
    let id = streams::resolve(process, stream)?;
    with(process, event, |_| Ok(()))?;
    if capture::record(process, event, id) {
        return Ok(());
    }
    process.backend().record(event as usize, id)?;
    let clock = streams::submit(process, stream)?.into_clock();
    record_at(process, event, clock)
}

/// Records the event at a point of a stream.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if the handle is no event.
pub fn record_at(process: &Process, event: cudaEvent_t, clock: Clock) -> Result {
    with(process, event, |event| {
        event.recorded = Some(Recorded { clock, at: Instant::now() });
        Ok(())
    })
}

/// Lets the host wait for the event, or ask whether it has come. `ask` asks or waits at the backend.
///
/// # Errors
/// Those of `ask`, and `cudaErrorCapturedEvent`.
pub fn wait(
    process: &Process,
    event: cudaEvent_t,
    ask: impl FnOnce(&dyn Backend, Until) -> Result,
) -> Result {
    capture::refuse_host_wait(process, event)?;
    if let Some(clock) = recorded(process, event)? {
        ask(process.backend(), Until::Event(event as usize))?;
        process.order().host_waits(&clock);
    }
    Ok(())
}

/// Destroys the event.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if the handle is no event.
pub fn destroy(process: &Process, event: cudaEvent_t) -> Result {
    let removed = process.events.lock().live.remove(&(event as usize));
    removed.ok_or(Error::INVALID_RESOURCE_HANDLE)?;
    process.backend().destroy_event(event as usize);
    Ok(())
}

fn time(process: &Process, event: cudaEvent_t) -> Result<Instant> {
    with(process, event, |event| match &event.recorded {
        Some(recorded) if event.flags & EVENT_DISABLE_TIMING == 0 => Ok(recorded.at),
        _ => Err(Error::INVALID_RESOURCE_HANDLE),
    })
}

/// Milliseconds between the last records of two events.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if one is no event, was not recorded or has no time.
pub fn elapsed(process: &Process, start: cudaEvent_t, end: cudaEvent_t) -> Result<f32> {
    let handles = (start as usize, end as usize);
    let (start, end) = (time(process, start)?, time(process, end)?);
    if let Some(measured) = process.backend().elapsed(handles.0, handles.1)? {
        return Ok(measured);
    }
    let signed = match end.checked_duration_since(start) {
        Some(after) => after.as_secs_f64(),
        None => -start.duration_since(end).as_secs_f64(),
    };
    Ok((signed * 1e3) as f32)
}
