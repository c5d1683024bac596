//! How a launch runs.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use gpurace_abi::image::{ImageTable, KernelEntry, VariableEntry};
use gpurace_abi::meta::ModuleMeta;

use crate::errors::{Error, Result};
use crate::launch::Launch;

/// An open host image.
pub struct Image {
    table: &'static ImageTable,
}

impl Image {
    /// Its table.
    pub fn table(&self) -> &ImageTable {
        self.table
    }
    /// Its kernels.
    pub fn kernels(&self) -> &[KernelEntry] {
        unsafe { std::slice::from_raw_parts(self.table.kernels, self.table.kernel_count as usize) }
    }
    /// Its variables.
    pub fn variables(&self) -> &[VariableEntry] {
        unsafe { std::slice::from_raw_parts(self.table.variables, self.table.variable_count as usize) }
    }
}
unsafe impl Send for Image {}
unsafe impl Sync for Image {}

/// Opens an image.
pub fn open(bytes: &[u8]) -> std::result::Result<Image, String> {
    unsafe {
        let fd = libc::memfd_create(c"gpurace".as_ptr(), 0);
        let fd = OwnedFd::from_raw_fd(fd);
        use std::io::Write;
        let mut f = std::fs::File::from(fd);
        f.write_all(bytes).map_err(|e| e.to_string())?;
        let path = CString::new(format!("/proc/self/fd/{}", f.as_raw_fd())).unwrap();
        let h = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if h.is_null() {
            return Err(std::ffi::CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned());
        }
        let s = libc::dlsym(h, c"__gpurace_image".as_ptr());
        if s.is_null() {
            return Err("no table".into());
        }
        Ok(Image { table: &*s.cast() })
    }
}

/// Ids.
pub fn reserve_ids(_meta: &ModuleMeta) -> (u32, u32) {
    (0, 0)
}

/// Bound.
pub fn max_cooperative_blocks(_threads: u32, _shared: usize) -> u64 {
    1
}

/// Runs.
pub fn run(_launch: &Launch<'_>) -> Result {
    Err(Error::NOT_SUPPORTED)
}
