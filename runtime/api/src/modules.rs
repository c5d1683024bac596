//! Registered device code: which module a kernel or variable of the host
//! program belongs to.
//!
//! clang's constructors call the registration functions before `main`, for
//! every translation unit. They only take notes, so that start-up stays quick:
//! a module's image is opened and its description read when the first of its
//! kernels or variables is needed.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use gpurace_abi::image::{
    ContainerError, FATBIN_WRAPPER_MAGIC, FORMAT_VERSION, SectionKind, section_headers,
};
use gpurace_abi::meta::{KernelMeta, ModuleMeta};
use gpurace_report::demangle;
use parking_lot::RwLock;

use crate::edge::guard;
use crate::errors::{Error, Result};
use crate::executor::{self, Image};
use crate::message;
use crate::types::FatbinWrapper;

/// First bytes of a fat binary that NVIDIA's `fatbinary` made.
const NV_FATBIN_MAGIC: u32 = 0xba55_ed50;

/// What a fat-binary slot holds.
#[derive(Clone, Copy)]
struct Payload {
    image: &'static [u8],
    meta: &'static [u8],
}

/// One registered translation unit.
pub struct Module {
    payload: Result<Payload>,
    loaded: OnceLock<Result<&'static Loaded>>,
}

/// A module whose image is open.
pub struct Loaded {
    /// Its code.
    pub image: Image,
    /// Its description.
    pub meta: ModuleMeta,
    /// Number of its first site among the sites of all modules.
    pub site_base: u32,
    /// Number of its first synchronisation among those of all modules.
    pub sync_base: u32,
}

/// A kernel that the host program can launch.
pub struct Kernel {
    /// The module that it is in.
    pub module: &'static Loaded,
    /// Its index among the kernels of the module.
    pub index: usize,
    /// Its name as people write it.
    pub demangled: String,
    /// Dynamic shared memory that `cudaFuncSetAttribute` allowed it, bytes.
    pub max_dynamic_shared: std::sync::atomic::AtomicUsize,
    /// `cudaFuncAttributePreferredSharedMemoryCarveout`; kept for those who ask.
    pub carveout: std::sync::atomic::AtomicI32,
}

impl Kernel {
    /// Its description.
    pub fn meta(&self) -> &'static KernelMeta {
        &self.module.meta.kernels[self.index]
    }
}

/// A device variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Address of its storage.
    pub address: usize,
    /// Its size, bytes.
    pub size: usize,
    /// Its name as people write it.
    pub name: &'static str,
    /// Lies in constant memory.
    pub constant: bool,
}

/// A host address that stands for something of a module.
struct Symbol {
    module: &'static Module,
    /// Mangled name on the device.
    name: &'static CStr,
}

/// A host address that stands for a kernel.
struct Function {
    symbol: Symbol,
    kernel: OnceLock<Result<&'static Kernel>>,
}

#[derive(Default)]
struct Registry {
    functions: HashMap<usize, &'static Function>,
    symbols: HashMap<usize, Symbol>,
    /// Variables of loaded modules by address.
    variables: BTreeMap<usize, Variable>,
    /// Loaded modules with the first site of each, in the order of loading.
    loaded: Vec<&'static Loaded>,
}

static REGISTRY: RwLock<Option<Registry>> = RwLock::new(None);

fn with_registry<T>(f: impl FnOnce(&mut Registry) -> T) -> T {
    f(REGISTRY.write().get_or_insert_with(Registry::default))
}

/// What `__cudaRegisterFatBinary` was given.
///
/// # Safety
/// `wrapper` is null or points to a fat-binary wrapper of clang or nvcc.
unsafe fn read_payload(wrapper: *const FatbinWrapper) -> std::result::Result<Payload, String> {
    // SAFETY: null or valid as the caller vouches.
    let Some(wrapper) = (unsafe { wrapper.as_ref() }) else {
        return Err("no fat-binary wrapper".to_owned());
    };
    if wrapper.magic != FATBIN_WRAPPER_MAGIC || wrapper.data.is_null() {
        return Err(format!("a wrapper with magic {:#x}", wrapper.magic));
    }
    let data = wrapper.data;
    // SAFETY: each fat binary and each container has at least 16 bytes.
    let headers = match unsafe { section_headers(data) } {
        Ok(headers) => headers,
        Err(ContainerError::Version { found }) => {
            return Err(format!("gpurace device code of version {found}, wanted {FORMAT_VERSION}"));
        }
        Err(ContainerError::NotAContainer) => {
            // SAFETY: at least 16 bytes are readable.
            let magic = unsafe { data.cast::<u32>().read_unaligned() };
            return Err(match magic {
                NV_FATBIN_MAGIC => "an NVIDIA fat binary from nvcc or plain clang".to_owned(),
                _ => format!("unknown data that starts with {magic:#010x}"),
            });
        }
    };
    let (mut image, mut meta) = (None, None);
    for header in headers {
        // SAFETY: sections lie in the container, which is static data of the
        // program.
        let bytes = unsafe {
            std::slice::from_raw_parts(data.add(header.offset as usize), header.size as usize)
        };
        match header.kind {
            kind if kind == SectionKind::HostImage as u32 => image = Some(bytes),
            kind if kind == SectionKind::Meta as u32 => meta = Some(bytes),
            _ => {}
        }
    }
    match (image, meta) {
        (Some(image), Some(meta)) => Ok(Payload { image, meta }),
        _ => Err("gpurace device code without an image for the host".to_owned()),
    }
}

