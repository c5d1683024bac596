//! The container that carries device code in a program, and the host image in it.
//!
//! clang puts the bytes given with `-fcuda-include-gpubinary` where `nvcc` puts a fat binary, and
//! registers them with `__cudaRegisterFatBinary` (`__cuda_fatbin_wrapper`: magic, version, data
//! pointer). gpurace's bytes are a container:
//!
//! ```text
//! offset 0   MAGIC                      8 bytes
//!        8   FORMAT_VERSION             u32, little endian as all that follows
//!       12   number of sections n       u32
//!       16   size of the container      u64
//!       24   checksum of the 24 bytes before, 8 bytes
//!       32   checksum of all after it, 32 bytes
//!       64   n section headers          24 bytes each: kind (u32), 0 (u32), offset (u64), size (u64)
//!        .   section contents           each 16-byte aligned
//! ```
//!
//! The first checksum makes the size safe to use. Both are of BLAKE3.
//!
//! The host image is an ELF shared object that exports one symbol, [`IMAGE_SYMBOL`], an
//! [`ImageTable`].
//!
//! Because the container lies in the fat binary's place, one object file carries its device code
//! through archives, build tools and link-time optimisation, and the handle of
//! `__cudaRegisterFatBinary` pairs each kernel with its host stub without a search. The image is
//! opened with local binding, so its symbols never meet those of the host program.

use core::ffi::{c_char, c_void};
use core::fmt;

use crate::context::ThreadCtx;

/// First bytes of the container.
pub const MAGIC: [u8; 8] = *b"GPURACE\x01";
/// First characters of a container as text, in place of PTX. The container follows in base64, then a line break and a
/// nul.
pub const TEXT_HEAD: &str = "// gpurace device code for the host, in base64\n";
/// Version of the container, of [`ImageTable`], of [`ThreadCtx`], of the
/// [block frame](crate::batch) and of the entry points. Each change of any of them raises it.
pub const FORMAT_VERSION: u32 = 32;
/// The symbol that a host image exports.
pub const IMAGE_SYMBOL: &str = "__gpurace_image";
/// Magic of clang's and nvcc's `__cuda_fatbin_wrapper`.
pub const FATBIN_WRAPPER_MAGIC: u32 = 0x466243b1;

/// The content of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SectionKind {
    /// ELF shared object for the host's processor.
    HostImage = 1,
    /// [`ModuleMeta`](crate::meta::ModuleMeta) as JSON.
    Meta = 2,
    /// A fat binary as NVIDIA's tools make it.
    NvFatbin = 3,
    /// Access protocols and verdicts of the kernels, in the format of gpurace-protocol; absent if
    /// the prover did not run.
    Proofs = 4,
    /// LLVM bitcode of a translation unit compiled with `-fgpu-rdc`. Such a container is never
    /// registered: `gclang` reads it when it links.
    Bitcode = 5,
    /// The options of `gclang` for that translation unit, as JSON.
    Part = 6,
    /// [`ModuleMeta`](crate::meta::ModuleMeta) of the code for a GPU, as JSON. Its sites are
    /// numbered on their own.
    GpuMeta = 7,
    /// A [`GpuHeader`], and PTX that ends with a nul.
    GpuPtx = 8,
    /// A [`GpuHeader`], and code for one processor (a cubin).
    GpuSass = 9,
    /// The reason, as text, why requested code for a GPU is missing.
    GpuNote = 10,
}

/// The header of code for a GPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuHeader {
    /// The processor's number: 80 for `sm_80`. PTX serves later processors too.
    pub arch: u32,
    /// 1 if no other processor has all of its instructions (`sm_90a`).
    pub alone: u32,
    /// Zero.
    pub reserved: [u32; 2],
}

/// Entry of a kernel in a host image. Runs one thread. `args` points to the launch's arguments,
/// laid out by [`KernelMeta::params`].
///
/// [`KernelMeta::params`]: crate::meta::KernelMeta::params
pub type KernelFn = unsafe extern "C" fn(ctx: *mut ThreadCtx, args: *const u8);

/// Block entry of a kernel. Runs all threads of a block, segment by segment. `frame` is the block
/// frame: a [`FrameCommon`](crate::batch::FrameCommon) before it, and from it on
/// [`KernelEntry::frame_bytes`] for each thread. Aligned to 64 bytes.
pub type BlockFn = unsafe extern "C" fn(ctx: *mut ThreadCtx, args: *const u8, frame: *mut u8);

