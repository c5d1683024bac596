//! The exported functions.
//!
//! | module | functions |
//! |---|---|
//! | [`plans`] | making plans, and the sizes of work areas |
//! | [`run`] | running them |
//! | [`settings`] | handles, streams, work areas, versions |
//! | [`refused`] | what is not supported |

mod plans;
mod refused;
mod run;
mod settings;

use crate::status::{Outcome, Status};

/// Writes a result through the caller's pointer.
///
/// # Errors
/// `CUFFT_INVALID_VALUE` for a null pointer.
fn put<T>(to: *mut T, value: T) -> Outcome {
    // SAFETY: the program passes null or a valid pointer.
    Status::INVALID_VALUE.unless(unsafe { gpurace_library::export::put(to, value) })
}