impl Module {
    /// The module with its image open.
    ///
    /// # Errors
    /// `cudaErrorNoKernelImageForDevice` where there is no image to open,
    /// `cudaErrorInvalidKernelImage` where it does not open.
    fn load(&'static self) -> Result<&'static Loaded> {
        *self.loaded.get_or_init(|| {
            let loaded: &'static Loaded = Box::leak(Box::new(self.open()?));
            with_registry(|registry| registry.add(loaded));
            Ok(loaded)
        })
    }

    fn open(&self) -> Result<Loaded> {
        let payload = self.payload?;
        let invalid = |what: String| {
            message::error(&what);
            Error::INVALID_KERNEL_IMAGE
        };
        let meta: ModuleMeta = serde_json::from_slice(payload.meta)
            .map_err(|error| invalid(format!("cannot read a device module's description: {error}")))?;
        let image = executor::open(payload.image)
            .map_err(|error| invalid(format!("cannot open the device code of `{}`: {error}", meta.source)))?;
        if image.table().kernel_count != meta.kernels.len() as u64
            || image.table().variable_count != meta.variables.len() as u64
        {
            return Err(invalid(format!("the device code of `{}` is not that of its description", meta.source)));
        }
        let (site_base, sync_base) = executor::reserve_ids(&meta);
        Ok(Loaded { image, meta, site_base, sync_base })
    }
}

impl Registry {
    fn add(&mut self, loaded: &'static Loaded) {
        self.loaded.push(loaded);
        for (entry, meta) in loaded.image.variables().iter().zip(&loaded.meta.variables) {
            let variable = Variable {
                address: entry.address as usize,
                size: entry.size as usize,
                name: Box::leak(demangle(&meta.name).into_boxed_str()),
                constant: meta.constant,
            };
            self.variables.insert(variable.address, variable);
        }
    }
}

/// The module that holds the site with this number among all modules' sites.
pub fn module_of_site(site: u32) -> Option<&'static Loaded> {
    let registry = REGISTRY.read();
    let mut loaded = registry.as_ref()?.loaded.iter();
    loaded.find(|m| site.checked_sub(m.site_base).is_some_and(|at| (at as usize) < m.meta.sites.len())).copied()
}

/// The modules whose images are open, in the order of loading.
pub fn loaded() -> Vec<&'static Loaded> {
    REGISTRY.read().as_ref().map_or_else(Vec::new, |registry| registry.loaded.clone())
}

/// The device variable that holds `address`, if its module is loaded.
pub fn variable_at(address: usize) -> Option<Variable> {
    let registry = REGISTRY.read();
    let (_, found) = registry.as_ref()?.variables.range(..=address).next_back()?;
    (address - found.address < found.size.max(1)).then_some(*found)
}

/// The device variable that a host variable stands for.
///
/// # Errors
/// `cudaErrorInvalidSymbol` where it stands for none, or the errors of loading.
pub fn variable_of_symbol(symbol: *const c_void) -> Result<Variable> {
    let (module, name) = {
        let registry = REGISTRY.read();
        let symbols = registry.as_ref().map(|registry| &registry.symbols);
        let found = symbols.and_then(|symbols| symbols.get(&(symbol as usize)));
        let found = found.ok_or(Error::INVALID_SYMBOL)?;
        (found.module, found.name)
    };
    let loaded = module.load()?;
    let index = loaded
        .meta
        .variables
        .iter()
        .position(|variable| variable.name.as_bytes() == name.to_bytes())
        .ok_or(Error::INVALID_SYMBOL)?;
    let entry = &loaded.image.variables()[index];
    variable_at(entry.address as usize).ok_or(Error::INVALID_SYMBOL)
}