/// A kernel of a host image.
#[repr(C)]
#[derive(Debug)]
pub struct KernelEntry {
    /// Mangled name, nul-terminated.
    pub name: *const c_char,
    /// The kernel as built: with checks if the module was instrumented.
    pub run: Option<KernelFn>,
    /// The kernel without checks, if the image has one.
    pub run_bare: Option<KernelFn>,
    /// The block entry without checks, if the kernel has one.
    pub run_block: Option<BlockFn>,
    /// Bytes of the block frame of `run_block` for each thread.
    pub frame_bytes: u64,
    /// 1 if the kernel's block entries serve launches alone whose warps are whole
    /// ([`LaunchShape::has_whole_warps`](crate::launch_shape::LaunchShape::has_whole_warps)).
    pub needs_whole_warps: u64,
    /// The block entry of the kernel as built, if it has one.
    pub run_block_checked: Option<BlockFn>,
    /// Bytes of the block frame of `run_block_checked` for each thread.
    pub checked_frame_bytes: u64,
    /// 1 if `run_block_checked` keeps the index of the running thread in the context.
    pub checked_sets_threads: u64,
    /// The kernel without the checks of the sites that are proved while compiling, perhaps under conditions, if
    /// it has checks of other sites.
    pub run_open: Option<KernelFn>,
    /// Its block entry, if it has one.
    pub run_block_open: Option<BlockFn>,
    /// Bytes of the block frame of `run_block_open` for each thread.
    pub open_frame_bytes: u64,
    /// 1 if `run_block_open` keeps the index of the running thread in the context.
    pub open_sets_threads: u64,
}

/// A device variable of a host image.
#[repr(C)]
#[derive(Debug)]
pub struct VariableEntry {
    /// Mangled name, nul-terminated.
    pub name: *const c_char,
    /// Its storage.
    pub address: *mut c_void,
    /// Its size, bytes.
    pub size: u64,
}

/// The table at [`IMAGE_SYMBOL`].
#[repr(C)]
#[derive(Debug)]
pub struct ImageTable {
    /// [`FORMAT_VERSION`] of the pass that made the image.
    pub version: u32,
    /// Bit 0: the image needs x86-64-v3 (AVX2, FMA, BMI2).
    pub flags: u32,
    /// Number of kernels.
    pub kernel_count: u64,
    /// The kernels, in the order of [`ModuleMeta::kernels`](crate::meta::ModuleMeta::kernels).
    pub kernels: *const KernelEntry,
    /// Number of device variables.
    pub variable_count: u64,
    /// The device variables, in the order of
    /// [`ModuleMeta::variables`](crate::meta::ModuleMeta::variables).
    pub variables: *const VariableEntry,
}

/// [`ImageTable::flags`] bit: the image needs x86-64-v3.
pub const IMAGE_NEEDS_X86_64_V3: u32 = 1;

/// The reason why a container cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerError {
    /// The first bytes are not [`MAGIC`].
    NotAContainer,
    /// Another version of gpurace made it.
    Version {
        /// The version found; [`FORMAT_VERSION`] was wanted.
        found: u32,
    },
    /// Its bytes are not those that gpurace wrote.
    Damaged,
}

impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAContainer => f.write_str("no gpurace device code"),
            Self::Version { found } => {
                write!(f, "gpurace device code of version {found} (not {FORMAT_VERSION})")
            }
            Self::Damaged => f.write_str("damaged gpurace device code: its checksum is wrong"),
        }
    }
}

/// Bytes before the section headers.
const FIXED: usize = 64;
/// Bytes that the first checksum covers.
const SUMMED: usize = 24;
/// Bytes of a section header.
const HEADER: usize = 24;

/// A container whose checksums are right.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a>(&'a [u8]);

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The size of the container that begins with these bytes.
fn size(start: &[u8]) -> Result<usize, ContainerError> {
    if !start.starts_with(&MAGIC) {
        return Err(ContainerError::NotAContainer);
    }
    match u32_at(start, 8) {
        Some(FORMAT_VERSION) => {}
        Some(found) => return Err(ContainerError::Version { found }),
        None => return Err(ContainerError::Damaged),
    }
    let (summed, sum) = start.split_at_checked(SUMMED).ok_or(ContainerError::Damaged)?;
    if !sum.starts_with(&blake3::hash(summed).as_bytes()[..8]) {
        return Err(ContainerError::Damaged);
    }
    let size = u64_at(start, 16).and_then(|size| usize::try_from(size).ok());
    size.filter(|&size| size >= FIXED).ok_or(ContainerError::Damaged)
}

