//! Every live allocation, ordered by address, with what a race report needs to
//! name it: which allocation of the process it was, and how large.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::backend;
use crate::call_site::{self, Callers};
use crate::errors::{Error, Result};
use crate::memory::arena::{PAGE, Request};
use crate::session;
use crate::watch;

/// Alignment of every allocation, bytes (CUDA C++ Programming Guide, "Device
/// Memory Accesses").
pub const ALIGNMENT: usize = 256;

/// How an allocation was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `cudaMalloc` and its kin.
    Device,
    /// An array: [`crate::memory::array`].
    Array,
    /// `cudaMallocManaged`.
    Managed,
    /// `cudaMallocHost`, `cudaHostAlloc`.
    Host,
    /// Memory of the program that `cudaHostRegister` was told of.
    Registered,
}

/// One live allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Address of its first byte.
    pub address: usize,
    /// Its size as it was asked for, bytes.
    pub size: usize,
    /// How it was made.
    pub kind: Kind,
    /// Which allocation of the process it was, from 1.
    pub order: u32,
    /// Flags of `cudaHostAlloc` or `cudaHostRegister`.
    pub flags: u32,
    /// Who asked for it.
    pub callers: Callers,
    /// The program has freed it; it is given back once nothing uses it: [`retire`].
    pub is_retired: bool,
}

impl Allocation {
    /// Whether the `size` bytes at `address` lie in it.
    pub fn contains(&self, address: usize, size: usize) -> bool {
        address >= self.address
            && address - self.address <= self.size
            && size <= self.size - (address - self.address)
    }
}

/// The live allocations by address.
static LIVE: RwLock<BTreeMap<usize, Allocation>> = RwLock::new(BTreeMap::new());
/// How many allocations there have been.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Bytes that live allocations take, registered memory left out.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// Bytes that live allocations take.
pub fn bytes_in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// What is really taken for an allocation of `size` bytes. Managed memory has
/// pages of its own, so that they can be protected.
fn request(size: usize, kind: Kind) -> Option<Request> {
    let own_pages = kind == Kind::Managed;
    let unit = if own_pages { PAGE } else { ALIGNMENT };
    let size = size.checked_next_multiple_of(unit)?.max(unit);
    Some(Request { size, own_pages })
}

/// Allocates `size` bytes, which is not 0.
///
/// # Errors
/// `cudaErrorMemoryAllocation` where the device has not that much left.
pub fn allocate(size: usize, kind: Kind, flags: u32) -> Result<Allocation> {
    let request = request(size, kind).ok_or(Error::MEMORY_ALLOCATION)?;
    let backend = backend::get();
    let before = IN_USE.fetch_add(request.size, Ordering::Relaxed);
    let taken = match before.saturating_add(request.size) > backend.memory_limit() {
        true => Err(Error::MEMORY_ALLOCATION),
        false => backend.take(request, kind),
    };
    let address = taken.inspect_err(|_| {
        IN_USE.fetch_sub(request.size, Ordering::Relaxed);
    })?;
    let order = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let allocation =
        Allocation { address, size, kind, order, flags, callers: call_site::callers(), is_retired: false };
    LIVE.write().insert(address, allocation);
    if kind == Kind::Managed {
        watch::managed_made();
    }
    Ok(allocation)
}

/// Frees the allocation that starts at `address`, if `kinds` has its kind.
///
/// # Errors
/// `cudaErrorInvalidValue` where there is none.
pub fn free(address: usize, kinds: &[Kind]) -> Result<Allocation> {
    backend::get().before_free()?;
    let allocation = {
        let mut live = LIVE.write();
        match live.get(&address) {
            Some(found) if kinds.contains(&found.kind) && !found.is_retired => live.remove(&address),
            _ => None,
        }
    };
    let allocation = allocation.ok_or(Error::INVALID_VALUE)?;
    release(allocation);
    Ok(allocation)
}

