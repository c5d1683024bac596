//! Where kernels run: the seam between the CUDA Runtime API and what does its work.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | what a backend does, and which one this process has |
//! | [`executor`] | the CPU executor: work is over when it was submitted |
//! | [`gpu`] | an NVIDIA GPU, by way of gpurace-cuda |
//! | [`choice`] | which of them a program gets |
//!
//! Above the seam is what CUDA says of arguments, handles and order; below it is what
//! happens to memory and kernels.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use gpurace_abi::meta::ModuleMeta;
use gpurace_check::RaceRecord;
use gpurace_cpu::{Image, texture};
use gpurace_report::schema::Device;
use parking_lot::MutexGuard;

use crate::errors::{Error, Result};
use crate::launch::Launch;
use crate::memory::Kind;
use crate::memory::arena::Request;
use crate::memory::array::Array;
use crate::memory::copy::Rows;
use crate::modules::{Kernel, Payload};
use crate::order::StreamId;
use crate::resolve::Object;
use crate::transfer::Part;
use crate::types::{cudaDeviceProp, cudaExtent, cudaFuncAttributes, cudaResourceDesc, cudaTextureDesc};

pub mod choice;
pub mod executor;
pub mod gpu;

/// The code of a module, ready to run.
pub enum Code {
    /// For the host's processor.
    Host(Image),
    /// For the GPU.
    Gpu(gpu::Code),
}

impl Code {
    /// The device variables: mangled name and address.
    pub fn variables(&self) -> Vec<(&str, usize)> {
        match self {
            Self::Host(image) => image.variables().iter().map(|v| (&v.name[..], v.address)).collect(),
            Self::Gpu(code) => code.variables(),
        }
    }

    /// Address of the device variable with this mangled name.
    pub fn variable(&self, name: &str) -> Option<usize> {
        match self {
            Self::Host(image) => image.variable(name).map(|found| found.address),
            Self::Gpu(code) => code.variable(name),
        }
    }

    /// The kernel with this mangled name.
    pub fn kernel(&self, name: &str) -> Option<Entry> {
        match self {
            Self::Host(image) => image.kernel(name).cloned().map(Entry::Host),
            Self::Gpu(code) => code.kernel(name).map(Entry::Gpu),
        }
    }
}

/// The code of a kernel.
pub enum Entry {
    /// For the host's processor.
    Host(gpurace_cpu::image::Kernel),
    /// For the GPU.
    Gpu(gpu::Entry),
}

/// A point of a stream, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All work is over.
    AllIsOver,
    /// The work of a stream is.
    StreamIsOver(StreamId),
    /// The event with this handle was reached, where it was recorded.
    Event(usize),
}

/// What a backend found since it was asked last.
pub struct Found {
    /// The two sides, in the terms of the checker.
    pub record: RaceRecord,
    /// What they touched, where that is known.
    pub object: Option<Object>,
    /// Which byte of a block's shared memory, as the device counts them.
    pub shared_offset: Option<u32>,
}

/// A copy or fill that something may overlap.
pub struct Copied {
    /// Its number among launches and copies.
    pub number: u64,
    /// Where it is submitted to.
    pub stream: StreamId,
    /// Numbers of earlier operations that nothing orders before it, ascending.
    pub unordered: Vec<u64>,
    /// What it touches of memory that kernels reach.
    pub parts: Vec<Part>,
}

/// What does the work of the CUDA Runtime API.
///
/// What is given here fits a backend whose work is over when it was submitted.
pub trait Backend: Sync {
    /// Its name in reports.
    fn device(&self) -> Device;

    /// Whether the checker of this process sees what kernels and copies access.
    fn checks_on_host(&self) -> bool;

    // ---- the device ----

    /// The value of a `cudaDeviceAttr`.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a number that is no attribute.
    fn attribute(&self, attribute: u32) -> Result<c_int>;

    /// Everything that `cudaGetDeviceProperties` says.
    fn properties(&self) -> cudaDeviceProp;

