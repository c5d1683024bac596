//! `cudaError_t`: every code with its name and text in CUDA 13.0, the last error of each host
//! thread, and the sticky error.
//!
//! The fault of a kernel is *sticky*, as in CUDA: from then on most calls return it, until
//! `cudaDeviceReset`.

use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// A `cudaError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Error(pub u32);

/// The result of a function of the API inside this crate. The errors of a function are the device's,
/// unless its documentation names others.
pub type Result<T = ()> = std::result::Result<T, Error>;

macro_rules! table {
    ($($constant:ident = $code:literal, $name:literal, $text:literal;)*) => {
        impl Error {
            $(#[doc = concat!("`", $name, "`: ", $text, ".")]
            pub const $constant: Self = Self($code);)*

            /// Every code that CUDA 13.0 defines.
            pub const ALL: &[Self] = &[$(Self::$constant),*];

            fn entry(self) -> Option<(&'static str, &'static str)> {
                match self.0 {
                    $($code => Some((concat!($name, "\0"), concat!($text, "\0"))),)*
                    _ => None,
                }
            }
        }
    };
}

table! {
    SUCCESS = 0, "cudaSuccess", "no error";
    INVALID_VALUE = 1, "cudaErrorInvalidValue", "invalid argument";
    MEMORY_ALLOCATION = 2, "cudaErrorMemoryAllocation", "out of memory";
    INITIALIZATION_ERROR = 3, "cudaErrorInitializationError", "initialization error";
    CUDART_UNLOADING = 4, "cudaErrorCudartUnloading", "driver shutting down";
    PROFILER_DISABLED = 5, "cudaErrorProfilerDisabled", "profiler disabled while using external profiling tool";
    PROFILER_NOT_INITIALIZED = 6, "cudaErrorProfilerNotInitialized", "profiler not initialized: call cudaProfilerInitialize()";
    PROFILER_ALREADY_STARTED = 7, "cudaErrorProfilerAlreadyStarted", "profiler already started";
    PROFILER_ALREADY_STOPPED = 8, "cudaErrorProfilerAlreadyStopped", "profiler already stopped";
    INVALID_CONFIGURATION = 9, "cudaErrorInvalidConfiguration", "invalid configuration argument";
    INVALID_PITCH_VALUE = 12, "cudaErrorInvalidPitchValue", "invalid pitch argument";
    INVALID_SYMBOL = 13, "cudaErrorInvalidSymbol", "invalid device symbol";
    INVALID_HOST_POINTER = 16, "cudaErrorInvalidHostPointer", "invalid host pointer";
    INVALID_DEVICE_POINTER = 17, "cudaErrorInvalidDevicePointer", "invalid device pointer";
    INVALID_TEXTURE = 18, "cudaErrorInvalidTexture", "invalid texture reference";
    INVALID_TEXTURE_BINDING = 19, "cudaErrorInvalidTextureBinding", "texture is not bound to a pointer";
    INVALID_CHANNEL_DESCRIPTOR = 20, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor";
    INVALID_MEMCPY_DIRECTION = 21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy";
    ADDRESS_OF_CONSTANT = 22, "cudaErrorAddressOfConstant", "invalid address of constant";
    TEXTURE_FETCH_FAILED = 23, "cudaErrorTextureFetchFailed", "fetch from texture failed";
    TEXTURE_NOT_BOUND = 24, "cudaErrorTextureNotBound", "cannot fetch from a texture that is not bound";
    SYNCHRONIZATION_ERROR = 25, "cudaErrorSynchronizationError", "incorrect use of __syncthreads()";
    INVALID_FILTER_SETTING = 26, "cudaErrorInvalidFilterSetting", "linear filtering not supported for non-float type";
    INVALID_NORM_SETTING = 27, "cudaErrorInvalidNormSetting", "read as normalized float not supported for 32-bit non float type";
    MIXED_DEVICE_EXECUTION = 28, "cudaErrorMixedDeviceExecution", "device emulation mode and device execution mode cannot be mixed";
    NOT_YET_IMPLEMENTED = 31, "cudaErrorNotYetImplemented", "feature not yet implemented";
    MEMORY_VALUE_TOO_LARGE = 32, "cudaErrorMemoryValueTooLarge", "memory size or pointer value too large to fit in 32 bit";
    STUB_LIBRARY = 34, "cudaErrorStubLibrary", "CUDA driver is a stub library";
    INSUFFICIENT_DRIVER = 35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version";
    CALL_REQUIRES_NEWER_DRIVER = 36, "cudaErrorCallRequiresNewerDriver", "API call is not supported in the installed CUDA driver";
    INVALID_SURFACE = 37, "cudaErrorInvalidSurface", "invalid surface reference";
    DUPLICATE_VARIABLE_NAME = 43, "cudaErrorDuplicateVariableName", "duplicate global variable looked up by string name";
    DUPLICATE_TEXTURE_NAME = 44, "cudaErrorDuplicateTextureName", "duplicate texture looked up by string name";
    DUPLICATE_SURFACE_NAME = 45, "cudaErrorDuplicateSurfaceName", "duplicate surface looked up by string name";
    DEVICES_UNAVAILABLE = 46, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable";
    INCOMPATIBLE_DRIVER_CONTEXT = 49, "cudaErrorIncompatibleDriverContext", "incompatible driver context";
    MISSING_CONFIGURATION = 52, "cudaErrorMissingConfiguration", "__global__ function call is not configured";
    PRIOR_LAUNCH_FAILURE = 53, "cudaErrorPriorLaunchFailure", "unspecified launch failure in prior launch";
    LAUNCH_MAX_DEPTH_EXCEEDED = 65, "cudaErrorLaunchMaxDepthExceeded", "launch would exceed maximum depth of nested launches";
    LAUNCH_FILE_SCOPED_TEX = 66, "cudaErrorLaunchFileScopedTex", "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)";
    LAUNCH_FILE_SCOPED_SURF = 67, "cudaErrorLaunchFileScopedSurf", "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)";
    SYNC_DEPTH_EXCEEDED = 68, "cudaErrorSyncDepthExceeded", "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth";
    LAUNCH_PENDING_COUNT_EXCEEDED = 69, "cudaErrorLaunchPendingCountExceeded", "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount";
    INVALID_DEVICE_FUNCTION = 98, "cudaErrorInvalidDeviceFunction", "invalid device function";
    NO_DEVICE = 100, "cudaErrorNoDevice", "no CUDA-capable device is detected";
    INVALID_DEVICE = 101, "cudaErrorInvalidDevice", "invalid device ordinal";
    DEVICE_NOT_LICENSED = 102, "cudaErrorDeviceNotLicensed", "device doesn't have valid Grid license";
    SOFTWARE_VALIDITY_NOT_ESTABLISHED = 103, "cudaErrorSoftwareValidityNotEstablished", "integrity checks failed";
    STARTUP_FAILURE = 127, "cudaErrorStartupFailure", "startup failure in cuda runtime";
    INVALID_KERNEL_IMAGE = 200, "cudaErrorInvalidKernelImage", "device kernel image is invalid";
    DEVICE_UNINITIALIZED = 201, "cudaErrorDeviceUninitialized", "invalid device context";
    MAP_BUFFER_OBJECT_FAILED = 205, "cudaErrorMapBufferObjectFailed", "mapping of buffer object failed";
    UNMAP_BUFFER_OBJECT_FAILED = 206, "cudaErrorUnmapBufferObjectFailed", "unmapping of buffer object failed";
    ARRAY_IS_MAPPED = 207, "cudaErrorArrayIsMapped", "array is mapped";
    ALREADY_MAPPED = 208, "cudaErrorAlreadyMapped", "resource already mapped";
    NO_KERNEL_IMAGE_FOR_DEVICE = 209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device";
    ALREADY_ACQUIRED = 210, "cudaErrorAlreadyAcquired", "resource already acquired";
    NOT_MAPPED = 211, "cudaErrorNotMapped", "resource not mapped";
    NOT_MAPPED_AS_ARRAY = 212, "cudaErrorNotMappedAsArray", "resource not mapped as array";
    NOT_MAPPED_AS_POINTER = 213, "cudaErrorNotMappedAsPointer", "resource not mapped as pointer";
    ECC_UNCORRECTABLE = 214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered";
    UNSUPPORTED_LIMIT = 215, "cudaErrorUnsupportedLimit", "limit is not supported on this architecture";
    DEVICE_ALREADY_IN_USE = 216, "cudaErrorDeviceAlreadyInUse", "exclusive-thread device already in use by a different thread";
    PEER_ACCESS_UNSUPPORTED = 217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices";
    INVALID_PTX = 218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed";
    INVALID_GRAPHICS_CONTEXT = 219, "cudaErrorInvalidGraphicsContext", "invalid OpenGL or DirectX context";
    NVLINK_UNCORRECTABLE = 220, "cudaErrorNvlinkUncorrectable", "uncorrectable NVLink error detected during the execution";
    JIT_COMPILER_NOT_FOUND = 221, "cudaErrorJitCompilerNotFound", "PTX JIT compiler library not found";
    UNSUPPORTED_PTX_VERSION = 222, "cudaErrorUnsupportedPtxVersion", "the provided PTX was compiled with an unsupported toolchain.";
    JIT_COMPILATION_DISABLED = 223, "cudaErrorJitCompilationDisabled", "PTX JIT compilation was disabled";
    UNSUPPORTED_EXEC_AFFINITY = 224, "cudaErrorUnsupportedExecAffinity", "the provided execution affinity is not supported";
    UNSUPPORTED_DEV_SIDE_SYNC = 225, "cudaErrorUnsupportedDevSideSync", "the provided PTX contains unsupported call to cudaDeviceSynchronize";
    CONTAINED = 226, "cudaErrorContained", "an exception on the device was contained";
    INVALID_SOURCE = 300, "cudaErrorInvalidSource", "device kernel image is invalid";
    FILE_NOT_FOUND = 301, "cudaErrorFileNotFound", "file not found";
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "cudaErrorSharedObjectSymbolNotFound", "shared object symbol not found";
    SHARED_OBJECT_INIT_FAILED = 303, "cudaErrorSharedObjectInitFailed", "shared object initialization failed";
    OPERATING_SYSTEM = 304, "cudaErrorOperatingSystem", "OS call failed or operation not supported on this OS";
    INVALID_RESOURCE_HANDLE = 400, "cudaErrorInvalidResourceHandle", "invalid resource handle";
    ILLEGAL_STATE = 401, "cudaErrorIllegalState", "the operation cannot be performed in the present state";
    LOSSY_QUERY = 402, "cudaErrorLossyQuery", "attempted introspection would be semantically lossy";
    SYMBOL_NOT_FOUND = 500, "cudaErrorSymbolNotFound", "named symbol not found";
    NOT_READY = 600, "cudaErrorNotReady", "device not ready";
    ILLEGAL_ADDRESS = 700, "cudaErrorIllegalAddress", "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch";
    LAUNCH_TIMEOUT = 702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated";
    LAUNCH_INCOMPATIBLE_TEXTURING = 703, "cudaErrorLaunchIncompatibleTexturing", "launch uses incompatible texturing mode";
    PEER_ACCESS_ALREADY_ENABLED = 704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED = 705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled";
    SET_ON_ACTIVE_PROCESS = 708, "cudaErrorSetOnActiveProcess", "cannot set while device is active in this process";
    CONTEXT_IS_DESTROYED = 709, "cudaErrorContextIsDestroyed", "context is destroyed";
    ASSERT = 710, "cudaErrorAssert", "device-side assert triggered";
    TOO_MANY_PEERS = 711, "cudaErrorTooManyPeers", "peer mapping resources exhausted";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "cudaErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED = 713, "cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region";
    HARDWARE_STACK_ERROR = 714, "cudaErrorHardwareStackError", "hardware stack error";
    ILLEGAL_INSTRUCTION = 715, "cudaErrorIllegalInstruction", "an illegal instruction was encountered";
    MISALIGNED_ADDRESS = 716, "cudaErrorMisalignedAddress", "misaligned address";
    INVALID_ADDRESS_SPACE = 717, "cudaErrorInvalidAddressSpace", "operation not supported on global/shared address space";
    INVALID_PC = 718, "cudaErrorInvalidPc", "invalid program counter";
    LAUNCH_FAILURE = 719, "cudaErrorLaunchFailure", "unspecified launch failure";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch";
    TENSOR_MEMORY_LEAK = 721, "cudaErrorTensorMemoryLeak", "a kernel left tensor memory allocated";
    NOT_PERMITTED = 800, "cudaErrorNotPermitted", "operation not permitted";
    NOT_SUPPORTED = 801, "cudaErrorNotSupported", "operation not supported";
    SYSTEM_NOT_READY = 802, "cudaErrorSystemNotReady", "system not yet initialized";
    SYSTEM_DRIVER_MISMATCH = 803, "cudaErrorSystemDriverMismatch", "system has unsupported display driver / cuda driver combination";
    COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, "cudaErrorCompatNotSupportedOnDevice", "forward compatibility was attempted on non supported HW";
    MPS_CONNECTION_FAILED = 805, "cudaErrorMpsConnectionFailed", "MPS client failed to connect to the MPS control daemon or the MPS server";
    MPS_RPC_FAILURE = 806, "cudaErrorMpsRpcFailure", "the remote procedural call between the MPS server and the MPS client failed";
    MPS_SERVER_NOT_READY = 807, "cudaErrorMpsServerNotReady", "MPS server is not ready to accept new MPS client requests";
    MPS_MAX_CLIENTS_REACHED = 808, "cudaErrorMpsMaxClientsReached", "the hardware resources required to create MPS client have been exhausted";
    MPS_MAX_CONNECTIONS_REACHED = 809, "cudaErrorMpsMaxConnectionsReached", "the hardware resources required to support device connections have been exhausted";
    MPS_CLIENT_TERMINATED = 810, "cudaErrorMpsClientTerminated", "the MPS client has been terminated by the server";
    CDP_NOT_SUPPORTED = 811, "cudaErrorCdpNotSupported", "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it";
    CDP_VERSION_MISMATCH = 812, "cudaErrorCdpVersionMismatch", "unsupported interaction between different versions of CUDA Dynamic Parallelism";
    STREAM_CAPTURE_UNSUPPORTED = 900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED = 901, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture";
    STREAM_CAPTURE_MERGE = 902, "cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED = 903, "cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED = 904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION = 905, "cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT = 906, "cudaErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT = 907, "cudaErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD = 908, "cudaErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread";
    TIMEOUT = 909, "cudaErrorTimeout", "wait operation timed out";
    GRAPH_EXEC_UPDATE_FAILURE = 910, "cudaErrorGraphExecUpdateFailure", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    EXTERNAL_DEVICE = 911, "cudaErrorExternalDevice", "an async error has occured in external entity outside of CUDA";
    INVALID_CLUSTER_SIZE = 912, "cudaErrorInvalidClusterSize", "a kernel launch error has occurred due to cluster misconfiguration";
    FUNCTION_NOT_LOADED = 913, "cudaErrorFunctionNotLoaded", "the function is not loaded";
    INVALID_RESOURCE_TYPE = 914, "cudaErrorInvalidResourceType", "invalid resource type";
    INVALID_RESOURCE_CONFIGURATION = 915, "cudaErrorInvalidResourceConfiguration", "invalid resource configuration";
    UNKNOWN = 999, "cudaErrorUnknown", "unknown error";
    API_FAILURE_BASE = 10000, "cudaErrorApiFailureBase", "api failure base";
}

