//! Registered device code: the modules of the program, and their kernels and variables.
//!
//! To keep the program's start quick, registration only takes notes. A module's image is opened and
//! its description is read when the first of its kernels or variables is needed.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use gpurace_abi::meta::ModuleMeta;
use gpurace_protocol::wire::{self, ModuleProofs};
use gpurace_report::demangle;
use parking_lot::{RwLock, RwLockWriteGuard};

use crate::backend::module::{
    DeviceVariable, Kernel, LoadedModule, Payload, default_dynamic_shared, invalid_image,
};
use crate::host::errors::{Error, Result};
use crate::program::Program;

/// One registered translation unit.
pub struct RegisteredModule {
    program: &'static Program,
    payload: Result<Payload>,
    /// The program has unregistered it: its payload may be unmapped.
    gone: AtomicBool,
    meta: OnceLock<Result<&'static ModuleMeta>>,
    loaded: OnceLock<Result<&'static LoadedModule>>,
}

/// A kernel or variable of a module, by which a host address names it.
struct DeviceSymbol {
    module: &'static RegisteredModule,
    /// Mangled name on the device.
    name: &'static CStr,
}

/// A kernel that a host stub names.
struct StubFunction {
    symbol: DeviceSymbol,
    kernel: OnceLock<Result<&'static Kernel>>,
}

#[derive(Default)]
struct Registry {
    functions: HashMap<usize, &'static StubFunction>,
    symbols: HashMap<usize, DeviceSymbol>,
    /// Variables of loaded modules by address.
    variables: BTreeMap<usize, DeviceVariable>,
    /// Every module, in the order of registration.
    registered: Vec<&'static RegisteredModule>,
    /// Loaded modules, in the order of loading.
    loaded: Vec<&'static LoadedModule>,
    /// Kernels that were looked up, by their key.
    kernels: Vec<&'static Kernel>,
}

/// The registered device code of the program.
#[derive(Default)]
pub struct Modules {
    registry: RwLock<Registry>,
    /// The newest processor that device code was built for: 90 for `sm_90`. 0 if none is known.
    newest_arch: AtomicU32,
    /// The newest toolkit that device code was built with: 13000 for CUDA 13.0. 0 if none is known.
    cuda: AtomicU32,
    /// Number of sites of the loaded modules.
    sites: AtomicU32,
    /// Number of `__managed__` variables of loaded modules.
    managed: AtomicUsize,
}

