//! Streams: their handles, and the order of work. On the executor work runs on the
//! calling thread as it is submitted, so that a stream never has work left.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

use parking_lot::Mutex;

use crate::backend::{self, Until};
use crate::edge::{api, put};
use crate::errors::{Error, Result};
use crate::event;
use crate::graph::capture;
use crate::graph::work::{Opaque, Work};
use crate::order::{Clock, DEFAULT, ORDER, StreamId};
use crate::types::{cudaEvent_t, cudaHostFn_t, cudaStream_t, cudaStreamCallback_t};

/// Least priority of a stream.
pub const LEAST_PRIORITY: c_int = 0;
/// Greatest priority of a stream.
pub const GREATEST_PRIORITY: c_int = -5;
/// `cudaStreamNonBlocking`.
const NON_BLOCKING: u32 = 1;
/// `cudaStreamLegacy`.
const LEGACY: usize = 1;
/// `cudaStreamPerThread`.
const PER_THREAD: usize = 2;

/// What was asked of a stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    id: StreamId,
    flags: u32,
    priority: c_int,
}

/// The streams that the program made, by handle.
static STREAMS: Mutex<Option<HashMap<usize, Stream>>> = Mutex::new(None);

thread_local! {
    static OWN: OnceCell<StreamId> = const { OnceCell::new() };
    /// Whether the null stream is the host thread's own.
    static OWN_DEFAULT: Cell<bool> = const { Cell::new(false) };
}

fn per_thread() -> StreamId {
    OWN.try_with(|own| *own.get_or_init(|| ORDER.lock().create(true))).unwrap_or(DEFAULT)
}

/// Runs `body` with the null stream as this host thread's own.
pub fn with_own_default<T>(body: impl FnOnce() -> T) -> T {
    // From the first call on: a stream made later counts as ordered after what
    // was submitted before.
    per_thread();
    let set = |own| OWN_DEFAULT.try_with(|default| default.replace(own)).unwrap_or(own);
    let before = set(true);
    let result = body();
    set(before);
    result
}

fn lookup(handle: cudaStream_t) -> Result<Stream> {
    let of = |id| Stream { id, flags: 0, priority: LEAST_PRIORITY };
    match handle as usize {
        0 if OWN_DEFAULT.try_with(Cell::get) == Ok(true) => Ok(of(per_thread())),
        0 | LEGACY => Ok(of(DEFAULT)),
        PER_THREAD => Ok(of(per_thread())),
        made => {
            let streams = STREAMS.lock();
            let found = streams.as_ref().and_then(|streams| streams.get(&made));
            found.copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
        }
    }
}

/// The stream of a handle.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` where it is none.
pub fn resolve(handle: cudaStream_t) -> Result<StreamId> {
    lookup(handle).map(|stream| stream.id)
}

/// An operation that was submitted to a stream.
#[must_use]
pub struct Submitted(Clock);

impl Submitted {
    /// The host waits for it.
    pub fn wait(self) {
        ORDER.lock().host_waits(&self.0);
    }

    /// What it runs after, itself included.
    pub fn into_clock(self) -> Clock {
        self.0
    }
}

/// Submits an operation that is no launch.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` where the handle is no stream.
pub fn submit(handle: cudaStream_t) -> Result<Submitted> {
    let id = resolve(handle)?;
    Ok(Submitted(ORDER.lock().submit(id)))
}

/// The host waits for all streams.
///
/// # Errors
/// What a kernel did wrong.
pub fn synchronize_device() -> Result {
    backend::get().wait(Until::AllIsOver)?;
    ORDER.lock().host_waits_for_all();
    Ok(())
}

/// A call that `cudaStreamAddCallback` has asked for.
struct Callback {
    stream: cudaStream_t,
    callback: unsafe extern "C" fn(cudaStream_t, Error, *mut c_void),
    data: *mut c_void,
}

/// # Safety
/// `called` is a [`Callback`] that nobody else has.
unsafe extern "C" fn call_back(called: *mut c_void) {
    // SAFETY: as the caller vouches.
    let Callback { stream, callback, data } = *unsafe { Box::from_raw(called.cast::<Callback>()) };
    // SAFETY: the program vouches for its function and data.
    unsafe { callback(stream, Error::SUCCESS, data) };
}