impl<'a> Container<'a> {
    /// The container that these bytes begin with.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn at_start_of(bytes: &'a [u8]) -> Result<Self, ContainerError> {
        let bytes = bytes.get(..size(bytes)?).ok_or(ContainerError::Damaged)?;
        let (start, rest) = bytes.split_at(FIXED);
        if start[32..] != *blake3::hash(rest).as_bytes() {
            return Err(ContainerError::Damaged);
        }
        let count = u32_at(bytes, 12).unwrap_or_default() as usize;
        let container = Self(bytes);
        match (0..count).all(|index| container.section(index).is_some()) {
            true => Ok(container),
            false => Err(ContainerError::Damaged),
        }
    }

    /// The container in a program's memory.
    ///
    /// # Errors
    /// The reason why there is none.
    ///
    /// # Safety
    /// `data` points to a container, damaged or not, or to at least 16 readable bytes of anything
    /// else. They stay as they are for `'a`.
    pub unsafe fn in_memory(data: *const u8) -> Result<Self, ContainerError> {
        // SAFETY: at least so many bytes are readable.
        let first = unsafe { core::slice::from_raw_parts(data, 16) };
        if let Err(error @ (ContainerError::NotAContainer | ContainerError::Version { .. })) = size(first) {
            return Err(error);
        }
        // SAFETY: each container has these bytes, and its size is right if its checksum is.
        unsafe {
            let size = size(core::slice::from_raw_parts(data, FIXED))?;
            Self::at_start_of(core::slice::from_raw_parts(data, size))
        }
    }

    /// Its size, bytes.
    pub fn size(self) -> usize {
        self.0.len()
    }

    fn section(self, index: usize) -> Option<(u32, &'a [u8])> {
        let at = FIXED.checked_add(index.checked_mul(HEADER)?)?;
        let [offset, size] = [8, 16].map(|field| u64_at(self.0, at + field));
        let start = usize::try_from(offset?).ok()?;
        let end = start.checked_add(usize::try_from(size?).ok()?)?;
        Some((u32_at(self.0, at)?, self.0.get(start..end)?))
    }

    /// Kind and contents of each section. A kind is a [`SectionKind`] as a number; readers skip
    /// unknown kinds.
    pub fn sections(self) -> impl Iterator<Item = (u32, &'a [u8])> {
        (0..).map_while(move |index| {
            let count = u32_at(self.0, 12).unwrap_or_default();
            if index < count as usize { self.section(index) } else { None }
        })
    }

    /// The contents of the first section of a kind.
    pub fn find(self, kind: SectionKind) -> Option<&'a [u8]> {
        self.sections().find(|(found, _)| *found == kind as u32).map(|(_, contents)| contents)
    }
}

/// Builds a container of these sections.
#[cfg(feature = "meta")]
pub fn build_container(sections: &[(SectionKind, &[u8])]) -> Vec<u8> {
    let mut out = vec![0; FIXED];
    let mut offset = FIXED + HEADER * sections.len();
    for (kind, data) in sections {
        offset = offset.next_multiple_of(16);
        out.extend_from_slice(&(*kind as u32).to_le_bytes());
        out.extend_from_slice(&0u32.to_le_bytes());
        out.extend_from_slice(&(offset as u64).to_le_bytes());
        out.extend_from_slice(&(data.len() as u64).to_le_bytes());
        offset += data.len();
    }
    for (_, data) in sections {
        out.resize(out.len().next_multiple_of(16), 0);
        out.extend_from_slice(data);
    }
    let size = out.len() as u64;
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&(sections.len() as u32).to_le_bytes());
    out[16..SUMMED].copy_from_slice(&size.to_le_bytes());
    let sum = blake3::hash(&out[..SUMMED]);
    out[SUMMED..32].copy_from_slice(&sum.as_bytes()[..8]);
    let sum = blake3::hash(&out[FIXED..]);
    out[32..FIXED].copy_from_slice(sum.as_bytes());
    out
}

#[cfg(all(test, feature = "meta"))]
mod tests {
    use super::*;

    fn container() -> Vec<u8> {
        build_container(&[(SectionKind::HostImage, b"elf"), (SectionKind::Meta, b"{}")])
    }

    #[test]
    fn container_round_trips() {
        let mut bytes = container();
        let size = bytes.len();
        bytes.extend_from_slice(b"what follows");
        // SAFETY: `bytes` starts with a container.
        for container in [Container::at_start_of(&bytes), unsafe { Container::in_memory(bytes.as_ptr()) }] {
            let container = container.unwrap();
            assert_eq!(container.sections().collect::<Vec<_>>(), [(1, &b"elf"[..]), (2, &b"{}"[..])]);
            assert_eq!(container.find(SectionKind::Meta), Some(&b"{}"[..]));
            assert_eq!(container.find(SectionKind::Proofs), None);
            assert_eq!(container.size(), size);
            assert_eq!((container.find(SectionKind::Meta).unwrap().as_ptr() as usize) % 16, {
                bytes.as_ptr() as usize % 16
            });
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let of = |bytes: &[u8]| Container::at_start_of(bytes).map(|_| ());
        assert_eq!(of(&[0x7f; 32]), Err(ContainerError::NotAContainer));
        let mut other = container();
        other[8] = 99;
        assert_eq!(of(&other), Err(ContainerError::Version { found: 99 }));
    }

    #[test]
    fn damage_is_found() {
        let whole = container();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            // SAFETY: a damaged container.
            let found = unsafe { Container::in_memory(damaged.as_ptr()) }.map(|_| ());
            match at {
                0..8 => assert_eq!(found, Err(ContainerError::NotAContainer)),
                8..12 => assert!(matches!(found, Err(ContainerError::Version { .. }))),
                _ => assert_eq!(found, Err(ContainerError::Damaged), "byte {at}"),
            }
            assert!(Container::at_start_of(&whole[..at]).is_err(), "cut at {at}");
        }
    }
}