impl RegisteredModule {
    /// Registers a module. If its device code cannot be used, `payload` is the error that its
    /// kernels return.
    pub fn register(program: &'static Program, payload: Result<Payload>) -> &'static Self {
        if let Some((arch, cuda)) = payload.as_ref().ok().and_then(|payload| arch_and_cuda(payload.meta)) {
            program.modules.newest_arch.fetch_max(arch, Ordering::Relaxed);
            program.modules.cuda.fetch_max(cuda, Ordering::Relaxed);
        }
        let module: &'static Self = Box::leak(Box::new(Self {
            program,
            payload,
            gone: AtomicBool::new(false),
            meta: OnceLock::new(),
            loaded: OnceLock::new(),
        }));
        module.registry().registered.push(module);
        module
    }

    fn registry(&self) -> RwLockWriteGuard<'static, Registry> {
        self.program.modules.registry.write()
    }

    /// Ties a host stub to the kernel with this mangled name.
    pub fn add_function(&'static self, stub: usize, name: &'static CStr) {
        let symbol = DeviceSymbol { module: self, name };
        let function = Box::leak(Box::new(StubFunction { symbol, kernel: OnceLock::new() }));
        self.registry().functions.insert(stub, function);
    }

    /// Ties a host variable to the device variable with this mangled name.
    pub fn add_symbol(&'static self, host: usize, name: &'static CStr) {
        self.registry().symbols.insert(host, DeviceSymbol { module: self, name });
    }

    /// Ends the registration of the module. Host code may read its `__managed__` variables from now
    /// on, so a module with such variables is loaded.
    pub fn end_registration(&'static self) {
        if self.payload.is_ok_and(|payload| has_managed(payload.meta)) {
            // The error was printed. Each launch returns it again.
            let _ = self.load();
        }
    }

    /// Forgets the module's stubs and host variables. Its payload may be unmapped. Its code stays:
    /// reports may still name it. With `described`, the description is read now if it was not read
    /// yet.
    pub fn unregister(&self, described: bool) {
        if described {
            // The error was printed.
            let _ = self.meta();
        }
        self.gone.store(true, Ordering::Relaxed);
        let mut registry = self.registry();
        registry.functions.retain(|_, function| !std::ptr::eq(function.symbol.module, self));
        registry.symbols.retain(|_, symbol| !std::ptr::eq(symbol.module, self));
    }

    /// Loads the module, once.
    ///
    /// # Errors
    /// `cudaErrorNoKernelImageForDevice` if there is no image to open,
    /// `cudaErrorInvalidKernelImage` if it does not open.
    fn load(&'static self) -> Result<&'static LoadedModule> {
        *self.loaded.get_or_init(|| {
            let loaded: &'static LoadedModule = Box::leak(Box::new(self.open()?));
            let managed = self.bind_managed(loaded)?;
            self.registry().add(loaded, &managed);
            self.program.modules.managed.fetch_add(managed.len(), Ordering::Relaxed);
            Ok(loaded)
        })
    }

    /// Loads the module now.
    ///
    /// # Errors
    /// As for its first kernel.
    pub fn ensure_loaded(&'static self) -> Result {
        self.load().map(|_| ())
    }

    /// The mangled names of its kernels.
    ///
    /// # Errors
    /// `cudaErrorInvalidKernelImage` if it has no description.
    pub fn kernel_names(&self) -> Result<impl ExactSizeIterator<Item = &'static str>> {
        Ok(self.meta()?.kernels.iter().map(|kernel| &kernel.name[..]))
    }

    /// The mangled names of its `__managed__` variables, and their sizes.
    ///
    /// # Errors
    /// As [`Self::kernel_names`].
    pub fn managed_names(&self) -> Result<impl Iterator<Item = (&'static str, usize)>> {
        let managed = self.meta()?.variables.iter().filter(|variable| variable.managed);
        Ok(managed.map(|variable| (&variable.name[..], variable.size as usize)))
    }

    /// The address that names the kernel with this mangled name, as a host stub does.
    ///
    /// # Errors
    /// `cudaErrorSymbolNotFound` if there is no such kernel.
    pub fn function(&'static self, name: &CStr) -> Result<usize> {
        let known = name
            .to_str()
            .is_ok_and(|name| self.kernel_names().is_ok_and(|mut all| all.any(|own| own == name)));
        if !known {
            return Err(Error::SYMBOL_NOT_FOUND);
        }
        let mut registry = self.registry();
        let found = registry
            .functions
            .iter()
            .find(|(_, function)| std::ptr::eq(function.symbol.module, self) && function.symbol.name == name);
        if let Some((&stub, _)) = found {
            return Ok(stub);
        }
        let symbol = DeviceSymbol { module: self, name: Box::leak(name.into()) };
        let function: &'static StubFunction =
            Box::leak(Box::new(StubFunction { symbol, kernel: OnceLock::new() }));
        let stub = std::ptr::from_ref(function).addr();
        registry.functions.insert(stub, function);
        Ok(stub)
    }

    /// The device variable with this mangled name.
    ///
    /// # Errors
    /// `cudaErrorSymbolNotFound` if there is none, or the errors of loading.
    pub fn variable(&'static self, name: &str) -> Result<DeviceVariable> {
        let loaded = self.load()?;
        // nvcc leaves the name of a static variable as it is, clang does not.
        let static_name = || format!("_ZL{}{name}", name.len());
        let address = loaded.address_of(name).or_else(|| loaded.address_of(&static_name()));
        let address = address.ok_or(Error::SYMBOL_NOT_FOUND)?;
        self.program.modules.variable_at(address).ok_or(Error::SYMBOL_NOT_FOUND)
    }

    /// Opens the device code, and numbers its sites.
    fn open(&self) -> Result<LoadedModule> {
        let meta = self.meta()?;
        let code = self.program.backend.get().open(&self.payload?, meta)?;
        let checked = code.own_meta().unwrap_or(meta);
        // A race may have its sides in two modules, so sites are numbered through all modules. Each
        // module has one more: [`LoadedModule::end_of_block`].
        let site_base =
            self.program.modules.sites.fetch_add(checked.sites.len() as u32 + 1, Ordering::Relaxed);
        let proofs = match self.payload?.proofs {
            [] => ModuleProofs::default(),
            bytes => wire::module_proofs(bytes)
                .map_err(|error| invalid_image(&format!("`{}`: {error}", meta.source)))?,
        };
        Ok(LoadedModule { code, meta, checked, site_base, proofs, told: Once::new() })
    }

    /// Gives device code the addresses of the module's `__managed__` variables, which lie in the
    /// host program. Returns their names and addresses.
    ///
    /// # Errors
    /// The device's, if it cannot access them.
    fn bind_managed(&self, loaded: &'static LoadedModule) -> Result<Vec<(&'static str, usize)>> {
        let variables = loaded.meta.variables.iter().filter(|meta| meta.managed);
        let mut bound = Vec::new();
        for meta in variables {
            let (Some(cell), Some(host)) = (loaded.code.variable(&meta.name), self.host_variable(&meta.name))
            else {
                continue;
            };
            // SAFETY: the code's entry of a managed variable addresses a pointer to its initial
            // value. No kernel runs before its module is loaded. The host's variable has the same
            // size.
            unsafe { self.program.backend.get().bind_managed(cell, host, meta.size as usize) }?;
            bound.push((&meta.name[..], host));
        }
        Ok(bound)
    }

    /// The host variable of the device variable with this mangled name.
    fn host_variable(&self, name: &str) -> Option<usize> {
        let registry = self.program.modules.registry.read();
        let found = registry.symbols.iter().find(|(_, symbol)| {
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
            let meta: ModuleMeta = serde_json::from_slice(payload.meta).map_err(|error| {
                invalid_image(&format!("cannot read the description of device code: {error}"))
            })?;
            Ok(Box::leak(Box::new(meta)))
        })
    }
}

