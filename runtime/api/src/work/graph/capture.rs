//! Stream capture: operations that are submitted to a stream become nodes of a graph (CUDA C++
//! Programming Guide, "Creating a Graph Using Stream Capture").

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::host::errors::{Error, Result};
use crate::host::types::{cudaEvent_t, cudaStream_t};
use crate::order::{DEFAULT, StreamId};
use crate::work::graph::work::Work;
use crate::work::graph::{Graph, Id};
use crate::work::{Process, streams};

/// A stream that takes part in a capture.
#[derive(Clone, Debug)]
pub struct CapturingStream {
    /// The number of the capture.
    pub capture: u64,
    /// The nodes that its next node runs after.
    pub after: Vec<Id>,
    /// The list `after` that the program got a pointer to. It lives until the capture ends.
    pub shown: Vec<Id>,
}

/// A capture that has not ended.
#[derive(Clone, Copy, Debug)]
pub struct ActiveCapture {
    /// The graph that it makes.
    pub graph: Id,
    origin: StreamId,
    /// An operation was submitted that cannot be captured.
    invalid: bool,
}

/// The captures that have not ended.
#[derive(Default)]
pub struct Captures {
    /// Their number. Most programs never have one, and every operation asks.
    count: AtomicUsize,
    state: Mutex<CaptureState>,
}

#[derive(Default)]
struct CaptureState {
    going_on: HashMap<u64, ActiveCapture>,
    streams: HashMap<StreamId, CapturingStream>,
    events: HashMap<usize, (u64, Vec<Id>)>,
    last: u64,
}

/// True if some stream captures.
fn any(process: &Process) -> bool {
    process.captures.count.load(Ordering::Relaxed) != 0
}

fn with<T>(process: &Process, f: impl FnOnce(&mut CaptureState) -> T) -> T {
    f(&mut process.captures.state.lock())
}

/// True if the stream captures.
pub fn takes(process: &Process, stream: StreamId) -> bool {
    any(process) && with(process, |all| all.streams.contains_key(&stream))
}

/// Makes an operation a node, if the stream captures. False if it does not: then the caller runs
/// the operation.
///
/// # Errors
/// `cudaErrorStreamCaptureInvalidated`.
pub fn add(process: &Process, stream: StreamId, work: impl FnOnce() -> Work) -> Result<bool> {
    if !takes(process, stream) {
        return Ok(false);
    }
    let work = work();
    with(process, |all| {
        let taking = all.streams.get_mut(&stream).ok_or(Error::UNKNOWN)?;
        let capture = all.going_on.get(&taking.capture).ok_or(Error::UNKNOWN)?;
        if capture.invalid {
            return Err(Error::STREAM_CAPTURE_INVALIDATED);
        }
        let node = process.graphs.lock().add(capture.graph, work, &taking.after)?;
        taking.after = vec![node];
        Ok(true)
    })
}

/// Refuses a wait for a stream that captures.
///
/// # Errors
/// `cudaErrorStreamCaptureUnsupported`. The capture is invalid from then on.
pub fn refuse_wait(process: &Process, stream: StreamId) -> Result {
    if !takes(process, stream) {
        return Ok(());
    }
    with(process, |all| {
        let capture = all.streams.get(&stream).map(|taking| taking.capture);
        if let Some(capture) = capture.and_then(|id| all.going_on.get_mut(&id)) {
            capture.invalid = true;
        }
    });
    Err(Error::STREAM_CAPTURE_UNSUPPORTED)
}

/// Records an event in a capture. False if the stream does not capture.
pub fn record(process: &Process, event: cudaEvent_t, stream: StreamId) -> bool {
    if !any(process) {
        return false;
    }
    with(process, |all| {
        let Some(taking) = all.streams.get(&stream) else {
            all.events.remove(&(event as usize));
            return false;
        };
        all.events.insert(event as usize, (taking.capture, taking.after.clone()));
        true
    })
}

