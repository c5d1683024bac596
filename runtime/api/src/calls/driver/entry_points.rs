//! Functions by name, and the names of errors.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::calls;
use crate::calls::driver::export::{driver_api, same};
use crate::calls::export::api;
use crate::host::edge::{put, put_if_asked};
use crate::host::errors::{Error, Result};
use crate::host::limits::CUDA_VERSION;
use crate::host::results::CUresult;
use crate::host::stack::own_object;
use crate::work::driver_modules::name;

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;
/// `CU_GET_PROC_ADDRESS_SUCCESS`, `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND` and
/// `CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT`. The runtime API has the same numbers.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const TOO_OLD: u32 = 2;

/// Functions whose parameters CUDA has changed since 11.0, each with its forms and the versions that these came with.
/// All other functions have one form.
const FORMS: &[(&str, &[(c_int, &CStr)])] = &[
    ("cuCtxCreate", &[(3020, c"cuCtxCreate_v2"), (11040, c"cuCtxCreate_v3"), (12050, c"cuCtxCreate_v4")]),
    ("cuCtxGetDevice", &[(2000, c"cuCtxGetDevice"), (13000, c"cuCtxGetDevice_v2")]),
    ("cuCtxSynchronize", &[(2000, c"cuCtxSynchronize"), (13000, c"cuCtxSynchronize_v2")]),
    ("cuDeviceGetUuid", &[(9020, c"cuDeviceGetUuid"), (11040, c"cuDeviceGetUuid_v2")]),
    ("cuEventElapsedTime", &[(2000, c"cuEventElapsedTime"), (12080, c"cuEventElapsedTime_v2")]),
    ("cuGetProcAddress", &[(11030, c"cuGetProcAddress"), (12000, c"cuGetProcAddress_v2")]),
    ("cuGraphAddDependencies", &[(12030, c"cuGraphAddDependencies_v2")]),
    ("cuGraphAddKernelNode", &[(12000, c"cuGraphAddKernelNode_v2")]),
    ("cuGraphAddNode", &[(12030, c"cuGraphAddNode_v2")]),
    ("cuGraphExecKernelNodeSetParams", &[(12000, c"cuGraphExecKernelNodeSetParams_v2")]),
    ("cuGraphExecUpdate", &[(12000, c"cuGraphExecUpdate_v2")]),
    ("cuGraphGetEdges", &[(12030, c"cuGraphGetEdges_v2")]),
    ("cuGraphKernelNodeGetParams", &[(12000, c"cuGraphKernelNodeGetParams_v2")]),
    ("cuGraphKernelNodeSetParams", &[(12000, c"cuGraphKernelNodeSetParams_v2")]),
    ("cuGraphNodeGetDependencies", &[(12030, c"cuGraphNodeGetDependencies_v2")]),
    ("cuGraphNodeGetDependentNodes", &[(12030, c"cuGraphNodeGetDependentNodes_v2")]),
    ("cuGraphRemoveDependencies", &[(12030, c"cuGraphRemoveDependencies_v2")]),
    ("cuMemAdvise", &[(8000, c"cuMemAdvise"), (12020, c"cuMemAdvise_v2")]),
    ("cuMemPrefetchAsync", &[(8000, c"cuMemPrefetchAsync"), (12020, c"cuMemPrefetchAsync_v2")]),
    ("cuMemcpy3DBatchAsync", &[(13000, c"cuMemcpy3DBatchAsync_v2")]),
    ("cuMemcpyBatchAsync", &[(13000, c"cuMemcpyBatchAsync_v2")]),
    ("cuStreamBatchMemOp", &[(11070, c"cuStreamBatchMemOp_v2")]),
    (
        "cuStreamGetCaptureInfo",
        &[(11030, c"cuStreamGetCaptureInfo_v2"), (12030, c"cuStreamGetCaptureInfo_v3")],
    ),
    ("cuStreamGetCtx", &[(9020, c"cuStreamGetCtx"), (12050, c"cuStreamGetCtx_v2")]),
    ("cuStreamUpdateCaptureDependencies", &[(12030, c"cuStreamUpdateCaptureDependencies_v2")]),
    ("cuStreamWaitValue32", &[(11070, c"cuStreamWaitValue32_v2")]),
    ("cuStreamWaitValue64", &[(11070, c"cuStreamWaitValue64_v2")]),
    ("cuStreamWriteValue32", &[(11070, c"cuStreamWriteValue32_v2")]),
    ("cuStreamWriteValue64", &[(11070, c"cuStreamWriteValue64_v2")]),
];

