//! Memory outside the window, with shadow of its own: variables of modules, managed memory, pages
//! of the program that kernels reach. Kernels find its shadow in a table.
//!
//! A table does not change while a launch may use it. When the ranges have changed, the next launch
//! gets another table, and waits for no launch.

use std::collections::BTreeMap;
use std::mem::size_of;

use gpurace_abi::device::ShadowRange;

use crate::cells::Cells;
use crate::driver::{self, Address, Device, Result};
use crate::memory::Memory;

/// Bytes of a page of the host.
const PAGE: usize = 4096;
/// Least number of ranges that a table has room for: 64 KB.
const LEAST: u64 = 2730;
/// With so many tables, the cells are read back to find a table that is not in use.
const TABLES: usize = 4;

/// The memory outside the window.
#[derive(Debug, Default)]
pub struct Ranges {
    /// The ranges by address. `None` if there was no memory for the shadow.
    all: BTreeMap<Address, Option<ShadowRange>>,
    /// The runs of the program's pages among them: end by start.
    host_pages: BTreeMap<usize, usize>,
    /// The latest table, and its number of ranges.
    current: (Address, u64),
    /// True if the table is out of date.
    is_stale: bool,
    /// All tables, and the number of ranges that each has room for.
    tables: Vec<(Address, u64)>,
}

impl Ranges {
    /// No ranges, and memory for the first tables.
    pub fn new() -> Result<Self> {
        let mut ranges = Self::default();
        ranges.make(LEAST)?;
        ranges.make(LEAST)?;
        Ok(ranges)
    }

    /// Adds a range, with shadow if there is memory for it.
    pub fn add(&mut self, memory: &mut Memory, device: &Device, address: Address, size: u64) -> Result {
        let (start, end) = (address, address + size);
        let shadow = memory.shadow_elsewhere(device, end.next_multiple_of(4) - start / 4 * 4)?;
        self.all.insert(start, shadow.map(|shadow| ShadowRange { start, end, shadow }));
        self.is_stale = true;
        Ok(())
    }

    /// Removes the range at an address, and its shadow. Nothing that runs may use it.
    pub fn remove(&mut self, memory: &mut Memory, address: Address) -> Result {
        let Some(range) = self.all.remove(&address) else { return Ok(()) };
        self.is_stale = true;
        range.map_or(Ok(()), |range| memory.free_elsewhere(range.shadow))
    }

    /// Lets kernels reach memory of the program, at its own address and with shadow. Page-locks its
    /// pages.
    ///
    /// # Errors
    /// The driver's, or that the GPU reaches the pages at other addresses.
    pub fn reach_host(&mut self, memory: &mut Memory, device: &Device, start: usize, size: usize) -> Result {
        let (mut at, end) = (start / PAGE * PAGE, (start + size).next_multiple_of(PAGE));
        while at < end {
            if let Some((_, &behind)) = self.host_pages.range(..=at).next_back()
                && behind > at
            {
                at = behind;
                continue;
            }
            // Up to the next pages that kernels reach already.
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

    /// The table for the next launch: its address, and its number of ranges.
    pub fn table(&mut self, device: &Device, cells: &mut Cells) -> Result<(Address, u64)> {
        if self.is_stale {
            let ranges: Vec<ShadowRange> = self.all.values().flatten().copied().collect();
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

    /// A table with room for so many ranges that no launch uses.
    fn unused(&mut self, device: &Device, cells: &mut Cells, count: u64) -> Result<Address> {
        let of = |tables: &[(Address, u64)], cells: &Cells| {
            let found = tables.iter().find(|&&(table, room)| room >= count && !cells.use_table(table));
            found.map(|&(table, _)| table)
        };
        if let Some(table) = of(&self.tables, cells) {
            return Ok(table);
        }
        if self.tables.len() >= TABLES {
            cells.free_marked(device)?;
            if let Some(table) = of(&self.tables, cells) {
                return Ok(table);
            }
        }
        self.make(count.next_power_of_two().max(LEAST))
    }

    /// Makes a table.
    fn make(&mut self, room: u64) -> Result<Address> {
        let table = driver::allocate(room * size_of::<ShadowRange>() as u64)?;
        self.tables.push((table, room));
        Ok(table)
    }
}
