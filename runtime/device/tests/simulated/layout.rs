//! The structures of `layout.h` are those of `gpurace_abi::device`.

use std::mem::{offset_of, size_of};

use gpurace_abi::device::{Counters, Found, LaunchCell, Range, SHARED_CONTROL, Slots, State};
use gpurace_abi::event::{Event, EventKind, LogHead};

unsafe extern "C" {
    static __gpurace_layout: [u64; 19];
}

#[test]
fn host_and_device_agree() {
    // SAFETY: a constant of the library.
    let device = unsafe { __gpurace_layout };
    let host = [
        size_of::<State>(),
        size_of::<Range>(),
        size_of::<Slots>(),
        size_of::<LaunchCell>(),
        size_of::<Counters>(),
        size_of::<Found>(),
        size_of::<super::Control>(),
        size_of::<Event>(),
        size_of::<LogHead>(),
        EventKind::SurfaceWrite as usize,
        offset_of!(State, annotated),
        offset_of!(LaunchCell, checks),
        offset_of!(LaunchCell, over),
        offset_of!(LaunchCell, observes),
        offset_of!(Event, complete),
        offset_of!(Counters, lost),
        offset_of!(Counters, fetches),
        offset_of!(Found, block),
        offset_of!(Found, shared),
    ];
    assert_eq!(device, host.map(|n| n as u64));
    assert!(size_of::<super::Control>() <= SHARED_CONTROL as usize);
}
