//! Launches, and the records of copies.

use std::ffi::c_void;
use std::mem::size_of;

use gpurace_abi::LaunchShape;
#[cfg(doc)]
use gpurace_abi::device::FoundRace;
use gpurace_abi::device::{CheckerState, LaunchCell, OP_READ, OP_WRITE, TOUCH_KERNEL};

use super::{Gpu, Module, RACE_ROOM, Variant};
use crate::cells::TakenCell;
use crate::driver::{Address, Result, Stream};

/// The shape of the kernel that makes the records of a copy: threads of a block, the least words
/// for each thread, the most blocks.
const TOUCHING: (u64, u64, u64) = (256, 4, 1 << 11);

/// A launch of a kernel.
#[derive(Debug)]
pub struct KernelLaunch<'a> {
    /// The kernel's mangled name.
    pub kernel: &'a str,
    /// With checks or without.
    pub variant: Variant,
    /// Grid, blocks, clusters.
    pub shape: LaunchShape,
    /// Bytes of static shared memory of a block.
    pub static_shared: u32,
    /// Its blocks may wait for each other.
    pub cooperative: bool,
    /// The stream that it runs on.
    pub stream: Stream,
    /// The number that reports give it.
    pub number: u64,
    /// Numbers of the earlier launches that may overlap it, ascending.
    pub unordered: &'a [u64],
    /// The most events that it logs, if there is room. 0 for no event log.
    pub events: u64,
    /// Its threads may be ordered by atomics that they observe ([`LaunchCell::observes`]).
    pub observes: bool,
}

/// A copy or fill that something may overlap.
#[derive(Debug)]
pub struct Transfer<'a> {
    /// The rows that it touches.
    pub touched: &'a [Touched],
    /// The stream that it runs on.
    pub stream: Stream,
    /// The number that reports give it. Launches and copies are numbered together.
    pub number: u64,
    /// As [`KernelLaunch::unordered`].
    pub unordered: &'a [u64],
}

/// Rows of bytes that a copy or fill reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    /// The first byte.
    pub start: Address,
    /// Bytes of a row.
    pub width: u64,
    /// Number of rows.
    pub rows: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// True if they are written, false if they are read.
    pub writes: bool,
    /// The number of this access as a site ([`FoundRace::site`]).
    pub site: u32,
}

impl Gpu {
    /// Launches a kernel. `arguments` has a pointer for each parameter.
    ///
    /// # Safety
    /// The pointers are to values of the parameters' types.
    ///
    /// # Errors
    /// The driver's, or the fault of an earlier launch. A kernel without room in shared memory has
    /// no checked variant: it is not found.
    pub unsafe fn launch(
        &mut self,
        module: &mut Module,
        launch: &KernelLaunch<'_>,
        arguments: &[*mut c_void],
    ) -> Result {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let function = module.function(launch.kernel, launch.variant)?;
        let mut arguments = arguments.to_vec();
        // Declared here to outlive the call, which takes its address.
        let mut cell;
        if launch.variant == Variant::Checked {
            let shared = u64::from(launch.static_shared) + u64::from(launch.shape.dynamic_shared);
            self.take_uids(launch.shape.blocks())?;
            // A block without shared memory of its own needs no slot.
            let slots = if shared == 0 { 0 } else { self.slots.of(&self.device, shared)? };
            let (log, log_room) = self.logs.begin(launch.number, launch.events)?;
            let contents = LaunchCell {
                number: launch.number,
                blocks: launch.shape.blocks(),
                log,
                log_room,
                observes: launch.observes.into(),
                slots,
                ..LaunchCell::default()
            };
            cell = self
                .begin(module, contents, launch.unordered, launch.stream)
                .inspect_err(|_| self.logs.give_back(launch.number))?;
            arguments.push((&raw mut cell).cast());
        }
        // SAFETY: the caller keeps the contract above. A checked kernel's last parameter is the
        // cell's address.
        let launched =
            unsafe { function.launch(&launch.shape, launch.cooperative, launch.stream, &mut arguments) };
        if launched.is_err() {
            self.logs.give_back(launch.number);
        }
        launched
    }

    /// Makes records of the bytes that a copy or fill touches. The copy must follow at once on the
    /// same stream. Launches that overlap the copy then meet the records. `module`: any module with
    /// the checker's code.
    ///
    /// # Errors
    /// The driver's, or the fault of an earlier launch.
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
            let mut numbers =
                [cell, start, width, rows, pitch, shadow, op.into(), site.into(), blocks * of_block];
            let mut arguments = numbers.each_mut().map(|number| (&raw mut *number).cast::<c_void>());
            let shape = LaunchShape::flat(blocks as u32, of_block as u32);
            // SAFETY: its parameters are nine numbers of 8 bytes.
            unsafe { function.launch(&shape, false, transfer.stream, &mut arguments) }?;
        }
        Ok(())
    }

    /// The shadow of the word of global memory that holds a byte.
    fn shadow_of(&self, address: Address) -> Option<Address> {
        self.memory.shadow_of_word(address & !3).or_else(|| self.ranges.shadow_of(address))
    }

    /// Hands out uids for so many blocks.
    fn take_uids(&mut self, blocks: u64) -> Result {
        if !self.uids.has(blocks) {
            // The wait orders everything before the launch, so the shadow can be cleared.
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

    /// Writes the module's checker state if it has changed, and lets the stream fill the cell of a
    /// launch or copy, to which the last uids were given. Returns the cell's address. `contents` lacks
    /// the uids and the addresses of ranges. Waits for no kernel.
    fn begin(
        &mut self,
        module: &mut Module,
        contents: LaunchCell,
        unordered: &[u64],
        stream: Stream,
    ) -> Result<Address> {
        let state = CheckerState {
            window: self.memory.window,
            window_size: self.memory.window_size,
            shadow: self.memory.shadow,
            counters: self.counters,
            races: self.races.1,
            race_capacity: RACE_ROOM,
            race_counters: self.race_counters,
            orders: module.orders.into(),
            annotated: self.annotated.into(),
        };
        if let Some(address) = module.state.filter(|_| state != module.written) {
            // SAFETY: a structure of integers without padding.
            let bytes = unsafe {
                std::slice::from_raw_parts((&raw const state).cast::<u8>(), size_of::<CheckerState>())
            };
            self.device.write(address, bytes)?;
            module.written = state;
        }
        let (ranges, range_count) = self.ranges.table(&self.device, &mut self.cells)?;
        let TakenCell { cell, turn, before } = self.cells.take(&self.device, ranges, stream)?;
        if let Some(begin) = module.begin {
            let unordered = self.uids.unordered(unordered);
            let first_uid = self.uids.remember(contents.number, contents.blocks);
            let contents = LaunchCell { turn, first_uid, unordered, ranges, range_count, ..contents };
            let mut numbers = contents.begin_arguments(cell, before);
            let mut arguments = numbers.each_mut().map(|number| (&raw mut *number).cast::<c_void>());
            // SAFETY: its parameters are as many numbers of 8 bytes.
            unsafe { begin.launch(&LaunchShape::flat(1, 1), false, stream, &mut arguments) }?;
        }
        Ok(cell)
    }
}
