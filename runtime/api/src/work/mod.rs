//! What the CUDA Runtime API does, as CUDA documents it: arguments are checked, the order of
//! operations is kept, and the backend does the rest.
//!
//! | module | what it knows |
//! |---|---|
//! | [`streams`], [`events`] | the handles of streams and events |
//! | [`launches`] | launches: limits and arguments |
//! | [`functions`] | attributes of kernels, occupancy |
//! | [`transfers`] | copies and fills: which bytes, and whether the host waits |
//! | [`library_calls`] | operations of libraries beside the runtime |
//! | [`allocations`], [`pointers`] | allocating and freeing |
//! | [`pools`], [`stream_frees`] | stream-ordered allocation |
//! | [`arrays`], [`textures`] | CUDA arrays, texture and surface objects |
//! | [`devices`] | the one device and its limits |
//! | [`contexts`], [`driver_modules`] | contexts and modules of the driver API |
//! | [`graph`] | graphs: their nodes, capture, launches |

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;

use parking_lot::{Mutex, MutexGuard};

use crate::backend::Backend;
use crate::backend::module::Kernel;
use crate::host::errors::Result;
use crate::host::message::ErrorsOnce;
use crate::order::Order;
use crate::program::Program;
use crate::session::Session;

pub mod allocations;
pub mod arrays;
pub mod contexts;
pub mod devices;
pub mod driver_modules;
pub mod events;
pub mod functions;
pub mod graph;
pub mod launches;
pub mod library_calls;
pub mod pointers;
pub mod pools;
pub mod stream_frees;
pub mod streams;
pub mod textures;
pub mod transfers;

/// All state of the process. [`calls`](crate::calls) makes it and passes it down.
pub struct Process {
    /// The run: its order, its program, its findings.
    pub session: Session,
    /// What the program has set for the device.
    pub settings: devices::DeviceSettings,
    /// The streams that the program made, by handle.
    streams: Mutex<HashMap<usize, streams::StreamHandle>>,
    contexts: contexts::Contexts,
    driver_modules: Mutex<driver_modules::DriverModules>,
    events: Mutex<events::Events>,
    frees: Mutex<stream_frees::PendingFrees>,
    pools: Mutex<pools::Pools>,
    /// The descriptions of the live texture and surface objects, by handle and whether it is a
    /// texture's. The program may ask for them.
    described: Mutex<HashMap<(u64, bool), textures::DescribedObject>>,
    captures: graph::capture::Captures,
    /// All graphs.
    pub graphs: Mutex<graph::Graphs>,
    /// The memory of graph nodes that allocate. A free leaves it allocated for the next launch.
    owned: Mutex<HashSet<usize>>,
    /// The errors that are printed only once.
    pub errors_once: ErrorsOnce,
}

impl Process {
    /// The state at the start of a run.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            settings: devices::DeviceSettings::default(),
            streams: Mutex::default(),
            contexts: contexts::Contexts::default(),
            driver_modules: Mutex::default(),
            events: Mutex::default(),
            frees: Mutex::default(),
            pools: Mutex::default(),
            described: Mutex::default(),
            captures: graph::capture::Captures::default(),
            graphs: Mutex::default(),
            owned: Mutex::default(),
            errors_once: ErrorsOnce::default(),
        }
    }

    /// What the program has registered and allocated.
    pub fn program(&self) -> &Program {
        &self.session.program
    }

    /// True if the program was built with a toolkit before CUDA 13, in which some functions have other
    /// parameters.
    pub fn is_before_cuda_13(&self) -> bool {
        (1..13_000).contains(&self.program().modules.cuda())
    }

    /// The backend.
    pub fn backend(&self) -> &'static dyn Backend {
        self.session.backend()
    }

    /// The kernel that a host stub names.
    ///
    /// # Errors
    /// `cudaErrorInvalidDeviceFunction` if it names none, or the errors of loading.
    pub fn kernel(&self, stub: *const c_void) -> Result<&'static Kernel> {
        self.program().modules.kernel_of_stub(stub)
    }

    /// Locks the order of operations.
    pub fn order(&self) -> MutexGuard<'_, Order> {
        self.session.order.lock()
    }
}
