//! What libraries beside the runtime call.

use std::ffi::c_void;

use gpurace_abi::library::{LibraryOperation, Submit};

use crate::calls::export::enter;
use crate::host::errors::Error;
use crate::work::library_calls::LibraryCall;

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

/// The two agree on the type.
const _: Submit = __gpurace_library_submit;
