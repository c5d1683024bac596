//! The seam between the CUDA Runtime API and whatever runs kernels and holds memory.
//!
//! | module | what it defines |
//! |---|---|
//! | this one | the trait [`Backend`], and which backend was chosen |
//! | [`module`] | modules, kernels, variables and launches as a backend sees them |
//! | [`memory`] | allocations, arrays and transfers as a backend sees them |
//! | [`texels`] | the format of texels |
//!
//! The layers above check arguments, handles and order, as CUDA documents them. The backend moves
//! bytes and runs kernels. Nothing here names a particular backend.
//!
//! Addresses are numbers above the trait, so a device's own addresses work as the host's do. Graphs
//! are above the trait too: their nodes are submitted one by one. The findings of a GPU become the
//! checker's race records, so backends share names, filters and reports.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use gpurace_abi::meta::ModuleMeta;
use gpurace_abi::texture::TextureObject;
use gpurace_check::RaceRecord;
use gpurace_report::schema::Device;

use crate::backend::memory::{CudaArray, MemoryKind, MemoryRequest, PitchedRows, TransferRequest};
use crate::backend::module::{DeviceCode, Kernel, KernelLaunch, Payload};
use crate::host::device_properties::cudaDeviceProp;
use crate::host::errors::Result;
use crate::host::types::{cudaFuncAttributes, cudaResourceDesc, cudaTextureDesc};
use crate::order::StreamId;

pub mod memory;
pub mod module;
pub mod texels;

/// Work that the host waits for or asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All work of all streams.
    AllIsOver,
    /// All work of one stream.
    StreamIsOver(StreamId),
    /// The work before the last record of the event with this handle.
    Event(usize),
}

/// A race that a backend's own checker found.
pub struct FoundRace {
    /// The two sides, in the terms of the checker.
    pub record: RaceRecord,
    /// In shared memory: the offset in the block's shared memory, as the device counts it.
    pub shared_offset: Option<u32>,
}

/// Runs kernels and holds memory for the CUDA Runtime API.
///
/// The default methods suit a backend whose work is over when the call that submits it returns, and
/// whose device shares the host's address space.
pub trait Backend: Sync {
    /// Its name in reports.
    fn device(&self) -> Device;

    /// The backend's own checker. `None` if the checker of this process sees what kernels and
    /// transfers access.
    fn own_checker(&self) -> Option<&dyn OwnChecker> {
        None
    }

    /// Number of this process's threads that run the backend's work.
    fn worker_threads(&self) -> usize {
        0
    }

    // ---- the device ----

    /// The value of a `cudaDeviceAttr`.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a number that is no attribute.
    fn attribute(&self, attribute: u32) -> Result<c_int>;

    /// The result of `cudaGetDeviceProperties`.
    fn properties(&self) -> cudaDeviceProp;

    /// Bytes of free memory and of all memory.
    fn memory(&self) -> (usize, usize);

    /// Most bytes of all allocations together.
    fn memory_limit(&self) -> usize;

    /// Sets a `cudaLimit`.
    fn set_limit(&self, number: u32, value: usize) -> Result;

    // ---- kernels ----

    /// Makes a module's code ready to run. Prints what is wrong with it. `meta` describes the
    /// module.
    ///
    /// # Errors
    /// `cudaErrorNoKernelImageForDevice`, `cudaErrorInvalidKernelImage`.
    fn open(&self, payload: &Payload, meta: &ModuleMeta) -> Result<Box<dyn DeviceCode>>;

    /// Puts a `__managed__` variable at `host`, the host program's variable of `size` bytes, and
    /// copies its initial value there. `cell` holds the address that kernels use. Until now that is
    /// the address of the initial value.
    ///
    /// # Errors
    /// The device's, if it cannot access the host's variable.
    ///
    /// # Safety
    /// `cell` and `host` are as described. No kernel that uses them has run.
    unsafe fn bind_managed(&self, cell: usize, host: usize, size: usize) -> Result;

    /// The backend's part of the result of `cudaFuncGetAttributes`.
    fn function_attributes(&self, kernel: &Kernel) -> Result<cudaFuncAttributes>;

    /// Allows a kernel this much dynamic shared memory, bytes.
    fn allow_dynamic_shared(&self, _kernel: &Kernel, _bytes: usize) -> Result {
        Ok(())
    }

    /// Number of blocks of this size that fit on a multiprocessor.
    fn resident_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u32>;

    /// Most blocks of this size in a cooperative launch.
    fn max_cooperative_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u64>;

