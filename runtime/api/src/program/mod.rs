//! What the program has registered and allocated.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | the program, and its managed memory |
//! | [`modules`] | registered device code: kernels and variables |
//! | [`allocations`] | every live allocation, by address |
//! | [`arrays`] | the live CUDA arrays |
//! | `device_lines` | the source lines of device code on the host |
//! | [`named_regions`] | named regions of host code, and which thread is in them |
//! | [`python_stacks`] | the Python frames that led to launches |
//! | [`host_lines`] | the source lines of the host program's calls |

pub mod allocations;
pub mod arrays;
mod device_lines;
pub mod host_lines;
pub mod modules;
pub mod named_regions;
pub mod python_stacks;

use std::collections::HashMap;
use std::ops::Range;

use parking_lot::Mutex;

use crate::backend::ChosenBackend;
use crate::backend::memory::MemoryKind;
use crate::host::stack::CallSite;
use crate::program::allocations::Allocations;
use crate::program::arrays::Arrays;
use crate::program::host_lines::HostPosition;
use crate::program::modules::Modules;
use crate::program::named_regions::NamedRegions;
use crate::program::python_stacks::PythonStacks;

/// What the program has registered and allocated, and the backend that runs it.
#[derive(Default)]
pub struct Program {
    /// The backend.
    pub backend: ChosenBackend,
    /// The registered device code.
    pub modules: Modules,
    /// The live allocations.
    pub allocations: Allocations,
    /// The live CUDA arrays.
    pub arrays: Arrays,
    /// The named regions that it has entered.
    pub named_regions: NamedRegions,
    /// The Python frames that led to launches.
    pub python_stacks: PythonStacks,
    /// The positions of calls that were asked for.
    positions: Mutex<HashMap<CallSite, Option<HostPosition>>>,
}

impl Program {
    /// The allocation or device variable that holds an address: its kind and its bytes.
    pub fn memory_at(&self, address: usize) -> Option<(MemoryKind, Range<usize>)> {
        if let Some(found) = self.allocations.find(address) {
            return Some((found.kind, found.address..found.address + found.size));
        }
        let variable = self.modules.variable_at(address)?;
        let kind = if variable.managed { MemoryKind::Managed } else { MemoryKind::Device };
        Some((kind, variable.address..variable.address + variable.size))
    }

    /// True if there is any host-visible memory: allocations or `__managed__` variables.
    pub fn has_host_visible(&self) -> bool {
        self.allocations.has_host_visible() || self.modules.has_managed()
    }

    /// The byte ranges of all managed memory.
    pub fn managed(&self) -> impl Iterator<Item = Range<usize>> {
        self.allocations.managed().into_iter().chain(self.modules.managed())
    }
}
