//! Allocations with shadow.
//!
//! The window is a range of reserved addresses; its shadow, 8 bytes per 4, is
//! another, so that a shadow word's address follows from the application's by a
//! multiplication and an addition. Both get physical memory as allocations
//! need it, in steps of the driver's granularity, and shadow is filled with zeros once:
//! nothing is cleared between launches.
//!
//! Freed places serve later allocations of about their size. Where memory runs out, those that nothing shares are
//! given back to the driver, and the addresses are used up: the window is larger than the device's memory.
//!
//! Where there is no memory for shadow, an allocation lies outside of the window:
//! the program goes on, its accesses there are counted and not checked.

use std::collections::BTreeMap;

use crate::driver::{self, Address, Device, Result};

/// Allocations begin at multiples of this many bytes, as CUDA's do: what textures show of plain memory has to
/// (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`).
const ALIGNMENT: u64 = 512;
/// Smaller ones share a piece of the window.
const SHARED_PIECE: u64 = 2 << 20;
/// How many times the device's memory the window is, the most wanted first.
const WINDOWS: [u64; 3] = [16, 4, 1];

/// An allocation.
#[derive(Clone, Copy, Debug)]
struct Allocation {
    /// Bytes.
    size: u64,
    /// Bytes of its place.
    place: u64,
    /// It lies in the window.
    covered: bool,
}

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
    allocations: BTreeMap<Address, Allocation>,
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
        // An old driver or virtual machine has none: everything is uncovered, and said to be.
        let has_window = device.granularity();
        let granularity = *has_window.as_ref().unwrap_or(&1);
        let (_, total) = device.memory()?;
        let (window, shadow, window_size) = WINDOWS
            .iter()
            .filter(|_| has_window.is_ok())
            .find_map(|times| reserve_both((times * total).next_multiple_of(granularity)))
            .unwrap_or_default();
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
        let (address, place) = match self.take_freed(size) {
            Some((address, place)) => {
                // No history: what was there before is another object.
                device.clear(self.shadow_at(address), shadow_of(size))?;
                (address, place)
            }
            None => match self.from_window(device, size)? {
                Some(found) => found,
                None => return self.uncovered(size),
            },
        };
        self.allocations.insert(address, Allocation { size, place, covered: true });
        Ok(address)
    }

    /// An allocation without shadow.
    fn uncovered(&mut self, size: u64) -> Result<Address> {
        let address = driver::allocate(size)?;
        self.uncovered += size;
        self.allocations.insert(address, Allocation { size, place: size, covered: false });
        Ok(address)
    }

    /// Frees; gives whether it was an allocation.
    ///
    /// # Errors
    /// The driver's.
    pub fn free(&mut self, address: Address) -> Result<bool> {
        match self.allocations.remove(&address) {
            Some(Allocation { place, covered: true, .. }) => {
                self.freed.entry(place).or_default().push(address)
            }
            Some(_) => driver::free(address)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The allocation that an address lies in: where it begins, its size, whether it has shadow.
    pub fn find(&self, address: Address) -> Option<(Address, u64, bool)> {
        let (&start, &Allocation { size, covered, .. }) = self.allocations.range(..=address).next_back()?;
        (address < start + size).then_some((start, size, covered))
    }

    /// The shadow of a word of an allocation; `None` for one that has none, and what is no allocation.
    pub fn shadow_of_word(&self, word: Address) -> Option<Address> {
        let (_, _, covered) = self.find(word)?;
        covered.then(|| self.shadow_at(word))
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

    /// Gives back what [`Memory::shadow_elsewhere`] gave.
    ///
    /// # Errors
    /// The driver's.
    pub fn free_elsewhere(&mut self, shadow: Address) -> Result {
        self.mapped.retain(|&(of, _)| of != shadow);
        driver::free(shadow)
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

    /// A freed place that is at most twice as large: where it lies, and its size.
    fn take_freed(&mut self, size: u64) -> Option<(Address, u64)> {
        let (&place, addresses) = self.freed.range_mut(size..=2 * size).next()?;
        let address = addresses.pop()?;
        if addresses.is_empty() {
            self.freed.remove(&place);
        }
        Some((address, place))
    }

    /// A place in the window and its size, or `None` where there is no memory for its shadow.
    fn from_window(&mut self, device: &Device, size: u64) -> Result<Option<(Address, u64)>> {
        if size >= SHARED_PIECE {
            let place = size.next_multiple_of(self.granularity);
            let grown = match self.grow(device, place)? {
                None if self.give_back()? => self.grow(device, place)?,
                grown => grown,
            };
            return Ok(grown.map(|address| (address, place)));
        }
        if self.piece.1 < size {
            let piece = match self.grow(device, SHARED_PIECE)? {
                None if self.give_back()? => self.grow(device, SHARED_PIECE)?,
                piece => piece,
            };
            let Some(piece) = piece else { return Ok(None) };
            self.piece = (piece, SHARED_PIECE);
        }
        let (address, left) = self.piece;
        self.piece = (address + size, left - size);
        Ok(Some((address, size)))
    }

    /// Gives freed places that were mapped for themselves back to the driver; whether there were any.
    fn give_back(&mut self) -> Result<bool> {
        let large = self.freed.split_off(&SHARED_PIECE);
        for (&place, addresses) in &large {
            for &address in addresses {
                let shadow = self.shadow_at(address);
                driver::unmap(address, place)?;
                driver::unmap(shadow, 2 * place)?;
                self.mapped.retain(|&(of, _)| of != shadow);
            }
        }
        Ok(!large.is_empty())
    }

    /// Maps more of the window and of its shadow.
    fn grow(&mut self, device: &Device, size: u64) -> Result<Option<Address>> {
        let size = size.next_multiple_of(self.granularity);
        let address = self.next;
        if self.window_size == 0 || address + size > self.window + self.window_size {
            return Ok(None);
        }
        let shadow = self.shadow_at(address);
        // An estimate before anything is taken and cleared.
        let (free, _) = device.memory()?;
        if free < size + shadow_of(size) {
            return Ok(None);
        }
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

/// Addresses for a window of this size and for its shadow, and the size.
fn reserve_both(size: u64) -> Option<(Address, Address, u64)> {
    let window = driver::reserve(size).ok()?;
    match driver::reserve(2 * size) {
        Ok(shadow) => Some((window, shadow, size)),
        Err(_) => {
            // The addresses alone cost nothing.
            let _ = driver::unreserve(window, size);
            None
        }
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
