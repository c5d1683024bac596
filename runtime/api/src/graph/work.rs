//! What a node of a graph does, with everything that it needs kept by value.

use std::collections::HashSet;
use std::ffi::{c_int, c_void};

use parking_lot::Mutex;

use crate::backend;
use crate::call_site::{self, Callers};
use crate::errors::Result;
use crate::event;
use crate::graph::Id;
use crate::launch::Prepared;
use crate::memory::copy::{Copy, Fill};
use crate::order::{ORDER, StreamId};
use crate::session;
use crate::types::{cudaEvent_t, cudaHostFn_t};

/// A pointer of the program's that is only passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque(pub usize);

impl Opaque {
    /// The pointer.
    pub fn pointer(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0)
    }

    /// Of a pointer.
    pub fn of(pointer: *mut c_void) -> Self {
        Self(pointer.expose_provenance())
    }
}

/// Memory of nodes that allocate, by address: it stays where it is for the next
/// launch, whoever frees it.
static OWNED: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// Keeps memory for a node.
pub fn own(address: usize) {
    OWNED.lock().get_or_insert_default().insert(address);
}

/// Whether memory is a node's.
pub fn is_owned(address: usize) -> bool {
    OWNED.lock().as_ref().is_some_and(|owned| owned.contains(&address))
}

/// What a node does.
#[derive(Clone)]
pub enum Work {
    /// Nothing: it joins edges.
    Empty,
    /// A launch.
    Kernel(Box<Prepared>),
    /// A copy, and who asked for it.
    Copy(Copy, Callers),
    /// A fill, and who asked for it.
    Fill(Fill, Callers),
    /// A call of a host function.
    Host(cudaHostFn_t, Opaque),
    /// The nodes of another graph, as it was.
    Child(Id),
    /// An event is recorded.
    Record(Opaque),
    /// An event is waited for.
    Wait(Opaque),
    /// Memory comes to be: its address and size. It is there from the start.
    Allocate(usize, usize),
    /// Memory ceases to be used.
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

    /// Does it on a stream.
    ///
    /// # Errors
    /// What keeps the operation from starting.
    pub fn run(&self, stream: StreamId) -> Result {
        match self {
            Self::Empty | Self::Child(_) | Self::Free(_) => {}
            Self::Kernel(prepared) => return prepared.run(stream),
            Self::Copy(copy, callers) => return call_site::on_behalf_of(callers, || copy.run(stream)),
            Self::Fill(fill, callers) => return call_site::on_behalf_of(callers, || fill.run(stream)),
            Self::Host(function, data) => {
                let _ = ORDER.lock().submit(stream);
                if let Some(function) = *function {
                    // SAFETY: the program vouches for its function and data.
                    unsafe { backend::get().call_host(stream, function, data.pointer()) }?;
                }
            }
            Self::Record(recorded) => {
                backend::get().record(recorded.0, stream)?;
                let clock = ORDER.lock().submit(stream);
                event::record_at(recorded.pointer() as cudaEvent_t, clock)?;
            }
            Self::Wait(waited) => {
                if let Some(clock) = event::recorded(waited.pointer() as cudaEvent_t)? {
                    backend::get().wait_for_event(stream, waited.0)?;
                    ORDER.lock().wait(stream, &clock);
                }
            }
            // What was there in the last launch is gone.
            Self::Allocate(address, size) => session::get().forget(*address, *size),
        }
        Ok(())
    }
}
