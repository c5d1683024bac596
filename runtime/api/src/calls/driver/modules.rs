//! Modules and libraries: device code that the program loads from files and from memory. A library is a
//! module, and a kernel of a library is a function.

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::backend::module::DeviceVariable;
use crate::calls::driver::export::driver_api;
use crate::calls::start::process as own_process;
use crate::host::driver_types::{CUfunction, CUmodule};
use crate::host::edge::{put, put_if_asked};
use crate::host::errors::{Error, Result};
use crate::work::Process;
use crate::work::driver_modules::{functions, load_data, load_file, lookup, name, unload};

/// Loads the container at `data`, and writes its handle.
///
/// # Safety
/// `to` is null or valid for a write. `data` is as for [`load_data`].
unsafe fn load_to(process: &Process, to: *mut CUmodule, data: *const c_void) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract above.
    unsafe { put(to, load_data(process, own_process().program(), data)? as CUmodule) }
}

/// Loads the file of this name, and writes its handle.
///
/// # Safety
/// `to` is null or valid for a write, `file` null or a C string.
unsafe fn load_file_to(process: &Process, to: *mut CUmodule, file: *const c_char) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let path = Path::new(OsStr::from_bytes(name(file)?.to_bytes()));
        put(to, load_file(process, own_process().program(), path)? as CUmodule)
    }
}

/// Writes the handle of the kernel of this name.
///
/// # Safety
/// `to` is null or valid for a write, `asked` null or a C string.
unsafe fn function_to(
    process: &Process,
    to: *mut CUfunction,
    module: CUmodule,
    asked: *const c_char,
) -> Result {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let function = lookup(process, module)?.function(name(asked)?)?;
        // An error of the code is told here, and not at the launch.
        process.kernel(function as *const c_void)?;
        put(to, function as CUfunction)
    }
}

/// Writes the handles of kernels: as many as there are, and at most `count`.
///
/// # Safety
/// `to` has room for `count` handles.
unsafe fn functions_to(process: &Process, to: *mut CUfunction, count: u32, module: CUmodule) -> Result {
    for (at, function) in functions(process, module)?.into_iter().take(count as usize).enumerate() {
        // SAFETY: there is room by the contract above.
        unsafe { put(to.wrapping_add(at), function as CUfunction) }?;
    }
    Ok(())
}

/// Writes address and size of a variable. Either may be left out.
///
/// # Safety
/// The pointers are null or valid for a write.
unsafe fn variable_to(to: *mut usize, size: *mut usize, variable: DeviceVariable) -> Result {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        put_if_asked(to, variable.address);
        put_if_asked(size, variable.size);
    }
    Ok(())
}

/// The variable of this name.
///
/// # Safety
/// `asked` is null or a C string.
unsafe fn variable(process: &Process, module: CUmodule, asked: *const c_char) -> Result<DeviceVariable> {
    let module = lookup(process, module)?;
    // SAFETY: the caller keeps the contract above.
    let asked = unsafe { name(asked) }?;
    module.variable(asked.to_str().map_err(|_| Error::SYMBOL_NOT_FOUND)?)
}

driver_api! { process;
    fn cuModuleLoad(to: *mut CUmodule, file: *const c_char) { load_file_to(process, to, file) }

    fn cuModuleLoadData(to: *mut CUmodule, data: *const c_void) { load_to(process, to, data) }

    // The options are those of a compiler of PTX.
    fn cuModuleLoadDataEx(to: *mut CUmodule, data: *const c_void, _count: u32, _options: *mut c_int, _values: *mut *mut c_void) {
        load_to(process, to, data)
    }

    fn cuModuleLoadFatBinary(to: *mut CUmodule, data: *const c_void) { load_to(process, to, data) }

    fn cuModuleUnload(module: CUmodule) { unload(process, module) }

    fn cuModuleGetLoadingMode(to: *mut u32) {
        /// `CU_MODULE_EAGER_LOADING`
        const EAGER: u32 = 1;
        put(to, EAGER)
    }

    fn cuModuleGetFunction(to: *mut CUfunction, module: CUmodule, asked: *const c_char) { function_to(process, to, module, asked) }

    fn cuModuleGetFunctionCount(to: *mut u32, module: CUmodule) { put(to, functions(process, module)?.len() as u32) }

    fn cuModuleEnumerateFunctions(to: *mut CUfunction, count: u32, module: CUmodule) { functions_to(process, to, count, module) }

    fn cuModuleGetGlobal_v2(to: *mut usize, size: *mut usize, module: CUmodule, asked: *const c_char) {
        variable_to(to, size, variable(process, module, asked)?)
    }

    fn cuLibraryLoadData(
        to: *mut CUmodule,
        data: *const c_void,
        _options: *mut c_int,
        _values: *mut *mut c_void,
        _count: u32,
        _library_options: *mut c_int,
        _library_values: *mut *mut c_void,
        _library_count: u32,
    ) {
        load_to(process, to, data)
    }

    fn cuLibraryLoadFromFile(
        to: *mut CUmodule,
        file: *const c_char,
        _options: *mut c_int,
        _values: *mut *mut c_void,
        _count: u32,
        _library_options: *mut c_int,
        _library_values: *mut *mut c_void,
        _library_count: u32,
    ) {
        load_file_to(process, to, file)
    }

    fn cuLibraryUnload(library: CUmodule) { unload(process, library) }

    fn cuLibraryGetKernel(to: *mut CUfunction, library: CUmodule, asked: *const c_char) { function_to(process, to, library, asked) }

    fn cuLibraryGetKernelCount(to: *mut u32, library: CUmodule) { put(to, functions(process, library)?.len() as u32) }

    fn cuLibraryEnumerateKernels(to: *mut CUfunction, count: u32, library: CUmodule) { functions_to(process, to, count, library) }

    fn cuLibraryGetModule(to: *mut CUmodule, library: CUmodule) {
        lookup(process, library)?;
        put(to, library)
    }

    fn cuLibraryGetGlobal(to: *mut usize, size: *mut usize, library: CUmodule, asked: *const c_char) {
        variable_to(to, size, variable(process, library, asked)?)
    }

    fn cuLibraryGetManaged(to: *mut usize, size: *mut usize, library: CUmodule, asked: *const c_char) {
        let found = variable(process, library, asked)?;
        if found.managed { variable_to(to, size, found) } else { Err(Error::SYMBOL_NOT_FOUND) }
    }
}
