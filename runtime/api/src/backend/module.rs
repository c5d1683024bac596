//! Device code as a backend runs it: modules, kernels, variables, launches.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use gpurace_abi::LaunchShape;
use gpurace_abi::context::{MAX_CLUSTER, MAX_PORTABLE_CLUSTER, MAX_THREADS_PER_BLOCK};
use gpurace_abi::gpu_code::{self, GpuCode};
use gpurace_abi::image::{Container, SectionKind};
use gpurace_abi::meta::{Elements, KernelMeta, ModuleMeta};
use gpurace_check::{Checker, CoveredRead};
use gpurace_protocol::wire::ModuleProofs;

use crate::host::errors::Error;
use crate::host::limits::SHARED_PER_BLOCK;
use crate::host::message;
use crate::host::stack::CallSite;
use crate::order::StreamId;

/// The sections of gpurace's container in a fat-binary slot.
#[derive(Clone, Copy)]
pub struct Payload {
    /// ELF shared object for the host.
    pub image: Option<&'static [u8]>,
    /// Code for GPUs, one for each architecture. If it was requested and there is none, the reason.
    pub gpu: Option<std::result::Result<&'static [GpuCode<'static>], &'static str>>,
    /// The description, JSON.
    pub meta: &'static [u8],
    /// The prover's results for the kernels. Empty if it was not asked.
    pub proofs: &'static [u8],
}

impl Payload {
    /// The payload of a container. The error says what it lacks.
    ///
    /// # Errors
    /// It has no description, or no code.
    pub fn of_container(container: Container<'static>) -> std::result::Result<Self, String> {
        let (mut image, mut meta, mut proofs) = (None, None, &[][..]);
        let (mut for_gpus, mut why_not) = (Vec::new(), None);
        for (kind, bytes) in container.sections() {
            match kind {
                kind if kind == SectionKind::HostImage as u32 => image = Some(bytes),
                kind if kind == SectionKind::Meta as u32 => meta = Some(bytes),
                kind if kind == SectionKind::Proofs as u32 => proofs = bytes,
                kind if kind == SectionKind::GpuNote as u32 => why_not = std::str::from_utf8(bytes).ok(),
                kind => for_gpus.push((kind, bytes)),
            }
        }
        let codes = gpu_code::in_sections(for_gpus);
        let has_code = !codes.is_empty();
        let gpu = match why_not {
            // The list lives as long as the program, like the sections themselves.
            _ if has_code => Some(Ok(&*codes.leak())),
            why_not => why_not.map(Err),
        };
        match meta {
            Some(meta) if image.is_some() || has_code => Ok(Self { image, gpu, meta, proofs }),
            _ => Err("gpurace device code without an image for the host".to_owned()),
        }
    }
}

/// The code of a module, ready to run on the backend that opened it.
pub trait DeviceCode: Send + Sync {
    /// The device variables: mangled name and address.
    fn variables(&self) -> Vec<(&str, usize)>;

    /// Address of the device variable with this mangled name.
    fn variable(&self, name: &str) -> Option<usize>;

    /// The code of the kernel with this mangled name. Only the backend knows its type.
    fn kernel(&self, name: &str) -> Option<Box<dyn Any + Send + Sync>>;

    /// The description of the code's sites, if it is not the module's: code for a GPU is compiled
    /// apart and has sites of its own.
    fn own_meta(&self) -> Option<&'static ModuleMeta>;
}

/// A module whose code is ready.
pub struct LoadedModule {
    /// Its code.
    pub code: Box<dyn DeviceCode>,
    /// Its description: kernels, variables, and the accesses that the prover saw.
    pub meta: &'static ModuleMeta,
    /// The description of its code's sites.
    pub checked: &'static ModuleMeta,
    /// Number of its first site among the sites of all modules.
    pub site_base: u32,
    /// The prover's results for its kernels.
    pub proofs: ModuleProofs,
    /// Done once the checker knows the covered reads.
    pub told: Once,
}

impl LoadedModule {
    /// Passes the module's covered reads to the checker, once.
    pub fn tell_covered(&self, checker: &Checker) {
        self.told.call_once(|| {
            for covered in &self.meta.covered {
                checker.cover(CoveredRead {
                    read: self.site_base + covered.site,
                    by: self.site_base + covered.by,
                    before: covered.before,
                });
            }
        });
    }

    /// The serialised results of the prover for the kernel with this mangled name.
    pub fn proofs_of(&self, kernel: &str) -> Option<&[u8]> {
        let mut kernels = self.proofs.kernels.iter();
        let (_, bytes) = kernels.find(|(name, _)| name == kernel)?;
        Some(bytes)
    }

