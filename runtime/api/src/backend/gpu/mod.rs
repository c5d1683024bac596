//! An NVIDIA GPU as a backend: streams and events are the driver's, kernels run bare where all
//! of a launch is proved, else checked, and what they found is fetched whenever the host waits.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | the backend |
//! | `arrays` | arrays, textures and surfaces |
//! | `code` | modules and kernels |
//! | `ending` | the end of the program |
//! | `fetches` | which memory kernels reach through textures and surfaces |
//! | `found` | what was found, in the checker's terms |
//! | `replays` | launches that are checked by what they have logged |
//! | `submitted` | what was submitted that something may overlap |

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Instant;

use gpurace_abi::gpu_code;
use gpurace_abi::meta::ModuleMeta;
use gpurace_check::{KernelKey, RaceRecord, Space};
use gpurace_cpu::texture::Object;
use gpurace_cuda::driver::queue::{Pitched, Place};
use gpurace_cuda::driver::{self, Device as Handle, Event, Function, Stream};
use gpurace_cuda::memory::shadow_of;
use gpurace_cuda::{Gpu, LeftOut, Module, Touched, Transfer, Variant};
use gpurace_report::schema::Device;
use parking_lot::{Mutex, MutexGuard};

use super::{Backend, Copied, Found, Until, foreign};
use crate::errors::{self, Error, Result};
use crate::launch::Launch;
use crate::memory::Kind;
use crate::memory::arena::Request;
use crate::memory::array::Array;
use crate::memory::copy::Rows;
use crate::message;
use crate::modules::{self, Kernel, Payload};
use crate::order::{DEFAULT, StreamId};
use crate::properties;
use crate::resolve;
use crate::session;
use crate::texture;
use crate::transfer::{self, Part};
use crate::types::{cudaDeviceProp, cudaExtent, cudaFuncAttributes, cudaResourceDesc, cudaTextureDesc};

mod arrays;
mod code;
mod ending;
mod fetches;
mod found;
mod replays;
mod submitted;

use arrays::Arrays;
pub use code::{Code, Entry};
use ending::Last;
use replays::Replays;
use submitted::Submitted;

/// Codes of what a kernel did that ended the context.
const FAULTS: [u32; 9] = [700, 702, 710, 714, 715, 716, 717, 718, 719];
/// `cudaHostRegisterReadOnly`.
const REGISTER_READ_ONLY: u32 = 8;
/// `cudaDevAttrMaxSharedMemoryPerBlockOptin`, `cudaDevAttrMultiProcessorCount`.
const SHARED_OPTIN: u32 = 97;
const MULTIPROCESSORS: u32 = 16;

/// Whether there is a driver at all.
///
/// # Errors
/// That there is none, in words.
pub fn has_driver() -> std::result::Result<(), String> {
    driver::present().map_err(|why| why.to_string())
}

/// The GPU of this process.
static GPU: OnceLock<OnGpu> = OnceLock::new();

/// Opens it for a program of these modules.
///
/// # Errors
/// Why there is none that all of them can run on.
pub fn open(payloads: &[Payload]) -> std::result::Result<&'static dyn Backend, String> {
    let gpu = Gpu::open().map_err(|why| why.to_string())?;
    let arch = gpu.device().arch;
    let runs =
        |payload: &Payload| matches!(payload.gpu, Some(Ok(codes)) if gpu_code::best(codes, arch).is_some());
    if !payloads.iter().all(runs) {
        return Err(format!("the program has no code for this GPU, `sm_{arch}`"));
    }
    let opened = GPU.get_or_init(|| OnGpu {
        device: gpu.device().clone(),
        opened: Instant::now(),
        gpu: Mutex::new(gpu),
        launching: Mutex::default(),
        submitted: Mutex::default(),
        replays: Mutex::default(),
        checking: OnceLock::new(),
        undecided: AtomicU64::new(0),
        streams: Mutex::default(),
        events: Mutex::default(),
        benign: Mutex::default(),
        left_out: Mutex::default(),
        arrays: Arrays::default(),
        last: OnceLock::new(),
    });
    ending::prepare();
    Ok(opened)
}

