//! Allocations with shadow.
//!
//! The window is a range of reserved addresses. Its shadow is another range, with 8 bytes for each
//! 4: the address of a shadow word follows from that of the program's word by a multiplication and
//! an addition. Both get physical memory as allocations need it, in units of the driver's
//! granularity. Shadow is filled with zeros once. Nothing is cleared between launches.
//!
//! Freed pieces of the window serve later allocations of about their size. If memory runs out, the
//! large ones are given back to the driver. Their addresses are lost: the window is larger than the
//! device's memory.
//!
//! If there is no memory for the shadow of an allocation, the allocation lies outside the window.
//! The program runs. Accesses there are counted, not checked.

use std::collections::BTreeMap;

use crate::driver::{self, Address, Device, Result, if_room};

/// Alignment of allocations, as in CUDA: a texture of plain memory needs it
/// (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`).
const ALIGNMENT: u64 = 512;
/// Size of a piece of the window that smaller allocations share.
const SHARED_PIECE: u64 = 2 << 20;
/// Sizes of the window, as multiples of the device's memory, in the order in which they are tried.
const WINDOWS: [u64; 3] = [16, 4, 1];

/// The window, its shadow and what lies in it.
#[derive(Debug)]
pub struct Memory {
    granularity: u64,
    /// First address of the window. 0 if no addresses could be reserved.
    pub window: Address,
    /// Bytes of the window.
    pub window_size: u64,
    /// Shadow of the window's first word.
    pub shadow: Address,
    /// The first address that is not mapped.
    next: u64,
    /// Start and size of the rest of the piece that small allocations share.
    piece: (Address, u64),
    /// Freed pieces by size.
    freed: BTreeMap<u64, Vec<Address>>,
    /// For each allocation the bytes of its piece of the window; `None` if it lies outside.
    allocations: BTreeMap<Address, Option<u64>>,
    /// All shadow, for clearing: address and size.
    mapped: Vec<(Address, u64)>,
    /// Bytes of allocations without shadow.
    pub uncovered: u64,
}

/// Bytes of the shadow of so many bytes.
pub fn shadow_of(size: u64) -> u64 {
    size.next_multiple_of(4) * 2
}

impl Memory {
    /// Reserves addresses for the window and its shadow.
    ///
    /// # Errors
    /// The driver's. If addresses cannot be reserved, there is no window.
    pub fn new(device: &Device) -> Result<Self> {
        // An old driver or a virtual machine has none: then no allocation has shadow, which notes
        // say.
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

    /// Allocates, without shadow if there is no memory for it.
    pub fn allocate(&mut self, device: &Device, size: u64) -> Result<Address> {
        let size = size.max(1).next_multiple_of(ALIGNMENT);
        let (address, place) = match self.take_freed(size) {
            Some((address, place)) => {
                // It holds records of another object.
                device.clear(self.shadow_at(address), shadow_of(size))?;
                (address, place)
            }
            None => match self.piece_of_window(device, size)? {
                Some(found) => found,
                None => return self.uncovered(size),
            },
        };
        self.allocations.insert(address, Some(place));
        Ok(address)
    }

    /// An allocation without shadow.
    fn uncovered(&mut self, size: u64) -> Result<Address> {
        let address = driver::allocate(size)?;
        self.uncovered += size;
        self.allocations.insert(address, None);
        Ok(address)
    }

    /// Frees an allocation. Returns false if there is none at this address.
    pub fn free(&mut self, address: Address) -> Result<bool> {
        match self.allocations.remove(&address) {
            Some(Some(place)) => self.freed.entry(place).or_default().push(address),
            Some(None) => driver::free(address)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Allocates shadow for memory outside the window. `None` if there is no memory for it.
    pub fn shadow_elsewhere(&mut self, device: &Device, size: u64) -> Result<Option<Address>> {
        let Some(shadow) = if_room(driver::allocate(shadow_of(size)))? else {
            self.uncovered += size;
            return Ok(None);
        };
        device.clear(shadow, shadow_of(size))?;
        self.mapped.push((shadow, shadow_of(size)));
        Ok(Some(shadow))
    }

    /// Frees shadow of [`Memory::shadow_elsewhere`].
    pub fn free_elsewhere(&mut self, shadow: Address) -> Result {
        self.mapped.retain(|&(of, _)| of != shadow);
        driver::free(shadow)
    }

    /// Fills all shadow with zeros, for uids that begin anew.
    pub fn forget_all(&self, device: &Device) -> Result {
        self.mapped.iter().try_for_each(|&(address, size)| device.clear(address, size))
    }

    /// The shadow of a word of the window.
    fn shadow_at(&self, address: Address) -> Address {
        self.shadow + (address - self.window) * 2
    }

    /// Takes a freed piece of at most twice this size: its address, and its size.
    fn take_freed(&mut self, size: u64) -> Option<(Address, u64)> {
        let (&place, addresses) = self.freed.range_mut(size..=2 * size).next()?;
        let address = addresses.pop()?;
        if addresses.is_empty() {
            self.freed.remove(&place);
        }
        Some((address, place))
    }

    /// A new piece of the window and its size, or `None` if there is no memory for it and its
    /// shadow.
    fn piece_of_window(&mut self, device: &Device, size: u64) -> Result<Option<(Address, u64)>> {
        if size >= SHARED_PIECE {
            let place = size.next_multiple_of(self.granularity);
            return Ok(self.grow_or_give_back(device, place)?.map(|address| (address, place)));
        }
        if self.piece.1 < size {
            let Some(piece) = self.grow_or_give_back(device, SHARED_PIECE)? else { return Ok(None) };
            self.piece = (piece, SHARED_PIECE);
        }
        let (address, left) = self.piece;
        self.piece = (address + size, left - size);
        Ok(Some((address, size)))
    }

    /// As [`Self::grow`]. If there is no memory, gives freed pieces back and tries again.
    fn grow_or_give_back(&mut self, device: &Device, size: u64) -> Result<Option<Address>> {
        match self.grow(device, size)? {
            None if self.give_back()? => self.grow(device, size),
            grown => Ok(grown),
        }
    }

    /// Gives the freed pieces that small allocations do not share back to the driver. Returns false
    /// if there are none.
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

    /// Maps more of the window and its shadow. `None` if there is no memory for both.
    fn grow(&mut self, device: &Device, size: u64) -> Result<Option<Address>> {
        let size = size.next_multiple_of(self.granularity);
        let address = self.next;
        if self.window_size == 0 || address + size > self.window + self.window_size {
            return Ok(None);
        }
        let shadow = self.shadow_at(address);
        // An estimate, to avoid mapping and clearing in vain.
        let (free, _) = device.memory()?;
        if free < size + shadow_of(size) {
            return Ok(None);
        }
        // The shadow first: if it does not fit, no addresses of the window are lost.
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

/// Reserves addresses for a window of this size and for its shadow. Returns both, and the size.
fn reserve_both(size: u64) -> Option<(Address, Address, u64)> {
    let window = driver::reserve(size).ok()?;
    match driver::reserve(2 * size) {
        Ok(shadow) => Some((window, shadow, size)),
        Err(_) => {
            // Reserved addresses cost nothing.
            let _ = driver::unreserve(window, size);
            None
        }
    }
}

/// Maps new physical memory at reserved addresses. Returns false if there is none left.
fn map_new(device: &Device, address: Address, size: u64) -> Result<bool> {
    let Some(memory) = if_room(device.create(size))? else { return Ok(false) };
    let mapped = device.map(address, size, memory);
    // The mapping, if there is one, keeps the memory.
    driver::release(memory)?;
    mapped.map(|()| true)
}
