//! Transfers: copies and fills that the host asks for. This module orders them and says whether the
//! host waits. [`copies`] and [`fills`] check the arguments.

pub mod copies;
pub mod fills;
pub mod sides;

use crate::backend::Until;
use crate::backend::memory::{MemoryKind, TransferRows, TransferSide};
use crate::host::errors::Result;
use crate::host::stack;
use crate::order::StreamId;
use crate::work::Process;

/// The kind of memory that a side of a transfer is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferMemory {
    /// The device's alone.
    Device,
    /// Managed memory.
    Managed,
    /// Page-locked host memory.
    PageLocked,
    /// Other host memory. No kernel can access it.
    Pageable,
}

impl TransferMemory {
    /// The memory that holds an address.
    pub fn of(process: &Process, address: usize) -> Self {
        match process.program().memory_at(address) {
            Some((MemoryKind::Device | MemoryKind::Array, _)) => Self::Device,
            Some((MemoryKind::Managed, _)) => Self::Managed,
            Some((MemoryKind::Host | MemoryKind::Registered, _)) => Self::PageLocked,
            None => Self::Pageable,
        }
    }

    const fn is_host(self) -> bool {
        matches!(self, Self::PageLocked | Self::Pageable)
    }
}

/// True if the host waits for a copy (CUDA Runtime API, "API synchronization behavior"). If a call
/// may or may not wait by that page, it waits: an order too many hides a race, an order too few
/// invents one.
pub fn host_waits_for_copy(to: TransferMemory, from: TransferMemory, sync: bool) -> bool {
    match (to, from) {
        (to, from) if to.is_host() && from.is_host() => true,
        // The host does not wait if no host memory takes part.
        (TransferMemory::Device, TransferMemory::Device) => false,
        (TransferMemory::Pageable, _) => true,
        _ => sync,
    }
}

/// True if the host waits for a fill. It does not if only the device can access the memory.
pub fn host_waits_for_fill(to: TransferMemory, sync: bool) -> bool {
    sync && to != TransferMemory::Device
}

/// How a transfer was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// By a call that returns when the transfer is over.
    Synchronous,
    /// By a call that may return earlier.
    Asynchronous,
    /// By the launch of a graph, for which the host does not wait.
    InGraph,
}

impl Waits {
    /// How a call of the API requests it.
    pub fn of_call(sync: bool) -> Self {
        if sync { Self::Synchronous } else { Self::Asynchronous }
    }
}

/// Begins a transfer on `stream`. A fill has no `from`. True if the host waits for it.
pub fn begin(
    process: &Process,
    stream: StreamId,
    to: TransferRows,
    from: Option<TransferRows>,
    waits: Waits,
) -> bool {
    let to_memory = TransferMemory::of(process, to.start);
    let from_memory = from.map(|from| TransferMemory::of(process, from.start));
    let sync = waits == Waits::Synchronous;
    let waits = waits != Waits::InGraph
        && match from_memory {
            Some(from) => host_waits_for_copy(to_memory, from, sync),
            None => host_waits_for_fill(to_memory, sync),
        };
    process.session.transfer(stream, waits, || {
        let callers = stack::callers();
        let site = process.session.transfer_calls.lock().site_of(callers, None);
        let part = |rows, memory, writes: bool| {
            (memory != TransferMemory::Pageable).then(|| TransferSide {
                rows,
                writes,
                site: site + u32::from(writes),
            })
        };
        let reads = from.zip(from_memory).and_then(|(rows, memory)| part(rows, memory, false));
        reads.into_iter().chain(part(to, to_memory, true)).collect()
    });
    waits
}

/// Begins a transfer of no bytes on `stream`.
///
/// # Errors
/// The fault of a kernel that the host waits for.
pub fn begin_empty(process: &Process, stream: StreamId, waits: Waits) -> Result {
    let clock = process.order().submit(stream);
    if waits == Waits::Synchronous {
        process.backend().wait(Until::StreamIsOver(stream))?;
        process.order().host_waits(&clock);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_waits_as_cuda_documents_it() {
        use TransferMemory::{Device, Managed, PageLocked, Pageable};
        for (to, from, sync, wanted) in [
            (Device, Device, true, false),
            (Device, Device, false, false),
            (Device, Pageable, true, true),
            (Device, Pageable, false, false),
            (Device, PageLocked, true, true),
            (Device, PageLocked, false, false),
            (Pageable, Device, true, true),
            (Pageable, Device, false, true),
            (PageLocked, Device, true, true),
            (PageLocked, Device, false, false),
            (Pageable, PageLocked, false, true),
            (PageLocked, PageLocked, false, true),
            (Managed, Managed, true, true),
            (Managed, Device, false, false),
        ] {
            let found = host_waits_for_copy(to, from, sync);
            assert_eq!(found, wanted, "{to:?} from {from:?}, sync: {sync}");
        }
        assert!(!host_waits_for_fill(Device, true));
        assert!(host_waits_for_fill(Managed, true));
        assert!(!host_waits_for_fill(PageLocked, false));
    }
}
