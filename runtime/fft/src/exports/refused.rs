//! Functions that are not supported. They say so by name.

use crate::status::Status;

gpurace_library::refused! { "cuFFT":
    cufftXtSetCallback cufftXtClearCallback cufftXtSetCallbackSharedSize cufftXtSetJITCallback
    cufftXtSetGPUs cufftXtMalloc cufftXtMemcpy cufftXtFree cufftXtQueryPlan
    cufftXtSetWorkArea cufftXtSetWorkAreaPolicy
    cufftXtExecDescriptor cufftXtExecDescriptorC2C cufftXtExecDescriptorR2C cufftXtExecDescriptorC2R
    cufftXtExecDescriptorZ2Z cufftXtExecDescriptorD2Z cufftXtExecDescriptorZ2D
    cufftXtSetDistribution cufftXtSetSubformatDefault
}