/// What CUDA says of a number that is no code.
const UNRECOGNIZED: &str = "unrecognized error code\0";

fn c_str(text: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default()
}

impl Error {
    /// The error with this number, which is the same in CUDA's driver. Unknown if there is none.
    pub fn of_number(number: u32) -> Self {
        match Self(number).entry() {
            Some(_) => Self(number),
            None => Self::UNKNOWN,
        }
    }

    /// Name of the enumerator, for instance `cudaErrorInvalidValue`.
    pub fn name(self) -> &'static CStr {
        c_str(self.entry().map_or(UNRECOGNIZED, |e| e.0))
    }

    /// The text for people, for instance `invalid argument`.
    pub fn text(self) -> &'static CStr {
        c_str(self.entry().map_or(UNRECOGNIZED, |e| e.1))
    }
}

thread_local! {
    /// The error of the thread's last call that failed. CUDA keeps one for each thread.
    static LAST: Cell<Error> = const { Cell::new(Error::SUCCESS) };
}

/// Notes that a call of this thread failed.
pub fn record(error: Error) {
    // While the thread's destructors run, its last error is gone.
    let _ = LAST.try_with(|last| last.set(error));
}

/// Runs `body`, which leaves the thread's last error as it is.
pub fn unrecorded<T>(body: impl FnOnce() -> T) -> T {
    let before = LAST.try_with(Cell::get);
    let result = body();
    if let Ok(before) = before {
        record(before);
    }
    result
}

