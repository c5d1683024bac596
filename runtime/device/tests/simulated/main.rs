//! The device runtime, compiled for the host, compared with the checker: decisions on one word, and
//! histories of whole blocks against vector clocks.

// Naming the crate links the build script's library.
use gpurace_device as _;

mod decide;
mod histories;
mod layout;
#[path = "../../../check/tests/oracle/model/mod.rs"]
#[allow(dead_code, unused_imports, reason = "written for the checker's tests")]
mod model;
mod regions;

use gpurace_abi::device::LaunchCell;

unsafe extern "C" {
    #[allow(clippy::too_many_arguments, reason = "LaunchCell::begin_arguments")]
    fn __gpurace_begin(
        cell: u64,
        turn: u64,
        blocks: u64,
        number: u64,
        first_uid: u64,
        observes: u64,
        slots: u64,
        ranges: u64,
        range_count: u64,
        near: u64,
        near_end: u64,
        near_cells: u64,
        before: u64,
        turn_before: u64,
    );
}

/// Fills a launch cell, as the simulated thread.
///
/// # Safety
/// There is a simulated thread, and a cell.
unsafe fn begin(cell: u64, contents: &LaunchCell) {
    let [cell, turn, blocks, number, first_uid, observes, slots, ranges, range_count, near, end, cells, ..] =
        contents.begin_arguments(cell, None);
    // SAFETY: the caller's.
    unsafe {
        __gpurace_begin(
            cell,
            turn,
            blocks,
            number,
            first_uid,
            observes,
            slots,
            ranges,
            range_count,
            near,
            end,
            cells,
            0,
            0,
        )
    };
}

/// `Control` of `cpp/target.h`.
#[repr(C)]
#[derive(Clone, Default)]
pub struct Control {
    start: u64,
    shadow: u64,
    first_uid: u64,
    blocks: u64,
    cell: u64,
    uid: u32,
    slot: u32,
    base: u32,
    parity: u32,
    top: [u32; 2],
    irregular: u32,
    acquired: u32,
    alive: u32,
    shadowed: u32,
    near: u32,
    is_near: u32,
    warp: [u32; 32],
    checks: [u32; 32],
}

/// `Simulated` of `cpp/target.h`.
#[repr(C)]
pub struct Simulated {
    control: *mut Control,
    state: *const gpurace_abi::device::CheckerState,
    thread: u32,
    threads: u32,
    block: u64,
    shared: u64,
    shared_size: u64,
    /// Memory for the block's near shadow.
    near: u64,
}
