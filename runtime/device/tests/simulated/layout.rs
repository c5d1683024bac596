//! The structures of `layout.h` equal those of `gpurace_abi::device`.

use std::mem::{offset_of, size_of};

use gpurace_abi::device::{
    CheckerState, Counters, FoundRace, LaunchCell, REGION_WORDS, SHARED_CONTROL, ShadowRange, SlotSet,
};

unsafe extern "C" {
    static __gpurace_layout: [u64; 16];
}

#[test]
fn host_and_device_agree() {
    // SAFETY: a constant of the library.
    let device = unsafe { __gpurace_layout };
    let host = [
        size_of::<CheckerState>(),
        size_of::<ShadowRange>(),
        size_of::<SlotSet>(),
        size_of::<LaunchCell>(),
        size_of::<Counters>(),
        size_of::<FoundRace>(),
        size_of::<super::Control>(),
        offset_of!(CheckerState, relaxed_volatile),
        offset_of!(LaunchCell, checks),
        offset_of!(LaunchCell, near_cells),
        offset_of!(LaunchCell, over),
        offset_of!(LaunchCell, observes),
        offset_of!(Counters, lost),
        offset_of!(FoundRace, block),
        offset_of!(FoundRace, shared),
        REGION_WORDS,
    ];
    assert_eq!(device, host.map(|n| n as u64));
    assert!(size_of::<super::Control>() <= SHARED_CONTROL as usize);
}
