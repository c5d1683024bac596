//! Host images: device code as an ELF shared object, opened from memory.

use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use gpurace_abi::image::{
    BlockFn, FORMAT_VERSION, IMAGE_NEEDS_X86_64_V3, IMAGE_SYMBOL, ImageTable, KernelFn,
};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// An opened host image. It stays loaded as long as it lives.
#[derive(Debug)]
pub struct Image {
    kernels: Vec<Kernel>,
    variables: Vec<Variable>,
    _library: Library,
    /// The loader identifies objects by their path, which has this file's descriptor: no other file
    /// may get the descriptor while the image lives.
    _file: File,
}

/// A kernel of an image.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Mangled name.
    pub name: String,
    /// The kernel as built: with checks if the module was instrumented.
    pub run: KernelFn,
    /// The kernel without checks, if the image has one.
    pub run_bare: Option<KernelFn>,
    /// The block entry without checks, if the kernel has one.
    pub run_block: Option<BlockEntry>,
    /// The block entry of the kernel as built, if it has one.
    pub run_block_checked: Option<BlockEntry>,
    /// The kernel without the checks of sites that are proved while compiling, if the image has it.
    pub run_open: Option<KernelFn>,
    /// The block entry of `run_open`, if it has one.
    pub run_block_open: Option<BlockEntry>,
}

/// A block entry: runs all threads of a block, segment by segment.
#[derive(Clone, Copy, Debug)]
pub struct BlockEntry {
    /// The code.
    pub run: BlockFn,
    /// Bytes of its block frame for each thread.
    pub frame_bytes: u64,
    /// True if the context names the thread that runs.
    pub sets_threads: bool,
    /// True if it serves launches alone whose warps are whole.
    pub needs_whole_warps: bool,
}

/// A device variable of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Mangled name.
    pub name: String,
    /// Address of its storage.
    pub address: usize,
    /// Its size, bytes.
    pub size: u64,
}

/// The reason why an image could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The system has no memory file for it.
    #[error("cannot put the device image into memory")]
    Memory(#[source] io::Error),
    /// The loader refused it.
    #[error("cannot load the device image")]
    Load(#[source] libloading::Error),
    /// It does not export the table.
    #[error("device image has no symbol `{IMAGE_SYMBOL}`")]
    NoTable,
    /// Another version of gpurace made it.
    #[error("device image has format version {found} where {FORMAT_VERSION} was wanted")]
    Version {
        /// The version found.
        found: u32,
    },
    /// The processor lacks a feature that the image needs.
    #[error("device image needs x86-64-v3 but this processor has no `{missing}`")]
    Processor {
        /// The feature that it lacks.
        missing: &'static str,
    },
    /// A kernel without code, or an entry without a name.
    #[error("device image has a malformed table")]
    Malformed,
}

impl Image {
    /// Opens an image from its bytes.
    ///
    /// # Errors
    /// See [`ImageError`].
    ///
    /// # Safety
    /// The bytes are a device image that gpurace made: loading runs its initialisers and trusts its
    /// table.
    pub unsafe fn open(bytes: &[u8]) -> Result<Self, ImageError> {
        let file = memory_file(bytes).map_err(ImageError::Memory)?;
        // Debuggers and profilers open the path, too, where `self` is their own process. The link has the number of
        // this process in the namespace that `/proc` shows.
        let own = std::fs::read_link("/proc/self").unwrap_or_else(|_| "self".into());
        let path = format!("/proc/{}/fd/{}", own.display(), file.as_raw_fd());
        // SAFETY: the caller's.
        let library =
            unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(ImageError::Load)?;
        // SAFETY: the symbol is the table of an image that gpurace made.
        unsafe {
            let table = library
                .get::<*const ImageTable>(IMAGE_SYMBOL.as_bytes())
                .map_err(|_| ImageError::NoTable)?
                .into_raw()
                .cast::<ImageTable>();
            // Of a table of another version only the version may be read.
            let found = (&raw const (*table).version).read();
            if found != FORMAT_VERSION {
                return Err(ImageError::Version { found });
            }
            let table = &*table;
            if table.flags & IMAGE_NEEDS_X86_64_V3 != 0
                && let Some(missing) = missing_feature()
            {
                return Err(ImageError::Processor { missing });
            }
            Ok(Self {
                kernels: kernels(table)?,
                variables: variables(table)?,
                _library: library,
                _file: file,
            })
        }
    }

    /// The kernels, in the order of
    /// [`ModuleMeta::kernels`](gpurace_abi::meta::ModuleMeta::kernels).
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The device variables, in the order of
    /// [`ModuleMeta::variables`](gpurace_abi::meta::ModuleMeta::variables).
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The kernel with this mangled name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }

    /// The device variable with this mangled name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }
}

/// A file in memory with these contents.
fn memory_file(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: a C string, and a descriptor that nothing else owns.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"gpurace-image".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    file.write_all(bytes)?;
    Ok(file)
}

/// A feature of x86-64-v3 that this processor lacks.
fn missing_feature() -> Option<&'static str> {
    macro_rules! first_missing {
        ($($feature:tt),*) => {
            None$(.or((!std::is_x86_feature_detected!($feature)).then_some($feature)))*
        };
    }
    first_missing!("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe")
}

/// A name of the table.
unsafe fn name(name: *const c_char) -> Result<String, ImageError> {
    if name.is_null() {
        return Err(ImageError::Malformed);
    }
    // SAFETY: the table's names are nul-terminated.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The `count` items from `first` on, which may be null for none.
unsafe fn items<'a, T>(first: *const T, count: u64) -> Result<&'a [T], ImageError> {
    match count {
        0 => Ok(&[]),
        _ if first.is_null() => Err(ImageError::Malformed),
        // SAFETY: the caller's table has so many items.
        n => Ok(unsafe { std::slice::from_raw_parts(first, n as usize) }),
    }
}

/// The kernels of an image, in the order of its table.
unsafe fn kernels(table: &ImageTable) -> Result<Vec<Kernel>, ImageError> {
    // SAFETY: the caller's table is an image's.
    unsafe {
        items(table.kernels, table.kernel_count)?
            .iter()
            .map(|k| {
                let run = k.run.ok_or(ImageError::Malformed)?;
                let needs_whole_warps = k.needs_whole_warps != 0;
                let of_blocks = |run: Option<BlockFn>, frame_bytes, sets_threads| {
                    run.map(|run| BlockEntry { run, frame_bytes, sets_threads, needs_whole_warps })
                };
                Ok(Kernel {
                    name: name(k.name)?,
                    run,
                    run_bare: k.run_bare,
                    run_block: of_blocks(k.run_block, k.frame_bytes, false),
                    run_block_checked: of_blocks(
                        k.run_block_checked,
                        k.checked_frame_bytes,
                        k.checked_sets_threads != 0,
                    ),
                    run_open: k.run_open,
                    run_block_open: of_blocks(k.run_block_open, k.open_frame_bytes, k.open_sets_threads != 0),
                })
            })
            .collect()
    }
}

/// The device variables of an image, in the order of its table.
unsafe fn variables(table: &ImageTable) -> Result<Vec<Variable>, ImageError> {
    // SAFETY: the caller's table is an image's.
    unsafe {
        items(table.variables, table.variable_count)?
            .iter()
            .map(|v| {
                let address: *mut c_void = v.address;
                Ok(Variable { name: name(v.name)?, address: address.addr(), size: v.size })
            })
            .collect()
    }
}