/// A GPU in use by this process.
pub struct OnGpu {
    device: Handle,
    /// Since when.
    opened: Instant,
    /// Held for as long as a launch or an allocation takes, never while the host waits for
    /// kernels that another thread's launch may have to come to.
    gpu: Mutex<Gpu>,
    /// Held from where a launch or copy gets its place among others until it was submitted: what is known of those that
    /// it may overlap has to be known to the GPU, too, when it is told of them.
    launching: Mutex<()>,
    submitted: Mutex<Submitted>,
    replays: Mutex<Replays>,
    /// A module with the checker's code, the first one.
    checking: OnceLock<Arc<Mutex<Module>>>,
    /// Conflicts of two operations that something may have ordered.
    undecided: AtomicU64,
    /// The program's streams. A stream that is not here is a thread's own default stream, which only
    /// that thread names.
    streams: Mutex<HashMap<StreamId, Stream>>,
    events: Mutex<HashMap<usize, Event>>,
    benign: Mutex<Vec<Range<usize>>>,
    arrays: Arrays,
    /// What the code of all modules does that is not checked.
    left_out: Mutex<LeftOut>,
    /// What was counted in all, once nothing runs any more.
    last: OnceLock<Last>,
}

impl OnGpu {
    /// Makes the context this thread's.
    fn enter(&self) -> Result {
        self.device.enter().map_err(|error| self.fail(error))
    }

    /// The error of the API for one of the driver's, which has the same number. What a kernel did
    /// wrong stays, and what was found before is fetched.
    fn fail(&self, error: driver::Error) -> Error {
        let code = Error::of_number(error.code);
        if FAULTS.contains(&error.code) && errors::sticky() == Error::SUCCESS {
            message::error(&format!("a kernel failed on the GPU: {error}"));
            self.gpu.lock().end(&error);
            errors::set_sticky(code);
            session::get().collect();
        }
        code
    }

    /// Does something with the driver.
    fn call<T>(&self, f: impl FnOnce() -> driver::Result<T>) -> Result<T> {
        self.enter()?;
        f().map_err(|error| self.fail(error))
    }

