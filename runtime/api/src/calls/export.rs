//! How an exported function is written. Every function of the CUDA Runtime API goes through
//! [`api!`]: no panic leaves the library, and every failure becomes the thread's last error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::calls::start::process;
use crate::host::errors::{self, Error, Result};
use crate::host::message;
use crate::session::watch;
use crate::work::{Process, contexts};

/// Defines functions that are not supported, so that programs link. A call prints the function's name, once, and
/// fails. `enter(x) -> R` says how they are entered: by the `enter` of the caller's module, with this argument.
///
/// No arguments are declared because none are used. The caller passes them in registers and on its own stack, which
/// does no harm.
macro_rules! refuse {
    (enter($how:expr) -> $result:ty; $($what:literal: $($name:ident)*;)*) => {
        /// The refused functions.
        pub const ALL: &[&str] = &[$($(stringify!($name)),*),*];

        $($(
            #[doc = concat!("Refused: ", $what, " are not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> $result {
                enter(stringify!($name), $how, |process| {
                    process.errors_once.error(concat!("`", stringify!($name), "`: ", $what, " are not supported on the CPU executor"));
                    Err($crate::host::errors::Error::NOT_SUPPORTED)
                })
            }
        )*)*
    };
}

/// Defines functions of the CUDA Runtime API. The first word names the [`Process`] in their bodies.
/// A body returns a [`Result`]. It is one `unsafe` block, because it uses pointers under the
/// contract of the C function: a pointer is null, if CUDA allows or detects that, or valid for what
/// the function is documented to read and write.
///
/// `@always fn` also runs after a kernel has failed. A plain `fn` then returns the kernel's error
/// at once, as CUDA does. `@ptds fn` and `@ptsz fn` are exported a second time with that suffix,
/// for programs that are compiled with `-fgpu-default-stream=per-thread`: their null stream is the
/// host thread's own.
macro_rules! api {
    (runs always) => { true };
    (runs $($mark:ident)?) => { false };
    (again [ptds] $name:ident $params:tt) => { $crate::calls::export::api!(again "_ptds", $name $params); };
    (again [ptsz] $name:ident $params:tt) => { $crate::calls::export::api!(again "_ptsz", $name $params); };
    (again [$($mark:ident)?] $name:ident $params:tt) => {};
    (again $suffix:literal, $name:ident ($($param:ident: $ty:ty),*)) => {
        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            unsafe extern "C" fn own($($param: $ty),*) -> $crate::host::errors::Error {
                // SAFETY: the caller keeps the contract of the C function.
                $crate::work::streams::with_own_default($crate::calls::start::process(), || unsafe { $name($($param),*) })
            }
        };
    };
    ($process:ident; $($(#[$meta:meta])* $(@$mark:ident)? fn $name:ident($($param:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the CUDA Runtime API.")]
        $(#[$meta])*
        ///
        /// # Safety
        /// Pointers are as the CUDA Runtime API documents them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($param: $ty),*) -> $crate::host::errors::Error {
            $crate::calls::export::enter(stringify!($name), $crate::calls::export::api!(runs $($mark)?), |$process| {
                let _ = $process;
                // SAFETY: the caller keeps the contract of the C function.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
        $crate::calls::export::api!(again [$($mark)?] $name ($($param: $ty),*));
    )*};
}

/// Defines pairs of functions by `api!` or `driver_api!`. The first one waits for its transfer. The second one may
/// return earlier, and has a stream as last parameter. `$sync` is true in the first one.
macro_rules! transfers {
    ($define:ident! $process:ident, $stream:ident, $sync:ident;
     $(fn $now:ident, $later:ident($($param:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $define! { $process;
            $(@ptds fn $now($($param: $ty),*) {
                let ($stream, $sync) = ($crate::host::types::DEFAULT_STREAM, true);
                $body
            }
            @ptsz fn $later($($param: $ty,)* $stream: $crate::host::types::cudaStream_t) {
                let $sync = false;
                $body
            })*
        }
    };
}
pub(crate) use {api, refuse, transfers};

/// Runs the body of the exported function `name`.
pub(crate) fn enter(name: &str, always: bool, body: impl FnOnce(&Process) -> Result) -> Error {
    let process = process();
    let session = &process.session;
    if !always {
        contexts::runtime_is_used(process);
    }
    if !always && session.sticky.get() != Error::SUCCESS {
        return session.sticky.get();
    }
    let body = || {
        watch::pause(session);
        let result = body(process);
        watch::resume(session);
        result
    };
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        message::error(&format!("internal error in `{name}`"));
        Err(Error::UNKNOWN)
    });
    session.tell();
    match result {
        Ok(()) => Error::SUCCESS,
        Err(error) => {
            // For CUDA, "not finished yet" is no failure.
            if error != Error::NOT_READY {
                errors::record(error);
            }
            error
        }
    }
}
