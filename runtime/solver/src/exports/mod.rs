//! The exported functions.
//!
//! | module | functions |
//! |---|---|
//! | [`settings`] | handles, streams, versions, parameters |
//! | [`cholesky`], [`lu`], [`qr`] | factors, and solutions with them |
//! | [`eigen`] | eigenvalues |
//! | [`singular`] | singular values |
//!
//! The name of a function has the type of its numbers, so the four functions of one kind share a body. Those with an
//! `X` take types and sizes of 64 bits as parameters.

mod cholesky;
mod eigen;
mod lu;
mod qr;
mod settings;
mod singular;

use crate::call::WORKSPACE;
use crate::status::{Outcome, Status, valid};
use crate::types::Type;

/// Writes a result through the caller's pointer.
///
/// # Errors
/// `CUSOLVER_STATUS_INVALID_VALUE` for a null pointer.
fn put<T>(to: *mut T, value: T) -> Outcome {
    // SAFETY: the program passes null or a valid pointer.
    valid(unsafe { gpurace_library::export::put(to, value) })
}

/// Writes the size of a workspace in elements.
///
/// # Errors
/// As [`put`].
fn put_elements(to: *mut i32) -> Outcome {
    put(to, WORKSPACE as i32)
}

/// Writes the sizes of workspaces in bytes, on the device and on the host.
///
/// # Errors
/// As [`put`].
fn put_bytes(device: *mut usize, host: *mut usize) -> Outcome {
    put(device, WORKSPACE)?;
    put(host, 0)
}

/// The type that several parameters name. `reals` name the type of its parts.
///
/// # Errors
/// They do not agree: cuSOLVER has no such combination.
fn same(types: &[u32], reals: &[u32]) -> Outcome<Type> {
    let ty = Type::new(*types.first().ok_or(Status::INVALID_VALUE)?)?;
    for &other in types {
        valid(Type::new(other)? == ty)?;
    }
    for &real in reals {
        valid(Type::new(real)? == ty.real())?;
    }
    Ok(ty)
}
