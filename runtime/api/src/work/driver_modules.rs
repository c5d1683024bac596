//! Modules of the driver API: device code that the program loads from a file or from memory.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;

use data_encoding::BASE64;
use gpurace_abi::image::{Container, ContainerError, FATBIN_WRAPPER_MAGIC, MAGIC, TEXT_HEAD};

use crate::backend::memory::MemoryKind;
use crate::backend::module::Payload;
use crate::host::errors::{Error, Result};
use crate::host::message;
use crate::host::types::FatbinWrapper;
use crate::program::Program;
use crate::program::modules::RegisteredModule;
use crate::work::{Process, allocations};

/// First bytes of a fat binary of NVIDIA's `fatbinary`.
pub const NV_FATBIN_MAGIC: u32 = 0xba55_ed50;
/// How gclang makes what can be loaded.
const MAKE: &str = "compile the kernels with `gclang -fsanitize=gpurace --cuda-device-only -o FILE.fatbin FILE.cu`, and load that file";

/// The modules that the program has loaded.
#[derive(Default)]
pub struct DriverModules {
    live: HashMap<usize, &'static RegisteredModule>,
    /// The containers that were loaded, by checksum. They stay: reports may name their code.
    contents: HashMap<[u8; 32], &'static [u8]>,
}

impl DriverModules {
    /// A copy of a container for good. Equal containers have one copy.
    fn keep(&mut self, bytes: &[u8]) -> &'static [u8] {
        self.contents.entry(*blake3::hash(bytes).as_bytes()).or_insert_with(|| {
            // Contents of a container are aligned to 16 bytes.
            let words = vec![0u128; bytes.len().div_ceil(16)].leak();
            let start = words.as_mut_ptr().cast::<u8>();
            // SAFETY: the words have room for these bytes, and nobody else has them.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
                std::slice::from_raw_parts(start, bytes.len())
            }
        })
    }
}

/// Loads the container in memory. Returns the module's handle.
///
/// # Safety
/// `data` is null or points to what a driver can load: a container, a fat binary or its wrapper, a cubin,
/// or text that ends with a nul.
///
/// # Errors
/// Those of [`refuse`], and of loading.
pub unsafe fn load_data(process: &Process, program: &'static Program, data: *const c_void) -> Result<usize> {
    if data.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let mut data = data.cast::<u8>();
    // SAFETY: the caller keeps the contract above.
    let mut start = unsafe { first_bytes(data) };
    if start.starts_with(&FATBIN_WRAPPER_MAGIC.to_le_bytes()) {
        // SAFETY: it is a wrapper, which points to what it wraps.
        unsafe {
            data = (*data.cast::<FatbinWrapper>()).data;
            start = first_bytes(data);
        }
    }
    if start.starts_with(TEXT_HEAD.as_bytes()) {
        // SAFETY: it is text, which ends with a nul.
        return load(process, program, &of_text(unsafe { CStr::from_ptr(data.cast()) }.to_bytes())?);
    }
    if !start.starts_with(&MAGIC) {
        return Err(refuse(&start));
    }
    // SAFETY: by its first bytes it is a container, and the caller has it whole.
    let container = unsafe { Container::in_memory(data) }.map_err(|error| unusable(&error))?;
    // SAFETY: the checksum of the size is right.
    let bytes = unsafe { std::slice::from_raw_parts(data, container.size()) };
    load(process, program, bytes)
}

/// Loads the container in a file. Returns the module's handle.
///
/// # Errors
/// `cudaErrorFileNotFound`, and as [`load_data`].
pub fn load_file(process: &Process, program: &'static Program, path: &Path) -> Result<usize> {
    let bytes = std::fs::read(path).map_err(|error| {
        message::error(&format!("cannot read `{}`: {error}", path.display()));
        Error::FILE_NOT_FOUND
    })?;
    if bytes.starts_with(TEXT_HEAD.as_bytes()) {
        return load(process, program, &of_text(bytes.split(|&byte| byte == 0).next().unwrap_or_default())?);
    }
    match bytes.starts_with(&MAGIC) {
        true => load(process, program, &bytes),
        false => Err(refuse(&bytes)),
    }
}

/// The container in a text, as `libgpurace_nvrtc.so` makes it.
///
/// # Errors
/// `cudaErrorInvalidKernelImage` if it is damaged.
fn of_text(text: &[u8]) -> Result<Vec<u8>> {
    let text = text.strip_prefix(TEXT_HEAD.as_bytes()).unwrap_or(text).trim_ascii();
    BASE64.decode(text).map_err(|_| unusable(&ContainerError::Damaged))
}

/// Loads a module from a container, and returns its handle.
fn load(process: &Process, program: &'static Program, bytes: &[u8]) -> Result<usize> {
    let kept = process.driver_modules.lock().keep(bytes);
    let container = Container::at_start_of(kept).map_err(|error| unusable(&error))?;
    let payload = Payload::of_container(container).map_err(|found| {
        message::error(&format!("found {found}, wanted device code made by gclang"));
        message::hint(MAKE);
        Error::INVALID_KERNEL_IMAGE
    })?;
    let module = RegisteredModule::register(program, Ok(payload));
    ready(process, module).inspect_err(|_| module.unregister(false))?;
    let handle = std::ptr::from_ref(module).addr();
    process.driver_modules.lock().live.insert(handle, module);
    Ok(handle)
}

/// Loads a module, with memory for its `__managed__` variables: no host program has them.
fn ready(process: &Process, module: &'static RegisteredModule) -> Result {
    for (name, size) in module.managed_names()? {
        let memory = allocations::allocate(process, size, MemoryKind::Managed, 1)?;
        let name = CString::new(name).map_err(|_| Error::INVALID_KERNEL_IMAGE)?;
        module.add_symbol(memory.address, Box::leak(name.into_boxed_c_str()));
    }
    module.ensure_loaded()
}

