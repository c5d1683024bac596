//! The functions of the driver API that the backend calls.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | errors, and how a function is called |
//! | `library` | the driver's library, and its functions by name |
//! | `device` | the device and its context, and copies that the backend makes for itself |
//! | `memory` | allocations, reserved addresses, memory of the host that kernels reach |
//! | `module` | loading modules |
//! | [`kernel`] | attributes of kernels, launches |
//! | [`queue`] | streams, events, and the copies and fills that they order |
//! | [`array`] | arrays, textures, surfaces |

use std::ffi::{CStr, CString};

use cudarc::driver::sys;

pub mod array;
mod device;
pub mod kernel;
mod library;
mod memory;
mod module;
pub mod queue;

pub use device::{Device, open, present, wait_for_all};
pub use kernel::Function;
pub use memory::{
    Physical, allocate, device_address, free, free_page_locked, managed, mapped, page_locked, register,
    release, reserve, unmap, unregister, unreserve,
};
pub use module::{ModuleHandle, load, variable, version};
pub use queue::{Event, Stream};

/// The error of a call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{call}` failed: {name}")]
pub struct Error {
    /// The driver's function.
    pub call: &'static str,
    /// The driver's name of the error, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The error's number.
    pub code: u32,
}

impl Error {
    /// True if memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        self.code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32
    }

    /// The error that there is no memory, or no room, left.
    pub fn out_of_memory(call: &'static str) -> Self {
        Self {
            call,
            name: "CUDA_ERROR_OUT_OF_MEMORY".to_owned(),
            code: sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32,
        }
    }

    /// The error that the driver does not do what the backend needs.
    pub(crate) fn not_supported(call: &'static str) -> Self {
        Self {
            call,
            name: "CUDA_ERROR_NOT_SUPPORTED".to_owned(),
            code: sys::CUresult::CUDA_ERROR_NOT_SUPPORTED as u32,
        }
    }
}

/// The result of a call. The errors of a function are the driver's, unless its documentation names
/// others.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// The result of a call that may find no memory: then `None`.
pub fn if_room<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_out_of_memory() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why there is no GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// There is no `libcuda`.
    #[error("no NVIDIA driver: `libcuda.so.1` was not found")]
    NoDriver,
    /// The driver lacks a function that the backend calls.
    #[error("the NVIDIA driver is too old: it has no `{0}`")]
    TooOld(String),
    /// The library is the stub that programs are linked with where there is no driver.
    #[error(
        "`{0}` is the stub that CUDA has for linking, wanted the NVIDIA driver's library: take its folder out of LD_LIBRARY_PATH"
    )]
    Stub(String),
    /// The driver has no GPU, or returned an error.
    #[error("no NVIDIA GPU: {0}")]
    NoDevice(#[from] Error),
    /// The GPU runs the threads of a warp in lockstep.
    #[error("the GPU has compute capability {major}.{minor}, wanted 7.0 or newer")]
    TooOldDevice {
        /// 6 of 6.1.
        major: i32,
        /// 1 of 6.1.
        minor: i32,
    },
}

/// The name of the error that the driver has no such function.
const NOT_THERE: &str = "not in the driver";

/// An address on the device.
pub type Address = u64;

/// The result of a call that returned `code`.
fn check(call: &'static str, code: u32) -> Result {
    if code == sys::CUresult::CUDA_SUCCESS as u32 {
        return Ok(());
    }
    let name = library::name_of_error(code).unwrap_or_else(|| format!("error {code}"));
    Err(Error { call, name, code })
}

/// Calls a function of the driver. An error gets the function's name.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        static PLACE: std::sync::atomic::AtomicPtr<std::ffi::c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        const NAME: &str = concat!(stringify!($name), "\0");
        let binding: unsafe fn($($crate::driver::open_type!($argument)),*) -> _ = cudarc::driver::sys::$name;
        let given = match $crate::driver::library::function(binding, $crate::driver::nul_ended(NAME), &PLACE) {
            // SAFETY: outputs have places of their own. Inputs are handles and addresses that the
            // driver returned. It returns an error for a wrong one.
            Some(function) => Some(unsafe { function($($argument),*) }),
            None => None,
        };
        $crate::driver::asked(stringify!($name), given)
    }};
}
/// The inferred type of a parameter, one for each argument.
macro_rules! open_type {
    ($argument:expr) => {
        _
    };
}
use {call, open_type};

fn nul_ended(name: &'static str) -> &'static CStr {
    CStr::from_bytes_until_nul(name.as_bytes()).unwrap_or_default()
}

/// The result of a call that returned `given`. `None` if the driver has no such function.
fn asked(call: &'static str, given: Option<u32>) -> Result {
    match given {
        Some(code) => check(call, code),
        None => {
            Err(Error { call, name: NOT_THERE.to_owned(), code: sys::CUresult::CUDA_ERROR_NOT_FOUND as u32 })
        }
    }
}

/// A name for the driver.
fn c(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}
