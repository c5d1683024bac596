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
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};

use gpurace_abi::image::{
    ContainerError, FATBIN_WRAPPER_MAGIC, FORMAT_VERSION, KernelFn, SectionKind, section_headers,
};
use gpurace_abi::meta::{KernelMeta, ModuleMeta, VariableMeta};
use gpurace_cpu::Image;
use gpurace_report::demangle;
use parking_lot::RwLock;

use crate::edge::guard;
use crate::errors::{Error, Result};
use crate::function::default_dynamic_shared;
use crate::message;
use crate::session;
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
    /// The program unregistered it: its payload may be gone.
    gone: AtomicBool,
    meta: OnceLock<Result<&'static ModuleMeta>>,
    loaded: OnceLock<Result<&'static Loaded>>,
}

/// A module whose image is open.
pub struct Loaded {
    /// Its code.
    pub image: Image,
    /// Its description.
    pub meta: &'static ModuleMeta,
    /// Number of its first site among the sites of all modules.
    pub site_base: u32,
}

/// A kernel that the host program can launch.
pub struct Kernel {
    /// The module that it is in.
    pub module: &'static Loaded,
    /// Its number among all kernels.
    pub key: u32,
    /// Its index among the kernels of the module.
    index: usize,
    /// Its mangled name.
    pub name: &'static CStr,
    /// Its name as people write it.
    pub demangled: String,
    /// Its code as built: with checks if the module was instrumented.
    pub run: KernelFn,
    /// Its code without checks, where there is such.
    pub run_bare: Option<KernelFn>,
    /// Dynamic shared memory that `cudaFuncSetAttribute` allowed it, bytes.
    pub max_dynamic_shared: AtomicUsize,
    /// `cudaFuncAttributePreferredSharedMemoryCarveout`; kept for those who ask.
    pub carveout: AtomicI32,
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
    /// The host reaches it too.
    pub managed: bool,
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
    /// Every module, in the order of registration.
    registered: Vec<&'static Module>,
    /// Modules whose images are open, in the order of loading.
    loaded: Vec<&'static Loaded>,
    /// Kernels that were looked up, by their number.
    kernels: Vec<&'static Kernel>,
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
            with_registry(|registry| registry.add(self, loaded));
            Ok(loaded)
        })
    }

    fn open(&self) -> Result<Loaded> {
        let meta = self.meta()?;
        // SAFETY: the payload is a container that gpurace made.
        let image = unsafe { Image::open(self.payload?.image) }.map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            invalid(&format!("`{}`: {error}{}", meta.source, cause.unwrap_or_default()))
        })?;
        // Sites are numbered through all modules, so that a race may have its
        // sides in two of them.
        static SITES: AtomicU32 = AtomicU32::new(0);
        let site_base = SITES.fetch_add(meta.sites.len() as u32, Ordering::Relaxed);
        Ok(Loaded { image, meta, site_base })
    }

    /// The module's description.
    fn meta(&self) -> Result<&'static ModuleMeta> {
        *self.meta.get_or_init(|| {
            let payload = self.payload?;
            if self.gone.load(Ordering::Relaxed) {
                return Err(Error::INVALID_KERNEL_IMAGE);
            }
            let meta: ModuleMeta = serde_json::from_slice(payload.meta)
                .map_err(|error| invalid(&format!("cannot read the description of device code: {error}")))?;
            Ok(Box::leak(Box::new(meta)))
        })
    }
}

/// Says why device code cannot be used.
fn invalid(what: &str) -> Error {
    message::error(what);
    Error::INVALID_KERNEL_IMAGE
}

impl Registry {
    fn add(&mut self, module: &Module, loaded: &'static Loaded) {
        self.loaded.push(loaded);
        for entry in loaded.image.variables() {
            let Some(meta) = loaded.meta.variables.iter().find(|meta| meta.name == entry.name) else {
                continue;
            };
            let address = match meta.managed {
                true => self.bind_managed(module, meta, entry.address),
                false => Some(entry.address),
            };
            let Some(address) = address else { continue };
            let variable = Variable {
                address,
                size: meta.size as usize,
                name: Box::leak(demangle(&entry.name).into_boxed_str()),
                constant: meta.constant,
                managed: meta.managed,
            };
            self.variables.insert(address, variable);
        }
    }

