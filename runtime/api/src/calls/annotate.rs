//! The host's half of `gpurace/gpurace.h`.

use std::ffi::c_void;

use crate::calls::start::process;
use crate::host::edge::guard;

/// `gpurace_benign_race` of `gpurace/gpurace.h` in host code: the program intends races on these
/// bytes.
#[unsafe(no_mangle)]
pub extern "C" fn __gpurace_host_benign(address: *const c_void, size: usize) {
    guard("gpurace_benign_race", (), || {
        process().session.benign(address as usize, size);
    });
}
