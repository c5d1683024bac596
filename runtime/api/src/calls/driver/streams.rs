//! Streams, events and captures.

use std::ffi::{c_int, c_void};

use crate::calls;
use crate::calls::driver::contexts::of_stream;
use crate::calls::driver::export::{driver_api, same};
use crate::host::edge::put;
use crate::host::types::{cudaEvent_t, cudaGraphEdgeData, cudaHostFn_t, cudaStream_t, cudaStreamCallback_t};
use crate::work::graph::{GraphHandle, Id};
use crate::work::streams::lookup;

driver_api! { process;
    @ptsz fn cuStreamGetCtx(stream: cudaStream_t, to: *mut *mut c_void) {
        lookup(process, stream)?;
        put(to, of_stream(process)?)
    }

    @ptsz fn cuStreamGetCtx_v2(stream: cudaStream_t, to: *mut *mut c_void, green: *mut *mut c_void) {
        lookup(process, stream)?;
        put(green, std::ptr::null_mut())?;
        put(to, of_stream(process)?)
    }
}

same! {
    fn cuStreamCreate(to: *mut cudaStream_t, flags: u32) = calls::streams::cudaStreamCreateWithFlags;
    fn cuStreamCreateWithPriority(to: *mut cudaStream_t, flags: u32, priority: c_int) = calls::streams::cudaStreamCreateWithPriority;
    fn cuStreamDestroy_v2(stream: cudaStream_t) = calls::streams::cudaStreamDestroy;
    @ptsz fn cuStreamSynchronize(stream: cudaStream_t) = calls::streams::cudaStreamSynchronize;
    @ptsz fn cuStreamQuery(stream: cudaStream_t) = calls::streams::cudaStreamQuery;
    @ptsz fn cuStreamWaitEvent(stream: cudaStream_t, event: cudaEvent_t, flags: u32) = calls::streams::cudaStreamWaitEvent;
    @ptsz fn cuStreamGetFlags(stream: cudaStream_t, flags: *mut u32) = calls::streams::cudaStreamGetFlags;
    @ptsz fn cuStreamGetPriority(stream: cudaStream_t, priority: *mut c_int) = calls::streams::cudaStreamGetPriority;
    @ptsz fn cuStreamGetId(stream: cudaStream_t, id: *mut u64) = calls::streams::cudaStreamGetId;
    @ptsz fn cuStreamGetDevice(stream: cudaStream_t, device: *mut c_int) = calls::streams::cudaStreamGetDevice;
    @ptsz fn cuStreamCopyAttributes(to: cudaStream_t, from: cudaStream_t) = calls::streams::cudaStreamCopyAttributes;
    @ptsz fn cuStreamGetAttribute(stream: cudaStream_t, attribute: u32, value: *mut c_void) = calls::streams::cudaStreamGetAttribute;
    @ptsz fn cuStreamSetAttribute(stream: cudaStream_t, attribute: u32, value: *const c_void) = calls::streams::cudaStreamSetAttribute;
    @ptsz fn cuStreamAddCallback(stream: cudaStream_t, callback: cudaStreamCallback_t, data: *mut c_void, flags: u32) = calls::streams::cudaStreamAddCallback;
    @ptsz fn cuLaunchHostFunc(stream: cudaStream_t, function: cudaHostFn_t, data: *mut c_void) = calls::streams::cudaLaunchHostFunc;

    fn cuEventCreate(to: *mut cudaEvent_t, flags: u32) = calls::events::cudaEventCreateWithFlags;
    fn cuEventDestroy_v2(event: cudaEvent_t) = calls::events::cudaEventDestroy;
    @ptsz fn cuEventRecord(event: cudaEvent_t, stream: cudaStream_t) = calls::events::cudaEventRecord;
    @ptsz fn cuEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, flags: u32) = calls::events::cudaEventRecordWithFlags;
    fn cuEventQuery(event: cudaEvent_t) = calls::events::cudaEventQuery;
    fn cuEventSynchronize(event: cudaEvent_t) = calls::events::cudaEventSynchronize;
    fn cuEventElapsedTime(to: *mut f32, start: cudaEvent_t, end: cudaEvent_t) = calls::events::cudaEventElapsedTime;
    fn cuEventElapsedTime_v2(to: *mut f32, start: cudaEvent_t, end: cudaEvent_t) = calls::events::cudaEventElapsedTime;

    @ptsz fn cuStreamBeginCapture_v2(stream: cudaStream_t, mode: u32) = calls::capture::cudaStreamBeginCapture;
    @ptsz fn cuStreamEndCapture(stream: cudaStream_t, graph: *mut GraphHandle) = calls::capture::cudaStreamEndCapture;
    @ptsz fn cuStreamIsCapturing(stream: cudaStream_t, status: *mut u32) = calls::capture::cudaStreamIsCapturing;
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) = calls::capture::cudaThreadExchangeStreamCaptureMode;
    @ptsz fn cuStreamGetCaptureInfo_v2(stream: cudaStream_t, status: *mut u32, id: *mut u64, graph: *mut GraphHandle, dependencies: *mut *const Id, count: *mut usize) = calls::changed::cudaStreamGetCaptureInfo_v2;
    @ptsz fn cuStreamGetCaptureInfo_v3(stream: cudaStream_t, status: *mut u32, id: *mut u64, graph: *mut GraphHandle, dependencies: *mut *const Id, data: *mut *const cudaGraphEdgeData, count: *mut usize) = calls::changed::cudaStreamGetCaptureInfo_v3;
}