fn create(to: *mut cudaStream_t, flags: u32, priority: c_int) -> Result {
    if to.is_null() || flags & !NON_BLOCKING != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
    let backend = backend::get();
    let id = ORDER.lock().create(flags & NON_BLOCKING == 0);
    backend.create_stream(id, flags, priority)?;
    // A handle that looks like a pointer and is never given out twice.
    let handle = 0x5000_0000 + (id.0 as usize) * 16;
    let stream = Stream { id, flags, priority };
    STREAMS.lock().get_or_insert_with(HashMap::new).insert(handle, stream);
    // SAFETY: not null, and the caller of the API vouches for it.
    unsafe { put(to, handle as cudaStream_t) }
}

api! {
    fn cudaStreamCreate(to: *mut cudaStream_t) { create(to, 0, LEAST_PRIORITY) }

    fn cudaStreamCreateWithFlags(to: *mut cudaStream_t, flags: u32) { create(to, flags, LEAST_PRIORITY) }

    fn cudaStreamCreateWithPriority(to: *mut cudaStream_t, flags: u32, priority: c_int) { create(to, flags, priority) }

    fn cudaStreamDestroy(stream: cudaStream_t) {
        let removed = STREAMS.lock().as_mut().and_then(|streams| streams.remove(&(stream as usize)));
        let removed = removed.ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        ORDER.lock().destroy(removed.id);
        backend::get().destroy_stream(removed.id);
        Ok(())
    }

    @ptsz fn cudaStreamSynchronize(stream: cudaStream_t) {
        let id = resolve(stream)?;
        capture::refuse_wait(id)?;
        backend::get().wait(Until::StreamIsOver(id))?;
        submit(stream)?.wait();
        Ok(())
    }

    @ptsz fn cudaStreamQuery(stream: cudaStream_t) {
        let id = resolve(stream)?;
        capture::refuse_wait(id)?;
        backend::get().query(Until::StreamIsOver(id))?;
        // All work is over. That the program saw it orders what it does next.
        submit(stream)?.wait();
        Ok(())
    }

    @ptsz fn cudaStreamGetFlags(stream: cudaStream_t, flags: *mut u32) { put(flags, lookup(stream)?.flags) }

    @ptsz fn cudaStreamGetPriority(stream: cudaStream_t, priority: *mut c_int) { put(priority, lookup(stream)?.priority) }

    @ptsz fn cudaStreamGetId(stream: cudaStream_t, id: *mut u64) { put(id, lookup(stream)?.id.0) }

    @ptsz fn cudaStreamWaitEvent(stream: cudaStream_t, event: cudaEvent_t, _flags: u32) {
        let id = resolve(stream)?;
        if capture::wait(id, event)? {
            return Ok(());
        }
        // An event that was never recorded is waited for by nobody.
        if let Some(recorded) = event::recorded(event)? {
            backend::get().wait_for_event(id, event as usize)?;
            ORDER.lock().wait(id, &recorded);
        }
        Ok(())
    }

    @ptsz fn cudaLaunchHostFunc(stream: cudaStream_t, function: cudaHostFn_t, data: *mut c_void) {
        let function = function.ok_or(Error::INVALID_VALUE)?;
        if capture::add(resolve(stream)?, || Work::Host(Some(function), Opaque::of(data)))? {
            return Ok(());
        }
        let _submitted = submit(stream)?;
        backend::get().call_host(resolve(stream)?, function, data)
    }

    @ptsz fn cudaStreamAddCallback(stream: cudaStream_t, callback: cudaStreamCallback_t, data: *mut c_void, flags: u32) {
        let callback = callback.ok_or(Error::INVALID_VALUE)?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        capture::refuse_wait(resolve(stream)?)?;
        let _submitted = submit(stream)?;
        let called = Box::into_raw(Box::new(Callback { stream, callback, data }));
        backend::get().call_host(resolve(stream)?, call_back, called.cast())
    }

    @ptsz fn cudaStreamCopyAttributes(to: cudaStream_t, from: cudaStream_t) {
        lookup(to)?;
        lookup(from).map(|_| ())
    }

    @ptsz fn cudaStreamSetAttribute(stream: cudaStream_t, _attribute: u32, value: *const c_void) {
        // All of them are about speed.
        lookup(stream)?;
        if value.is_null() { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    @ptsz fn cudaStreamGetAttribute(stream: cudaStream_t, attribute: u32, value: *mut c_void) {
        /// `cudaLaunchAttributePriority`.
        const PRIORITY: u32 = 8;
        let found = lookup(stream)?;
        put(value.cast::<[u64; 8]>(), [0; 8])?;
        match attribute {
            PRIORITY => put(value.cast(), found.priority),
            _ => Ok(()),
        }
    }
}
