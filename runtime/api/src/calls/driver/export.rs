//! How an exported function of the driver API is written, with [`driver_api!`] or [`same!`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::calls::start::process;
use crate::host::errors::{self, Error, Result};
use crate::host::message;
use crate::host::results::CUresult;
use crate::session::watch;
use crate::work::Process;
use crate::work::contexts::{self, without_runtime};

/// What a function needs before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing.
    Nothing,
    /// `cuInit`.
    Init,
    /// A current context, and that no kernel has failed.
    Context,
}

/// Defines functions of the driver API. The first word names the [`Process`] in their bodies, which are
/// written as those of [`api!`](crate::calls::export::api).
///
/// `@early fn` also runs before `cuInit`, `@free fn` without a current context. `@ptds fn` and `@ptsz fn`
/// are exported a second time with that suffix: their null stream is the host thread's own.
macro_rules! driver_api {
    (needs early) => { $crate::calls::driver::export::Needs::Nothing };
    (needs free) => { $crate::calls::driver::export::Needs::Init };
    (needs $($mark:ident)?) => { $crate::calls::driver::export::Needs::Context };
    (again [ptds] $name:ident $params:tt) => { $crate::calls::driver::export::driver_api!(again "_ptds", $name $params); };
    (again [ptsz] $name:ident $params:tt) => { $crate::calls::driver::export::driver_api!(again "_ptsz", $name $params); };
    (again [$($mark:ident)?] $name:ident $params:tt) => {};
    (again $suffix:literal, $name:ident ($($param:ident: $ty:ty),*)) => {
        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            unsafe extern "C" fn own($($param: $ty),*) -> $crate::host::results::CUresult {
                // SAFETY: the caller keeps the contract of the C function.
                $crate::work::streams::with_own_default($crate::calls::start::process(), || unsafe { $name($($param),*) })
            }
        };
    };
    ($process:ident; $($(#[$meta:meta])* $(@$mark:ident)? fn $name:ident($($param:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the CUDA driver API.")]
        $(#[$meta])*
        ///
        /// # Safety
        /// Pointers are as the CUDA driver API documents them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($param: $ty),*) -> $crate::host::results::CUresult {
            let needs = $crate::calls::driver::export::driver_api!(needs $($mark)?);
            $crate::calls::driver::export::enter(stringify!($name), needs, |$process| {
                let _ = $process;
                // SAFETY: the caller keeps the contract of the C function.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
        $crate::calls::driver::export::driver_api!(again [$($mark)?] $name ($($param: $ty),*));
    )*};
}
pub(crate) use driver_api;

/// Defines functions of the driver API that are a function of the runtime API under another name.
macro_rules! same {
    ($($(@$mark:ident)? fn $name:ident($($param:ident: $ty:ty),* $(,)?) = $runtime:path;)*) => {
        $crate::calls::driver::export::driver_api! { process;
            $($(@$mark)? fn $name($($param: $ty),*) { $crate::calls::driver::export::done($runtime($($param),*)) })*
        }
    };
}
pub(crate) use same;

/// The result of a function of the runtime API.
pub(crate) fn done(error: Error) -> Result {
    if error == Error::SUCCESS { Ok(()) } else { Err(error) }
}

/// Runs the body of the exported function `name`.
pub(crate) fn enter(name: &str, needs: Needs, body: impl FnOnce(&Process) -> Result) -> CUresult {
    let process = process();
    let body = || {
        match needs {
            Needs::Nothing => {}
            Needs::Init => contexts::check_initialized(process)?,
            Needs::Context => {
                contexts::check_current(process)?;
                done(process.session.sticky.get())?;
            }
        }
        watch::pause(&process.session);
        // The driver API keeps no last error.
        let result = errors::unrecorded(|| without_runtime(|| body(process)));
        watch::resume(&process.session);
        result
    };
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        message::error(&format!("internal error in `{name}`"));
        Err(Error::UNKNOWN)
    });
    process.session.tell();
    result.into()
}
