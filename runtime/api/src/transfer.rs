//! Copies and fills as sides of races: which bytes that kernels can reach one
//! touches, what the host waits for, and which call it is.

use std::collections::HashMap;
use std::ops::Range;

use gpurace_check::{Side, Touched};
use parking_lot::Mutex;

use crate::backend::{self, Until};
use crate::call_site::{self, Callers, Position};
use crate::errors::Result;
use crate::memory::{self, Kind};
use crate::modules;
use crate::order::{ORDER, StreamId};
use crate::session;
use crate::watch;

/// Sites from here on are those of copies and fills: two for each call, its
/// reads and its writes.
pub const SITE_BASE: u32 = 1 << 31;

/// The calls so far that were checked.
static CALLS: Mutex<Option<Calls>> = Mutex::new(None);

#[derive(Default)]
struct Calls {
    list: Vec<Callers>,
    numbers: HashMap<Callers, u32>,
}

/// Whether this side of a race is a copy or a fill.
pub fn is_one(side: &Side) -> bool {
    (SITE_BASE..watch::SITE_BASE).contains(&side.site)
}

/// Where the program calls what this site belongs to.
pub fn position(site: u32) -> Option<Position> {
    let call = site.checked_sub(SITE_BASE)? as usize / 2;
    let callers = *CALLS.lock().as_ref()?.list.get(call)?;
    call_site::position_in_user_code(&callers)
}

/// The first site of the call that is being made.
fn site_of_this_call() -> u32 {
    let callers = call_site::callers();
    let mut calls = CALLS.lock();
    let Calls { list, numbers } = calls.get_or_insert_default();
    let call = *numbers.entry(callers).or_insert_with(|| {
        list.push(callers);
        list.len() as u32 - 1
    });
    2 * call
}

/// Which memory a side of a copy is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The device's alone.
    Device,
    /// Managed memory.
    Managed,
    /// Page-locked host memory.
    PageLocked,
    /// Host memory that CUDA knows nothing of. No kernel reaches it.
    Pageable,
}

impl Memory {
    /// Which memory an address is in.
    pub fn of(address: usize) -> Self {
        match memory::find(address).map(|found| found.kind) {
            Some(Kind::Device | Kind::Array) => Self::Device,
            Some(Kind::Managed) => Self::Managed,
            Some(Kind::Host | Kind::Registered) => Self::PageLocked,
            None => match modules::variable_at(address) {
                Some(variable) if variable.managed => Self::Managed,
                Some(_) => Self::Device,
                None => Self::Pageable,
            },
        }
    }

    const fn is_host(self) -> bool {
        matches!(self, Self::PageLocked | Self::Pageable)
    }
}

/// Whether the host waits for a copy (CUDA Runtime API, "API synchronization
/// behavior"). Where that says that a call may or may not wait, it does: an
/// order too many hides a race, an order too few invents one.
pub fn host_waits_for_copy(to: Memory, from: Memory, sync: bool) -> bool {
    match (to, from) {
        (to, from) if to.is_host() && from.is_host() => true,
        // Nobody waits for the device where no host memory takes part.
        (Memory::Device, Memory::Device) => false,
        (Memory::Pageable, _) => true,
        _ => sync,
    }
}

/// Whether the host waits for a fill: not where only the device has the memory.
pub fn host_waits_for_fill(to: Memory, sync: bool) -> bool {
    sync && to != Memory::Device
}

/// Rows of bytes: where the first begins, how long each is, and where the
/// others are.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Address of the first byte.
    pub start: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a slice, bytes from one to the next.
    pub rows: (usize, usize),
    /// Slices, bytes from one to the next.
    pub slices: (usize, usize),
}

impl Rows {
    /// The same bytes, rows that touch as one.
    pub fn joined(self) -> Self {
        let (rows, pitch) = self.rows;
        if rows != 1 && pitch == self.width {
            Self { width: self.width * rows, rows: (1, 0), ..self }
        } else {
            self
        }
    }

    /// The rows, those that touch as one.
    fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let Self { start, width, rows: (rows, pitch), slices: (slices, slice) } = self.joined();
        (0..slices).flat_map(move |z| {
            (0..rows).map(move |y| {
                let start = start + z * slice + y * pitch;
                start..start + width
            })
        })
    }
}

/// What a copy or fill reads, or what it writes.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The bytes.
    pub rows: Rows,
    /// They are written; else they are read.
    pub writes: bool,
    /// Counted from [`SITE_BASE`].
    pub site: u32,
}

impl Part {
    /// In the checker's terms.
    pub fn touched(self) -> impl Iterator<Item = Touched> {
        let Self { rows, writes, site } = self;
        rows.ranges().map(move |bytes| Touched { bytes, writes, site })
    }
}

/// How a copy or fill was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// By a call that is to return when it is over.
    Synchronous,
    /// By a call that need not.
    Asynchronous,
    /// By a launch of a graph, which waits for nothing.
    InGraph,
}

impl Waits {
    /// Of a call of the API.
    pub fn of_call(sync: bool) -> Self {
        if sync { Self::Synchronous } else { Self::Asynchronous }
    }
}

/// A copy or fill on `stream` is about to happen; a fill reads nothing. Gives whether
/// the host waits for it.
pub fn begin(stream: StreamId, to: Rows, from: Option<Rows>, waits: Waits) -> bool {
    let to_memory = Memory::of(to.start);
    let from_memory = from.map(|from| Memory::of(from.start));
    let sync = waits == Waits::Synchronous;
    let waits = waits != Waits::InGraph
        && match from_memory {
            Some(from) => host_waits_for_copy(to_memory, from, sync),
            None => host_waits_for_fill(to_memory, sync),
        };
    session::get().transfer(stream, waits, || {
        let site = site_of_this_call();
        let part = |rows, memory, writes: bool| {
            (memory != Memory::Pageable).then(|| Part { rows, writes, site: site + u32::from(writes) })
        };
        let reads = from.zip(from_memory).and_then(|(rows, memory)| part(rows, memory, false));
        reads.into_iter().chain(part(to, to_memory, true)).collect()
    });
    waits
}

/// A copy or fill of no bytes on `stream`.
///
/// # Errors
/// What a kernel did wrong that the host waits for.
pub fn nothing(stream: StreamId, waits: Waits) -> Result {
    let clock = ORDER.lock().submit(stream);
    if waits == Waits::Synchronous {
        backend::get().wait(Until::StreamIsOver(stream))?;
        ORDER.lock().host_waits(&clock);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_touch_are_one_range() {
        let rows = |width, rows, slices| Rows { start: 1000, width, rows, slices };
        let ranges = |r: Rows| r.ranges().collect::<Vec<_>>();
        assert_eq!(ranges(rows(10, (1, 0), (1, 0))), [1000..1010]);
        assert_eq!(ranges(rows(10, (3, 10), (1, 0))), [1000..1030]);
        assert_eq!(ranges(rows(10, (2, 16), (1, 0))), [1000..1010, 1016..1026]);
        assert_eq!(ranges(rows(10, (2, 10), (2, 100))), [1000..1020, 1100..1120]);
        assert_eq!(ranges(rows(10, (2, 16), (2, 100))), [1000..1010, 1016..1026, 1100..1110, 1116..1126]);
    }

    #[test]
    fn the_host_waits_as_cuda_documents_it() {
        use Memory::{Device, Managed, PageLocked, Pageable};
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
