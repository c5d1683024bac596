//! Stream capture: what is submitted to a stream becomes nodes of a graph
//! (CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture").

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::edge::{api, put};
use crate::errors::{Error, Result};
use crate::graph::work::Work;
use crate::graph::{self, Graph, GraphHandle, Id};
use crate::order::{DEFAULT, StreamId};
use crate::stream;
use crate::types::{cudaEvent_t, cudaStream_t};

/// A stream that takes part in a capture.
#[derive(Clone, Debug)]
struct Taking {
    capture: u64,
    /// What its next node runs after.
    after: Vec<Id>,
    /// As the program was shown it: lives until the stream's capture ends.
    shown: Vec<Id>,
}

/// A capture that goes on.
#[derive(Clone, Copy, Debug)]
struct Capture {
    graph: Id,
    origin: StreamId,
    /// Something was submitted that cannot be captured.
    invalid: bool,
}

#[derive(Default)]
struct Captures {
    going_on: HashMap<u64, Capture>,
    streams: HashMap<StreamId, Taking>,
    events: HashMap<usize, (u64, Vec<Id>)>,
    last: u64,
}

static CAPTURES: Mutex<Option<Captures>> = Mutex::new(None);
/// Captures that go on: most programs never have one.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn with<T>(f: impl FnOnce(&mut Captures) -> T) -> T {
    f(CAPTURES.lock().get_or_insert_default())
}

/// Whether what is submitted to a stream is captured.
pub fn takes(stream: StreamId) -> bool {
    COUNT.load(Ordering::Relaxed) != 0 && with(|all| all.streams.contains_key(&stream))
}

/// Makes work that is submitted to `stream` a node, if the stream captures; gives
/// the work back if it does not.
///
/// # Errors
/// `cudaErrorStreamCaptureInvalidated`.
pub fn add(stream: StreamId, work: impl FnOnce() -> Work) -> Result<bool> {
    if !takes(stream) {
        return Ok(false);
    }
    let work = work();
    with(|all| {
        let taking = all.streams.get_mut(&stream).ok_or(Error::UNKNOWN)?;
        let capture = all.going_on.get(&taking.capture).ok_or(Error::UNKNOWN)?;
        if capture.invalid {
            return Err(Error::STREAM_CAPTURE_INVALIDATED);
        }
        let node = graph::all().add(capture.graph, work, &taking.after)?;
        taking.after = vec![node];
        Ok(true)
    })
}

/// An operation that waits for a stream: not while it captures.
///
/// # Errors
/// `cudaErrorStreamCaptureUnsupported`; the capture is invalid from then on.
pub fn refuse_wait(stream: StreamId) -> Result {
    if !takes(stream) {
        return Ok(());
    }
    with(|all| {
        let capture = all.streams.get(&stream).map(|taking| taking.capture);
        if let Some(capture) = capture.and_then(|id| all.going_on.get_mut(&id)) {
            capture.invalid = true;
        }
    });
    Err(Error::STREAM_CAPTURE_UNSUPPORTED)
}

/// Records an event in a capture; whether the stream captures.
pub fn record(event: cudaEvent_t, stream: StreamId) -> bool {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    with(|all| {
        let Some(taking) = all.streams.get(&stream) else {
            all.events.remove(&(event as usize));
            return false;
        };
        all.events.insert(event as usize, (taking.capture, taking.after.clone()));
        true
    })
}

/// A stream waits for an event: it joins the event's capture. Whether that is so.
///
/// # Errors
/// `cudaErrorStreamCaptureIsolation` where the stream captures and the event was recorded elsewhere,
/// `cudaErrorStreamCaptureMerge` where both capture, but not together.
pub fn wait(stream: StreamId, event: cudaEvent_t) -> Result<bool> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return Ok(false);
    }
    with(|all| {
        let Some((capture, nodes)) = all.events.get(&(event as usize)).cloned() else {
            return if all.streams.contains_key(&stream) {
                Err(Error::STREAM_CAPTURE_ISOLATION)
            } else {
                Ok(false)
            };
        };
        let taking =
            all.streams.entry(stream).or_insert(Taking { capture, after: Vec::new(), shown: Vec::new() });
        if taking.capture != capture {
            return Err(Error::STREAM_CAPTURE_MERGE);
        }
        for node in nodes {
            if !taking.after.contains(&node) {
                taking.after.push(node);
            }
        }
        Ok(true)
    })
}

/// The host waits for an event: not for one that is captured.
///
/// # Errors
/// `cudaErrorCapturedEvent`.
pub fn refuse_host_wait(event: cudaEvent_t) -> Result {
    let captured =
        COUNT.load(Ordering::Relaxed) != 0 && with(|all| all.events.contains_key(&(event as usize)));
    if captured { Err(Error::CAPTURED_EVENT) } else { Ok(()) }
}

