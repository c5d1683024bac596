//! A GPU: its context, modules, launches, and what they found.

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::size_of;

use gpurace_abi::device::{
    BEGIN_KERNEL, CHECKED_SUFFIX, Counters, Found, LaunchCell, OP_READ, OP_WRITE, SEEN, STATE_SYMBOL, State,
    TOUCH_KERNEL,
};
use gpurace_abi::gpu_code::Arch;

use crate::cells::{Cells, Taken};
use crate::driver::kernel::Shape;
use crate::driver::{self, Address, Device, Error, Function, ModuleHandle, Result, Stream, Unavailable};
use crate::logs::{Log, Logs};
use crate::memory::Memory;
use crate::ptx;
use crate::ranges::Ranges;
use crate::slots::AllSlots;
use crate::uids::Uids;

/// Records that there is room for.
const RECORDS: u64 = 16 << 10;
/// Threads of a block that makes records of a copy, and words that each thread should have at least, and most blocks.
const TOUCHING: (u64, u64, u64) = (256, 4, 1 << 11);

/// Code for a GPU out of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Code<'a> {
    /// The processor's own code.
    pub sass: Option<(Arch, &'a [u8])>,
    /// PTX that ends with a nul.
    pub ptx: Option<(Arch, &'a [u8])>,
    /// Something in it can release to other blocks.
    pub orders: bool,
    /// It says of races that they are meant.
    pub annotated: bool,
    /// Events that a launch of its kernels may log, at most.
    pub events: u64,
    /// Its variables that kernels can write: they lie where the driver puts them, and
    /// get shadow of their own.
    pub variables: &'a [&'a str],
}

/// Which code of a kernel to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As clang compiled it.
    Bare,
    /// With checks.
    Checked,
}

/// A launch.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The kernel's mangled name.
    pub kernel: &'a str,
    /// With checks or without.
    pub variant: Variant,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Its static shared memory, bytes.
    pub static_shared: u32,
    /// Its dynamic shared memory, bytes.
    pub dynamic_shared: u32,
    /// Its blocks may wait for each other.
    pub cooperative: bool,
    /// Blocks of a cluster, where there are any.
    pub cluster: Option<[u32; 3]>,
    /// Where to.
    pub stream: Stream,
    /// The number that reports give it.
    pub number: u64,
    /// Numbers of earlier launches that nothing orders before it, ascending.
    pub unordered: &'a [u64],
    /// How much it is to log of what its threads do, at most, if there is room: [`Gpu::take_logs`].
    pub events: u64,
    /// Its threads may be ordered by what they observe of atomics ([`LaunchCell::observes`]).
    pub observes: bool,
}

/// A copy or fill that something may overlap.
#[derive(Debug)]
pub struct Transfer<'a> {
    /// What it touches.
    pub touched: &'a [Touched],
    /// Where to.
    pub stream: Stream,
    /// The number that reports give it; launches and copies are numbered together.
    pub number: u64,
    /// As [`Launch::unordered`].
    pub unordered: &'a [u64],
}

/// Rows of bytes that a copy or fill reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    /// The first byte.
    pub start: Address,
    /// Bytes of a row.
    pub width: u64,
    /// How many.
    pub rows: u64,
    /// Bytes from one to the next.
    pub pitch: u64,
    /// They are written; else they are read.
    pub writes: bool,
    /// What [`Found::site`] says of it.
    pub site: u32,
}

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    handle: ModuleHandle,
    begin: Option<Function>,
    /// Where its [`State`] lies; `None` for one without checks.
    state: Option<Address>,
    orders: bool,
    functions: HashMap<String, Function>,
    /// What [`State`] holds now.
    written: State,
}

/// A GPU in use.
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    /// Its allocations.
    pub memory: Memory,
    slots: AllSlots,
    ranges: Ranges,
    logs: Logs,
    /// Some code that was loaded says of races that they are meant.
    annotated: bool,
    counters: Address,
    seen: Address,
    records: (*const Found, Address),
    /// Records before this one were given out.
    taken: u64,
    cells: Cells,
    uids: Uids,
    /// What was found before uids began anew.
    found: Vec<Found>,
    /// A kernel did something that ended the context.
    fault: Option<Error>,
}

// SAFETY: the record buffer is the driver's memory, valid in all threads; nothing else is a pointer of this process.
unsafe impl Send for Gpu {}

/// Loads PTX, also such as is newer than the driver: see [`ptx`].
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

impl Launch<'_> {
    fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }
}

