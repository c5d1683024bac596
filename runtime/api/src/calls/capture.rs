//! Stream capture.

use crate::calls::export::api;
use crate::host::edge::put;
use crate::host::errors::Error;
use crate::host::types::cudaStream_t;
use crate::work::graph::capture::{begin, end, info};
use crate::work::graph::{GraphHandle, Id};
use crate::work::streams;

api! { process;
    @ptsz fn cudaStreamBeginCapture(stream: cudaStream_t, mode: u32) {
        if mode > 2 {
            return Err(Error::INVALID_VALUE);
        }
        begin(process, streams::resolve(process, stream)?)
    }

    @ptsz fn cudaStreamEndCapture(stream: cudaStream_t, graph: *mut GraphHandle) {
        let ended = end(process, streams::resolve(process, stream)?);
        put(graph, ended.unwrap_or(0) as GraphHandle)?;
        ended.map(|_| ())
    }

    @ptsz fn cudaStreamIsCapturing(stream: cudaStream_t, status: *mut u32) {
        info(process, stream, |found| put(status, found.map_or(0, |(status, _, _)| status)))
    }

    @ptsz fn cudaStreamGetCaptureInfo_v2(
        stream: cudaStream_t,
        status: *mut u32,
        id: *mut u64,
        graph: *mut GraphHandle,
        dependencies: *mut *const Id,
        count: *mut usize,
    ) {
        info(process, stream, |found| {
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
        let wanted = *crate::host::edge::get(mode)?;
        if wanted > 2 {
            return Err(Error::INVALID_VALUE);
        }
        put(mode, MODE.replace(wanted))
    }
}
