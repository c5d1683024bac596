//! The host's half of `gpurace/gpurace.h`.

use std::ffi::c_void;

use crate::host::edge::guard;
use crate::session;

/// `gpurace_benign_race` of `gpurace/gpurace.h` in host code: the program intends races on these
/// bytes.
#[unsafe(no_mangle)]
pub extern "C" fn __gpurace_host_benign(address: *const c_void, size: usize) {
    guard("gpurace_benign_race", (), || {
        session::get().benign(address as usize, size);
    });
}
