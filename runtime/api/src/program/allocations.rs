//! The live allocations of the program, by address, with what a race report needs to name one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::backend::memory::MemoryKind;
use crate::host::errors::{Error, Result};
use crate::host::stack::{self, Callers};
use crate::program::managed;

/// One live allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Address of its first byte.
    pub address: usize,
    /// Its size as the program requested it, bytes.
    pub size: usize,
    /// How it was made.
    pub kind: MemoryKind,
    /// Its number among the allocations of the process, from 1.
    pub order: u32,
    /// Flags of `cudaHostAlloc` or `cudaHostRegister`.
    pub flags: u32,
    /// The calls that led to the allocation.
    pub callers: Callers,
    /// The program has freed it, but submitted work may still use it: [`retire`].
    pub is_retired: bool,
}

impl Allocation {
    /// True if the `size` bytes at `address` lie in it.
    pub fn contains(&self, address: usize, size: usize) -> bool {
        address >= self.address
            && address - self.address <= self.size
            && size <= self.size - (address - self.address)
    }
}

/// The live allocations by address.
static LIVE: RwLock<BTreeMap<usize, Allocation>> = RwLock::new(BTreeMap::new());
/// Number of allocations since the program began.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Bytes that the backend has given for live allocations, rounded up. Registered memory is not
/// among them.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// Bytes of memory that live allocations use.
pub fn bytes_in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// Counts bytes that are about to be taken. Returns how many were in use before.
pub fn add_bytes(bytes: usize) -> usize {
    IN_USE.fetch_add(bytes, Ordering::Relaxed)
}

/// Counts bytes that were given back.
pub fn subtract_bytes(bytes: usize) {
    IN_USE.fetch_sub(bytes, Ordering::Relaxed);
}

fn numbered(address: usize, size: usize, kind: MemoryKind, flags: u32) -> Allocation {
    let order = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    Allocation { address, size, kind, order, flags, callers: stack::callers(), is_retired: false }
}

/// Adds memory that the backend has given. The program's call is on the stack.
pub fn add(address: usize, size: usize, kind: MemoryKind, flags: u32) -> Allocation {
    let allocation = numbered(address, size, kind, flags);
    LIVE.write().insert(address, allocation);
    if kind == MemoryKind::Managed {
        managed::made();
    }
    allocation
}

/// Adds memory of the program, after `lock` has page-locked it.
///
/// # Errors
/// `cudaErrorHostMemoryAlreadyRegistered` if part of it is known already, and those of `lock`.
pub fn add_registered(address: usize, size: usize, flags: u32, lock: impl FnOnce() -> Result) -> Result {
    let mut live = LIVE.write();
    let overlaps =
        live.range(..address + size).next_back().is_some_and(|(_, last)| last.address + last.size > address);
    if overlaps {
        return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
    }
    lock()?;
    live.insert(address, numbered(address, size, MemoryKind::Registered, flags));
    Ok(())
}

/// Removes the allocation of one of these kinds that starts at `address`.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is none.
pub fn remove(address: usize, kinds: &[MemoryKind]) -> Result<Allocation> {
    let mut live = LIVE.write();
    let found = match live.get(&address) {
        Some(found) if kinds.contains(&found.kind) && !found.is_retired => live.remove(&address),
        _ => None,
    };
    found.ok_or(Error::INVALID_VALUE).inspect(count_removed)
}

/// Marks the allocation of this kind that starts at `address` as freed by the program. It stays,
/// for reports, until [`remove_retired`].
///
/// # Errors
/// `cudaErrorInvalidValue` if there is none.
pub fn retire(address: usize, kind: MemoryKind) -> Result {
    match LIVE.write().get_mut(&address) {
        Some(found) if found.kind == kind && !found.is_retired => {
            found.is_retired = true;
            Ok(())
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Removes an allocation that was retired. `None` if a device reset has freed it meanwhile.
pub fn remove_retired(address: usize) -> Option<Allocation> {
    let mut live = LIVE.write();
    live.get(&address).is_some_and(|found| found.is_retired).then(|| live.remove(&address)).flatten()
}

/// Removes all allocations.
pub fn remove_all() -> Vec<Allocation> {
    let all: Vec<_> = std::mem::take(&mut *LIVE.write()).into_values().collect();
    all.iter().for_each(count_removed);
    all
}

fn count_removed(allocation: &Allocation) {
    if allocation.kind == MemoryKind::Managed {
        managed::gone();
    }
}

/// The live allocation that holds `address`.
pub fn find(address: usize) -> Option<Allocation> {
    let live = LIVE.read();
    let (_, found) = live.range(..=address).next_back()?;
    found.contains(address, 1).then_some(*found)
}

/// The byte ranges of the managed allocations.
pub fn managed() -> Vec<Range<usize>> {
    let live = LIVE.read();
    let managed = live.values().filter(|found| found.kind == MemoryKind::Managed);
    managed.map(|found| found.address..found.address + found.size).collect()
}
