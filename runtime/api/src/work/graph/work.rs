//! The operation of a graph's node. It holds everything that it needs by value.

use std::collections::HashSet;
use std::ffi::{c_int, c_void};

use parking_lot::Mutex;

use crate::backend;
use crate::host::errors::Result;
use crate::host::stack::{self, Callers};
use crate::host::types::{cudaEvent_t, cudaHostFn_t};
use crate::order::{ORDER, StreamId};
use crate::session;
use crate::work::events;
use crate::work::graph::Id;
use crate::work::launches::PreparedLaunch;
use crate::work::transfers::copies::PlannedCopy;
use crate::work::transfers::fills::PlannedFill;

/// A pointer of the program that is only passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque(pub usize);

impl Opaque {
    /// The pointer.
    pub fn pointer(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0)
    }

    /// Wraps a pointer.
    pub fn of(pointer: *mut c_void) -> Self {
        Self(pointer.expose_provenance())
    }
}

/// The memory of nodes that allocate. A free leaves it allocated for the next launch.
static OWNED: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// Marks memory as a node's.
pub fn own(address: usize) {
    OWNED.lock().get_or_insert_default().insert(address);
}

/// True if the memory is a node's.
pub fn is_owned(address: usize) -> bool {
    OWNED.lock().as_ref().is_some_and(|owned| owned.contains(&address))
}

/// The operation of a node.
#[derive(Clone)]
pub enum Work {
    /// None: the node joins edges.
    Empty,
    /// A launch.
    Kernel(Box<PreparedLaunch>),
    /// A copy, and the calls that led to it.
    Copy(PlannedCopy, Callers),
    /// A fill, and the calls that led to it.
    Fill(PlannedFill, Callers),
    /// A call of a host function.
    Host(cudaHostFn_t, Opaque),
    /// The nodes of another graph, which was copied.
    Child(Id),
    /// The record of an event.
    Record(Opaque),
    /// The wait for an event.
    Wait(Opaque),
    /// An allocation: its address and size. The memory exists from when the node is made.
    Allocate(usize, usize),
    /// A free.
    Free(usize),
}

impl Work {
    /// Its `cudaGraphNodeType`.
    pub fn number(&self) -> c_int {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(..) => 1,
            Self::Fill(..) => 2,
            Self::Host(..) => 3,
            Self::Child(_) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Allocate(..) => 10,
            Self::Free(_) => 11,
        }
    }

    /// Runs it on a stream.
    ///
    /// # Errors
    /// The reason why it cannot start.
    pub fn run(&self, stream: StreamId) -> Result {
        match self {
            Self::Empty | Self::Child(_) | Self::Free(_) => {}
            Self::Kernel(prepared) => return prepared.run(stream),
            Self::Copy(copy, callers) => return stack::on_behalf_of(callers, || copy.run(stream)),
            Self::Fill(fill, callers) => return stack::on_behalf_of(callers, || fill.run(stream)),
            Self::Host(function, data) => {
                let _ = ORDER.lock().submit(stream);
                if let Some(function) = *function {
                    // SAFETY: the program passed the function with its data.
                    unsafe { backend::get().call_host(stream, function, data.pointer()) }?;
                }
            }
            Self::Record(recorded) => {
                backend::get().record(recorded.0, stream)?;
                let clock = ORDER.lock().submit(stream);
                events::record_at(recorded.pointer() as cudaEvent_t, clock)?;
            }
            Self::Wait(waited) => {
                if let Some(clock) = events::recorded(waited.pointer() as cudaEvent_t)? {
                    backend::get().wait_for_event(stream, waited.0)?;
                    ORDER.lock().wait(stream, &clock);
                }
            }
            // Accesses of the last launch were to other memory.
            Self::Allocate(address, size) => session::get().forget(*address, *size),
        }
        Ok(())
    }
}
