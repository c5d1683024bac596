//! Slots: the shadow of shared memory, one for each block that can be resident.
//!
//! The shared memory of a block decides how many blocks fit a multiprocessor. There is a set of
//! slots for each size, by powers of two, made when a launch first needs it. A slot's clock
//! continues from block to block, so no slot is ever cleared.

use std::collections::BTreeMap;
use std::mem::size_of;

use gpurace_abi::device::{SHARED_CONTROL, SlotSet};

use crate::driver::{self, Address, Device, Result, if_room};

/// The most bytes that the system keeps at the start of a block's shared memory.
const SYSTEM: u64 = 1 << 10;
/// The most bytes that alignment adds.
const SLACK: u64 = 1 << 10;
/// The least size of a slot, in bytes of shared memory.
const SMALLEST: u64 = 4 << 10;

/// The sets of slots of a context.
#[derive(Debug, Default)]
pub struct SlotSets {
    /// The device address of each [`SlotSet`], or 0 if there is no memory for it.
    by_size: BTreeMap<u64, Address>,
}

impl SlotSets {
    /// The device address of the [`SlotSet`] for blocks with this much shared memory of their own,
    /// or 0 if there is no memory for it.
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

/// Makes the slots of a size. `None` if there is no memory for them.
fn make(device: &Device, shared: u64) -> Result<Option<Address>> {
    let count = device.multiprocessors
        * fit(shared, device.shared_per_multiprocessor, device.blocks_per_multiprocessor);
    let stride = 8 + shared * 2;
    let head = size_of::<SlotSet>() as u64;
    let size = head + count.div_ceil(32) * 4;
    let Some(address) = if_room(driver::allocate(size))? else { return Ok(None) };
    let Some(first) = if_room(driver::allocate(count * stride))? else {
        driver::free(address)?;
        return Ok(None);
    };
    device.clear(address, size)?;
    device.clear(first, count * stride)?;
    let slots = SlotSet { bits: address + head, first, count, stride, shared };
    // SAFETY: a structure of integers without padding.
    device.write(address, unsafe {
        std::slice::from_raw_parts((&raw const slots).cast::<u8>(), size_of::<SlotSet>())
    })?;
    Ok(Some(address))
}

/// The size of slots for blocks with this many bytes of shared memory of their own.
fn class(own: u64) -> u64 {
    (own + u64::from(SHARED_CONTROL) + SYSTEM + SLACK).next_power_of_two().max(SMALLEST)
}

/// The most blocks with slots of a size that a multiprocessor holds. The blocks may be as small as
/// the smallest one with such slots, and the system may keep nothing.
fn fit(class: u64, of_multiprocessor: u64, most: u64) -> u64 {
    let smallest = (class / 2).saturating_sub(SYSTEM + SLACK).max(u64::from(SHARED_CONTROL));
    (of_multiprocessor / smallest).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_that_can_be_resident_has_a_slot() {
        // Compute capabilities 7.0, 8.0, 8.9, 9.0: KiB of a multiprocessor's shared memory, KiB
        // that the system keeps for each block, and blocks.
        for (all, system, blocks) in [(96, 0, 32), (164, 1, 32), (100, 1, 24), (228, 1, 32)] {
            for own in 0..=(all - system) << 10 {
                let of_block = own + u64::from(SHARED_CONTROL) + (system << 10);
                let resident = ((all << 10) / of_block).min(blocks);
                let slots = fit(class(own), all << 10, blocks);
                assert!(slots >= resident, "{own} bytes: {resident} blocks, {slots} slots");
                // Not much more slots than blocks.
                assert!(slots <= 3 * resident + 1, "{own} bytes: {resident} blocks, {slots} slots");
            }
        }
    }
}
