//! Modules: code that was loaded, and its kernels.

use std::collections::HashMap;
use std::mem::size_of;

use gpurace_abi::device::{BEGIN_KERNEL, CHECKED_SUFFIX, CheckerState, STATE_SYMBOL};
use gpurace_abi::gpu_code::Arch;

use super::Gpu;
use crate::driver::{self, Address, Error, Function, ModuleHandle, Result};
use crate::ptx;

/// The code of a program for one architecture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Code<'a> {
    /// The processor's own code.
    pub sass: Option<(Arch, &'a [u8])>,
    /// PTX that ends with a nul.
    pub ptx: Option<(Arch, &'a [u8])>,
    /// It contains an operation that can release to other blocks.
    pub orders: bool,
    /// It annotates races as intended.
    pub annotated: bool,
    /// Its variables that kernels can write. They get shadow of their own, since the driver chooses
    /// their addresses.
    pub variables: &'a [&'a str],
}

/// A variant of a kernel's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As clang compiled it.
    Bare,
    /// With checks.
    Checked,
}

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    pub(super) handle: ModuleHandle,
    /// If it has the checker's code: the kernel that fills launch cells, and the address of the
    /// [`CheckerState`].
    pub(super) checker: Option<(Function, Address)>,
    pub(super) orders: bool,
    functions: HashMap<String, Function>,
    /// The checker state that was written last.
    pub(super) written: CheckerState,
}

/// Loads PTX, even if it is newer than the driver: see [`ptx`].
fn load_ptx(text: &[u8]) -> Result<ModuleHandle> {
    let Some(known) = ptx::known_to(driver::version()?) else { return driver::load(text) };
    let Some((lowered, (major, minor))) = ptx::lowered(text, known) else { return driver::load(text) };
    driver::load(&lowered).map_err(|mut error| {
        let (newest, of_newest) = known;
        error.name += &format!(
            " (the program's PTX is of version {major}.{minor}, the driver knows {newest}.{of_newest})"
        );
        error
    })
}

impl Module {
    /// A variant of a kernel.
    ///
    /// # Errors
    /// The driver's: not found. A kernel without room in shared memory has no checked variant.
    pub fn function(&mut self, kernel: &str, variant: Variant) -> Result<Function> {
        let name = match variant {
            Variant::Bare => kernel.to_owned(),
            Variant::Checked => format!("{kernel}{CHECKED_SUFFIX}"),
        };
        if let Some(function) = self.functions.get(&name) {
            return Ok(*function);
        }
        let function = Function::of(self.handle, &name)?;
        self.functions.insert(name, function);
        Ok(function)
    }

    /// Address and size in bytes of a variable.
    ///
    /// # Errors
    /// The driver's: not found.
    pub fn variable(&self, name: &str) -> Result<(Address, u64)> {
        driver::variable(self.handle, name)
    }
}

impl Gpu {
    /// Loads code: the processor's own code, or else PTX.
    ///
    /// # Errors
    /// The driver's, or that neither is for this GPU.
    pub fn load(&mut self, code: &Code<'_>) -> Result<Module> {
        let arch = self.device.arch;
        let own = code.sass.filter(|(of, _)| of.runs_on(arch)).map(|(_, bytes)| driver::load(bytes));
        let handle = match (own, code.ptx) {
            (Some(Ok(handle)), _) => handle,
            (_, Some((from, ptx))) if from.serves(arch) => load_ptx(ptx)?,
            (Some(Err(error)), _) => return Err(error),
            _ => {
                return Err(Error {
                    call: "cuModuleLoadDataEx",
                    name: format!("no code for `sm_{arch}` in the program"),
                    code: 209,
                });
            }
        };
        let state = driver::variable(handle, STATE_SYMBOL).ok();
        let state = state.filter(|(_, size)| *size == size_of::<CheckerState>() as u64);
        let checker = state.and_then(|(state, _)| Some((Function::of(handle, BEGIN_KERNEL).ok()?, state)));
        if checker.is_some() {
            self.shadow_variables(handle, code.variables)?;
            // The slots of most kernels: their blocks have little shared memory of their own.
            self.slots.of(&self.device, 0)?;
        }
        self.annotated |= code.annotated;
        Ok(Module {
            handle,
            checker,
            orders: code.orders,
            functions: HashMap::new(),
            written: CheckerState::default(),
        })
    }

    /// Gives a module's variables shadow.
    fn shadow_variables(&mut self, module: ModuleHandle, names: &[&str]) -> Result {
        for name in names {
            // The compiler may have removed a variable that no kernel uses.
            let Ok((address, size)) = driver::variable(module, name) else { continue };
            self.ranges.add(&mut self.memory, &self.device, address, size)?;
        }
        Ok(())
    }
}