/// The kernel that a host stub stands for.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction` where it stands for none, or the errors of
/// loading.
pub fn kernel_of_stub(stub: *const c_void) -> Result<&'static Kernel> {
    let function = {
        let registry = REGISTRY.read();
        let functions = registry.as_ref().map(|registry| &registry.functions);
        *functions
            .and_then(|functions| functions.get(&(stub as usize)))
            .ok_or(Error::INVALID_DEVICE_FUNCTION)?
    };
    *function.kernel.get_or_init(|| {
        let loaded = function.symbol.module.load()?;
        let name = function.symbol.name.to_bytes();
        let index = loaded
            .meta
            .kernels
            .iter()
            .position(|kernel| kernel.name.as_bytes() == name)
            .ok_or(Error::INVALID_DEVICE_FUNCTION)?;
        Ok(Box::leak(Box::new(Kernel {
            module: loaded,
            index,
            demangled: demangle(&loaded.meta.kernels[index].name),
            max_dynamic_shared: crate::function::default_dynamic_shared(&loaded.meta.kernels[index]).into(),
            carveout: (-1).into(),
        })))
    })
}

/// The module of a handle from [`__cudaRegisterFatBinary`].
///
/// # Safety
/// `handle` is null or such a handle.
unsafe fn module_of(handle: *mut *mut c_void) -> Option<&'static Module> {
    // SAFETY: handles are leaked modules.
    unsafe { handle.cast::<Module>().as_ref() }
}

/// Registers the device code of a translation unit; gives its handle.
///
/// # Safety
/// `wrapper` points to a fat-binary wrapper in static data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> *mut *mut c_void {
    guard("__cudaRegisterFatBinary", std::ptr::null_mut(), || {
        // SAFETY: as the caller vouches.
        let payload = unsafe { read_payload(wrapper.cast()) }.map_err(|found| {
            message::error(&format!("found {found}, wanted device code made by gclang"));
            message::hint("rebuild the objects that hold kernels with gclang");
            Error::NO_KERNEL_IMAGE_FOR_DEVICE
        });
        let module: &'static Module = Box::leak(Box::new(Module { payload, loaded: OnceLock::new() }));
        std::ptr::from_ref(module).cast_mut().cast()
    })
}

/// Ends the registration of a translation unit.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// Forgets what a translation unit registered. Its code stays, reports may
/// still name it.
///
/// # Safety
/// `handle` is null or a handle of [`__cudaRegisterFatBinary`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    guard("__cudaUnregisterFatBinary", (), || {
        // SAFETY: as the caller vouches.
        let Some(module) = (unsafe { module_of(handle) }) else { return };
        with_registry(|registry| {
            registry.functions.retain(|_, f| !std::ptr::eq(f.symbol.module, module));
            registry.symbols.retain(|_, s| !std::ptr::eq(s.module, module));
        });
    });
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
    guard("__cudaRegisterFunction", (), || {
        // SAFETY: as the caller vouches.
        let Some(module) = (unsafe { module_of(handle) }) else { return };
        // SAFETY: as the caller vouches.
        let name = unsafe { CStr::from_ptr(name) };
        let symbol = Symbol { module, name };
        let function = Box::leak(Box::new(Function { symbol, kernel: OnceLock::new() }));
        with_registry(|registry| registry.functions.insert(stub as usize, function));
    });
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
    guard("__cudaRegisterVar", (), || {
        // SAFETY: as the caller vouches.
        let Some(module) = (unsafe { module_of(handle) }) else { return };
        // SAFETY: as the caller vouches.
        let name = unsafe { CStr::from_ptr(name) };
        with_registry(|registry| registry.symbols.insert(host as usize, Symbol { module, name }));
    });
}

/// Ties a host pointer to a `__managed__` variable of the module and sets it:
/// host code reaches the variable through it, from before `main` on.
///
/// # Safety
/// As [`__cudaRegisterFunction`]; `host` points to a pointer.
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
    // SAFETY: as the caller vouches.
    unsafe { __cudaRegisterVar(handle, host.cast(), device_address, name, ext, size, constant, global) };
    guard("__cudaRegisterManagedVar", (), || {
        if let Ok(variable) = variable_of_symbol(host.cast()) {
            // SAFETY: `host` points to a pointer as the caller vouches.
            unsafe { host.write(variable.address as *mut c_void) };
        }
    });
}

/// Texture references went with CUDA 12; said, so that nobody gets wrong data.
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
    guard("__cudaRegisterTexture", (), || message::error_once("texture references are not supported"));
}

/// Surface references went with CUDA 12; said, so that nobody gets wrong data.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterSurface(
    _handle: *mut *mut c_void,
    _host: *const c_void,
    _device_address: *const *const c_void,
    _name: *const c_char,
    _dim: c_int,
    _ext: c_int,
) {
    guard("__cudaRegisterSurface", (), || message::error_once("surface references are not supported"));
}

/// Modules need no initialisation of their own.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_handle: *mut *mut c_void) -> c_char {
    1
}
