//! An NVIDIA GPU as a backend. Streams and events are the driver's. A launch runs bare if all its
//! accesses are proved, otherwise with checks. The host fetches the races that kernels found
//! whenever it waits.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | the backend |
//! | `arrays` | arrays, textures and surfaces |
//! | `code` | modules and kernels |
//! | `ending` | the end of the program |
//! | `own_checker` | the races that the GPU found |
//! | `found` | the GPU's races, in the checker's terms |
//! | `submissions` | submitting launches and transfers to the driver |

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Once, OnceLock};
use std::time::Instant;

use gpurace_abi::gpu_code;
use gpurace_abi::meta::ModuleMeta;
use gpurace_abi::texture::TextureObject as Object;
use gpurace_cuda::Gpu;
use gpurace_cuda::driver::{self, Device as Handle, Event, Function, Stream};
use gpurace_cuda::memory::shadow_of;
use gpurace_options::Volatile;
use gpurace_report::schema::Device;
use parking_lot::Mutex;

use crate::backend::memory::{CudaArray, MemoryKind, MemoryRequest, PitchedRows, TransferRequest};
use crate::backend::module::{DeviceCode, Kernel, KernelLaunch, Payload};
use crate::backend::texels::texel_format;
use crate::backend::{Backend, OwnChecker, Until};
use crate::backends::claims;
use crate::host::device_properties::cudaDeviceProp;
use crate::host::errors::{Error, Result};
use crate::host::limits::SHARED_PER_BLOCK;
use crate::host::message;
use crate::host::types::{ATTRIBUTE_MULTIPROCESSORS, cudaFuncAttributes, cudaResourceDesc, cudaTextureDesc};
use crate::order::{DEFAULT, StreamId};
use crate::session::Session;

mod arrays;
mod code;
mod ending;
mod found;
mod own_checker;
mod submissions;

use arrays::GpuArrays;
use code::GpuKernel;
use ending::FinalCounts;

/// Error codes of kernel faults that end the driver's context.
const FAULTS: [u32; 9] = [700, 702, 710, 714, 715, 716, 717, 718, 719];
/// `cudaHostRegisterReadOnly`.
const REGISTER_READ_ONLY: u32 = 8;
/// `cudaDevAttrMaxSharedMemoryPerBlockOptin`.
const SHARED_OPTIN: u32 = 97;

/// Most shared memory that a block may have, bytes.
fn most_shared(device: &Handle) -> i32 {
    device.attribute(SHARED_OPTIN).unwrap_or(SHARED_PER_BLOCK as i32)
}

/// Succeeds if there is a driver.
///
/// # Errors
/// The reason why there is none.
pub fn has_driver() -> std::result::Result<(), String> {
    driver::present().map_err(|why| why.to_string())
}

/// Opens the GPU for the program of this session, which has these modules.
///
/// # Errors
/// The reason why the whole program cannot run on a GPU.
pub fn open(
    session: &'static Session,
    payloads: &[Payload],
) -> std::result::Result<&'static dyn Backend, String> {
    let mut gpu = Gpu::open().map_err(|why| why.to_string())?;
    gpu.relaxed_volatile = session.options().volatile == Volatile::Relaxed;
    let arch = gpu.device().arch;
    let runs =
        |payload: &Payload| matches!(payload.gpu, Some(Ok(codes)) if gpu_code::best(codes, arch).is_some());
    if !payloads.iter().all(runs) {
        return Err(format!("the program has no code for this GPU, `sm_{arch}`"));
    }
    let opened: &'static OnGpu = Box::leak(Box::new(OnGpu {
        session,
        device: gpu.device().clone(),
        opened: Instant::now(),
        gpu: Mutex::new(gpu),
        streams: Mutex::default(),
        events: Mutex::default(),
        benign: Mutex::default(),
        unseen: AtomicU64::new(0),
        arrays: GpuArrays::default(),
        last: OnceLock::new(),
        said_uncovered: Once::new(),
    }));
    ending::prepare(opened);
    Ok(opened)
}

