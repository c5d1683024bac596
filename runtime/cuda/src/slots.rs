//! Shadow of shared memory: a slot for each block that can be resident.
//!
//! How many blocks fit a multiprocessor depends on the shared memory of each, so
//! there is a set of slots for each size, by powers of two, made when a launch
//! first needs it. A slot's clock goes on from block to block, so that nothing is cleared.

use std::collections::BTreeMap;
use std::mem::size_of;

use gpurace_abi::device::{SHARED_CONTROL, Slots};

use crate::driver::{self, Address, Device, Result};

/// Shared memory that the system keeps at the beginning of each block's, bytes, at most.
const SYSTEM: u64 = 1 << 10;
/// What alignment may add.
const SLACK: u64 = 1 << 10;
/// The smallest size.
const SMALLEST: u64 = 4 << 10;

/// All sets.
#[derive(Debug, Default)]
pub struct AllSlots {
    /// Where each one's [`Slots`] lies on the device; 0 where there is no memory for it.
    by_size: BTreeMap<u64, Address>,
}

impl AllSlots {
    /// The slots for blocks with so much shared memory of their own: where their [`Slots`] lies on the device.
    ///
    /// # Errors
    /// The driver's; that there is no memory is none: that is 0 then.
    pub fn of(&mut self, device: &Device, shared: u64) -> Result<Address> {
        let shared = class(shared);
        if let Some(&slots) = self.by_size.get(&shared) {
            return Ok(slots);
        }
        let slots = make(device, shared)?.unwrap_or(0);
        self.by_size.insert(shared, slots);
        Ok(slots)
    }
}

/// Makes the slots of a class; `None` where there is no memory for them.
fn make(device: &Device, shared: u64) -> Result<Option<Address>> {
    let count = device.multiprocessors
        * fit(shared, device.shared_per_multiprocessor, device.blocks_per_multiprocessor);
    let stride = 8 + shared * 2;
    let head = size_of::<Slots>() as u64;
    let size = head + count.div_ceil(32) * 4;
    let Some(address) = allocate(size)? else { return Ok(None) };
    let Some(first) = allocate(count * stride)? else {
        driver::free(address)?;
        return Ok(None);
    };
    device.clear(address, size)?;
    device.clear(first, count * stride)?;
    let slots = Slots { bits: address + head, first, count, stride, shared };
    // SAFETY: a structure of integers without padding.
    device.write(address, unsafe {
        std::slice::from_raw_parts((&raw const slots).cast::<u8>(), size_of::<Slots>())
    })?;
    Ok(Some(address))
}

fn allocate(size: u64) -> Result<Option<Address>> {
    match driver::allocate(size) {
        Ok(address) => Ok(Some(address)),
        Err(error) if error.is_out_of_memory() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The size of slots for blocks with so much shared memory of their own, bytes.
fn class(own: u64) -> u64 {
    (own + u64::from(SHARED_CONTROL) + SYSTEM + SLACK).next_power_of_two().max(SMALLEST)
}

/// How many blocks of a class a multiprocessor may hold: all may be as small as the class's smallest,
/// and the system may keep nothing.
fn fit(class: u64, of_multiprocessor: u64, most: u64) -> u64 {
    let smallest = (class / 2).saturating_sub(SYSTEM + SLACK).max(u64::from(SHARED_CONTROL));
    (of_multiprocessor / smallest).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_that_can_be_resident_has_a_slot() {
        // Compute capabilities 7.0, 8.0, 8.9, 9.0: shared memory of a multiprocessor and what the system
        // keeps of it for each block, KiB, and blocks.
        for (all, system, blocks) in [(96, 0, 32), (164, 1, 32), (100, 1, 24), (228, 1, 32)] {
            for own in 0..=(all - system) << 10 {
                let of_block = own + u64::from(SHARED_CONTROL) + (system << 10);
                let resident = ((all << 10) / of_block).min(blocks);
                let slots = fit(class(own), all << 10, blocks);
                assert!(slots >= resident, "{own} bytes: {resident} blocks, {slots} slots");
                // Of the memory for shadow, little is for blocks that cannot be.
                assert!(slots <= 3 * resident + 1, "{own} bytes: {resident} blocks, {slots} slots");
            }
        }
    }
}