/// The fault of a kernel. The default is success.
#[derive(Default)]
pub struct StickyError(AtomicU32);

impl StickyError {
    /// The fault, or success.
    pub fn get(&self) -> Error {
        Error(self.0.load(Ordering::Acquire))
    }

    /// Makes every later call return `error`, unless an earlier fault is set: that one stays.
    pub fn set(&self, error: Error) {
        let _ = self.0.compare_exchange(0, error.0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Forgets the fault (`cudaDeviceReset`).
    pub fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// The fault if there is one, otherwise `last`.
    fn or(&self, last: Error) -> Error {
        if self.get() == Error::SUCCESS { last } else { self.get() }
    }

    /// The last error of this thread. It stays until [`Self::take`].
    pub fn peek(&self) -> Error {
        self.or(LAST.try_with(Cell::get).unwrap_or(Error::SUCCESS))
    }

    /// The last error of this thread, which is forgotten. A sticky one stays.
    pub fn take(&self) -> Error {
        self.or(LAST.try_with(|last| last.replace(Error::SUCCESS)).unwrap_or(Error::SUCCESS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_cudas() {
        assert_eq!(Error::INVALID_VALUE.name(), c"cudaErrorInvalidValue");
        assert_eq!(Error::ILLEGAL_ADDRESS.text(), c"an illegal memory access was encountered");
        assert_eq!(Error::SUCCESS.name(), c"cudaSuccess");
        assert_eq!(Error(12345).name(), c"unrecognized error code");
        assert_eq!(Error::ALL.len(), 134);
        for error in Error::ALL {
            assert!(error.name().to_bytes().starts_with(b"cuda"), "{error:?}");
        }
    }

    #[test]
    fn last_error_is_taken_once() {
        let sticky = StickyError::default();
        record(Error::INVALID_VALUE);
        assert_eq!(sticky.peek(), Error::INVALID_VALUE);
        assert_eq!(sticky.take(), Error::INVALID_VALUE);
        assert_eq!(sticky.take(), Error::SUCCESS);
    }
}
