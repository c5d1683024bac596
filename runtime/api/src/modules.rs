//! Registered device code: which module a kernel or variable of the host
//! program belongs to.
//!
//! Registration only takes notes, so that start-up stays quick: a module's image
//! is opened and its description read when the first of its kernels or
//! variables is needed.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use gpurace_abi::context::{MAX_CLUSTER, MAX_PORTABLE_CLUSTER};
use gpurace_abi::gpu_code::GpuCode;
use gpurace_abi::meta::{KernelMeta, ModuleMeta};
use gpurace_check::{Checker, CoveredRead};
use gpurace_protocol::wire::{self, ModuleProofs};
use gpurace_report::demangle;
use parking_lot::RwLock;

use crate::backend::{self, Code, Entry};
use crate::errors::{Error, Result};
use crate::function::default_dynamic_shared;
use crate::message;
use crate::properties;
use crate::prove::Prover;
use crate::watch;

/// What a fat-binary slot holds: the sections of gpurace's container.
#[derive(Clone, Copy)]
pub struct Payload {
    /// ELF shared object for the host.
    pub image: Option<&'static [u8]>,
    /// Code for GPUs, one for each architecture, or, where it was asked for, why there is none.
    pub gpu: Option<std::result::Result<&'static [GpuCode<'static>], &'static str>>,
    /// The description, JSON.
    pub meta: &'static [u8],
    /// What the prover knows of the kernels; empty where nothing was asked.
    pub proofs: &'static [u8],
}

/// One registered translation unit.
pub struct Module {
    payload: Result<Payload>,
    /// The program unregistered it: its payload may be gone.
    gone: AtomicBool,
    meta: OnceLock<Result<&'static ModuleMeta>>,
    loaded: OnceLock<Result<&'static Loaded>>,
}

/// A module whose code is ready.
pub struct Loaded {
    /// Its code.
    pub code: Code,
    /// Its description: kernels, variables, accesses as they were proved.
    pub meta: &'static ModuleMeta,
    /// The description of its code's sites, which is another where the code is a GPU's.
    pub checked: &'static ModuleMeta,
    /// Number of its first site among the sites of all modules.
    pub site_base: u32,
    proofs: ModuleProofs,
    told: Once,
}

impl Loaded {
    /// Tells the checker of the reads whose checks others stand for, once.
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

    /// What the prover knows of the kernel with this mangled name, as bytes.
    pub fn proofs_of(&self, kernel: &str) -> Option<&[u8]> {
        let mut kernels = self.proofs.kernels.iter();
        let (_, bytes) = kernels.find(|(name, _)| name == kernel)?;
        Some(bytes)
    }

    /// The index, behind those of its sites, that stands for the end of a block, with which the
    /// block's shared memory ends.
    pub fn end_of_block(&self) -> u32 {
        self.checked.sites.len() as u32
    }

    /// Whether launches are to be solved with their own values.
    pub fn solves_at_launch(&self) -> bool {
        self.proofs.at_launch
    }

    /// Where the device variable with this mangled name lies.
    pub fn address_of(&self, variable: &str) -> Option<usize> {
        let address = self.code.variable(variable)?;
        let mut metas = self.meta.variables.iter();
        let meta = metas.find(|meta| meta.name == variable)?;
        if meta.managed {
            // SAFETY: the image's entry of a managed variable addresses a
            // pointer, set when the module was loaded.
            return Some(unsafe { (address as *const usize).read() });
        }
        Some(address)
    }
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
    /// Its code.
    pub entry: Entry,
    /// What is known of its accesses.
    pub prover: Prover,
    /// Dynamic shared memory that `cudaFuncSetAttribute` allowed it, bytes.
    pub max_dynamic_shared: AtomicUsize,
    /// `cudaFuncAttributePreferredSharedMemoryCarveout`; kept for those who ask.
    pub carveout: AtomicI32,
    /// `cudaFuncAttributeNonPortableClusterSizeAllowed`.
    pub non_portable_cluster: AtomicBool,
}