fn begin(stream: StreamId) -> Result {
    // The legacy stream waits for all others, which a graph has no edge for.
    if stream == DEFAULT {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    with(|all| {
        if all.streams.contains_key(&stream) {
            return Err(Error::ILLEGAL_STATE);
        }
        let graph = graph::all().make(Graph::default());
        all.last += 1;
        let capture = all.last;
        all.going_on.insert(capture, Capture { graph, origin: stream, invalid: false });
        all.streams.insert(stream, Taking { capture, after: Vec::new(), shown: Vec::new() });
        COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

/// Ends a capture; gives its graph.
fn end(stream: StreamId) -> Result<Id> {
    with(|all| {
        let taking = all.streams.get(&stream).cloned().ok_or(Error::ILLEGAL_STATE)?;
        let capture = *all.going_on.get(&taking.capture).ok_or(Error::ILLEGAL_STATE)?;
        if capture.origin != stream {
            return Err(Error::STREAM_CAPTURE_UNMATCHED);
        }
        all.going_on.remove(&taking.capture);
        COUNT.fetch_sub(1, Ordering::Relaxed);
        let of_this = |capture: u64| capture == taking.capture;
        let others: Vec<_> =
            all.streams.values().filter(|t| of_this(t.capture)).flat_map(|t| t.after.clone()).collect();
        all.streams.retain(|_, t| !of_this(t.capture));
        all.events.retain(|_, (capture, _)| !of_this(*capture));
        let mut graphs = graph::all();
        let joined = graphs.graph(capture.graph)?.ancestors(&taking.after);
        let failure = if capture.invalid {
            Error::STREAM_CAPTURE_INVALIDATED
        } else if !others.iter().all(|node| joined.contains(node)) {
            Error::STREAM_CAPTURE_UNJOINED
        } else {
            return Ok(capture.graph);
        };
        let _ = graphs.remove(capture.graph);
        Err(failure)
    })
}

/// Tells what a stream captures: the status, the capture, and the stream's part in it.
fn info(stream: cudaStream_t, tell: impl FnOnce(Option<(u32, Capture, &mut Taking)>) -> Result) -> Result {
    /// `cudaStreamCaptureStatusActive`.
    const ACTIVE: u32 = 1;
    /// `cudaStreamCaptureStatusInvalidated`.
    const INVALIDATED: u32 = 2;
    let stream = stream::resolve(stream)?;
    with(|all| {
        let taking = all.streams.get_mut(&stream);
        tell(taking.and_then(|taking| {
            let capture = *all.going_on.get(&taking.capture)?;
            Some((if capture.invalid { INVALIDATED } else { ACTIVE }, capture, taking))
        }))
    })
}

api! {
    @ptsz fn cudaStreamBeginCapture(stream: cudaStream_t, mode: u32) {
        if mode > 2 {
            return Err(Error::INVALID_VALUE);
        }
        begin(stream::resolve(stream)?)
    }

    @ptsz fn cudaStreamEndCapture(stream: cudaStream_t, graph: *mut GraphHandle) {
        let ended = end(stream::resolve(stream)?);
        put(graph, ended.unwrap_or(0) as GraphHandle)?;
        ended.map(|_| ())
    }

    @ptsz fn cudaStreamIsCapturing(stream: cudaStream_t, status: *mut u32) {
        info(stream, |found| put(status, found.map_or(0, |(status, _, _)| status)))
    }

    @ptsz fn cudaStreamGetCaptureInfo_v2(
        stream: cudaStream_t,
        status: *mut u32,
        id: *mut u64,
        graph: *mut GraphHandle,
        dependencies: *mut *const Id,
        count: *mut usize,
    ) {
        info(stream, |found| {
            let Some((state, capture, taking)) = found else { return put(status, 0) };
            put(status, state)?;
            if !id.is_null() {
                put(id, taking.capture)?;
            }
            if !graph.is_null() {
                put(graph, capture.graph as GraphHandle)?;
            }
            taking.shown = taking.after.clone();
            if !dependencies.is_null() {
                put(dependencies, taking.shown.as_ptr())?;
            }
            if !count.is_null() {
                put(count, taking.shown.len())?;
            }
            Ok(())
        })
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: *mut u32) {
        thread_local! {
            static MODE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }
        let wanted = *crate::edge::get(mode)?;
        if wanted > 2 {
            return Err(Error::INVALID_VALUE);
        }
        put(mode, MODE.replace(wanted))
    }
}
