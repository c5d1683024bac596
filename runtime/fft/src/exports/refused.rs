//! Functions that are not supported. They say so by name.

use gpurace_library::export::{c_text, say};

use crate::status::Status;

/// Defines functions that say that they are missing. They look at no parameter, so any list of them fits.
macro_rules! refused {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of cuFFT. Refused.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> Status {
            const NAME: &std::ffi::CStr = c_text(concat!(stringify!($name), "\0"));
            say(NAME, "not supported by gpurace's cuFFT (see docs/libraries.md)");
            Status::NOT_SUPPORTED
        }
    )*};
}

refused! {
    cufftXtSetCallback cufftXtClearCallback cufftXtSetCallbackSharedSize cufftXtSetJITCallback
    cufftXtSetGPUs cufftXtMalloc cufftXtMemcpy cufftXtFree cufftXtQueryPlan
    cufftXtSetWorkArea cufftXtSetWorkAreaPolicy
    cufftXtExecDescriptor cufftXtExecDescriptorC2C cufftXtExecDescriptorR2C cufftXtExecDescriptorC2R
    cufftXtExecDescriptorZ2Z cufftXtExecDescriptorD2Z cufftXtExecDescriptorZ2D
    cufftXtSetDistribution cufftXtSetSubformatDefault
}