    fn most_shared(&self) -> i32 {
        self.device.attribute(SHARED_OPTIN).unwrap_or(48 << 10)
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

    /// Says, the first time, that there is no memory for the shadow of an allocation.
    fn say_uncovered(&self, size: u64) {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
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

    fn checks_on_host(&self) -> bool {
        false
    }

    fn attribute(&self, attribute: u32) -> Result<c_int> {
        self.call(|| self.device.attribute(attribute))
    }

    fn properties(&self) -> cudaDeviceProp {
        let mut properties = properties::of_attributes(|number| self.device.attribute(number).ok());
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
        // The driver says when there is no more.
        usize::MAX
    }

    fn set_limit(&self, number: u32, value: usize) -> Result {
        self.call(|| self.device.set_limit(number, value))
    }

    fn open(&self, payload: &Payload, meta: &ModuleMeta) -> Result<super::Code> {
        self.load(payload, meta).map(super::Code::Gpu)
    }

    unsafe fn bind_managed(&self, cell: usize, host: usize, size: usize) -> Result {
        // SAFETY: as the caller vouches.
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
        let super::Entry::Gpu(entry) = &kernel.entry else { return foreign() };
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
        let super::Entry::Gpu(entry) = &kernel.entry else { return foreign() };
        self.call(|| entry.bare.0.allow_dynamic_shared(bytes as i32))
    }

    fn resident_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u32> {
        let super::Entry::Gpu(entry) = &kernel.entry else { return foreign() };
        let of = |function: Function| self.call(|| function.resident_blocks(threads as i32, dynamic_shared));
        let bare = of(entry.bare.0)?;
        // Whichever of the two a launch is going to run.
        let checked = match &entry.checked {
            Some((function, _)) if entry.can_check(self, threads, dynamic_shared as u32) => of(*function)?,
            _ => bare,
        };
        Ok(bare.min(checked).max(0) as u32)
    }

    fn max_cooperative_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u64> {
        let of_one = u64::from(self.resident_blocks(kernel, threads, dynamic_shared)?);
        Ok(of_one * self.attribute(MULTIPROCESSORS)?.max(0) as u64)
    }

    fn run(&self, launch: &Launch<'_>) -> Result {
        let super::Entry::Gpu(entry) = &launch.kernel.entry else { return foreign() };
        self.enter()?;
        let session = session::get();
        let launching = self.launching.lock();
        let begun = session.begin(launch);
        let threads = launch.block.iter().product();
        let variant = match &begun.wanted {
            None => Variant::Bare,
            Some(_) if entry.can_check(self, threads, launch.dynamic_shared) => Variant::Checked,
            Some(_) => {
                session.runs_unchecked(&begun.record);
                Variant::Bare
            }
        };
        let sync = &launch.kernel.meta().sync;
        let key = KernelKey(launch.kernel.key);
        let events = if variant == Variant::Checked { self.replays.lock().events_of(key, sync) } else { 0 };
        let start = launch.args.as_ptr().cast::<u8>();
        let params = launch.kernel.meta().params.iter();
        let arguments: Vec<*mut c_void> =
            params.map(|param| start.wrapping_add(param.offset as usize).cast_mut().cast()).collect();
        let request = gpurace_cuda::Launch {
            kernel: launch.kernel.name.to_str().map_err(|_| Error::INVALID_DEVICE_FUNCTION)?,
            variant,
            grid: launch.grid,
            block: launch.block,
            static_shared: entry.bare.1.shared as u32,
            dynamic_shared: launch.dynamic_shared,
            cooperative: launch.cooperative,
            cluster: launch.cluster,
            stream: self.stream(launch.stream),
            number: begun.record.operation,
            unordered: &begun.ordered.unordered,
            events,
            observes: sync.observes,
        };
        self.submitted.lock().add_launch(request.number, request.unordered, sync.fences || sync.observes);
        let submitted = {
            let mut gpu = self.gpu.lock();
            // SAFETY: the arguments lie as the description of the kernel says.
            let submitted = unsafe { gpu.launch(&mut entry.module.lock(), &request, &arguments) };
            if submitted.is_ok() && gpu.has_log(request.number) {
                let shared = entry.checked.map_or(0, |(_, attributes)| attributes.shared) as usize;
                let shared = shared + launch.dynamic_shared as usize;
                self.replays.lock().add(launch, request.number, shared, begun.ordered.overlaps);
            }
            submitted
        };
        drop(launching);
        submitted.map_err(|error| self.fail(error))
    }

    fn take(&self, request: Request, kind: Kind) -> Result<usize> {
        let size = request.size as u64;
        self.call(|| match kind {
            Kind::Host => driver::page_locked(size).map(|host| host as usize),
            Kind::Managed => self.gpu.lock().allocate_managed(size).map(|address| address as usize),
            Kind::Array => arrays::reserve(request.size),
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

    fn before_free(&self) -> Result {
        self.wait(Until::AllIsOver)
    }

    unsafe fn give(&self, address: usize, request: Request, kind: Kind) {
        // What is there next is another object.
        self.benign.lock().retain(|meant| !(address..address + request.size).contains(&meant.start));
        // What cannot be freed is the driver's then.
        let _ = self.call(|| match kind {
            // SAFETY: as the caller vouches.
            Kind::Host => unsafe { driver::free_page_locked(address as *mut c_void) },
            Kind::Managed => self.gpu.lock().free_managed(address as u64),
            Kind::Array => {
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

    fn make_array(&self, array: &Array) -> Result {
        let format = texture::format(&array.format)?;
        self.call(|| self.arrays.make(array, format))
    }

    fn create_object(
        &self,
        object: Object,
        resource: &cudaResourceDesc,
        desc: Option<&cudaTextureDesc>,
    ) -> Result<u64> {
        let handle = self.call(|| self.arrays.object(&object, resource, desc))?;
        self.replays.lock().add_object(handle, object);
        Ok(handle)
    }

    fn destroy_object(&self, handle: u64, is_texture: bool) -> Result {
        self.call(|| {
            if is_texture {
                driver::array::destroy_texture(handle)
            } else {
                driver::array::destroy_surface(handle)
            }
        })?;
        self.replays.lock().end_object(handle, is_texture);
        Ok(())
    }

    unsafe fn copy(&self, to: Rows, from: Rows, extent: cudaExtent, stream: StreamId, wait: bool) -> Result {
        let stream = self.stream(stream);
        let address = |rows: Rows, slice: usize| rows.start as u64 + (rows.slice * slice) as u64;
        let dense = |rows: Rows| extent.height == 1 || rows.pitch == extent.width;
        self.call(|| {
            // SAFETY: as the caller vouches.
            if let Some(copied) = unsafe { self.arrays.copy(to, from, extent, stream) } {
                copied?;
                return if wait { stream.wait() } else { Ok(()) };
            }
            for slice in 0..extent.depth {
                let (to_address, from_address) = (address(to, slice), address(from, slice));
                // SAFETY: as the caller vouches.
                unsafe {
                    if dense(to) && dense(from) {
                        stream.copy(to_address, from_address, extent.width * extent.height)?;
                        continue;
                    }
                    let rows = |rows: Rows, address| {
                        Place::Memory(Pitched { address, pitch: rows.pitch, rows: extent.height })
                    };
                    stream.copy_rows(
                        rows(to, to_address),
                        rows(from, from_address),
                        [extent.width, extent.height, 1],
                    )?;
                }
            }
            if wait { stream.wait() } else { Ok(()) }
        })?;
        if wait {
            session::get().collect();
        }
        Ok(())
    }

    unsafe fn fill(
        &self,
        to: Rows,
        (value, element): (u32, usize),
        extent: cudaExtent,
        stream: StreamId,
        wait: bool,
    ) -> Result {
        let stream = self.stream(stream);
        self.call(|| {
            for slice in 0..extent.depth {
                let address = to.start as u64 + (to.slice * slice) as u64;
                stream.fill(address, to.pitch, (value, element), extent.width / element, extent.height)?;
            }
            if wait { stream.wait() } else { Ok(()) }
        })?;
        if wait {
            session::get().collect();
        }
        Ok(())
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
        session::get().collect();
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
        // SAFETY: as the caller vouches.
        self.call(|| unsafe { stream.call_host(function, data) })
    }

    fn benign(&self, address: usize, size: usize) {
        self.benign.lock().push(address..address.saturating_add(size));
    }

    fn placing(&self) -> Option<MutexGuard<'_, ()>> {
        Some(self.launching.lock())
    }

    fn touch(&self, copied: Copied) {
        let touched: Vec<Touched> = copied.parts.iter().flat_map(|&part| rows_of(part)).collect();
        let (number, unordered, stream) =
            (copied.number, copied.unordered.clone(), self.stream(copied.stream));
        self.submitted.lock().add_copy(copied);
        let transfer = Transfer { touched: &touched, stream, number, unordered: &unordered };
        // An error of these is said.
        if self.checking.get().is_none() {
            modules::load_checked();
        }
        let Some(module) = self.checking.get().filter(|_| self.enter().is_ok()) else { return };
        let submitted = self.gpu.lock().touch(&mut module.lock(), &transfer);
        // What a kernel did wrong the copy itself fails by.
        if let Err(error) = submitted.as_ref()
            && !FAULTS.contains(&error.code)
        {
            session::get()
                .note_once(format!("copies not checked against launches that may overlap them: {error}"));
        }
    }

    fn take_found(&self) -> Vec<Found> {
        // Once the driver has ended its memory is gone; all was fetched before.
        if self.last.get().is_some() {
            return Vec::new();
        }
        // A signal may have come while another call holds it.
        let Some(mut gpu) = self.gpu.try_lock_for(std::time::Duration::from_secs(1)) else {
            return Vec::new();
        };
        let (taken, logs) = (gpu.take_found(), gpu.take_logs());
        drop(gpu);
        let replayed = self.replays.lock().run(&logs);
        let told = found::join(&taken, replayed, &self.submitted.lock(), &mut self.benign.lock());
        self.undecided.fetch_add(told.undecided, Ordering::Relaxed);
        let found = |(record, shared_offset): (RaceRecord, Option<u32>)| {
            let object =
                (record.space == Space::Global).then(|| resolve::global_object(record.address)).flatten();
            Found { record, object, shared_offset }
        };
        told.races.into_iter().map(found).collect()
    }

    fn shared_place(&self, kernel: &Kernel, offset: u32) -> Option<u64> {
        let super::Entry::Gpu(entry) = &kernel.entry else { return None };
        entry.shared_place(&self.device, kernel.meta(), offset)
    }

    fn take_checks(&self) -> Vec<(u64, u64)> {
        self.last.get().map(|last| std::mem::take(&mut *last.checks.lock())).unwrap_or_default()
    }

    fn notes(&self) -> Vec<String> {
        self.counted()
    }
}

/// What a copy touches, slice by slice.
fn rows_of(part: Part) -> impl Iterator<Item = Touched> {
    let transfer::Rows { start, width, rows: (rows, pitch), slices: (slices, slice) } = part.rows.joined();
    (0..slices).map(move |z| Touched {
        start: (start + z * slice) as u64,
        width: width as u64,
        rows: rows as u64,
        pitch: pitch as u64,
        writes: part.writes,
        site: part.site,
    })
}