/// The numbers that a description begins with: [`ModuleMeta::arch`] and [`ModuleMeta::cuda`]. Does not
/// parse the rest.
fn arch_and_cuda(meta: &[u8]) -> Option<(u32, u32)> {
    let number = |text: &[u8]| -> Option<(u32, usize)> {
        let end = text.iter().position(|c| !c.is_ascii_digit())?;
        Some((std::str::from_utf8(&text[..end]).ok()?.parse().ok()?, end))
    };
    let rest = meta.strip_prefix(b"{\"arch\":")?;
    let (arch, end) = number(rest)?;
    let (cuda, _) = number(rest[end..].strip_prefix(b",\"cuda\":")?)?;
    Some((arch, cuda))
}

/// True if a description has `__managed__` variables. Does not parse it.
fn has_managed(meta: &[u8]) -> bool {
    let flag = &b"\"managed\":"[..];
    // A quote within a name has a backslash before it, so what looks like the field is the field.
    memchr::memmem::find_iter(meta, flag)
        .any(|at| meta[at + flag.len()..].trim_ascii_start().starts_with(b"true"))
}

impl Registry {
    /// Adds a loaded module. `managed`: names and addresses of its `__managed__` variables.
    fn add(&mut self, loaded: &'static LoadedModule, managed: &[(&str, usize)]) {
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
            let variable = DeviceVariable {
                address,
                size: meta.size as usize,
                name: Box::leak(demangle(name).into_boxed_str()),
                constant: meta.constant,
                managed: meta.managed,
                elements: &meta.elements,
            };
            self.variables.insert(address, variable);
        }
    }
}

impl Modules {
    /// The newest processor that device code of the program was built for: 90 for `sm_90`. 0 if
    /// none is known.
    pub fn newest_arch(&self) -> u32 {
        self.newest_arch.load(Ordering::Relaxed)
    }

    /// The newest toolkit that device code of the program was built with: 13000 for CUDA 13.0. 0 if none
    /// is known.
    pub fn cuda(&self) -> u32 {
        self.cuda.load(Ordering::Relaxed)
    }