/// Forgets a module. Its code stays: reports may still name it.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if it is none.
pub fn unload(process: &Process, handle: *mut c_void) -> Result {
    let removed = process.driver_modules.lock().live.remove(&handle.addr());
    let module = removed.ok_or(Error::INVALID_RESOURCE_HANDLE)?;
    module.unregister(process.session.counts_sites());
    Ok(())
}

/// The module of a handle.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if it is none.
pub fn lookup(process: &Process, handle: *mut c_void) -> Result<&'static RegisteredModule> {
    process.driver_modules.lock().live.get(&handle.addr()).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
}

/// The handles of all kernels of a module.
///
/// # Errors
/// As [`lookup`].
pub fn functions(process: &Process, handle: *mut c_void) -> Result<Vec<usize>> {
    let module = lookup(process, handle)?;
    let c = |name: &str| CString::new(name).map_err(|_| Error::INVALID_KERNEL_IMAGE);
    module.kernel_names()?.map(|name| module.function(&c(name)?)).collect()
}

/// The C string at `name`.
///
/// # Safety
/// It is null or a C string.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer.
pub unsafe fn name<'a>(name: *const std::ffi::c_char) -> Result<&'a CStr> {
    // SAFETY: not null, hence by contract.
    if name.is_null() { Err(Error::INVALID_VALUE) } else { Ok(unsafe { CStr::from_ptr(name) }) }
}

fn unusable(error: &ContainerError) -> Error {
    message::error(&error.to_string());
    message::hint("compile it again with this version of gclang");
    Error::INVALID_KERNEL_IMAGE
}

/// The bytes at `data` up to the first zero: at most as many as a look at the kind of data needs.
///
/// # Safety
/// They are readable.
unsafe fn first_bytes(data: *const u8) -> Vec<u8> {
    /// ELF's header has its zeros behind the first bytes, and the machine at 18.
    const ELF: usize = 20;
    let mut bytes = Vec::new();
    for at in 0..256 {
        // SAFETY: the data goes on until a zero, and no header is shorter than this.
        let byte = unsafe { data.add(at).read() };
        let is_elf = bytes.starts_with(b"\x7fELF") && at < ELF;
        if byte == 0 && !is_elf && at >= 4 {
            break;
        }
        bytes.push(byte);
    }
    bytes
}

/// Prints that no driver but NVIDIA's can load this, and returns the error for the program.
fn refuse(found: &[u8]) -> Error {
    /// `EM_CUDA`
    const CUBIN: [u8; 2] = [190, 0];
    let text = String::from_utf8_lossy(&found[..found.len().min(4096)]);
    let is_text =
        !found.is_empty() && text.chars().all(|c| !c.is_control() || c.is_whitespace() || c == '\0');
    let (what, error) = if found.starts_with(b"\x7fELF") {
        match found.get(18..20) == Some(&CUBIN) {
            true => ("a cubin, which is code for a GPU".to_owned(), Error::NO_KERNEL_IMAGE_FOR_DEVICE),
            false => ("an object or a library".to_owned(), Error::INVALID_KERNEL_IMAGE),
        }
    } else if found.starts_with(&NV_FATBIN_MAGIC.to_le_bytes()) {
        ("an NVIDIA fat binary from nvcc or plain clang".to_owned(), Error::NO_KERNEL_IMAGE_FOR_DEVICE)
    } else if is_text && (text.contains(".version") || text.trim_start().starts_with("//")) {
        ("PTX text".to_owned(), Error::JIT_COMPILER_NOT_FOUND)
    } else {
        let shown: String = found.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        (format!("unknown data that starts with 0x{shown}"), Error::INVALID_KERNEL_IMAGE)
    };
    message::error(&format!("found {what}, wanted device code made by gclang"));
    message::hint(MAKE);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_loaded_is_told_apart() {
        let cubin = [&b"\x7fELF\x02\x01\x01"[..], &[0; 11], &[190, 0]].concat();
        assert_eq!(refuse(&cubin), Error::NO_KERNEL_IMAGE_FOR_DEVICE);
        assert_eq!(refuse(b"\x7fELF"), Error::INVALID_KERNEL_IMAGE);
        assert_eq!(refuse(b"//\n// Generated\n.version 8.0\n\0"), Error::JIT_COMPILER_NOT_FOUND);
        assert_eq!(refuse(&NV_FATBIN_MAGIC.to_le_bytes()), Error::NO_KERNEL_IMAGE_FOR_DEVICE);
        let text = [TEXT_HEAD.as_bytes(), BASE64.encode(b"abc").as_bytes(), b"\n"].concat();
        assert_eq!(of_text(&text), Ok(b"abc".to_vec()));
        assert_eq!(of_text(&text[..text.len() - 2]), Err(Error::INVALID_KERNEL_IMAGE));
        assert_eq!(refuse(b""), Error::INVALID_KERNEL_IMAGE);
        assert_eq!(refuse(b"hello"), Error::INVALID_KERNEL_IMAGE);
    }

    #[test]
    fn no_more_is_read_than_is_there() {
        let of = |bytes: &[u8]| {
            // SAFETY: the data ends with a zero, or has ELF's header.
            unsafe { first_bytes(bytes.as_ptr()) }
        };
        assert_eq!(of(b".version 8.0\0rest"), b".version 8.0");
        let cubin = [&b"\x7fELF\x02\x01\x01"[..], &[0; 11], &[190, 0], &[0; 4]].concat();
        assert_eq!(of(&cubin)[18], 190);
    }
}
