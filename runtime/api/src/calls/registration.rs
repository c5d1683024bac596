//! Registration: before `main`, clang's constructors name the device code, kernels and variables of
//! each translation unit.

use std::ffi::{CStr, c_char, c_int, c_void};

use gpurace_abi::image::{Container, ContainerError, FATBIN_WRAPPER_MAGIC};

use crate::backend::module::Payload;
use crate::calls::start::process;
use crate::host::edge::guard;
use crate::host::errors::Error;
use crate::host::message;
use crate::host::types::FatbinWrapper;
use crate::program::modules::RegisteredModule;
use crate::work::driver_modules::NV_FATBIN_MAGIC;

/// Reads the argument of `__cudaRegisterFatBinary`. The error names what was found instead.
///
/// # Safety
/// `wrapper` is null or points to a fat-binary wrapper of clang or nvcc.
unsafe fn read_payload(wrapper: *const FatbinWrapper) -> std::result::Result<Payload, String> {
    // SAFETY: the caller passes null or a valid pointer.
    let Some(wrapper) = (unsafe { wrapper.as_ref() }) else {
        return Err("no fat-binary wrapper".to_owned());
    };
    if wrapper.magic != FATBIN_WRAPPER_MAGIC || wrapper.data.is_null() {
        return Err(format!("a wrapper with magic {:#x}", wrapper.magic));
    }
    let data = wrapper.data;
    // SAFETY: each fat binary has at least 16 bytes, each container is whole, and both are static data of
    // the program.
    let container = unsafe { Container::in_memory(data) }.map_err(|error| match error {
        ContainerError::NotAContainer => {
            // SAFETY: at least 16 bytes are readable.
            let magic = unsafe { data.cast::<u32>().read_unaligned() };
            match magic {
                NV_FATBIN_MAGIC => "an NVIDIA fat binary from nvcc or plain clang".to_owned(),
                _ => format!("unknown data that starts with {magic:#010x}"),
            }
        }
        error => error.to_string(),
    })?;
    Payload::of_container(container)
}

/// Runs the body of the exported function `name` on the module of a handle, if there is one.
///
/// # Safety
/// `handle` is null or a handle of [`__cudaRegisterFatBinary`].
unsafe fn on_module(name: &str, handle: *mut *mut c_void, body: impl FnOnce(&'static RegisteredModule)) {
    guard(name, (), || {
        // SAFETY: handles are leaked modules.
        if let Some(module) = unsafe { handle.cast::<RegisteredModule>().as_ref() } {
            body(module);
        }
    });
}

/// Registers the device code of a translation unit. Returns its handle.
///
/// # Safety
/// `wrapper` points to a fat-binary wrapper in static data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> *mut *mut c_void {
    guard("__cudaRegisterFatBinary", std::ptr::null_mut(), || {
        // SAFETY: the caller keeps the contract above.
        let payload = unsafe { read_payload(wrapper.cast()) }.map_err(|found| {
            message::error(&format!("found {found}, wanted device code made by gclang"));
            message::hint("rebuild the objects that hold kernels with gclang");
            Error::NO_KERNEL_IMAGE_FOR_DEVICE
        });
        let module = RegisteredModule::register(process().program(), payload);
        std::ptr::from_ref(module).cast_mut().cast()
    })
}

/// Ends the registration of a translation unit. Host code may read its `__managed__` variables from
/// now on, so a module with such variables is loaded.
///
/// # Safety
/// `handle` is null or a handle of [`__cudaRegisterFatBinary`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd(handle: *mut *mut c_void) {
    // SAFETY: the caller keeps the contract above.
    unsafe { on_module("__cudaRegisterFatBinaryEnd", handle, RegisteredModule::end_registration) };
}

/// Forgets the kernels and variables of a translation unit. Its code stays: reports may still name
/// it.
///
/// # Safety
/// `handle` is null or a handle of [`__cudaRegisterFatBinary`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    // The report counts its accesses after the payload was unmapped.
    let unregister = |module: &RegisteredModule| module.unregister(process().session.counts_sites());
    // SAFETY: the caller keeps the contract above.
    unsafe { on_module("__cudaUnregisterFatBinary", handle, unregister) };
}

/// Ties a host stub to a kernel of the module.
///
/// # Safety
/// `handle` is a handle of [`__cudaRegisterFatBinary`], `name` a C string in
/// static data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    stub: *const c_char,
    _device_fun: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp_size: *mut c_int,
) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let name = CStr::from_ptr(name);
        on_module("__cudaRegisterFunction", handle, |module| module.add_function(stub as usize, name));
    }
}

/// Ties a host variable to a device variable of the module.
///
/// # Safety
/// As [`__cudaRegisterFunction`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _device_address: *mut c_char,
    name: *const c_char,
    _ext: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let name = CStr::from_ptr(name);
        on_module("__cudaRegisterVar", handle, |module| module.add_symbol(host as usize, name));
    }
}

/// Ties a host pointer to a `__managed__` variable of the module and sets it: host code accesses
/// the variable through the pointer, even before `main`.
///
/// # Safety
/// As [`__cudaRegisterFunction`]. `host` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    host: *mut *mut c_void,
    device_address: *mut c_char,
    name: *const c_char,
    ext: c_int,
    size: usize,
    constant: c_int,
    global: c_int,
) {
    // SAFETY: the caller keeps the contract above.
    unsafe { __cudaRegisterVar(handle, host.cast(), device_address, name, ext, size, constant, global) };
    guard("__cudaRegisterManagedVar", (), || {
        if let Ok(variable) = process().program().modules.variable_of_symbol(host.cast()) {
            // SAFETY: the caller passes the address of a pointer.
            unsafe { host.write(variable.address as *mut c_void) };
        }
    });
}

/// Prints that texture references are not supported: CUDA 12 removed them.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterTexture(
    _handle: *mut *mut c_void,
    _host: *const c_void,
    _device_address: *const *const c_void,
    _name: *const c_char,
    _dim: c_int,
    _norm: c_int,
    _ext: c_int,
) {
    guard("__cudaRegisterTexture", (), || {
        process().errors_once.error("texture references are not supported")
    });
}

/// Prints that surface references are not supported: CUDA 12 removed them.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterSurface(
    _handle: *mut *mut c_void,
    _host: *const c_void,
    _device_address: *const *const c_void,
    _name: *const c_char,
    _dim: c_int,
    _ext: c_int,
) {
    guard("__cudaRegisterSurface", (), || {
        process().errors_once.error("surface references are not supported")
    });
}

/// Modules need no initialisation of their own.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_handle: *mut *mut c_void) -> c_char {
    1
}
