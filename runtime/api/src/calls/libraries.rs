//! What libraries beside the runtime call.

use std::ffi::c_void;

use gpurace_abi::library::{Free, LibraryOperation, Submit};

use crate::calls::export::enter;
use crate::host::errors::Error;
use crate::work::library_calls::LibraryCall;
use crate::work::stream_frees;

/// Submits an operation of a library to a stream.
///
/// # Safety
/// The operation is as its type says. This function takes it over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __gpurace_library_submit(
    stream: *mut c_void,
    operation: *const LibraryOperation,
) -> u32 {
    // SAFETY: by the contract above.
    let call = unsafe { LibraryCall::new(*operation) };
    let Error(number) = enter("__gpurace_library_submit", false, |process| call.submit(process, stream));
    number
}

/// Frees device memory that a library has allocated for itself. The host does not wait.
///
/// # Safety
/// The memory came from `cudaMalloc`, and is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __gpurace_library_free(memory: *mut c_void) -> u32 {
    let address = memory.addr();
    let Error(number) =
        enter("__gpurace_library_free", false, |process| stream_frees::free_of_library(process, address));
    number
}

/// Both sides agree on the types.
const _: (Submit, Free) = (__gpurace_library_submit, __gpurace_library_free);