    /// Bytes of memory that are free, and all of them.
    fn memory(&self) -> (usize, usize);

    /// Most bytes of all allocations together.
    fn memory_limit(&self) -> usize;

    /// A `cudaLimit` was set.
    ///
    /// # Errors
    /// That it cannot be.
    fn set_limit(&self, number: u32, value: usize) -> Result;

    // ---- kernels ----

    /// Makes a module's code ready. Says what is wrong with it; `meta` describes it.
    ///
    /// # Errors
    /// `cudaErrorNoKernelImageForDevice`, `cudaErrorInvalidKernelImage`.
    fn open(&self, payload: &Payload, meta: &ModuleMeta) -> Result<Code>;

    /// Has kernels find a `__managed__` variable at `host`, the host program's variable of `size` bytes, which gets its initial value. `cell`:
    /// where code finds its address, that of the initial value until now.
    ///
    /// # Errors
    /// The device's: it cannot reach it.
    ///
    /// # Safety
    /// `cell` and `host` are such; no kernel has run that uses them.
    unsafe fn bind_managed(&self, cell: usize, host: usize, size: usize) -> Result;

    /// What `cudaFuncGetAttributes` says.
    ///
    /// # Errors
    /// The device's.
    fn function_attributes(&self, kernel: &Kernel) -> Result<cudaFuncAttributes>;

    /// The kernel may have so much dynamic shared memory, bytes.
    ///
    /// # Errors
    /// That it cannot.
    fn allow_dynamic_shared(&self, _kernel: &Kernel, _bytes: usize) -> Result {
        Ok(())
    }

    /// Blocks of so many threads, with so much dynamic shared memory, that fit on a multiprocessor.
    ///
    /// # Errors
    /// The device's.
    fn resident_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u32>;

    /// Most blocks of a cooperative launch of such blocks.
    ///
    /// # Errors
    /// The device's.
    fn max_cooperative_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u64>;