/// Lets a stream wait for an event of a capture: it joins the capture. False if the event was not
/// recorded in a capture.
///
/// # Errors
/// `cudaErrorStreamCaptureIsolation` if the stream captures and the event was recorded elsewhere,
/// `cudaErrorStreamCaptureMerge` if both belong to different captures.
pub fn wait(process: &Process, stream: StreamId, event: cudaEvent_t) -> Result<bool> {
    if !any(process) {
        return Ok(false);
    }
    with(process, |all| {
        let Some((capture, nodes)) = all.events.get(&(event as usize)).cloned() else {
            return if all.streams.contains_key(&stream) {
                Err(Error::STREAM_CAPTURE_ISOLATION)
            } else {
                Ok(false)
            };
        };
        let taking = all.streams.entry(stream).or_insert(CapturingStream {
            capture,
            after: Vec::new(),
            shown: Vec::new(),
        });
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

/// Refuses a wait of the host for an event of a capture.
///
/// # Errors
/// `cudaErrorCapturedEvent`.
pub fn refuse_host_wait(process: &Process, event: cudaEvent_t) -> Result {
    let captured = any(process) && with(process, |all| all.events.contains_key(&(event as usize)));
    if captured { Err(Error::CAPTURED_EVENT) } else { Ok(()) }
}

/// Begins a capture.
///
/// # Errors
/// `cudaErrorStreamCaptureUnsupported`, or `cudaErrorIllegalState` if the stream captures already.
pub fn begin(process: &Process, stream: StreamId) -> Result {
    // The legacy stream waits for all others. A graph has no edges for that.
    if stream == DEFAULT {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    with(process, |all| {
        if all.streams.contains_key(&stream) {
            return Err(Error::ILLEGAL_STATE);
        }
        let graph = process.graphs.lock().make(Graph::default());
        all.last += 1;
        let capture = all.last;
        all.going_on.insert(capture, ActiveCapture { graph, origin: stream, invalid: false });
        all.streams.insert(stream, CapturingStream { capture, after: Vec::new(), shown: Vec::new() });
        process.captures.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

/// Ends a capture. Returns its graph.
///
/// # Errors
/// The reason why the capture is no graph.
pub fn end(process: &Process, stream: StreamId) -> Result<Id> {
    with(process, |all| {
        let taking = all.streams.get(&stream).cloned().ok_or(Error::ILLEGAL_STATE)?;
        let capture = *all.going_on.get(&taking.capture).ok_or(Error::ILLEGAL_STATE)?;
        if capture.origin != stream {
            return Err(Error::STREAM_CAPTURE_UNMATCHED);
        }
        all.going_on.remove(&taking.capture);
        process.captures.count.fetch_sub(1, Ordering::Relaxed);
        let of_this = |capture: u64| capture == taking.capture;
        let others: Vec<_> =
            all.streams.values().filter(|t| of_this(t.capture)).flat_map(|t| t.after.clone()).collect();
        all.streams.retain(|_, t| !of_this(t.capture));
        all.events.retain(|_, (capture, _)| !of_this(*capture));
        let mut graphs = process.graphs.lock();
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

/// Calls `tell` with the status of a stream's capture, the capture, and the stream's part in it.
/// `None` if the stream does not capture.
///
/// # Errors
/// Those of `tell`.
pub fn info(
    process: &Process,
    stream: cudaStream_t,
    tell: impl FnOnce(Option<(u32, ActiveCapture, &mut CapturingStream)>) -> Result,
) -> Result {
    /// `cudaStreamCaptureStatusActive`.
    const ACTIVE: u32 = 1;
    /// `cudaStreamCaptureStatusInvalidated`.
    const INVALIDATED: u32 = 2;
    let stream = streams::resolve(process, stream)?;
    with(process, |all| {
        let taking = all.streams.get_mut(&stream);
        tell(taking.and_then(|taking| {
            let capture = *all.going_on.get(&taking.capture)?;
            Some((if capture.invalid { INVALIDATED } else { ACTIVE }, capture, taking))
        }))
    })
}
