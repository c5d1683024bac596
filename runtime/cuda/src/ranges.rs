//! Memory that lies where the driver or the program puts it, and has shadow elsewhere: variables of modules, managed memory, pages of the
//! program that kernels reach. Kernels find its shadow in a table.
//!
//! A table stays as it is for as long as a launch may look at it. Where the ranges have changed, the next launch gets another one, and nothing
//! waits for those that run.

use std::collections::BTreeMap;
use std::mem::size_of;

use gpurace_abi::device::Range;

use crate::cells::Cells;
use crate::driver::{self, Address, Device, Result};
use crate::memory::Memory;

/// A page of the host, bytes.
const PAGE: usize = 4096;
/// Ranges that a table has room for, at least: 64 KB.
const LEAST: u64 = 2730;
/// Tables that may be in use before cells are read back to see which are.
const TABLES: usize = 4;

/// All ranges.
#[derive(Debug, Default)]
pub struct Ranges {
    /// By address; without shadow, where there was no memory for it.
    all: BTreeMap<Address, Option<Range>>,
    /// Of these, the program's pages: where runs of them begin, and end.
    host_pages: BTreeMap<usize, usize>,
    /// The table that says what there is, and how many ranges it has.
    current: (Address, u64),
    /// It does not.
    is_stale: bool,
    /// All tables, and how many ranges each has room for.
    tables: Vec<(Address, u64)>,
}

impl Ranges {
    /// With memory for the first tables.
    ///
    /// # Errors
    /// The driver's.
    pub fn new() -> Result<Self> {
        let mut ranges = Self::default();
        ranges.make(LEAST)?;
        ranges.make(LEAST)?;
        Ok(ranges)
    }

    /// Gives memory shadow; that there is no memory for it is no error.
    ///
    /// # Errors
    /// The driver's.
    pub fn add(&mut self, memory: &mut Memory, device: &Device, address: Address, size: u64) -> Result {
        let (start, end) = (address, address + size);
        let shadow = memory.shadow_elsewhere(device, end.next_multiple_of(4) - start / 4 * 4)?;
        self.all.insert(start, shadow.map(|shadow| Range { start, end, shadow }));
        self.is_stale = true;
        Ok(())
    }

    /// Takes the shadow of the memory at an address away. Nothing runs that may use it.
    ///
    /// # Errors
    /// The driver's.
    pub fn remove(&mut self, memory: &mut Memory, address: Address) -> Result {
        let Some(range) = self.all.remove(&address) else { return Ok(()) };
        self.is_stale = true;
        range.map_or(Ok(()), |range| memory.free_elsewhere(range.shadow))
    }

    /// Has kernels reach memory of the program, at its own address and with shadow: its pages are page-locked from now on.
    ///
    /// # Errors
    /// The driver's, and that the GPU has other addresses for them.
    pub fn reach_host(&mut self, memory: &mut Memory, device: &Device, start: usize, size: usize) -> Result {
        let (mut at, end) = (start / PAGE * PAGE, (start + size).next_multiple_of(PAGE));
        while at < end {
            if let Some((_, &behind)) = self.host_pages.range(..=at).next_back()
                && behind > at
            {
                at = behind;
                continue;
            }
            // Up to the next ones that it reaches already.
            let behind = self.host_pages.range(at..end).next().map_or(end, |(&start, _)| start);
            driver::register(at, behind - at, false)?;
            self.host_pages.insert(at, behind);
            if driver::device_address(at)? != at as Address {
                return Err(driver::Error::not_supported("cuMemHostGetDevicePointer"));
            }
            self.add(memory, device, at as Address, (behind - at) as u64)?;
            at = behind;
        }
        Ok(())
    }

    /// The shadow of the word that a byte is in.
    pub fn shadow_of(&self, address: Address) -> Option<Address> {
        let range = (*self.all.range(..=address).next_back()?.1)?;
        (address < range.end).then_some(range.shadow + (address / 4 - range.start / 4) * 8)
    }

    /// The table for the next launch: where it lies, and how many ranges it has.
    ///
    /// # Errors
    /// The driver's.
    pub fn table(&mut self, device: &Device, cells: &mut Cells) -> Result<(Address, u64)> {
        if self.is_stale {
            let ranges: Vec<Range> = self.all.values().flatten().copied().collect();
            let table = self.unused(device, cells, ranges.len() as u64)?;
            // SAFETY: structures of integers without padding.
            let bytes =
                unsafe { std::slice::from_raw_parts(ranges.as_ptr().cast::<u8>(), size_of_val(&ranges[..])) };
            device.write(table, bytes)?;
            self.current = (table, ranges.len() as u64);
            self.is_stale = false;
        }
        Ok(self.current)
    }

    /// A table for so many ranges that nobody looks at.
    fn unused(&mut self, device: &Device, cells: &mut Cells, count: u64) -> Result<Address> {
        let of = |tables: &[(Address, u64)], cells: &Cells| {
            let found = tables.iter().find(|&&(table, room)| room >= count && !cells.look_at(table));
            found.map(|&(table, _)| table)
        };
        if let Some(table) = of(&self.tables, cells) {
            return Ok(table);
        }
        if self.tables.len() >= TABLES {
            cells.give_back(device)?;
            if let Some(table) = of(&self.tables, cells) {
                return Ok(table);
            }
        }
        self.make(count.next_power_of_two().max(LEAST))
    }

    fn make(&mut self, room: u64) -> Result<Address> {
        let table = driver::allocate(room * size_of::<Range>() as u64)?;
        self.tables.push((table, room));
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_share_a_word_have_each_their_own_shadow() {
        let mut ranges = Ranges::default();
        for (start, size, shadow) in [(0x1001, 1, 0x100), (0x1002, 7, 0x200), (0x100c, 4, 0x300)] {
            ranges.all.insert(start, Some(Range { start, end: start + size, shadow }));
        }
        ranges.all.insert(0x2000, None);
        let wanted = [
            (0x1000, None),
            (0x1001, Some(0x100)),
            (0x1002, Some(0x200)),
            (0x1004, Some(0x208)),
            (0x1008, Some(0x210)),
            (0x1009, None),
            (0x100f, Some(0x300)),
            (0x1010, None),
            (0x2000, None),
        ];
        for (address, wanted) in wanted {
            assert_eq!(ranges.shadow_of(address), wanted, "{address:x}");
        }
    }
}