impl Kernel {
    /// Its description.
    pub fn meta(&self) -> &'static KernelMeta {
        &self.module.meta.kernels[self.index]
    }

    /// Most blocks of a cluster of its launches.
    pub fn max_cluster(&self) -> u32 {
        match self.non_portable_cluster.load(Ordering::Relaxed) {
            true => MAX_CLUSTER,
            false => MAX_PORTABLE_CLUSTER,
        }
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

impl Module {
    /// A new module; `payload` is the error that its kernels give where its
    /// device code cannot be used.
    pub fn register(payload: Result<Payload>) -> &'static Self {
        if let Some(arch) = payload.as_ref().ok().and_then(|payload| arch(payload.meta)) {
            properties::built_for(arch);
        }
        let module: &'static Self = Box::leak(Box::new(Self {
            payload,
            gone: AtomicBool::new(false),
            meta: OnceLock::new(),
            loaded: OnceLock::new(),
        }));
        with_registry(|registry| registry.registered.push(module));
        module
    }

    /// A host stub stands for a kernel of this mangled name.
    pub fn add_function(&'static self, stub: usize, name: &'static CStr) {
        let symbol = Symbol { module: self, name };
        let function = Box::leak(Box::new(Function { symbol, kernel: OnceLock::new() }));
        with_registry(|registry| registry.functions.insert(stub, function));
    }

    /// A host variable stands for a device variable of this mangled name.
    pub fn add_symbol(&'static self, host: usize, name: &'static CStr) {
        with_registry(|registry| registry.symbols.insert(host, Symbol { module: self, name }));
    }

    /// All of the module's kernels and variables are known. Host code may read
    /// its `__managed__` variables from now on, so a module with such is loaded.
    pub fn end_registration(&'static self) {
        if self.payload.is_ok_and(|payload| has_managed(payload.meta)) {
            // An error has been said, and comes again with each launch.
            let _ = self.load();
        }
    }

    /// Forgets the module's stubs and host variables; its payload may go. Its
    /// code stays, reports may still name it: `described` reads for them what
    /// was not needed so far.
    pub fn unregister(&self, described: bool) {
        if described {
            // An error has been said.
            let _ = self.meta();
        }
        self.gone.store(true, Ordering::Relaxed);
        with_registry(|registry| {
            registry.functions.retain(|_, function| !std::ptr::eq(function.symbol.module, self));
            registry.symbols.retain(|_, symbol| !std::ptr::eq(symbol.module, self));
        });
    }

    /// The module with its image open.
    ///
    /// # Errors
    /// `cudaErrorNoKernelImageForDevice` where there is no image to open,
    /// `cudaErrorInvalidKernelImage` where it does not open.
    fn load(&'static self) -> Result<&'static Loaded> {
        *self.loaded.get_or_init(|| {
            let loaded: &'static Loaded = Box::leak(Box::new(self.open()?));
            let managed = self.bind_managed(loaded)?;
            with_registry(|registry| registry.add(loaded, &managed));
            Ok(loaded)
        })
    }

    fn open(&self) -> Result<Loaded> {
        let meta = self.meta()?;
        let code = backend::get().open(&self.payload?, meta)?;
        let checked = match &code {
            Code::Host(_) => meta,
            Code::Gpu(code) => code.meta,
        };
        // Sites are numbered through all modules, so that a race may have its
        // sides in two of them. Each module has one more: [`Loaded::end_of_block`].
        static SITES: AtomicU32 = AtomicU32::new(0);
        let site_base = SITES.fetch_add(checked.sites.len() as u32 + 1, Ordering::Relaxed);
        let proofs = match self.payload?.proofs {
            [] => ModuleProofs::default(),
            bytes => {
                wire::module_proofs(bytes).map_err(|error| invalid(&format!("`{}`: {error}", meta.source)))?
            }
        };
        Ok(Loaded { code, meta, checked, site_base, proofs, told: Once::new() })
    }

    /// Has device code find the module's `__managed__` variables: their storage is the host
    /// program's. Gives their names and addresses.
    ///
    /// # Errors
    /// The device's: it cannot reach them.
    fn bind_managed(&self, loaded: &'static Loaded) -> Result<Vec<(&'static str, usize)>> {
        let variables = loaded.meta.variables.iter().filter(|meta| meta.managed);
        let mut bound = Vec::new();
        for meta in variables {
            let (Some(cell), Some(host)) = (loaded.code.variable(&meta.name), self.host_variable(&meta.name))
            else {
                continue;
            };
            // SAFETY: the code's entry of a managed variable addresses a pointer
            // to its initial value, and no kernel of the code runs before its
            // module is loaded; the host's variable has the same size.
            unsafe { backend::get().bind_managed(cell, host, meta.size as usize) }?;
            bound.push((&meta.name[..], host));
        }
        Ok(bound)
    }

    /// The host variable that stands for a device variable of this mangled name.
    fn host_variable(&self, name: &str) -> Option<usize> {
        let registry = REGISTRY.read();
        let mut symbols = registry.as_ref()?.symbols.iter();
        let found = symbols.find(|(_, symbol)| {
            std::ptr::eq(symbol.module, self) && symbol.name.to_bytes() == name.as_bytes()
        });
        found.map(|(&host, _)| host)
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

/// The processor that a description names first ([`ModuleMeta::arch`]).
fn arch(meta: &[u8]) -> Option<u32> {
    let number = meta.strip_prefix(b"{\"arch\":")?;
    let end = number.iter().position(|c| !c.is_ascii_digit())?;
    std::str::from_utf8(&number[..end]).ok()?.parse().ok()
}

/// Whether a description has `__managed__` variables, without reading all of it.
fn has_managed(meta: &[u8]) -> bool {
    let flag = &b"\"managed\":"[..];
    // A name that holds a quote has a backslash before it, so what looks like
    // the field is the field.
    memchr::memmem::find_iter(meta, flag)
        .any(|at| meta[at + flag.len()..].trim_ascii_start().starts_with(b"true"))
}

/// Says why device code cannot be used.
pub fn invalid(what: &str) -> Error {
    message::error(what);
    Error::INVALID_KERNEL_IMAGE
}

impl Registry {
    /// `managed`: the addresses of its `__managed__` variables, by name.
    fn add(&mut self, loaded: &'static Loaded, managed: &[(&str, usize)]) {
        self.loaded.push(loaded);
        for (name, address) in loaded.code.variables() {
            let Some(meta) = loaded.meta.variables.iter().find(|meta| meta.name == name) else {
                continue;
            };
            let address = match meta.managed {
                true => managed.iter().find(|(own, _)| *own == name).map(|&(_, address)| address),
                false => Some(address),
            };
            let Some(address) = address else { continue };
            let variable = Variable {
                address,
                size: meta.size as usize,
                name: Box::leak(demangle(name).into_boxed_str()),
                constant: meta.constant,
                managed: meta.managed,
            };
            self.variables.insert(address, variable);
            if meta.managed {
                watch::managed_made();
            }
        }
    }
}

/// The module that holds the site with this number among all modules' sites.
pub fn module_of_site(site: u32) -> Option<&'static Loaded> {
    let registry = REGISTRY.read();
    let mut loaded = registry.as_ref()?.loaded.iter();
    loaded.find(|m| site.checked_sub(m.site_base).is_some_and(|at| at <= m.end_of_block())).copied()
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

/// What the modules that the program has registered brought with them.
pub fn payloads() -> Vec<Payload> {
    let registry = REGISTRY.read();
    let modules = registry.iter().flat_map(|registry| &registry.registered);
    let live = modules.filter(|module| !module.gone.load(Ordering::Relaxed));
    live.filter_map(|module| module.payload.ok()).collect()
}

/// Loads the first module that was built with checks.
pub fn load_checked() {
    let modules = REGISTRY.read().as_ref().map_or_else(Vec::new, |registry| registry.registered.clone());
    let checked = modules.into_iter().find(|module| module.meta().is_ok_and(|meta| meta.instrumented));
    if let Some(module) = checked {
        // An error has been said, and comes again with each launch.
        let _ = module.load();
    }
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

/// The storage of the `__managed__` variables of loaded modules.
pub fn managed() -> Vec<Range<usize>> {
    let registry = REGISTRY.read();
    let variables = registry.as_ref().map(|registry| registry.variables.values());
    let managed = variables.into_iter().flatten().filter(|v| v.managed);
    managed.map(|v| v.address..v.address + v.size).collect()
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
    let address = loaded.code.variable(name).ok_or(Error::INVALID_SYMBOL)?;
    let managed = loaded.meta.variables.iter().any(|meta| meta.name == name && meta.managed);
    let address = if managed { symbol as usize } else { address };
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
    let (Some(index), Some(entry)) = (index, module.code.kernel(name)) else {
        return Err(Error::INVALID_DEVICE_FUNCTION);
    };
    Ok(with_registry(|registry| {
        let kernel: &'static Kernel = Box::leak(Box::new(Kernel {
            module,
            key: registry.kernels.len() as u32,
            index,
            name: symbol.name,
            demangled: demangle(name),
            entry,
            prover: Prover::default(),
            max_dynamic_shared: AtomicUsize::new(default_dynamic_shared(&kernels[index])),
            carveout: AtomicI32::new(-1),
            non_portable_cluster: AtomicBool::new(false),
        }));
        registry.kernels.push(kernel);
        kernel
    }))
}
