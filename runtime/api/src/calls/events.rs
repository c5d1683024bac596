//! Events.

use crate::calls::export::api;
use crate::host::edge::put;
use crate::host::types::{cudaEvent_t, cudaStream_t};
use crate::work::events::{create, destroy, elapsed, record, wait};

api! { process;
    fn cudaEventCreate(to: *mut cudaEvent_t) { create(process, to, 0) }

    fn cudaEventCreateWithFlags(to: *mut cudaEvent_t, flags: u32) { create(process, to, flags) }

    @ptsz fn cudaEventRecord(event: cudaEvent_t, stream: cudaStream_t) { record(process, event, stream) }

    @ptsz fn cudaEventRecordWithFlags(event: cudaEvent_t, stream: cudaStream_t, _flags: u32) { record(process, event, stream) }

    fn cudaEventQuery(event: cudaEvent_t) { wait(process, event, |backend, until| backend.query(until)) }

    fn cudaEventSynchronize(event: cudaEvent_t) { wait(process, event, |backend, until| backend.wait(until)) }

    fn cudaEventDestroy(event: cudaEvent_t) { destroy(process, event) }

    fn cudaEventElapsedTime(to: *mut f32, start: cudaEvent_t, end: cudaEvent_t) { put(to, elapsed(process, start, end)?) }
}
