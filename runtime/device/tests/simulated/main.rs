//! The device runtime, compiled for the host, against the checker: what it makes
//! of one word, and histories of whole blocks against vector clocks.

// The build script's library is linked where the crate is named.
use gpurace_device as _;

mod decide;
mod fetches;
mod histories;
mod layout;
mod lines;
mod touch;
#[path = "../../../check/tests/oracle/model/mod.rs"]
#[allow(dead_code, unused_imports, reason = "written for the checker's tests")]
mod model;

/// `Control` of `cpp/target.h`.
#[repr(C)]
#[derive(Clone, Default)]
pub struct Control {
    start: u64,
    shadow: u64,
    checks: u64,
    first_uid: u64,
    blocks: u64,
    launch: u64,
    cell: u64,
    log: u64,
    uid: u32,
    slot: u32,
    base: u32,
    parity: u32,
    top: [u32; 2],
    irregular: u32,
    acquired: u32,
    alive: u32,
    unordered: u32,
    passed: u32,
    held: u32,
    warp: [u32; 32],
}

/// `Simulated` of `cpp/target.h`.
#[repr(C)]
pub struct Simulated {
    control: *mut Control,
    state: *const gpurace_abi::device::State,
    thread: u32,
    threads: u32,
    block: u64,
    shared: u64,
    shared_size: u64,
}