    /// The site that stands for the end of a block, where the block's shared memory ends. It follows
    /// the real sites.
    pub fn end_of_block(&self) -> u32 {
        self.checked.sites.len() as u32
    }

    /// True if the prover may be asked about a launch with the launch's own values.
    pub fn solves_at_launch(&self) -> bool {
        self.proofs.at_launch
    }

    /// Address of the device variable with this mangled name.
    pub fn address_of(&self, variable: &str) -> Option<usize> {
        let address = self.code.variable(variable)?;
        let mut metas = self.meta.variables.iter();
        let meta = metas.find(|meta| meta.name == variable)?;
        if meta.managed {
            // SAFETY: the image's entry of a managed variable addresses a pointer, which was set
            // when the module was loaded.
            return Some(unsafe { (address as *const usize).read() });
        }
        Some(address)
    }
}

/// A kernel that the host program can launch.
pub struct Kernel {
    /// The module that contains it.
    pub module: &'static LoadedModule,
    /// Its number among all kernels.
    pub key: u32,
    /// Its index among the kernels of the module.
    pub index: usize,
    /// Its mangled name.
    pub name: &'static CStr,
    /// Its name as people write it.
    pub demangled: String,
    /// Its code. Only the backend knows the type.
    pub code: Box<dyn Any + Send + Sync>,
    /// Dynamic shared memory that `cudaFuncSetAttribute` allowed it, bytes.
    pub max_dynamic_shared: AtomicUsize,
    /// `cudaFuncAttributePreferredSharedMemoryCarveout`, kept only to give it back.
    pub carveout: AtomicI32,
    /// `cudaFuncAttributeNonPortableClusterSizeAllowed`.
    pub non_portable_cluster: AtomicBool,
}

impl Kernel {
    /// Its description.
    pub fn meta(&self) -> &'static KernelMeta {
        &self.module.meta.kernels[self.index]
    }

    /// The address of each argument in `args`, where the arguments lie as the description says.
    pub fn arguments(&self, args: &[u128]) -> Vec<*mut c_void> {
        let start = args.as_ptr().cast::<u8>();
        let params = self.meta().params.iter();
        params.map(|param| start.wrapping_add(param.offset as usize).cast_mut().cast()).collect()
    }

    /// Most blocks of a cluster in its launches.
    pub fn max_cluster(&self) -> u32 {
        match self.non_portable_cluster.load(Ordering::Relaxed) {
            true => MAX_CLUSTER,
            false => MAX_PORTABLE_CLUSTER,
        }
    }
}

/// Dynamic shared memory that a kernel may have by default, bytes.
pub fn default_dynamic_shared(kernel: &KernelMeta) -> usize {
    SHARED_PER_BLOCK.saturating_sub(kernel.shared_static as usize)
}

/// Most threads of a block of this kernel.
pub fn max_threads(kernel: &KernelMeta) -> u32 {
    match kernel.max_threads {
        0 => MAX_THREADS_PER_BLOCK,
        bound => bound.min(MAX_THREADS_PER_BLOCK),
    }
}

/// A device variable.
#[derive(Clone, Copy, Debug)]
pub struct DeviceVariable {
    /// Address of its storage.
    pub address: usize,
    /// Its size, bytes.
    pub size: usize,
    /// Its name as people write it.
    pub name: &'static str,
    /// It lies in constant memory.
    pub constant: bool,
    /// The host can access it too.
    pub managed: bool,
    /// Its elements.
    pub elements: &'static Elements,
}

/// A launch whose limits were checked.
pub struct KernelLaunch<'a> {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Its shape.
    pub shape: LaunchShape,
    /// The stream that it is submitted to.
    pub stream: StreamId,
    /// Its blocks may wait for each other.
    pub cooperative: bool,
    /// The arguments, laid out as the description of the kernel says, 16-byte aligned.
    pub args: &'a [u128],
    /// Where the program launched it.
    pub call_site: CallSite,
}

impl<'a> KernelLaunch<'a> {
    /// The arguments as bytes.
    pub fn argument_bytes(&self) -> &'a [u8] {
        // SAFETY: the slice has the same size in bytes.
        unsafe { std::slice::from_raw_parts(self.args.as_ptr().cast(), size_of_val(self.args)) }
    }
}

/// Prints why device code cannot be used, and returns the error for the program.
pub fn invalid_image(why: &str) -> Error {
    message::error(why);
    Error::INVALID_KERNEL_IMAGE
}