    /// The module that holds the site with this number among all modules' sites.
    pub fn module_of_site(&self, site: u32) -> Option<&'static LoadedModule> {
        let registry = self.registry.read();
        let mut loaded = registry.loaded.iter();
        loaded.find(|m| site.checked_sub(m.site_base).is_some_and(|at| at <= m.end_of_block())).copied()
    }

    /// The loaded modules, in the order of loading.
    pub fn loaded(&self) -> Vec<&'static LoadedModule> {
        self.registry.read().loaded.clone()
    }

    fn all(&self) -> Vec<&'static RegisteredModule> {
        self.registry.read().registered.clone()
    }

    /// The descriptions of all modules, in the order of registration. Device code that cannot be
    /// used or was unregistered is left out.
    pub fn described(&self) -> impl Iterator<Item = &'static ModuleMeta> {
        self.all().into_iter().filter_map(|module| module.meta().ok())
    }

    /// The payloads of the registered modules.
    pub fn payloads(&self) -> Vec<Payload> {
        let live = self.all().into_iter().filter(|module| !module.gone.load(Ordering::Relaxed));
        live.filter_map(|module| module.payload.ok()).collect()
    }

    /// The kernel with this key.
    pub fn kernel_of_key(&self, key: u32) -> Option<&'static Kernel> {
        self.registry.read().kernels.get(key as usize).copied()
    }

    /// The device variable that holds `address`, if its module is loaded.
    pub fn variable_at(&self, address: usize) -> Option<DeviceVariable> {
        let registry = self.registry.read();
        let (_, found) = registry.variables.range(..=address).next_back()?;
        (address - found.address < found.size.max(1)).then_some(*found)
    }

    /// The variables of loaded modules.
    pub fn variables(&self) -> Vec<DeviceVariable> {
        self.registry.read().variables.values().copied().collect()
    }

    /// True if a loaded module has `__managed__` variables.
    pub fn has_managed(&self) -> bool {
        self.managed.load(Ordering::Relaxed) > 0
    }

    /// The storage of the `__managed__` variables of loaded modules.
    pub fn managed(&self) -> Vec<Range<usize>> {
        let registry = self.registry.read();
        let managed = registry.variables.values().filter(|v| v.managed);
        managed.map(|v| v.address..v.address + v.size).collect()
    }

    /// The device variable that a host variable names.
    ///
    /// # Errors
    /// `cudaErrorInvalidSymbol` if it names none, or the errors of loading.
    pub fn variable_of_symbol(&self, symbol: *const c_void) -> Result<DeviceVariable> {
        let (module, name) = {
            let registry = self.registry.read();
            let found = registry.symbols.get(&(symbol as usize)).ok_or(Error::INVALID_SYMBOL)?;
            (found.module, found.name)
        };
        let loaded = module.load()?;
        let name = name.to_str().map_err(|_| Error::INVALID_SYMBOL)?;
        let address = loaded.code.variable(name).ok_or(Error::INVALID_SYMBOL)?;
        let managed = loaded.meta.variables.iter().any(|meta| meta.name == name && meta.managed);
        let address = if managed { symbol as usize } else { address };
        self.variable_at(address).ok_or(Error::INVALID_SYMBOL)
    }

    /// The module of the kernel that an address names.
    pub fn module_of_stub(&self, stub: *const c_void) -> Option<&'static RegisteredModule> {
        self.registry.read().functions.get(&stub.addr()).map(|function| function.symbol.module)
    }

    /// The kernel that a host stub names.
    ///
    /// # Errors
    /// `cudaErrorInvalidDeviceFunction` if it names none, or the errors of loading.
    pub fn kernel_of_stub(&self, stub: *const c_void) -> Result<&'static Kernel> {
        let function = self.registry.read().functions.get(&(stub as usize)).copied();
        let function = function.ok_or(Error::INVALID_DEVICE_FUNCTION)?;
        *function.kernel.get_or_init(|| find_kernel(&function.symbol))
    }
}

/// Makes the kernel of a symbol. Its module is loaded first.
fn find_kernel(symbol: &DeviceSymbol) -> Result<&'static Kernel> {
    let module = symbol.module.load()?;
    let name = symbol.name.to_str().map_err(|_| Error::INVALID_DEVICE_FUNCTION)?;
    let kernels = &module.meta.kernels;
    let index = kernels.iter().position(|kernel| kernel.name == name);
    let (Some(index), Some(code)) = (index, module.code.kernel(name)) else {
        return Err(Error::INVALID_DEVICE_FUNCTION);
    };
    let mut registry = symbol.module.registry();
    let kernel: &'static Kernel = Box::leak(Box::new(Kernel {
        module,
        key: registry.kernels.len() as u32,
        index,
        name: symbol.name,
        demangled: demangle(name),
        code,
        max_dynamic_shared: AtomicUsize::new(default_dynamic_shared(&kernels[index])),
        carveout: AtomicI32::new(-1),
        non_portable_cluster: AtomicBool::new(false),
    }));
    registry.kernels.push(kernel);
    Ok(kernel)
}
