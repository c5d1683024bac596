//! The live allocations of the program, by address, with what a race report needs to name one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use gpurace_options::select::ObjectDescription;
use parking_lot::{Mutex, RwLock};

use crate::backend::memory::MemoryKind;
use crate::host::errors::{Error, Result};
use crate::host::stack::{self, Callers};

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
    /// The program has freed it, but submitted work may still use it.
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

/// The live allocations of the program.
#[derive(Default)]
pub struct Allocations {
    by_address: RwLock<BTreeMap<usize, Allocation>>,
    /// Number of allocations since the program began.
    count: AtomicU32,
    /// The sizes of all allocations since the program began, bytes.
    sizes: Mutex<BTreeSet<usize>>,
    /// Bytes that the backend has given for live allocations, rounded up. Registered memory is not
    /// among them.
    bytes: AtomicUsize,
    /// Number of live allocations that are host-visible. Most programs have none, and every call of the program
    /// asks.
    host_visible: AtomicUsize,
}

impl Allocations {
    /// Bytes of memory that live allocations use.
    pub fn bytes_in_use(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// An allocation of each size since the program began, with the order of the last one.
    pub fn of_each_size(&self) -> Vec<ObjectDescription<'static>> {
        let order = Some(self.count.load(Ordering::Relaxed).into());
        let of_size =
            |&size: &usize| ObjectDescription { shared: false, name: None, size: size as u64, order };
        self.sizes.lock().iter().map(of_size).collect()
    }

    /// Counts bytes that are about to be taken. Returns how many were in use before.
    pub fn add_bytes(&self, bytes: usize) -> usize {
        self.bytes.fetch_add(bytes, Ordering::Relaxed)
    }

    /// Counts bytes that were given back.
    pub fn subtract_bytes(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn numbered(&self, address: usize, size: usize, kind: MemoryKind, flags: u32) -> Allocation {
        let order = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.sizes.lock().insert(size);
        Allocation { address, size, kind, order, flags, callers: stack::callers(), is_retired: false }
    }

    /// Adds memory that the backend has given. The program's call is on the stack.
    pub fn add(&self, address: usize, size: usize, kind: MemoryKind, flags: u32) -> Allocation {
        let allocation = self.numbered(address, size, kind, flags);
        self.by_address.write().insert(address, allocation);
        if kind.is_host_visible() {
            self.host_visible.fetch_add(1, Ordering::Relaxed);
        }
        allocation
    }

    /// Adds memory of the program that is to be page-locked.
    ///
    /// # Errors
    /// `cudaErrorHostMemoryAlreadyRegistered` if part of it is known already.
    pub fn add_registered(&self, address: usize, size: usize, flags: u32) -> Result {
        let mut live = self.by_address.write();
        let last = live.range(..address + size).next_back();
        if last.is_some_and(|(_, last)| last.address + last.size > address) {
            return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        live.insert(address, self.numbered(address, size, MemoryKind::Registered, flags));
        Ok(())
    }

    /// Removes the allocation of one of these kinds that starts at `address`.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    pub fn remove(&self, address: usize, kinds: &[MemoryKind]) -> Result<Allocation> {
        let mut live = self.by_address.write();
        let found = match live.get(&address) {
            Some(found) if kinds.contains(&found.kind) && !found.is_retired => live.remove(&address),
            _ => None,
        };
        found.ok_or(Error::INVALID_VALUE).inspect(|found| self.count_removed(found))
    }

    /// Marks the allocation of this kind that starts at `address` as freed by the program. Reports
    /// may name it until [`Self::remove_retired`].
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    pub fn retire(&self, address: usize, kind: MemoryKind) -> Result<Allocation> {
        match self.by_address.write().get_mut(&address) {
            Some(found) if found.kind == kind && !found.is_retired => {
                found.is_retired = true;
                Ok(*found)
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }

    /// Removes an allocation that was retired. `None` if a device reset has freed it meanwhile.
    pub fn remove_retired(&self, address: usize) -> Option<Allocation> {
        let mut live = self.by_address.write();
        live.get(&address).is_some_and(|found| found.is_retired).then(|| live.remove(&address)).flatten()
    }

    /// Removes all allocations.
    pub fn remove_all(&self) -> Vec<Allocation> {
        let all: Vec<_> = std::mem::take(&mut *self.by_address.write()).into_values().collect();
        all.iter().for_each(|removed| self.count_removed(removed));
        all
    }

    fn count_removed(&self, allocation: &Allocation) {
        if allocation.kind.is_host_visible() {
            self.host_visible.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The live allocation that is nearest to `address`, and the bytes from its end to there: negative before
    /// its start, `None` inside it.
    pub fn nearest(&self, address: usize) -> Option<(Allocation, Option<i64>)> {
        let live = self.by_address.read();
        let below = live.range(..=address).next_back().map(|(_, below)| {
            let past = (address - below.address).checked_sub(below.size);
            (*below, past.map(|past| past as i64))
        });
        let above = live
            .range(address..)
            .next()
            .map(|(_, above)| (*above, Some(-((above.address - address) as i64))));
        let candidates = below.into_iter().chain(above);
        candidates.min_by_key(|(_, distance)| distance.map_or(0, |distance| distance.unsigned_abs() + 1))
    }

    /// The live allocation that holds `address`.
    pub fn find(&self, address: usize) -> Option<Allocation> {
        let live = self.by_address.read();
        let (_, found) = live.range(..=address).next_back()?;
        found.contains(address, 1).then_some(*found)
    }

    /// True if there is managed or page-locked memory.
    pub fn has_host_visible(&self) -> bool {
        self.host_visible.load(Ordering::Relaxed) > 0
    }

    /// The byte ranges of the managed allocations.
    pub fn managed(&self) -> Vec<Range<usize>> {
        let live = self.by_address.read();
        let managed = live.values().filter(|found| found.kind == MemoryKind::Managed);
        managed.map(|found| found.address..found.address + found.size).collect()
    }
}