impl Module {
    /// A kernel of it.
    ///
    /// # Errors
    /// The driver's: not found, as is a checked variant that has no room in shared memory.
    pub fn function(&mut self, kernel: &str, variant: Variant) -> Result<Function> {
        let name = match variant {
            Variant::Bare => kernel.to_owned(),
            Variant::Checked => format!("{kernel}{CHECKED_SUFFIX}"),
        };
        self.function_of_name(&name)
    }

    fn function_of_name(&mut self, name: &str) -> Result<Function> {
        if let Some(function) = self.functions.get(name) {
            return Ok(*function);
        }
        let function = Function::of(self.handle, name)?;
        self.functions.insert(name.to_owned(), function);
        Ok(function)
    }

    /// Whether it has the checker's code: [`Gpu::touch`] needs it.
    pub fn has_checks(&self) -> bool {
        self.state.is_some() && self.begin.is_some()
    }

    /// A variable of it: its address and its size, bytes.
    ///
    /// # Errors
    /// The driver's: not found.
    pub fn variable(&self, name: &str) -> Result<(Address, u64)> {
        driver::variable(self.handle, name)
    }
}

impl Gpu {
    /// Opens the driver and its first GPU.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open() -> std::result::Result<Self, Unavailable> {
        let device = driver::open()?;
        let memory = Memory::new(&device)?;
        let zeroed = |size: u64| -> Result<Address> {
            let address = driver::allocate(size)?;
            device.clear(address, size)?;
            Ok(address)
        };
        let (host, records) = driver::mapped(RECORDS * size_of::<Found>() as u64)?;
        // SAFETY: the driver has just given so many bytes.
        unsafe { host.cast::<u8>().write_bytes(0, RECORDS as usize * size_of::<Found>()) };
        Ok(Self {
            memory,
            slots: AllSlots::default(),
            ranges: Ranges::new()?,
            logs: Logs::default(),
            annotated: false,
            counters: zeroed(size_of::<Counters>() as u64)?,
            seen: zeroed(SEEN * 4)?,
            records: (host.cast_const().cast(), records),
            taken: 0,
            cells: Cells::new(&device)?,
            uids: Uids::default(),
            found: Vec::new(),
            fault: None,
            device,
        })
    }

    /// What the driver calls it.
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// Loads code: what was made for this very processor, else PTX.
    ///
    /// # Errors
    /// The driver's. Where neither is for this GPU: that there is no image.
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
        let state = state.filter(|(_, size)| *size == size_of::<State>() as u64).map(|(address, _)| address);
        if state.is_some() {
            self.shadow_variables(handle, code.variables)?;
            // Most kernels' blocks have no more shared memory of their own.
            self.slots.of(&self.device, 0)?;
            self.logs.prepare(code.events)?;
        }
        self.annotated |= code.annotated;
        // Loaded before anything runs that a copy may overlap: to load may be to wait for all that runs.
        let touch = state.and_then(|_| Function::of(handle, TOUCH_KERNEL).ok());
        Ok(Module {
            handle,
            begin: state.and_then(|_| Function::of(handle, BEGIN_KERNEL).ok()),
            state,
            orders: code.orders,
            functions: touch.map(|function| (TOUCH_KERNEL.to_owned(), function)).into_iter().collect(),
            written: State::default(),
        })
    }

    /// Gives a module's variables shadow.
    fn shadow_variables(&mut self, module: ModuleHandle, names: &[&str]) -> Result {
        for name in names {
            // Of a variable that no kernel uses, nothing may be left.
            let Ok((address, size)) = driver::variable(module, name) else { continue };
            self.ranges.add(&mut self.memory, &self.device, address, size)?;
        }
        Ok(())
    }

    /// Launches a kernel. `arguments` has a pointer for each parameter.
    ///
    /// # Safety
    /// The pointers are to values of the parameters' types.
    ///
    /// # Errors
    /// What keeps the launch from starting, or an earlier one's fault. A checked variant that is not
    /// there, for want of shared memory, is not found.
    pub unsafe fn launch(
        &mut self,
        module: &mut Module,
        launch: &Launch<'_>,
        arguments: &[*mut c_void],
    ) -> Result {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let function = module.function(launch.kernel, launch.variant)?;
        let mut arguments = arguments.to_vec();
        // Arguments are addresses of values, which outlive the call.
        let mut cell;
        if launch.variant == Variant::Checked {
            let shared = u64::from(launch.static_shared) + u64::from(launch.dynamic_shared);
            self.take_uids(launch.blocks())?;
            // Without shared memory of its own a block needs no shadow for any.
            let slots = if shared == 0 { 0 } else { self.slots.of(&self.device, shared)? };
            let (log, log_room) = self.logs.begin(launch.number, launch.events)?;
            let told = LaunchCell {
                number: launch.number,
                blocks: launch.blocks(),
                log,
                log_room,
                observes: launch.observes.into(),
                slots,
                ..LaunchCell::default()
            };
            cell = self
                .begin(module, told, launch.unordered, launch.stream)
                .inspect_err(|_| self.logs.give_back(launch.number))?;
            arguments.push((&raw mut cell).cast());
        }
        let Launch { grid, block, dynamic_shared, cooperative, cluster, .. } = *launch;
        let shape = Shape { grid, block, dynamic_shared, cooperative, cluster };
        // SAFETY: as the caller vouches; a checked kernel's last parameter is the cell's address.
        let launched = unsafe { function.launch(&shape, launch.stream, &mut arguments) };
        if launched.is_err() {
            self.logs.give_back(launch.number);
        }
        launched
    }

    /// Makes records of what a copy or fill touches, on its stream; it comes next there. With them, launches that may overlap it
    /// are found to race with it. `module`: any one with checks.
    ///
    /// # Errors
    /// The driver's, and an earlier launch's fault.
    pub fn touch(&mut self, module: &mut Module, transfer: &Transfer<'_>) -> Result {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let covered =
            transfer.touched.iter().filter_map(|touched| Some((*touched, self.shadow_of(touched.start)?)));
        let covered: Vec<(Touched, Address)> = covered.collect();
        if covered.is_empty() {
            return Ok(());
        }
        self.take_uids(1)?;
        let Transfer { number, unordered, stream, .. } = *transfer;
        let cell =
            self.begin(module, LaunchCell { number, blocks: 1, ..LaunchCell::default() }, unordered, stream)?;
        let function = module.function_of_name(TOUCH_KERNEL)?;
        for (touched, shadow) in covered {
            let Touched { start, width, rows, pitch, writes, site } = touched;
            let (of_block, of_thread, most) = TOUCHING;
            let blocks = (rows * (width / 4 + 1)).div_ceil(of_block * of_thread).clamp(1, most);
            let op = if writes { OP_WRITE } else { OP_READ };
            let mut told =
                [cell, start, width, rows, pitch, shadow, op.into(), site.into(), blocks * of_block];
            let mut arguments = told.each_mut().map(|number| (&raw mut *number).cast::<c_void>());
            let shape = Shape {
                grid: [blocks as u32, 1, 1],
                block: [of_block as u32, 1, 1],
                dynamic_shared: 0,
                cooperative: false,
                cluster: None,
            };
            // SAFETY: its parameters are nine numbers of 8 bytes.
            unsafe { function.launch(&shape, transfer.stream, &mut arguments) }?;
        }
        Ok(())
    }

    /// The shadow of the word of global memory that a byte is in.
    fn shadow_of(&self, address: Address) -> Option<Address> {
        self.memory.shadow_of_word(address & !3).or_else(|| self.ranges.shadow_of(address))
    }

    /// Gives so many uids out.
    fn take_uids(&mut self, blocks: u64) -> Result {
        if !self.uids.has(blocks) {
            // Nothing runs while the history goes; what was before is ordered before the launch by the wait.
            self.wait()?;
            self.memory.forget_all(&self.device)?;
            let found = self.take_found();
            self.found = found;
            self.device.clear(self.counters, 8)?;
            self.uids.begin_anew();
        }
        self.uids.give(blocks);
        Ok(())
    }

    /// Gets the module's state ready and says on the stream what a launch, which has the last uids that were given out, or a copy is; gives its cell.
    /// `told`: all but where its memory lies, and its uids. Nothing waits for what runs.
    fn begin(
        &mut self,
        module: &mut Module,
        told: LaunchCell,
        unordered: &[u64],
        stream: Stream,
    ) -> Result<Address> {
        let state = State {
            window: self.memory.window,
            window_size: self.memory.window_size,
            shadow: self.memory.shadow,
            counters: self.counters,
            records: self.records.1,
            record_capacity: RECORDS,
            seen: self.seen,
            orders: module.orders.into(),
            annotated: self.annotated.into(),
        };
        if let Some(address) = module.state.filter(|_| state != module.written) {
            // SAFETY: a structure of integers without padding.
            let bytes =
                unsafe { std::slice::from_raw_parts((&raw const state).cast::<u8>(), size_of::<State>()) };
            self.device.write(address, bytes)?;
            module.written = state;
        }
        let (ranges, range_count) = self.ranges.table(&self.device, &mut self.cells)?;
        let Taken { cell, turn, before } = self.cells.take(&self.device, ranges, stream)?;
        if let Some(begin) = module.begin {
            let unordered = self.uids.unordered(unordered);
            let first_uid = self.uids.remember(told.number, told.blocks);
            let mut told =
                LaunchCell { turn, first_uid, unordered, ranges, range_count, ..told }.told(cell, before);
            let mut arguments = told.each_mut().map(|number| (&raw mut *number).cast::<c_void>());
            let one =
                Shape { grid: [1; 3], block: [1; 3], dynamic_shared: 0, cooperative: false, cluster: None };
            // SAFETY: its parameters are as many numbers of 8 bytes.
            unsafe { begin.launch(&one, stream, &mut arguments) }?;
        }
        Ok(cell)
    }

    /// Launches by number, and the checks that each has made; each launch once. To be called when nothing runs that is to end.
    pub fn take_checks(&mut self) -> Vec<(u64, u64)> {
        self.cells.take_checks(&self.device)
    }

    /// A stream is going to be destroyed.
    pub fn forget_stream(&mut self, stream: Stream) {
        self.cells.forget(stream);
    }

    /// Waits for all that was submitted.
    ///
    /// # Errors
    /// What a kernel did wrong; the context is of no use afterwards, but for what was found before.
    pub fn wait(&mut self) -> Result {
        driver::wait_for_all().inspect_err(|error| self.end(error))
    }

    /// A call has said that a kernel did wrong: the context is of no use any more.
    pub fn end(&mut self, fault: &Error) {
        self.fault.get_or_insert_with(|| fault.clone());
    }

    /// What was found since the last call. After a fault, too: the records lie in
    /// the host's memory.
    pub fn take_found(&mut self) -> Vec<Found> {
        let mut found = std::mem::take(&mut self.found);
        while self.taken < RECORDS {
            // SAFETY: within the buffer; the GPU may write it meanwhile.
            let record = unsafe { self.records.0.add(self.taken as usize).read_volatile() };
            if record.complete != 0 {
                found.extend(self.uids.resolved(record));
            } else if self.fault.is_none() {
                break;
            }
            self.taken += 1;
        }
        found
    }

    /// Whether the launch of this number, under way, has a log.
    pub fn has_log(&self, number: u64) -> bool {
        self.logs.has(number)
    }

    /// The logs of launches that are over since the last call, in the launches' order. After a fault, what was logged before it.
    pub fn take_logs(&mut self) -> Vec<Log> {
        self.logs.take(self.fault.is_some())
    }

    /// Launches that a later one may overlap and was not told of, and races with launches that are not known any more.
    pub fn untold(&self) -> u64 {
        self.uids.untold
    }

    /// What was counted; `None` after a fault, which takes the device's memory along.
    pub fn counters(&self) -> Option<Counters> {
        let mut counters = Counters::default();
        // SAFETY: a structure of integers without padding, any bytes are one.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut((&raw mut counters).cast::<u8>(), size_of::<Counters>())
        };
        self.device.read(bytes, self.counters).ok()?;
        Some(counters)
    }

    /// The device: calls that need none of what is kept here.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Allocates: see [`Memory`].
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate(&mut self, size: u64) -> Result<Address> {
        self.memory.allocate(&self.device, size)
    }

    /// Managed memory, which host and device reach at one address.
    ///
    /// # Errors
    /// The driver's; that there is no memory for shadow is none.
    pub fn allocate_managed(&mut self, size: u64) -> Result<Address> {
        let address = driver::managed(size)?;
        self.ranges.add(&mut self.memory, &self.device, address, size)?;
        Ok(address)
    }

    /// Has kernels reach memory of the program, at its own address and with shadow: its pages are page-locked from now on.
    ///
    /// # Errors
    /// The driver's, and that the GPU has other addresses for them.
    pub fn reach_host(&mut self, start: usize, size: usize) -> Result {
        self.ranges.reach_host(&mut self.memory, &self.device, start, size)
    }

    /// Gives it back. Nothing runs that may use it.
    ///
    /// # Errors
    /// The driver's.
    pub fn free_managed(&mut self, address: Address) -> Result {
        self.ranges.remove(&mut self.memory, address)?;
        driver::free(address)
    }
}