/// Looks up a symbol of this library.
fn own_symbol(symbol: &CStr) -> Option<usize> {
    static OWN: OnceLock<usize> = OnceLock::new();
    let own = *OWN.get_or_init(|| {
        own_object().map_or(0, |own| {
            // SAFETY: finds this library, which is loaded.
            unsafe { libc::dlopen(own.name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.addr()
        })
    });
    if own == 0 {
        return None;
    }
    // SAFETY: a handle of the dynamic linker.
    let found = unsafe { libc::dlsym(own as *mut c_void, symbol.as_ptr()) };
    (!found.is_null()).then(|| found.addr())
}

/// The function with this base name, in the newest form that a program for this version of CUDA knows.
/// The error is the status of `cuGetProcAddress`.
fn find(asked: &CStr, version: c_int, flags: u64) -> std::result::Result<usize, u32> {
    let base = asked.to_str().map_err(|_| NOT_FOUND)?;
    let with = |end: &str| CString::new(format!("{base}{end}")).ok();
    let symbol = match FORMS.iter().find(|(name, _)| *name == base) {
        Some((_, forms)) => {
            let form = forms.iter().rev().find(|(since, _)| *since <= version);
            form.map(|(_, symbol)| CString::from(*symbol)).ok_or(TOO_OLD)?
        }
        None if !base.starts_with("cu") || base.starts_with("cuda") => return Err(NOT_FOUND),
        None => {
            let mut ends = ["", "_v2", "_v3", "_v4"].into_iter().filter_map(with);
            ends.find(|symbol| own_symbol(symbol).is_some()).ok_or(NOT_FOUND)?
        }
    };
    if flags & PER_THREAD != 0 {
        let own = |end: &str| CString::new([symbol.to_bytes(), end.as_bytes()].concat()).ok();
        let found = ["_ptsz", "_ptds"].into_iter().filter_map(own).find_map(|symbol| own_symbol(&symbol));
        if let Some(found) = found {
            return Ok(found);
        }
    }
    own_symbol(&symbol).ok_or(NOT_FOUND)
}

/// Writes the function of this name: null if there is none.
///
/// # Safety
/// The pointers are null or valid.
unsafe fn tell(asked: *const c_char, to: *mut usize, version: c_int, flags: u64, status: *mut u32) -> Result {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let found = find(name(asked)?, version, flags);
        put(to, found.unwrap_or(0))?;
        put_if_asked(status, found.err().unwrap_or(FOUND));
    }
    Ok(())
}

driver_api! { process;
    @early fn cuGetProcAddress(symbol: *const c_char, to: *mut usize, version: c_int, flags: u64) {
        if version > CUDA_VERSION {
            return Err(Error::INVALID_VALUE);
        }
        tell(symbol, to, version, flags, std::ptr::null_mut())?;
        // This form tells only by its result.
        if *to == 0 { Err(Error::SYMBOL_NOT_FOUND) } else { Ok(()) }
    }

    @early fn cuGetProcAddress_v2(symbol: *const c_char, to: *mut usize, version: c_int, flags: u64, status: *mut u32) {
        if version > CUDA_VERSION {
            return Err(Error::INVALID_VALUE);
        }
        tell(symbol, to, version, flags, status)
    }

    @early fn cuGetErrorName(error: CUresult, to: *mut *const c_char) {
        put(to, error.name().map_or(std::ptr::null(), CStr::as_ptr))?;
        if error.name().is_some() { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    @early fn cuGetErrorString(error: CUresult, to: *mut *const c_char) {
        put(to, error.text().map_or(std::ptr::null(), CStr::as_ptr))?;
        if error.text().is_some() { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }
}

same! {
    fn cuProfilerStart() = calls::devices::cudaProfilerStart;
    fn cuProfilerStop() = calls::devices::cudaProfilerStop;
}

api! { process;
    @always fn cudaGetDriverEntryPoint(symbol: *const c_char, to: *mut usize, flags: u64, status: *mut u32) {
        // The forms that the program was built for.
        let built_for = process.program().modules.cuda();
        tell(symbol, to, if built_for == 0 { CUDA_VERSION } else { built_for as c_int }, flags, status)
    }

    @always fn cudaGetDriverEntryPointByVersion(symbol: *const c_char, to: *mut usize, version: u32, flags: u64, status: *mut u32) {
        tell(symbol, to, version as c_int, flags, status)
    }
}

/// The mark by which a program that opens `libcuda.so.1` knows that it is this library.
#[unsafe(no_mangle)]
pub static __gpurace_driver_api: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_in_order() {
        for (base, forms) in FORMS {
            assert!(forms.is_sorted_by_key(|(since, _)| *since), "{base}");
            assert!(forms.iter().all(|(_, symbol)| symbol.to_str().unwrap().starts_with("cu")), "{base}");
        }
        assert!(FORMS.is_sorted_by_key(|(base, _)| *base));
    }
}
