//! Stream capture.

use crate::calls::export::api;
use crate::host::edge::put;
use crate::host::errors::Error;
use crate::host::types::cudaStream_t;
use crate::work::graph::GraphHandle;
use crate::work::graph::capture::{begin, end, info};
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