/// The GPU that this process uses.
pub struct OnGpu {
    session: &'static Session,
    device: Handle,
    /// When it was opened.
    opened: Instant,
    /// Locked during a launch or an allocation, never while the host waits for kernels: another
    /// thread may have to launch what they wait for.
    gpu: Mutex<Gpu>,
    /// The program's streams. A stream that is not here is the own default stream of a thread. Only
    /// that thread names it.
    streams: Mutex<HashMap<StreamId, Stream>>,
    events: Mutex<HashMap<usize, Event>>,
    benign: Mutex<Vec<Range<usize>>>,
    arrays: GpuArrays,
    /// Number of accesses in the code of all modules that no check sees.
    unseen: AtomicU64,
    /// The final counts, once nothing runs any more.
    last: OnceLock<FinalCounts>,
    /// Done once it was printed that an allocation has no shadow.
    said_uncovered: Once,
}

impl OnGpu {
    /// Makes the driver's context current in this thread.
    fn enter(&self) -> Result {
        self.device.enter().map_err(|error| self.fail(error))
    }

    /// Turns an error of the driver into the API's error, which has the same number. The fault of a
    /// kernel is sticky, and the races that were found before it are fetched.
    fn fail(&self, error: driver::Error) -> Error {
        let code = Error::of_number(error.code);
        if FAULTS.contains(&error.code) && self.session.sticky.get() == Error::SUCCESS {
            message::error(&format!("a kernel failed on the GPU: {error}"));
            self.gpu.lock().end(&error);
            self.session.sticky.set(code);
            self.session.collect();
        }
        code
    }

    /// Calls the driver.
    fn call<T>(&self, f: impl FnOnce() -> driver::Result<T>) -> Result<T> {
        self.enter()?;
        f().map_err(|error| self.fail(error))
    }

    fn stream(&self, id: StreamId) -> Stream {
        if id == DEFAULT {
            return Stream::DEFAULT;
        }
        self.streams.lock().get(&id).copied().unwrap_or(Stream::PER_THREAD)
    }

    fn event(&self, handle: usize) -> Result<Event> {
        self.events.lock().get(&handle).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    /// Prints, the first time, that there is no memory for the shadow of an allocation.
    fn say_uncovered(&self, size: u64) {
        self.said_uncovered.call_once(|| {
            let (free, _) = self.device.memory().unwrap_or_default();
            let shadow = shadow_of(size);
            message::note(&format!(
                "{size} bytes of device memory are not checked: their shadow would take {shadow} more, and {free} are left; what else has none is counted"
            ));
        });
    }
}

impl Backend for OnGpu {
    fn device(&self) -> Device {
        Device::Cuda
    }

    fn own_checker(&self) -> Option<&dyn OwnChecker> {
        Some(self)
    }

    fn attribute(&self, attribute: u32) -> Result<c_int> {
        self.call(|| self.device.attribute(attribute))
    }

    fn properties(&self) -> cudaDeviceProp {
        let mut properties = claims::of_attributes(|number| self.device.attribute(number).ok());
        for (to, from) in properties.name.iter_mut().zip(self.device.name.bytes()) {
            *to = from as c_char;
        }
        properties.uuid = self.device.uuid();
        properties.totalGlobalMem = self.memory().1;
        properties
    }

    fn memory(&self) -> (usize, usize) {
        let (free, total) = self.call(|| self.device.memory()).unwrap_or_default();
        (free as usize, total as usize)
    }

    fn memory_limit(&self) -> usize {
        // The driver refuses an allocation that does not fit.
        usize::MAX
    }

    fn set_limit(&self, number: u32, value: usize) -> Result {
        self.call(|| self.device.set_limit(number, value))
    }

    fn open(&self, payload: &Payload, meta: &ModuleMeta) -> Result<Box<dyn DeviceCode>> {
        Ok(Box::new(self.load(payload, meta)?))
    }

