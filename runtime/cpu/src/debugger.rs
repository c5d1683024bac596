//! What a debugger reads: which blocks are resident, and where the fields of their threads are.
//!
//! The script for gdb (`driver/share/gdb/gpurace.py`) finds the table by its name. Nothing is noted before [`track`].

use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::block::{Block, Lane, offsets};
use crate::fiber::JumpFiber;
use crate::launch::LaunchState;
use crate::signal::{self, Running};

/// The most resident blocks that are noted.
const MOST_BLOCKS: usize = 64;

/// The layout of this table. The script knows one.
const VERSION: u64 = 1;

/// Where the fields are that a debugger reads, and the resident blocks. All offsets are in bytes.
#[repr(C)]
pub struct DebuggerTable {
    version: u64,
    block_launch: u64,
    block_running: u64,
    block_lanes: u64,
    block_threads: u64,
    launch_suspends: u64,
    lane_bytes: u64,
    lane_tid: u64,
    lane_ctaid: u64,
    lane_shared: u64,
    lane_launch_id: u64,
    lane_handle: u64,
    lane_state: u64,
    running_fiber: u64,
    fiber_own: u64,
    most_blocks: u64,
    /// The resident blocks. Some places are null.
    blocks: [AtomicPtr<Block>; MOST_BLOCKS],
}

/// The table, under a name that a debugger finds.
#[unsafe(no_mangle)]
#[used]
pub static GPURACE_DEBUGGER_TABLE: DebuggerTable = DebuggerTable {
    version: VERSION,
    block_launch: offset_of!(Block, launch) as u64,
    block_running: offset_of!(Block, running) as u64,
    block_lanes: offsets::LANES as u64,
    block_threads: offsets::THREADS as u64,
    launch_suspends: offset_of!(LaunchState, suspends) as u64,
    lane_bytes: size_of::<Lane>() as u64,
    lane_tid: offset_of!(Lane, ctx.tid) as u64,
    lane_ctaid: offset_of!(Lane, ctx.ctaid) as u64,
    lane_shared: offset_of!(Lane, ctx.shared_base) as u64,
    lane_launch_id: offset_of!(Lane, ctx.launch_id) as u64,
    lane_handle: offset_of!(Lane, handle) as u64,
    lane_state: offset_of!(Lane, state) as u64,
    running_fiber: offset_of!(Running, fiber) as u64,
    fiber_own: JumpFiber::OWN as u64,
    most_blocks: MOST_BLOCKS as u64,
    blocks: [const { AtomicPtr::new(ptr::null_mut()) }; MOST_BLOCKS],
};

/// True if resident blocks are noted.
static TRACKS: AtomicBool = AtomicBool::new(false);

/// Notes resident blocks from now on.
pub fn track() {
    TRACKS.store(true, Ordering::Relaxed);
}

/// Notes that a block is resident.
pub(crate) fn enter(block: *mut Block) {
    if TRACKS.load(Ordering::Relaxed) {
        replace(ptr::null_mut(), block);
    }
}

/// Notes that a block has ended.
pub(crate) fn leave(block: *mut Block) {
    if TRACKS.load(Ordering::Relaxed) {
        replace(block, ptr::null_mut());
    }
}

/// Replaces one entry of the table. If there is none of this value, nothing changes.
fn replace(from: *mut Block, to: *mut Block) {
    let order = (Ordering::Release, Ordering::Relaxed);
    let mut places = GPURACE_DEBUGGER_TABLE.blocks.iter();
    places.find(|place| place.compare_exchange(from, to, order.0, order.1).is_ok());
}

/// True if a device thread runs on this OS thread.
pub fn in_device_thread() -> bool {
    signal::runs_device_thread()
}