    /// Runs a launch, or submits it.
    ///
    /// # Errors
    /// What keeps it from starting.
    fn run(&self, launch: &Launch<'_>) -> Result;

    // ---- memory ----

    /// Memory for an allocation.
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation` where there is not that much.
    fn take(&self, request: Request, kind: Kind) -> Result<usize>;

    /// An allocation is about to be freed: what may still use it ends.
    ///
    /// # Errors
    /// What a kernel did wrong.
    fn before_free(&self) -> Result {
        Ok(())
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It came from [`Backend::take`] with the same request, and nobody uses it.
    unsafe fn give(&self, address: usize, request: Request, kind: Kind);

    /// Memory of the program is page-locked.
    ///
    /// # Errors
    /// That it cannot be.
    fn register(&self, _address: usize, _size: usize, _flags: u32) -> Result {
        Ok(())
    }

    /// It is no more.
    fn unregister(&self, _address: usize) {}

    /// Where kernels reach page-locked memory.
    ///
    /// # Errors
    /// That they do not.
    fn device_address(&self, host: usize) -> Result<usize> {
        Ok(host)
    }

    /// An array was made, whose memory came from [`Backend::take`] and goes by [`Backend::give`].
    ///
    /// # Errors
    /// The device's.
    fn make_array(&self, _array: &Array) -> Result {
        Ok(())
    }

    /// Makes a texture or a surface object; gives its handle. `desc`: of a texture.
    ///
    /// # Errors
    /// The device's.
    fn create_object(
        &self,
        object: texture::Object,
        resource: &cudaResourceDesc,
        desc: Option<&cudaTextureDesc>,
    ) -> Result<u64>;

    /// Gives it back.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where there is none.
    fn destroy_object(&self, handle: u64, is_texture: bool) -> Result;

    /// Copies rows in a stream's order; `wait`: is over when this returns.
    ///
    /// # Safety
    /// Host memory is as CUDA wants it for such a copy; device memory was checked.
    ///
    /// # Errors
    /// The device's.
    unsafe fn copy(&self, to: Rows, from: Rows, extent: cudaExtent, stream: StreamId, wait: bool) -> Result;

    /// Fills rows with a value of so many bytes, as [`Backend::copy`] does.
    ///
    /// # Safety
    /// The memory was checked.
    ///
    /// # Errors
    /// The device's.
    unsafe fn fill(
        &self,
        to: Rows,
        value: (u32, usize),
        extent: cudaExtent,
        stream: StreamId,
        wait: bool,
    ) -> Result;

    // ---- order ----

    /// A stream was made.
    ///
    /// # Errors
    /// The device's.
    fn create_stream(&self, _stream: StreamId, _flags: u32, _priority: c_int) -> Result {
        Ok(())
    }

    /// It is destroyed.
    fn destroy_stream(&self, _stream: StreamId) {}

    /// An event was made.
    ///
    /// # Errors
    /// The device's.
    fn create_event(&self, _event: usize, _flags: u32) -> Result {
        Ok(())
    }

    /// It is destroyed.
    fn destroy_event(&self, _event: usize) {}

    /// An event is recorded on a stream.
    ///
    /// # Errors
    /// The device's.
    fn record(&self, _event: usize, _stream: StreamId) -> Result {
        Ok(())
    }

    /// A stream waits for an event that was recorded.
    ///
    /// # Errors
    /// The device's.
    fn wait_for_event(&self, _stream: StreamId, _event: usize) -> Result {
        Ok(())
    }

    /// The host waits.
    ///
    /// # Errors
    /// What a kernel did wrong.
    fn wait(&self, _until: Until) -> Result {
        Ok(())
    }

    /// Whether the host need not wait.
    ///
    /// # Errors
    /// What a kernel did wrong, or `cudaErrorNotReady`.
    fn query(&self, _until: Until) -> Result {
        Ok(())
    }

    /// Milliseconds between two events that were recorded; `None`: what the host's clock said then.
    ///
    /// # Errors
    /// The device's.
    fn elapsed(&self, _start: usize, _end: usize) -> Result<Option<f32>> {
        Ok(None)
    }

    /// Calls a function of the program in a stream's order.
    ///
    /// # Safety
    /// The function may be called with `data`, by any thread.
    ///
    /// # Errors
    /// The device's.
    unsafe fn call_host(
        &self,
        _stream: StreamId,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result {
        // SAFETY: as the caller vouches.
        unsafe { function(data) };
        Ok(())
    }

    // ---- what was found elsewhere than by the checker of this process ----

    /// To be held from where an operation gets its place among others until [`Backend::touch`] knows of it.
    fn placing(&self) -> Option<MutexGuard<'_, ()>> {
        None
    }

    /// A copy or fill is about to be submitted that something may overlap: launches are to be compared with it.
    fn touch(&self, _copied: Copied) {}

    /// Races on these bytes are meant.
    fn benign(&self, _address: usize, _size: usize) {}

    /// What was found since it was asked last.
    fn take_found(&self) -> Vec<Found> {
        Vec::new()
    }

    /// Where a byte of a block's shared memory lies by the kernel's description.
    fn shared_place(&self, _kernel: &Kernel, _offset: u32) -> Option<u64> {
        None
    }

    /// Checks that launches have made, by the number of the launch, since it was asked last.
    fn take_checks(&self) -> Vec<(u64, u64)> {
        Vec::new()
    }

    /// What was lost or not checked.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

static CHOSEN: OnceLock<&'static dyn Backend> = OnceLock::new();

/// The backend of this process, chosen when it is first asked for.
pub fn get() -> &'static dyn Backend {
    *CHOSEN.get_or_init(choice::choose)
}

/// The backend, if anything has needed it yet.
pub fn chosen() -> Option<&'static dyn Backend> {
    CHOSEN.get().copied()
}

/// The error for a kernel of another backend than the one that is to run it; there is no such kernel.
fn foreign<T>() -> Result<T> {
    Err(Error::INVALID_DEVICE_FUNCTION)
}
