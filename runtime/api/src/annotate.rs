//! What host code says through `gpurace/gpurace.h`.

use std::ffi::c_void;

use crate::edge::guard;
use crate::session;

/// `gpurace_benign_race` of `gpurace/gpurace.h` in host code: races on these
/// bytes are meant.
#[unsafe(no_mangle)]
pub extern "C" fn __gpurace_host_benign(address: *const c_void, size: usize) {
    guard("gpurace_benign_race", (), || {
        session::get().benign(address as usize, size);
    });
}
