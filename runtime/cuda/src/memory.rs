//! Allocations with shadow.
//!
//! The window is a range of reserved addresses; its shadow, 8 bytes per 4, is
//! another, so that a shadow word's address follows from the application's by a
//! multiplication and an addition. Both get physical memory as allocations
//! need it, in steps of the driver's granularity, and shadow is filled with zeros once:
//! nothing is cleared between launches.
//!
//! Where there is no memory for shadow, an allocation lies outside of the window:
//! the program goes on, its accesses there are counted and not checked.

use std::collections::BTreeMap;

use crate::driver::{self, Address, Device, Result};

/// Allocations begin at multiples of this many bytes, as CUDA's do.
const ALIGNMENT: u64 = 256;
/// Smaller ones share a piece of the window.
const SHARED_PIECE: u64 = 2 << 20;

/// The window, its shadow and what lies in it.
#[derive(Debug)]
pub struct Memory {
    granularity: u64,
    /// First address and size; 0 for none, where addresses could not be reserved.
    pub window: Address,
    /// Bytes.
    pub window_size: u64,
    /// Shadow of the window's first word.
    pub shadow: Address,
    /// From here on nothing is mapped.
    next: u64,
    /// What is left of the piece that small allocations share.
    piece: (Address, u64),
    /// Freed places by size.
    freed: BTreeMap<u64, Vec<Address>>,
    /// Of each allocation its size; whether it has shadow.
    allocations: BTreeMap<Address, (u64, bool)>,
    /// What of the window has shadow, for clearing: size of shadow mapped.
    mapped: Vec<(Address, u64)>,
    /// Bytes that have no shadow for want of memory.
    pub uncovered: u64,
}

/// What the shadow of an allocation takes, bytes.
pub fn shadow_of(size: u64) -> u64 {
    size.next_multiple_of(4) * 2
}

impl Memory {
    /// Reserves addresses for as much as the device has.
    ///
    /// # Errors
    /// The driver's; that addresses cannot be reserved is none.
    pub fn new(device: &Device) -> Result<Self> {
        let granularity = device.granularity()?;
        let (_, total) = device.memory()?;
        let size = total.next_multiple_of(granularity);
        let reserved = driver::reserve(size).and_then(|window| Ok((window, driver::reserve(2 * size)?)));
        // An old driver or virtual machine: everything is uncovered, and said to be.
        let (window, shadow, window_size) = reserved.map_or((0, 0, 0), |(window, shadow)| (window, shadow, size));
        Ok(Self {
            granularity,
            window,
            window_size,
            shadow,
            next: window,
            piece: (0, 0),
            freed: BTreeMap::new(),
            allocations: BTreeMap::new(),
            mapped: Vec::new(),
            uncovered: 0,
        })
    }

    /// Allocates.
    ///
    /// # Errors
    /// The driver's: out of memory, where even the allocation without shadow does not fit.
    pub fn allocate(&mut self, device: &Device, size: u64) -> Result<Address> {
        let size = size.max(1).next_multiple_of(ALIGNMENT);
        if let Some(address) = self.take_freed(size) {
            // No history: what was there before is another object.
            device.clear(self.shadow_at(address), shadow_of(size))?;
            self.allocations.insert(address, (size, true));
            return Ok(address);
        }
        if let Some(address) = self.from_window(device, size)? {
            self.allocations.insert(address, (size, true));
            return Ok(address);
        }
        let address = driver::allocate(size)?;
        self.uncovered += size;
        self.allocations.insert(address, (size, false));
        Ok(address)
    }

    /// Frees; gives whether it was an allocation.
    ///
    /// # Errors
    /// The driver's.
    pub fn free(&mut self, address: Address) -> Result<bool> {
        match self.allocations.remove(&address) {
            Some((size, true)) => self.freed.entry(size).or_default().push(address),
            Some((_, false)) => driver::free(address)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The allocation that an address lies in: where it begins, its size, whether it has shadow.
    pub fn find(&self, address: Address) -> Option<(Address, u64, bool)> {
        let (&start, &(size, covered)) = self.allocations.range(..=address).next_back()?;
        (address < start + size).then_some((start, size, covered))
    }

    /// Shadow for memory outside of the window, or `None` where there is no memory for it.
    ///
    /// # Errors
    /// The driver's.
    pub fn shadow_elsewhere(&mut self, device: &Device, size: u64) -> Result<Option<Address>> {
        let shadow = match driver::allocate(shadow_of(size)) {
            Ok(shadow) => shadow,
            Err(error) if error.is_out_of_memory() => {
                self.uncovered += size;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        device.clear(shadow, shadow_of(size))?;
        self.mapped.push((shadow, shadow_of(size)));
        Ok(Some(shadow))
    }

    /// Fills all shadow with zeros: uids begin anew.
    ///
    /// # Errors
    /// The driver's.
    pub fn forget_all(&self, device: &Device) -> Result {
        self.mapped.iter().try_for_each(|&(address, size)| device.clear(address, size))
    }

    fn shadow_at(&self, address: Address) -> Address {
        self.shadow + (address - self.window) * 2
    }

    fn take_freed(&mut self, size: u64) -> Option<Address> {
        self.freed.get_mut(&size)?.pop()
    }

    /// A place in the window, or `None` where there is no memory for its shadow.
    fn from_window(&mut self, device: &Device, size: u64) -> Result<Option<Address>> {
        if size >= SHARED_PIECE {
            return self.grow(device, size);
        }
        if self.piece.1 < size {
            let Some(piece) = self.grow(device, SHARED_PIECE)? else { return Ok(None) };
            self.piece = (piece, SHARED_PIECE);
        }
        let (address, left) = self.piece;
        self.piece = (address + size, left - size);
        Ok(Some(address))
    }

    /// Maps more of the window and of its shadow.
    fn grow(&mut self, device: &Device, size: u64) -> Result<Option<Address>> {
        let size = size.next_multiple_of(self.granularity);
        let address = self.next;
        if self.window_size == 0 || address + size > self.window + self.window_size {
            return Ok(None);
        }
        let shadow = self.shadow_at(address);
        // The shadow first: where it does not fit, nothing of the window is used up.
        if !map_new(device, shadow, 2 * size)? {
            return Ok(None);
        }
        let done = device.clear(shadow, 2 * size).and_then(|()| map_new(device, address, size));
        if !matches!(done, Ok(true)) {
            driver::unmap(shadow, 2 * size)?;
            return done.map(|_| None);
        }
        self.mapped.push((shadow, 2 * size));
        self.next = address + size;
        Ok(Some(address))
    }
}

/// Puts new physical memory at reserved addresses; `false` where there is none left.
fn map_new(device: &Device, address: Address, size: u64) -> Result<bool> {
    let memory = match device.create(size) {
        Ok(memory) => memory,
        Err(error) if error.is_out_of_memory() => return Ok(false),
        Err(error) => return Err(error),
    };
    let mapped = device.map(address, size, memory);
    // The mapping keeps it; without one it goes.
    driver::release(memory)?;
    mapped.map(|()| true)
}