    unsafe fn bind_managed(&self, cell: usize, host: usize, size: usize) -> Result {
        // SAFETY: the caller keeps the contract above.
        let value = unsafe { std::slice::from_raw_parts_mut(host as *mut u8, size) };
        self.call(|| {
            let mut initial = [0; 8];
            self.device.read(&mut initial, cell as u64)?;
            self.device.read(value, u64::from_le_bytes(initial))?;
            self.gpu.lock().reach_host(host, size)?;
            self.device.write(cell as u64, &host.to_le_bytes())
        })
        .inspect_err(|_| message::error("kernels cannot reach the program's `__managed__` variables on this GPU; run with `GPURACE_OPTIONS=device=cpu`"))
    }

    fn function_attributes(&self, kernel: &Kernel) -> Result<cudaFuncAttributes> {
        let entry = GpuKernel::of(kernel)?;
        let (_, attributes) = entry.bare;
        let checked = entry.checked.map_or(attributes.max_threads, |(_, attributes)| attributes.max_threads);
        Ok(cudaFuncAttributes {
            sharedSizeBytes: attributes.shared as usize,
            constSizeBytes: attributes.constant as usize,
            localSizeBytes: attributes.local as usize,
            maxThreadsPerBlock: attributes.max_threads.min(checked),
            numRegs: attributes.registers,
            ptxVersion: attributes.ptx,
            binaryVersion: attributes.binary,
            ..Default::default()
        })
    }

    fn allow_dynamic_shared(&self, kernel: &Kernel, bytes: usize) -> Result {
        let entry = GpuKernel::of(kernel)?;
        self.call(|| entry.bare.0.allow_dynamic_shared(bytes as i32))
    }

    fn resident_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u32> {
        let entry = GpuKernel::of(kernel)?;
        let of = |function: Function| self.call(|| function.resident_blocks(threads as i32, dynamic_shared));
        let bare = of(entry.bare.0)?;
        // A launch runs one of the two.
        let checked = match &entry.checked {
            Some((function, _)) if entry.can_check(&self.device, threads, dynamic_shared as u32) => {
                of(*function)?
            }
            _ => bare,
        };
        Ok(bare.min(checked).max(0) as u32)
    }

    fn max_cooperative_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u64> {
        let of_one = u64::from(self.resident_blocks(kernel, threads, dynamic_shared)?);
        Ok(of_one * self.attribute(ATTRIBUTE_MULTIPROCESSORS)?.max(0) as u64)
    }

    fn run(&self, launch: &KernelLaunch<'_>) -> Result {
        self.submit_launch(launch)
    }

    fn take(&self, request: MemoryRequest, kind: MemoryKind) -> Result<usize> {
        let size = request.size as u64;
        self.call(|| match kind {
            MemoryKind::Host => driver::page_locked(size).map(|host| host as usize),
            MemoryKind::Managed => self.gpu.lock().allocate_managed(size).map(|address| address as usize),
            MemoryKind::Array => arrays::reserve(request.size),
            _ => {
                let mut gpu = self.gpu.lock();
                let before = gpu.memory.uncovered;
                let address = gpu.allocate(size)?;
                if gpu.memory.uncovered > before {
                    self.say_uncovered(size);
                }
                Ok(address as usize)
            }
        })
    }

    unsafe fn give(&self, address: usize, request: MemoryRequest, kind: MemoryKind) {
        // The next object at these addresses is another one.
        self.benign.lock().retain(|meant| !(address..address + request.size).contains(&meant.start));
        // Memory that cannot be freed stays with the driver.
        let _ = self.call(|| match kind {
            // SAFETY: the caller keeps the contract above.
            MemoryKind::Host => unsafe { driver::free_page_locked(address as *mut c_void) },
            MemoryKind::Managed => self.gpu.lock().free_managed(address as u64),
            MemoryKind::Array => {
                self.arrays.give(address)?;
                arrays::unreserve(address, request.size);
                Ok(())
            }
            _ => self.gpu.lock().memory.free(address as u64).map(|_| ()),
        });
    }