    /// Lets device code find a `__managed__` variable: its storage is the host
    /// program's, whose address goes into the cell. Gives that address.
    fn bind_managed(&self, module: &Module, meta: &VariableMeta, cell: usize) -> Option<usize> {
        let mut symbols = self.symbols.iter();
        let found = symbols.find(|(_, symbol)| {
            std::ptr::eq(symbol.module, module) && symbol.name.to_bytes() == meta.name.as_bytes()
        });
        let (&host, _) = found?;
        let cell = cell as *mut *mut u8;
        // SAFETY: the image's entry of a managed variable addresses a pointer
        // to its initial value, and no kernel of the image runs before its
        // module is loaded; the host's variable has the same size.
        unsafe {
            // clang leaves host variables of device ones without a value.
            std::ptr::copy_nonoverlapping(*cell, host as *mut u8, meta.size as usize);
            cell.write(host as *mut u8);
        }
        Some(host)
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

/// The descriptions of all modules, in the order of registration; `None` for
/// device code that cannot be used or is gone.
pub fn registered() -> Vec<Option<&'static ModuleMeta>> {
    let modules = REGISTRY.read().as_ref().map_or_else(Vec::new, |registry| registry.registered.clone());
    modules.into_iter().map(|module| module.meta().ok()).collect()
}

/// The kernel of this number.
pub fn kernel_of_key(key: u32) -> Option<&'static Kernel> {
    REGISTRY.read().as_ref()?.kernels.get(key as usize).copied()
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
    let name = name.to_str().map_err(|_| Error::INVALID_SYMBOL)?;
    let entry = loaded.image.variable(name).ok_or(Error::INVALID_SYMBOL)?;
    let managed = loaded.meta.variables.iter().any(|meta| meta.name == name && meta.managed);
    let address = if managed { symbol as usize } else { entry.address };
    variable_at(address).ok_or(Error::INVALID_SYMBOL)
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
    *function.kernel.get_or_init(|| find_kernel(&function.symbol))
}

fn find_kernel(symbol: &Symbol) -> Result<&'static Kernel> {
    let module = symbol.module.load()?;
    let name = symbol.name.to_str().map_err(|_| Error::INVALID_DEVICE_FUNCTION)?;
    let kernels = &module.meta.kernels;
    let index = kernels.iter().position(|kernel| kernel.name == name);
    let (Some(index), Some(code)) = (index, module.image.kernel(name)) else {
        return Err(Error::INVALID_DEVICE_FUNCTION);
    };
    Ok(with_registry(|registry| {
        let kernel: &'static Kernel = Box::leak(Box::new(Kernel {
            module,
            key: registry.kernels.len() as u32,
            index,
            name: symbol.name,
            demangled: demangle(name),
            run: code.run,
            run_bare: code.run_bare,
            max_dynamic_shared: AtomicUsize::new(default_dynamic_shared(&kernels[index])),
            carveout: AtomicI32::new(-1),
        }));
        registry.kernels.push(kernel);
        kernel
    }))
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
        let module: &'static Module = Box::leak(Box::new(Module {
            payload,
            gone: AtomicBool::new(false),
            meta: OnceLock::new(),
            loaded: OnceLock::new(),
        }));
        with_registry(|registry| registry.registered.push(module));
        std::ptr::from_ref(module).cast_mut().cast()
    })
}

/// Ends the registration of a translation unit. Host code may read its
/// `__managed__` variables from now on, so a module with such is loaded.
///
/// # Safety
/// `handle` is null or a handle of [`__cudaRegisterFatBinary`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd(handle: *mut *mut c_void) {
    guard("__cudaRegisterFatBinaryEnd", (), || {
        // SAFETY: as the caller vouches.
        let Some(module) = (unsafe { module_of(handle) }) else { return };
        if module.payload.is_ok_and(|payload| has_managed(payload.meta)) {
            // An error has been said, and comes again with each launch.
            let _ = module.load();
        }
    });
}

/// Whether a description has `__managed__` variables, without reading all of it.
fn has_managed(meta: &[u8]) -> bool {
    let flag = &b"\"managed\":"[..];
    // A name that holds a quote has a backslash before it, so what looks like
    // the field is the field.
    memchr::memmem::find_iter(meta, flag)
        .any(|at| meta[at + flag.len()..].trim_ascii_start().starts_with(b"true"))
}

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
        // The report counts its accesses after the payload is gone.
        if session::existing().is_some_and(session::Session::counts_sites) {
            let _ = module.meta();
        }
        module.gone.store(true, Ordering::Relaxed);
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
