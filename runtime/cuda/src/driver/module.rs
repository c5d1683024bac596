//! Modules: code that was loaded.

use std::ffi::{CStr, c_void};
use std::ptr;

use cudarc::driver::sys;

use super::{Address, Result, c, call};

/// A loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleHandle(sys::CUmodule);

// SAFETY: a handle of the driver, which any thread may use.
unsafe impl Send for ModuleHandle {}
// SAFETY: as above.
unsafe impl Sync for ModuleHandle {}

impl ModuleHandle {
    pub(super) fn raw(self) -> sys::CUmodule {
        self.0
    }
}

/// Loads a module: a cubin, or PTX that ends with a nul.
///
/// # Errors
/// The driver's. For PTX that it cannot compile, with the compiler's message.
pub fn load(code: &[u8]) -> Result<ModuleHandle> {
    let mut log = [0u8; 2048];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len() - 1)];
    let mut module = ptr::null_mut();
    let loaded = call!(cuModuleLoadDataEx(
        &mut module,
        code.as_ptr().cast(),
        2,
        options.as_mut_ptr(),
        values.as_mut_ptr()
    ));
    loaded.map(|()| ModuleHandle(module)).map_err(|mut error| {
        let said = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
        if let Some(line) = said.lines().find(|line| !line.trim().is_empty()) {
            error.name = format!("{}: {}", error.name, line.trim());
        }
        error
    })
}

/// The driver's version: 12040 for the driver of CUDA 12.4.
pub fn version() -> Result<i32> {
    let mut version = 0;
    call!(cuDriverGetVersion(&mut version))?;
    Ok(version)
}

/// Address and size in bytes of a variable of a module.
///
/// # Errors
/// The driver's: not found.
pub fn variable(module: ModuleHandle, name: &str) -> Result<(Address, u64)> {
    let (mut address, mut size) = (0, 0);
    call!(cuModuleGetGlobal_v2(&mut address, &mut size, module.0, c(name).as_ptr()))?;
    Ok((address, size as u64))
}