    fn register(&self, address: usize, size: usize, flags: u32) -> Result {
        self.call(|| driver::register(address, size, flags & REGISTER_READ_ONLY != 0))
    }

    fn unregister(&self, address: usize) {
        let _ = self.call(|| driver::unregister(address));
    }

    fn device_address(&self, host: usize) -> Result<usize> {
        self.call(|| driver::device_address(host)).map(|address| address as usize)
    }

    fn make_array(&self, array: &CudaArray) -> Result {
        let format = texel_format(&array.format)?;
        self.call(|| self.arrays.make(array, format))
    }

    fn create_object(
        &self,
        object: Object,
        resource: &cudaResourceDesc,
        desc: Option<&cudaTextureDesc>,
    ) -> Result<u64> {
        self.call(|| self.arrays.object(&object, resource, desc))
    }

    fn destroy_object(&self, handle: u64, is_texture: bool) -> Result {
        self.call(|| {
            if is_texture {
                driver::array::destroy_texture(handle)
            } else {
                driver::array::destroy_surface(handle)
            }
        })
    }

    fn texels_of(&self, _: u64) -> Option<usize> {
        None
    }

    unsafe fn copy(&self, to: PitchedRows, from: PitchedRows, request: TransferRequest) -> Result {
        // SAFETY: the caller keeps the contract of the trait.
        unsafe { self.submit_copy(to, from, request) }
    }

    unsafe fn fill(&self, to: PitchedRows, value: (u32, usize), request: TransferRequest) -> Result {
        self.submit_fill(to, value, request)
    }

    fn create_stream(&self, id: StreamId, flags: u32, priority: c_int) -> Result {
        let stream = self.call(|| Stream::create(flags, priority))?;
        self.streams.lock().insert(id, stream);
        Ok(())
    }

    fn destroy_stream(&self, id: StreamId) {
        let removed = self.streams.lock().remove(&id);
        if let Some(stream) = removed {
            self.gpu.lock().forget_stream(stream);
            let _ = self.call(|| stream.destroy());
        }
    }

    fn create_event(&self, handle: usize, flags: u32) -> Result {
        let event = self.call(|| Event::create(flags))?;
        self.events.lock().insert(handle, event);
        Ok(())
    }

    fn destroy_event(&self, handle: usize) {
        let removed = self.events.lock().remove(&handle);
        if let Some(event) = removed {
            let _ = self.call(|| event.destroy());
        }
    }

    fn record(&self, event: usize, stream: StreamId) -> Result {
        let (event, stream) = (self.event(event)?, self.stream(stream));
        self.call(|| event.record(stream))
    }

    fn wait_for_event(&self, stream: StreamId, event: usize) -> Result {
        let (event, stream) = (self.event(event)?, self.stream(stream));
        self.call(|| stream.wait_for(event))
    }

    fn wait(&self, until: Until) -> Result {
        match until {
            Until::AllIsOver => self.call(driver::wait_for_all)?,
            Until::StreamIsOver(stream) => {
                let stream = self.stream(stream);
                self.call(|| stream.wait())?;
            }
            Until::Event(event) => {
                let event = self.event(event)?;
                self.call(|| event.wait())?;
            }
        }
        self.session.collect();
        Ok(())
    }

    fn query(&self, until: Until) -> Result {
        let over = match until {
            Until::AllIsOver => self.call(driver::wait_for_all).map(|()| true),
            Until::StreamIsOver(stream) => {
                let stream = self.stream(stream);
                self.call(|| stream.is_over())
            }
            Until::Event(event) => {
                let event = self.event(event)?;
                self.call(|| event.is_over())
            }
        };
        if over? { Ok(()) } else { Err(Error::NOT_READY) }
    }

    fn elapsed(&self, start: usize, end: usize) -> Result<Option<f32>> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        self.call(|| start.until(end)).map(Some)
    }

    unsafe fn call_host(
        &self,
        stream: StreamId,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result {
        let stream = self.stream(stream);
        // SAFETY: the caller keeps the contract above.
        self.call(|| unsafe { stream.call_host(function, data) })
    }
}
