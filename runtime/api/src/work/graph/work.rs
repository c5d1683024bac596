//! The operation of a graph's node. It holds everything that it needs by value.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::host::errors::Result;
use crate::host::stack::{self, Callers};
use crate::host::types::{cudaEvent_t, cudaHostFn_t};
use crate::order::StreamId;
use crate::work::graph::Id;
use crate::work::launches::PreparedLaunch;
use crate::work::library_calls::LibraryCall;
use crate::work::transfers::copies::PlannedCopy;
use crate::work::transfers::fills::PlannedFill;
use crate::work::{Process, events};

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

/// Marks memory as a node's.
pub fn own(process: &Process, address: usize) {
    process.owned.lock().insert(address);
}

/// True if the memory is a node's.
pub fn is_owned(process: &Process, address: usize) -> bool {
    process.owned.lock().contains(&address)
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
    /// A call of a library, and the calls that led to it.
    Library(Arc<LibraryCall>, Callers),
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
            // NVIDIA's libraries launch kernels.
            Self::Kernel(_) | Self::Library(..) => 0,
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
    pub fn run(&self, process: &Process, stream: StreamId) -> Result {
        match self {
            Self::Empty | Self::Child(_) | Self::Free(_) => {}
            Self::Kernel(prepared) => return prepared.run(process, stream),
            Self::Copy(copy, callers) => return stack::on_behalf_of(callers, || copy.run(process, stream)),
            Self::Fill(fill, callers) => return stack::on_behalf_of(callers, || fill.run(process, stream)),
            Self::Library(call, callers) => {
                return stack::on_behalf_of(callers, || call.run(process, stream));
            }
            Self::Host(function, data) => {
                let _ = process.order().submit(stream);
                if let Some(function) = *function {
                    // SAFETY: the program passed the function with its data.
                    unsafe { process.backend().call_host(stream, function, data.pointer()) }?;
                }
            }
            Self::Record(recorded) => {
                process.backend().record(recorded.0, stream)?;
                let clock = process.order().submit(stream);
                events::record_at(process, recorded.pointer() as cudaEvent_t, clock)?;
            }
            Self::Wait(waited) => {
                if let Some(clock) = events::recorded(process, waited.pointer() as cudaEvent_t)? {
                    process.backend().wait_for_event(stream, waited.0)?;
                    process.order().wait(stream, &clock);
                }
            }
            // Accesses of the last launch were to other memory.
            Self::Allocate(address, size) => process.session.forget(*address, *size),
        }
        Ok(())
    }
}
