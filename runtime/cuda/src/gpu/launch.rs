//! Launches.

use std::ffi::c_void;
use std::mem::size_of;

use gpurace_abi::LaunchShape;
use gpurace_abi::device::{BLOCK_UIDS, CheckerState, LaunchCell};

use super::{Gpu, Module, RACE_ROOM, Variant};
use crate::cells::TakenCell;
use crate::driver::{Address, Function, Result, Stream};

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

/// Bytes of shared memory that each block may have without asking. Source: CUDA Programming Guide,
/// "Shared Memory".
const UNASKED_SHARED: u32 = 48 << 10;
/// The greatest alignment of dynamic shared memory, before which a gap may lie.
const DYNAMIC_ALIGNMENT: u64 = 1 << 10;

/// Shadow of shared memory in shared memory itself, behind all that the program has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NearShadow {
    /// [`LaunchCell::near`].
    bias: u64,
    /// [`LaunchCell::near_end`].
    end: u64,
    /// [`LaunchCell::near_cells`].
    cells: u64,
    /// Bytes of dynamic shared memory that a block gets.
    dynamic_shared: u32,
}

impl NearShadow {
    /// The shadow of blocks whose shared memory begins at `first`: `fixed` bytes of static and `dynamic` bytes of
    /// dynamic shared memory. `None` if these and the shadow need more than the `most` that a block
    /// may have.
    fn of(first: u64, most: u64, fixed: u64, dynamic: u64) -> Option<Self> {
        let gap = if dynamic == 0 { 0 } else { DYNAMIC_ALIGNMENT };
        let covered = (fixed + dynamic + gap).next_multiple_of(16);
        // The shadow may begin in the gap that it accounts for, or lie behind it.
        let dynamic_shared = covered * 3 - fixed;
        let end = first + covered;
        (fixed + dynamic_shared <= most).then_some(Self {
            bias: end.wrapping_sub(2 * first),
            end,
            cells: covered / 4,
            dynamic_shared: u32::try_from(dynamic_shared).ok()?,
        })
    }
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
        let mut shape = launch.shape;
        // Declared here to outlive the call, which takes its address.
        let mut cell;
        if launch.variant == Variant::Checked {
            let shared = u64::from(launch.static_shared) + u64::from(launch.shape.dynamic_shared);
            let first_uid = self.take_uids(launch.shape.blocks())?;
            let mut contents = LaunchCell {
                first_uid,
                number: launch.number,
                blocks: launch.shape.blocks(),
                observes: launch.observes.into(),
                ..LaunchCell::default()
            };
            // A block without shared memory of its own needs no shadow of it.
            if shared != 0 {
                match self.near_shadow(function, launch)? {
                    Some(near) => {
                        shape.dynamic_shared = near.dynamic_shared;
                        (contents.near, contents.near_end) = (near.bias, near.end);
                        contents.near_cells = near.cells;
                    }
                    None => contents.slots = self.slots.of(&self.device, shared)?,
                }
            }
            cell = self.begin(module, contents, launch.stream)?;
            arguments.push((&raw mut cell).cast());
        }
        // SAFETY: the caller keeps the contract above. A checked kernel's last parameter is the
        // cell's address.
        unsafe { function.launch(&shape, launch.cooperative, launch.stream, &mut arguments) }
    }

    /// Makes room for shadow in the shared memory of a launch's blocks. `None` if there is none, or if
    /// the number of blocks that are resident together matters: there would be fewer.
    fn near_shadow(&mut self, function: Function, launch: &KernelLaunch<'_>) -> Result<Option<NearShadow>> {
        let (first, most) = (self.device.reserved_shared, self.device.shared_per_block);
        if launch.cooperative || launch.shape.cluster.is_some() {
            return Ok(None);
        }
        let fixed = function.static_shared()?;
        let Some(near) = NearShadow::of(first, most, fixed.into(), launch.shape.dynamic_shared.into()) else {
            return Ok(None);
        };
        if fixed + near.dynamic_shared > UNASKED_SHARED {
            function.allow_dynamic_shared(near.dynamic_shared as i32)?;
        }
        Ok(Some(near))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_shadow_lies_behind_what_it_covers_and_within_the_block() {
        for (fixed, dynamic) in [(384, 0), (1408, 0), (385, 4), (8000, 20_000), (384, 75_000)] {
            for first in [0, 1 << 10] {
                let near = NearShadow::of(first, 232_448, fixed, dynamic).unwrap();
                let end_of_block = first + fixed + u64::from(near.dynamic_shared);
                assert!(first + fixed + dynamic <= near.end, "{near:?}");
                assert!(
                    dynamic == 0 || first + fixed.div_ceil(1024) * 1024 + dynamic <= near.end,
                    "{near:?}"
                );
                let shadow_of = |address: u64| near.bias.wrapping_add(2 * address) & 0xffff_ffff;
                assert_eq!((shadow_of(first), near.end % 8), (near.end, 0), "{near:?}");
                assert_eq!(near.end + near.cells * 8, end_of_block, "{near:?}");
                assert!(shadow_of(near.end - 4) + 8 <= end_of_block, "{near:?}");
            }
        }
        assert_eq!(NearShadow::of(1 << 10, 232_448, 384, 77_000), None);
    }
}
