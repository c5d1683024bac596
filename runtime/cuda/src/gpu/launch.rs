//! Launches.

use std::ffi::c_void;
use std::mem::size_of;

use gpurace_abi::LaunchShape;
use gpurace_abi::device::{BLOCK_UIDS, CheckerState, LaunchCell};

use super::{Gpu, Module, RACE_ROOM, Variant};
use crate::cells::TakenCell;
use crate::driver::{Address, Result, Stream};

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
    /// Its threads may be ordered by atomics that they observe ([`LaunchCell::observes`]).
    pub observes: bool,
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
            let first_uid = self.take_uids(launch.shape.blocks())?;
            // A block without shared memory of its own needs no slot.
            let slots = if shared == 0 { 0 } else { self.slots.of(&self.device, shared)? };
            let contents = LaunchCell {
                first_uid,
                number: launch.number,
                blocks: launch.shape.blocks(),
                observes: launch.observes.into(),
                slots,
                ..LaunchCell::default()
            };
            cell = self.begin(module, contents, launch.stream)?;
            arguments.push((&raw mut cell).cast());
        }
        // SAFETY: the caller keeps the contract above. A checked kernel's last parameter is the
        // cell's address.
        unsafe { function.launch(&launch.shape, launch.cooperative, launch.stream, &mut arguments) }
    }

    /// Hands out uids for so many blocks. Returns the first.
    fn take_uids(&mut self, blocks: u64) -> Result<u64> {
        if self.uids + blocks > BLOCK_UIDS {
            // The wait orders everything before the launch, so the shadow can be cleared.
            self.wait()?;
            self.memory.forget_all(&self.device)?;
            self.uids = 0;
        }
        let first = self.uids;
        self.uids += blocks;
        Ok(first)
    }

    /// Writes the module's checker state if it has changed, and lets the stream fill the cell of a
    /// launch. Returns the cell's address. `contents` lacks the addresses of ranges. Waits for no
    /// kernel.
    fn begin(&mut self, module: &mut Module, contents: LaunchCell, stream: Stream) -> Result<Address> {
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
            relaxed_volatile: self.relaxed_volatile.into(),
        };
        let (ranges, range_count) = self.ranges.table(&self.device, &mut self.cells)?;
        let TakenCell { cell, turn, before } = self.cells.take(&self.device, ranges, stream)?;
        let Some((begin, address)) = module.checker else { return Ok(cell) };
        if state != module.written {
            // SAFETY: a structure of integers without padding.
            let bytes = unsafe {
                std::slice::from_raw_parts((&raw const state).cast::<u8>(), size_of::<CheckerState>())
            };
            self.device.write(address, bytes)?;
            module.written = state;
        }
        let contents = LaunchCell { turn, ranges, range_count, ..contents };
        let mut numbers = contents.begin_arguments(cell, before);
        let mut arguments = numbers.each_mut().map(|number| (&raw mut *number).cast::<c_void>());
        // SAFETY: its parameters are as many numbers of 8 bytes.
        unsafe { begin.launch(&LaunchShape::flat(1, 1), false, stream, &mut arguments) }?;
        Ok(cell)
    }
}
