//! Streams.

use std::ffi::{c_int, c_void};

use crate::backend::Until;
use crate::calls::export::api;
use crate::host::edge::put;
use crate::host::errors::Error;
use crate::host::types::{cudaEvent_t, cudaHostFn_t, cudaStream_t, cudaStreamCallback_t};
use crate::work::events;
use crate::work::graph::capture;
use crate::work::graph::work::{Opaque, Work};
use crate::work::streams::{
    LEAST_PRIORITY, StreamCallback, call_back, create, destroy, lookup, resolve, submit,
};

api! { process;
    fn cudaStreamCreate(to: *mut cudaStream_t) { create(process, to, 0, LEAST_PRIORITY) }

    fn cudaStreamCreateWithFlags(to: *mut cudaStream_t, flags: u32) { create(process, to, flags, LEAST_PRIORITY) }

    fn cudaStreamCreateWithPriority(to: *mut cudaStream_t, flags: u32, priority: c_int) { create(process, to, flags, priority) }

    fn cudaStreamDestroy(stream: cudaStream_t) { destroy(process, stream) }

    @ptsz fn cudaStreamSynchronize(stream: cudaStream_t) {
        let id = resolve(process, stream)?;
        capture::refuse_wait(process, id)?;
        process.backend().wait(Until::StreamIsOver(id))?;
        submit(process, stream)?.wait(process);
        Ok(())
    }

    @ptsz fn cudaStreamQuery(stream: cudaStream_t) {
        let id = resolve(process, stream)?;
        capture::refuse_wait(process, id)?;
        process.backend().query(Until::StreamIsOver(id))?;
        // The host knows that all work is over: that orders its later operations.
        submit(process, stream)?.wait(process);
        Ok(())
    }

    @ptsz fn cudaStreamGetFlags(stream: cudaStream_t, flags: *mut u32) { put(flags, lookup(process, stream)?.flags) }

    @ptsz fn cudaStreamGetPriority(stream: cudaStream_t, priority: *mut c_int) { put(priority, lookup(process, stream)?.priority) }

    @ptsz fn cudaStreamGetId(stream: cudaStream_t, id: *mut u64) { put(id, lookup(process, stream)?.id.0) }

    @ptsz fn cudaStreamWaitEvent(stream: cudaStream_t, event: cudaEvent_t, _flags: u32) {
        let id = resolve(process, stream)?;
        if capture::wait(process, id, event)? {
            return Ok(());
        }
        // A stream does not wait for an event that was never recorded.
        if let Some(recorded) = events::recorded(process, event)? {
            process.backend().wait_for_event(id, event as usize)?;
            process.order().wait(id, &recorded);
        }
        Ok(())
    }

    @ptsz fn cudaLaunchHostFunc(stream: cudaStream_t, function: cudaHostFn_t, data: *mut c_void) {
        let function = function.ok_or(Error::INVALID_VALUE)?;
        if capture::add(process, resolve(process, stream)?, || Work::Host(Some(function), Opaque::of(data)))? {
            return Ok(());
        }
        let _submitted = submit(process, stream)?;
        process.backend().call_host(resolve(process, stream)?, function, data)
    }

    @ptsz fn cudaStreamAddCallback(stream: cudaStream_t, callback: cudaStreamCallback_t, data: *mut c_void, flags: u32) {
        let callback = callback.ok_or(Error::INVALID_VALUE)?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        capture::refuse_wait(process, resolve(process, stream)?)?;
        let _submitted = submit(process, stream)?;
        let called = Box::into_raw(Box::new(StreamCallback { stream, callback, data }));
        process.backend().call_host(resolve(process, stream)?, call_back, called.cast())
    }

    @ptsz fn cudaStreamGetDevice(stream: cudaStream_t, device: *mut c_int) {
        lookup(process, stream)?;
        put(device, 0)
    }

    @ptsz fn cudaStreamCopyAttributes(to: cudaStream_t, from: cudaStream_t) {
        lookup(process, to)?;
        lookup(process, from).map(|_| ())
    }

    @ptsz fn cudaStreamSetAttribute(stream: cudaStream_t, _attribute: u32, value: *const c_void) {
        // All of them are about speed.
        lookup(process, stream)?;
        if value.is_null() { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    @ptsz fn cudaStreamGetAttribute(stream: cudaStream_t, attribute: u32, value: *mut c_void) {
        /// `cudaLaunchAttributePriority`.
        const PRIORITY: u32 = 8;
        let found = lookup(process, stream)?;
        put(value.cast::<[u64; 8]>(), [0; 8])?;
        match attribute {
            PRIORITY => put(value.cast(), found.priority),
            _ => Ok(()),
        }
    }
}
