//! A GPU: its context and memory, and the races that its launches find.
//!
//! `load` loads modules, `launch` submits launches.

use std::mem::size_of;

use gpurace_abi::device::{Counters, FoundRace, RACE_COUNTERS};

use crate::cells::Cells;
use crate::driver::{self, Address, Device, Error, Result, Stream, Unavailable};
use crate::memory::Memory;
use crate::ranges::Ranges;
use crate::slots::SlotSets;

mod launch;
mod load;

pub use launch::KernelLaunch;
pub use load::{Code, Module, Variant};

/// Number of races that the buffer has room for.
const RACE_ROOM: u64 = 16 << 10;

/// A GPU in use, with its context.
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    /// Its allocations, with their shadow.
    pub memory: Memory,
    slots: SlotSets,
    ranges: Ranges,
    /// True if code that was loaded annotates races as intended.
    annotated: bool,
    /// True if volatile accesses race as relaxed atomics at system scope do.
    pub relaxed_volatile: bool,
    counters: Address,
    race_counters: Address,
    /// The buffer of races, at its addresses on the host and on the device.
    races: (*const FoundRace, Address),
    /// Number of races of the buffer that [`Gpu::take_found`] has returned.
    taken: u64,
    cells: Cells,
    /// Number of block uids that were handed out since shadow was last empty.
    uids: u64,
    /// The fault of a kernel, which ended the context.
    fault: Option<Error>,
}

// SAFETY: the buffer of races is the driver's memory, valid in all threads. Nothing else is a
// pointer of this process.
unsafe impl Send for Gpu {}

impl Gpu {
    /// Opens the driver and its first GPU.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn open() -> std::result::Result<Self, Unavailable> {
        let device = driver::open()?;
        let memory = Memory::new(&device)?;
        let zeroed = |size: u64| -> Result<Address> {
            let address = driver::allocate(size)?;
            device.clear(address, size)?;
            Ok(address)
        };
        let (host, races) = driver::mapped(RACE_ROOM * size_of::<FoundRace>() as u64)?;
        // SAFETY: the driver has just allocated so many bytes.
        unsafe { host.cast::<u8>().write_bytes(0, RACE_ROOM as usize * size_of::<FoundRace>()) };
        Ok(Self {
            memory,
            slots: SlotSets::default(),
            ranges: Ranges::new()?,
            annotated: false,
            relaxed_volatile: false,
            counters: zeroed(size_of::<Counters>() as u64)?,
            race_counters: zeroed(RACE_COUNTERS * 4)?,
            races: (host.cast_const().cast(), races),
            taken: 0,
            cells: Cells::new(&device)?,
            uids: 0,
            fault: None,
            device,
        })
    }

    /// The driver's name of the GPU.
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// The number of each checked launch, with the number of its checks. All launches must be over,
    /// or never end.
    pub fn take_checks(&mut self) -> Vec<(u64, u64)> {
        self.cells.take_checks(&self.device)
    }

    /// Forgets a stream that is to be destroyed.
    pub fn forget_stream(&mut self, stream: Stream) {
        self.cells.forget(stream);
    }

    /// Waits for all that was submitted.
    ///
    /// # Errors
    /// The fault of a kernel. It ends the context. The races found before stay readable.
    pub fn wait(&mut self) -> Result {
        driver::wait_for_all().inspect_err(|error| self.end(error))
    }

    /// Notes the fault of a kernel, which has ended the context.
    pub fn end(&mut self, fault: &Error) {
        self.fault.get_or_insert_with(|| fault.clone());
    }

    /// The races found since the last call. Works after a fault too: they lie in the host's memory.
    pub fn take_found(&mut self) -> Vec<FoundRace> {
        let mut found = Vec::new();
        while self.taken < RACE_ROOM {
            // SAFETY: within the buffer. The GPU may write it meanwhile.
            let race = unsafe { self.races.0.add(self.taken as usize).read_volatile() };
            if race.complete != 0 {
                found.push(race);
            } else if self.fault.is_none() {
                break;
            }
            self.taken += 1;
        }
        found
    }

    /// The device's counters. `None` after a fault, which ends the device's memory.
    pub fn counters(&self) -> Option<Counters> {
        let mut counters = Counters::default();
        // SAFETY: a structure of integers without padding. Any bytes are valid.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut((&raw mut counters).cast::<u8>(), size_of::<Counters>())
        };
        self.device.read(bytes, self.counters).ok()?;
        Some(counters)
    }

    /// The device, for calls that need no other state.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Allocates memory: see [`Memory`].
    pub fn allocate(&mut self, size: u64) -> Result<Address> {
        self.memory.allocate(&self.device, size)
    }

    /// Allocates managed memory, with shadow if there is memory for it.
    pub fn allocate_managed(&mut self, size: u64) -> Result<Address> {
        let address = driver::managed(size)?;
        self.ranges.add(&mut self.memory, &self.device, address, size)?;
        Ok(address)
    }

    /// Lets kernels reach memory of the program, at its own address and with shadow. Page-locks its
    /// pages.
    ///
    /// # Errors
    /// The driver's, or that the GPU reaches the pages at other addresses.
    pub fn reach_host(&mut self, start: usize, size: usize) -> Result {
        self.ranges.reach_host(&mut self.memory, &self.device, start, size)
    }

    /// Frees managed memory. Nothing that runs may use it.
    pub fn free_managed(&mut self, address: Address) -> Result {
        self.ranges.remove(&mut self.memory, address)?;
        driver::free(address)
    }
}
