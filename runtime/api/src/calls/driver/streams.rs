//! Streams, events and captures.

use std::ffi::{c_int, c_void};

use crate::calls::capture::{
    cudaStreamBeginCapture, cudaStreamEndCapture, cudaStreamIsCapturing, cudaThreadExchangeStreamCaptureMode,
};
use crate::calls::changed::{cudaStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v3};
use crate::calls::driver::contexts::of_stream;
use crate::calls::driver::export::{driver_api, same};
use crate::calls::events::{
    cudaEventCreateWithFlags, cudaEventDestroy, cudaEventElapsedTime, cudaEventQuery, cudaEventRecord,
    cudaEventRecordWithFlags, cudaEventSynchronize,
};
use crate::calls::streams::{
    cudaLaunchHostFunc, cudaStreamAddCallback, cudaStreamCopyAttributes, cudaStreamCreateWithFlags,
    cudaStreamCreateWithPriority, cudaStreamDestroy, cudaStreamGetAttribute, cudaStreamGetDevice,
    cudaStreamGetFlags, cudaStreamGetId, cudaStreamGetPriority, cudaStreamQuery, cudaStreamSetAttribute,
    cudaStreamSynchronize, cudaStreamWaitEvent,
};
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
    fn cuStreamCreate(to: *mut cudaStream_t, flags: u32) = cudaStreamCreateWithFlags;
    fn cuStreamCreateWithPriority(to: *mut cudaStream_t, flags: u32, priority: c_int) = cudaStreamCreateWithPriority;
    fn cuStreamDestroy_v2(stream: cudaStream_t) = cudaStreamDestroy;
    @ptsz fn cuStreamSynchronize(stream: cudaStream_t) = cudaStreamSynchronize;
    @ptsz fn cuStreamQuery(stream: cudaStream_t) = cudaStreamQuery;
    @ptsz fn cuStreamWaitEvent(stream: cudaStream_t, event: cudaEvent_t, flags: u32) = cudaStreamWaitEvent;
    @ptsz fn cuStreamGetFlags(stream: cudaStream_t, flags: *mut u32) = cudaStreamGetFlags;
    @ptsz fn cuStreamGetPriority(stream: cudaStream_t, priority: *mut c_int) = cudaStreamGetPriority;
    @ptsz fn cuStreamGetId(stream: cudaStream_t, id: *mut u64) = cudaStreamGetId;
    @ptsz fn cuStreamGetDevice(stream: cudaStream_t, device: *mut c_int) = cudaStreamGetDevice;
    @ptsz fn cuStreamCopyAttributes(to: cudaStream_t, from: cudaStream_t) = cudaStreamCopyAttributes;
    @ptsz fn cuStreamGetAttribute(stream: cudaStream_t, attribute: u32, value: *mut c_void) = cudaStreamGetAttribute;
    @ptsz fn cuStreamSetAttribute(stream: cudaStream_t, attribute: u32, value: *const c_void) = cudaStreamSetAttribute;
    @ptsz fn cuStreamAddCallback(stream: cudaStream_t, callback: cudaStreamCallback_t, data: *mut c_void, flags: u32) = cudaStreamAddCallback;
    @ptsz fn cuLaunchHostFunc(stream: cudaStream_t, function: cudaHostFn_t, data: *mut c_void) = cudaLaunchHostFunc;

    fn cuEventCreate(to: *mut cudaEvent_t, flags: u32) = cudaEventCreateWithFlags;
    fn cuEventDestroy_v2(event: cudaEvent_t) = cudaEventDestroy;
    @ptsz fn cuEventRecord(event: cudaEvent_t, stream: cudaStream_t) = cudaEventRecord;
    @ptsz fn cuEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, flags: u32) = cudaEventRecordWithFlags;
    fn cuEventQuery(event: cudaEvent_t) = cudaEventQuery;
    fn cuEventSynchronize(event: cudaEvent_t) = cudaEventSynchronize;
    fn cuEventElapsedTime(to: *mut f32, start: cudaEvent_t, end: cudaEvent_t) = cudaEventElapsedTime;
    fn cuEventElapsedTime_v2(to: *mut f32, start: cudaEvent_t, end: cudaEvent_t) = cudaEventElapsedTime;

    @ptsz fn cuStreamBeginCapture_v2(stream: cudaStream_t, mode: u32) = cudaStreamBeginCapture;
    @ptsz fn cuStreamEndCapture(stream: cudaStream_t, graph: *mut GraphHandle) = cudaStreamEndCapture;
    @ptsz fn cuStreamIsCapturing(stream: cudaStream_t, status: *mut u32) = cudaStreamIsCapturing;
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) = cudaThreadExchangeStreamCaptureMode;
    @ptsz fn cuStreamGetCaptureInfo_v2(stream: cudaStream_t, status: *mut u32, id: *mut u64, graph: *mut GraphHandle, dependencies: *mut *const Id, count: *mut usize) = cudaStreamGetCaptureInfo_v2;
    @ptsz fn cuStreamGetCaptureInfo_v3(stream: cudaStream_t, status: *mut u32, id: *mut u64, graph: *mut GraphHandle, dependencies: *mut *const Id, data: *mut *const cudaGraphEdgeData, count: *mut usize) = cudaStreamGetCaptureInfo_v3;
}
