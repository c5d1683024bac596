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
//!       16   n section headers          SectionHeader, 24 bytes each
//!        .   section contents           each 16-byte aligned
//! ```
//!
//! The host image is an ELF shared object that exports one symbol, [`IMAGE_SYMBOL`], an
//! [`ImageTable`].
//!
//! Because the container lies in the fat binary's place, one object file carries its device code
//! through archives, build tools and link-time optimisation, and the handle of
//! `__cudaRegisterFatBinary` pairs each kernel with its host stub without a search. The image is
//! opened with local binding, so its symbols never meet those of the host program.

use core::ffi::{c_char, c_void};

use crate::context::ThreadCtx;

/// First bytes of the container.
pub const MAGIC: [u8; 8] = *b"GPURACE\x01";
/// Version of the container, of [`ImageTable`], of [`ThreadCtx`], of the
/// [block frame](crate::batch) and of the entry points. Each change of any of them raises it.
pub const FORMAT_VERSION: u32 = 19;
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

/// Header of one section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionHeader {
    /// A [`SectionKind`] as a number; readers skip unknown kinds.
    pub kind: u32,
    /// Offset from the container's start, bytes.
    pub offset: u64,
    /// Size, bytes.
    pub size: u64,
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
    /// The block entry of the kernel as built, if it has one.
    pub run_block_checked: Option<BlockFn>,
    /// Bytes of the block frame of `run_block_checked` for each thread.
    pub checked_frame_bytes: u64,
    /// 1 if `run_block_checked` keeps the index of the running thread in the context.
    pub checked_sets_threads: u64,
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
}

/// The headers of a container.
///
/// # Safety
/// `data` points to a container that is readable to the end of its headers, or to at least 16
/// readable bytes of anything else.
pub unsafe fn section_headers(
    data: *const u8,
) -> Result<impl Iterator<Item = SectionHeader>, ContainerError> {
    let u32_at = move |at: usize| {
        let mut b = [0; 4];
        // SAFETY: the header's bytes are readable.
        unsafe { core::ptr::copy_nonoverlapping(data.add(at), b.as_mut_ptr(), 4) };
        u32::from_le_bytes(b)
    };
    let u64_at = move |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let mut magic = [0; 8];
    // SAFETY: at least 16 bytes are readable.
    unsafe { core::ptr::copy_nonoverlapping(data, magic.as_mut_ptr(), 8) };
    if magic != MAGIC {
        return Err(ContainerError::NotAContainer);
    }
    let found = u32_at(8);
    if found != FORMAT_VERSION {
        return Err(ContainerError::Version { found });
    }
    Ok((0..u32_at(12) as usize).map(move |i| {
        let at = 16 + 24 * i;
        SectionHeader { kind: u32_at(at), offset: u64_at(at + 8), size: u64_at(at + 16) }
    }))
}

/// Builds a container of these sections.
#[cfg(feature = "meta")]
pub fn build_container(sections: &[(SectionKind, &[u8])]) -> Vec<u8> {
    let mut offset = 16 + 24 * sections.len();
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&(sections.len() as u32).to_le_bytes());
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
    out
}

#[cfg(all(test, feature = "meta"))]
mod tests {
    use super::*;

    #[test]
    fn container_round_trips() {
        let bytes = build_container(&[(SectionKind::HostImage, b"elf"), (SectionKind::Meta, b"{}")]);
        // SAFETY: `bytes` is a container.
        let headers: Vec<_> = unsafe { section_headers(bytes.as_ptr()) }.unwrap().collect();
        let body = |h: &SectionHeader| &bytes[h.offset as usize..(h.offset + h.size) as usize];
        assert_eq!(headers.len(), 2);
        assert_eq!((headers[0].kind, body(&headers[0])), (1, &b"elf"[..]));
        assert_eq!((headers[1].kind, body(&headers[1])), (2, &b"{}"[..]));
        assert_eq!(headers[1].offset % 16, 0);
    }

    #[test]
    fn other_bytes_are_refused() {
        let elf = [0x7f; 32];
        // SAFETY: 32 readable bytes.
        let got = unsafe { section_headers(elf.as_ptr()) }.map(|_| ());
        assert_eq!(got, Err(ContainerError::NotAContainer));
        let mut other = build_container(&[]);
        other[8] = 99;
        // SAFETY: a container's header.
        let got = unsafe { section_headers(other.as_ptr()) }.map(|_| ());
        assert_eq!(got, Err(ContainerError::Version { found: 99 }));
    }
}