    /// Runs a launch, or submits it.
    ///
    /// # Errors
    /// The reason why it cannot start.
    fn run(&self, launch: &KernelLaunch<'_>) -> Result;

    // ---- memory ----

    /// Returns the address of new memory.
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation` if there is not enough.
    fn take(&self, request: MemoryRequest, kind: MemoryKind) -> Result<usize>;

    /// Bytes on each side of the allocation at an address in which nothing lies, so that an access
    /// there ends its launch.
    fn guard(&self, _address: usize) -> u64 {
        0
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It came from [`Backend::take`] with the same request, and nobody uses it.
    unsafe fn give(&self, address: usize, request: MemoryRequest, kind: MemoryKind);

    /// Page-locks memory of the program.
    fn register(&self, _address: usize, _size: usize, _flags: u32) -> Result {
        Ok(())
    }

    /// Ends the page lock of [`Backend::register`].
    fn unregister(&self, _address: usize) {}

    /// The address that kernels use for page-locked memory.
    ///
    /// # Errors
    /// The device's, if kernels cannot access it.
    fn device_address(&self, host: usize) -> Result<usize> {
        Ok(host)
    }

    /// Makes an array. Its memory comes from [`Backend::take`] and goes by [`Backend::give`].
    fn make_array(&self, _array: &CudaArray) -> Result {
        Ok(())
    }

    /// Makes a texture object (`desc` is its description) or a surface object. Returns its handle.
    fn create_object(
        &self,
        object: TextureObject,
        resource: &cudaResourceDesc,
        desc: Option<&cudaTextureDesc>,
    ) -> Result<u64>;

    /// Destroys a texture or surface object.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    fn destroy_object(&self, handle: u64, is_texture: bool) -> Result;

    /// Address of the texels of a texture or surface object. `None` if it is unknown, or if the
    /// handles of textures and of surfaces are numbered apart, so that the handle names no object.
    fn texels_of(&self, handle: u64) -> Option<usize>;

    /// Submits a copy.
    ///
    /// # Safety
    /// Host memory is valid for such a transfer. Device memory was checked.
    unsafe fn copy(&self, to: PitchedRows, from: PitchedRows, request: TransferRequest) -> Result;

    /// Submits a fill with a value, whose size in bytes comes second.
    ///
    /// # Safety
    /// The memory was checked.
    unsafe fn fill(&self, to: PitchedRows, value: (u32, usize), request: TransferRequest) -> Result;

    // ---- order ----

    /// Makes a stream.
    fn create_stream(&self, _stream: StreamId, _flags: u32, _priority: c_int) -> Result {
        Ok(())
    }

    /// Destroys a stream.
    fn destroy_stream(&self, _stream: StreamId) {}

    /// Makes an event.
    fn create_event(&self, _event: usize, _flags: u32) -> Result {
        Ok(())
    }

    /// Destroys an event.
    fn destroy_event(&self, _event: usize) {}

    /// Records an event on a stream.
    fn record(&self, _event: usize, _stream: StreamId) -> Result {
        Ok(())
    }

    /// Lets a stream wait for a recorded event.
    fn wait_for_event(&self, _stream: StreamId, _event: usize) -> Result {
        Ok(())
    }

    /// Waits on the host.
    ///
    /// # Errors
    /// The fault of a kernel.
    fn wait(&self, _until: Until) -> Result {
        Ok(())
    }

    /// Succeeds if the host need not wait.
    ///
    /// # Errors
    /// The fault of a kernel, or `cudaErrorNotReady`.
    fn query(&self, _until: Until) -> Result {
        Ok(())
    }

    /// Milliseconds between two recorded events. `None` if the host's clock at the two records is
    /// to be used.
    fn elapsed(&self, _start: usize, _end: usize) -> Result<Option<f32>> {
        Ok(None)
    }

    /// Calls a function of the program in the order of a stream.
    ///
    /// # Safety
    /// Any thread may call the function with `data`.
    unsafe fn call_host(
        &self,
        _stream: StreamId,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result {
        // SAFETY: the caller keeps the contract above.
        unsafe { function(data) };
        Ok(())
    }
}

/// The checker of a backend. It sees the accesses of kernels, which the checker of this process does
/// not see, and compares those of one launch with each other.
pub trait OwnChecker {
    /// Ignores races on these bytes: the program says that they are intended.
    fn benign(&self, address: usize, size: usize);

    /// The races that were found since the last call.
    fn take_found(&self) -> Vec<FoundRace>;

    /// Converts an offset in a block's shared memory from the device's layout to that of the
    /// kernel's description.
    fn shared_place(&self, kernel: &Kernel, offset: u32) -> Option<u64>;

    /// Numbers of launches, and the number of checks that each has run, since the last call.
    fn take_checks(&self) -> Vec<(u64, u64)>;

    /// What was lost or not checked, in words.
    fn notes(&self) -> Vec<String>;
}

/// Chooses the backend for the program as it is registered at the time of the call.
type Choice = Box<dyn (Fn() -> &'static dyn Backend) + Send + Sync>;

/// The backend of the process, which is chosen when it is first needed.
#[derive(Default)]
pub struct ChosenBackend {
    choice: OnceLock<Choice>,
    chosen: OnceLock<&'static dyn Backend>,
}

impl ChosenBackend {
    /// Sets the function that chooses. The backends lie in a layer above this one.
    pub fn set_choice(&self, choice: Choice) {
        self.choice.get_or_init(|| choice);
    }

    /// The backend, chosen at the first call.
    ///
    /// # Panics
    /// If the library's start has not run.
    pub fn get(&self) -> &'static dyn Backend {
        *self.chosen.get_or_init(|| self.choice.get().expect("the library has started")())
    }

    /// The backend, if it was chosen already.
    pub fn if_chosen(&self) -> Option<&'static dyn Backend> {
        self.chosen.get().copied()
    }
}