/// Has the program free the allocation of this kind that starts at `address`: it stays, for reports, until [`release_retired`].
///
/// # Errors
/// `cudaErrorInvalidValue` where there is none.
pub fn retire(address: usize, kind: Kind) -> Result {
    match LIVE.write().get_mut(&address) {
        Some(found) if found.kind == kind && !found.is_retired => {
            found.is_retired = true;
            Ok(())
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Gives back what was retired. Nothing uses it any more.
pub fn release_retired(address: usize) {
    let allocation = {
        let mut live = LIVE.write();
        // It may be gone with all others, and another one there.
        live.get(&address).is_some_and(|found| found.is_retired).then(|| live.remove(&address)).flatten()
    };
    if let Some(allocation) = allocation {
        release(allocation);
    }
}

fn release(allocation: Allocation) {
    if let Some(session) = session::existing() {
        session.forget(allocation.address, allocation.size);
    }
    match allocation.kind {
        Kind::Registered => return backend::get().unregister(allocation.address),
        Kind::Managed => watch::managed_gone(),
        Kind::Device | Kind::Array | Kind::Host => {}
    }
    if let Some(request) = request(allocation.size, allocation.kind) {
        IN_USE.fetch_sub(request.size, Ordering::Relaxed);
        // SAFETY: it was in the map, so it came from `take`, and it is in the
        // map no more, so nobody gives it back twice.
        unsafe { backend::get().give(allocation.address, request, allocation.kind) };
    }
}

/// Notes memory of the program as registered.
///
/// # Errors
/// `cudaErrorHostMemoryAlreadyRegistered` where part of it is known already.
pub fn register(address: usize, size: usize, flags: u32) -> Result {
    let mut live = LIVE.write();
    let overlaps =
        live.range(..address + size).next_back().is_some_and(|(_, last)| last.address + last.size > address);
    if overlaps {
        return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
    }
    backend::get().register(address, size, flags)?;
    let order = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    live.insert(
        address,
        Allocation {
            address,
            size,
            kind: Kind::Registered,
            order,
            flags,
            callers: call_site::callers(),
            is_retired: false,
        },
    );
    Ok(())
}

/// The live allocation that holds `address`.
pub fn find(address: usize) -> Option<Allocation> {
    let live = LIVE.read();
    let (_, found) = live.range(..=address).next_back()?;
    found.contains(address, 1).then_some(*found)
}

/// The managed allocations.
pub fn managed() -> Vec<Range<usize>> {
    let live = LIVE.read();
    let managed = live.values().filter(|found| found.kind == Kind::Managed);
    managed.map(|found| found.address..found.address + found.size).collect()
}

/// Frees every allocation.
pub fn release_all() {
    let all = std::mem::take(&mut *LIVE.write());
    for allocation in all.into_values() {
        release(allocation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_allocations_are_aligned_zeroed_and_found() {
        for size in [1, 255, 4096, 1 << 20] {
            let a = allocate(size, Kind::Device, 0).unwrap();
            assert_eq!(a.address % ALIGNMENT, 0);
            // SAFETY: just allocated.
            let bytes = unsafe { std::slice::from_raw_parts(a.address as *const u8, size) };
            assert!(bytes.iter().all(|&b| b == 0));
            assert_eq!(find(a.address + size - 1), Some(a));
            assert_ne!(find(a.address + size), Some(a));
            assert_eq!(free(a.address + 1, &[Kind::Device]), Err(Error::INVALID_VALUE));
            assert_eq!(free(a.address, &[Kind::Host]), Err(Error::INVALID_VALUE));
            assert_eq!(free(a.address, &[Kind::Device]), Ok(a));
            assert_eq!(free(a.address, &[Kind::Device]), Err(Error::INVALID_VALUE));
        }
    }

    #[test]
    fn absurd_sizes_are_out_of_memory() {
        for size in [usize::MAX, usize::MAX / 2, 1 << 50] {
            assert_eq!(allocate(size, Kind::Device, 0), Err(Error::MEMORY_ALLOCATION));
        }
    }

    #[test]
    fn registered_memory_may_not_overlap() {
        let memory = vec![0u8; 4096];
        let address = memory.as_ptr() as usize;
        register(address, 1024, 0).unwrap();
        assert_eq!(register(address + 1023, 10, 0), Err(Error::HOST_MEMORY_ALREADY_REGISTERED));
        register(address + 1024, 10, 0).unwrap();
        free(address, &[Kind::Registered]).unwrap();
        free(address + 1024, &[Kind::Registered]).unwrap();
    }
}
