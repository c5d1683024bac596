//! The driver API, as much of it as the backend calls.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | errors, the device and its context, memory, modules |
//! | [`kernel`] | attributes of kernels, launches |
//! | [`queue`] | streams, events, copies and fills in their order |
//! | [`array`] | arrays, textures, surfaces |
//! | `library` | the driver's library and its functions |
//!
//! What the backend itself writes, it writes on a stream of its own that waits for nobody: on
//! the default stream each write would wait for the program's kernels.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use cudarc::driver::sys;

pub mod array;
pub mod kernel;
mod library;
pub mod queue;

pub use kernel::Function;
pub use queue::{Event, Stream};

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{call}` failed: {name}")]
pub struct Error {
    /// The function.
    pub call: &'static str,
    /// The driver's name of the error, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// Its number.
    pub code: u32,
}

impl Error {
    /// Whether memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        self.code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32
    }

    /// There is no memory, or no room, left.
    pub fn out_of_memory(call: &'static str) -> Self {
        Self {
            call,
            name: "CUDA_ERROR_OUT_OF_MEMORY".to_owned(),
            code: sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32,
        }
    }

    /// The driver does it, and not as it is needed.
    pub(crate) fn not_supported(call: &'static str) -> Self {
        Self {
            call,
            name: "CUDA_ERROR_NOT_SUPPORTED".to_owned(),
            code: sys::CUresult::CUDA_ERROR_NOT_SUPPORTED as u32,
        }
    }
}

/// The result of a call.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// Why there is no GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No `libcuda`.
    #[error("no NVIDIA driver: `libcuda.so.1` was not found")]
    NoDriver,
    /// A driver without some function that the backend calls.
    #[error("the NVIDIA driver is too old: it has no `{0}`")]
    TooOld(String),
    /// What programs are linked with where there is no driver.
    #[error(
        "`{0}` is the stub that CUDA has for linking, wanted the NVIDIA driver's library: take its folder out of LD_LIBRARY_PATH"
    )]
    Stub(String),
    /// The driver has no GPU, or an error of its own.
    #[error("no NVIDIA GPU: {0}")]
    NoDevice(#[from] Error),
    /// A GPU on which threads of a warp run in lockstep.
    #[error("the GPU has compute capability {major}.{minor}, wanted 7.0 or newer")]
    TooOldDevice {
        /// 6 of 6.1.
        major: i32,
        /// 1 of 6.1.
        minor: i32,
    },
}

/// What an error says of a function that the driver has not.
const NOT_THERE: &str = "not in the driver";
/// `CUDA_ERROR_STUB_LIBRARY`.
const STUB: u32 = 34;

/// An address on the device.
pub type Address = u64;
/// A loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleHandle(sys::CUmodule);

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for ModuleHandle {}
// SAFETY: as above.
unsafe impl Sync for ModuleHandle {}
/// Physical memory.
#[derive(Clone, Copy, Debug)]
pub struct Physical(u64);

fn check(call: &'static str, code: u32) -> Result {
    if code == sys::CUresult::CUDA_SUCCESS as u32 {
        return Ok(());
    }
    let name = library::name_of_error(code).unwrap_or_else(|| format!("error {code}"));
    Err(Error { call, name, code })
}

/// Calls a function of the driver; its name is that of the error.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        static PLACE: std::sync::atomic::AtomicPtr<std::ffi::c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        const NAME: &str = concat!(stringify!($name), "\0");
        let binding: unsafe fn($($crate::driver::open_type!($argument)),*) -> _ = cudarc::driver::sys::$name;
        let given = match $crate::driver::library::function(binding, $crate::driver::nul_ended(NAME), &PLACE) {
            // SAFETY: outputs are places of their own, inputs are handles and addresses
            // that the driver gave; a wrong one is an error that it returns.
            Some(function) => Some(unsafe { function($($argument),*) }),
            None => None,
        };
        $crate::driver::asked(stringify!($name), given)
    }};
}
/// The type of a parameter, whatever its argument is.
macro_rules! open_type {
    ($argument:expr) => {
        _
    };
}
use {call, open_type};

fn nul_ended(name: &'static str) -> &'static CStr {
    CStr::from_bytes_until_nul(name.as_bytes()).unwrap_or_default()
}

/// What a call has given; `None`: the driver has no such function.
fn asked(call: &'static str, given: Option<u32>) -> Result {
    match given {
        Some(code) => check(call, code),
        None => {
            Err(Error { call, name: NOT_THERE.to_owned(), code: sys::CUresult::CUDA_ERROR_NOT_FOUND as u32 })
        }
    }
}

/// The GPU and its context, current in this thread.
#[derive(Clone, Debug)]
pub struct Device {
    handle: sys::CUdevice,
    context: sys::CUcontext,
    /// The backend's own.
    service: Stream,
    /// What the driver calls it.
    pub name: String,
    /// Multiprocessors.
    pub multiprocessors: u64,
    /// Most resident blocks of one of them.
    pub blocks_per_multiprocessor: u64,
    /// Its shared memory, bytes.
    pub shared_per_multiprocessor: u64,
    /// 80 for compute capability 8.0.
    pub arch: u32,
}

// SAFETY: the context is a handle of the driver, which takes it from any thread.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// Whether there is a driver.
///
/// # Errors
/// That there is none.
pub fn present() -> std::result::Result<(), Unavailable> {
    if library::is_there() { Ok(()) } else { Err(Unavailable::NoDriver) }
}

/// Opens the driver and its first GPU, with the context that CUDA's own runtime would use.
///
/// # Errors
/// Why there is none.
pub fn open() -> std::result::Result<Device, Unavailable> {
    present()?;
    first_device().map_err(|why| match why {
        Unavailable::NoDevice(error) if error.name == NOT_THERE => Unavailable::TooOld(error.call.to_owned()),
        Unavailable::NoDevice(error) if error.code == STUB => {
            Unavailable::Stub(library::path().unwrap_or_default())
        }
        why => why,
    })
}

fn first_device() -> std::result::Result<Device, Unavailable> {
    use sys::CUdevice_attribute as Attribute;
    call!(cuInit(0))?;
    let mut handle = 0;
    call!(cuDeviceGet(&mut handle, 0))?;
    let attribute = |which: Attribute| -> Result<i32> {
        let mut value = 0;
        call!(cuDeviceGetAttribute(&mut value, which, handle))?;
        Ok(value)
    };
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    if major < 7 {
        return Err(Unavailable::TooOldDevice { major, minor });
    }
    let mut name = [0u8; 128];
    call!(cuDeviceGetName(name.as_mut_ptr().cast(), 127, handle))?;
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
    let mut context = ptr::null_mut();
    call!(cuDevicePrimaryCtxRetain(&mut context, handle))?;
    call!(cuCtxSetCurrent(context))?;
    let service = Stream::urgent()?;
    let count = |n: i32| u64::try_from(n).unwrap_or(0).max(1);
    Ok(Device {
        handle,
        context,
        service,
        name,
        multiprocessors: count(attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?),
        blocks_per_multiprocessor: count(attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
        )?),
        shared_per_multiprocessor: count(attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?),
        arch: (major * 10 + minor) as u32,
    })
}

impl Device {
    /// Makes the context current in this thread, where it is not: the program may have made another one so since.
    ///
    /// # Errors
    /// The driver's.
    pub fn enter(&self) -> Result {
        let mut current = ptr::null_mut();
        call!(cuCtxGetCurrent(&mut current))?;
        if current == self.context { Ok(()) } else { call!(cuCtxSetCurrent(self.context)) }
    }

    /// The value of an attribute; `CUdevice_attribute` and `cudaDeviceAttr` number them alike.
    ///
    /// # Errors
    /// The driver's: there is no such attribute.
    pub fn attribute(&self, number: u32) -> Result<i32> {
        type Ask = unsafe extern "C" fn(*mut i32, u32, sys::CUdevice) -> u32;
        let mut value = 0;
        // By number, since the binding's enumeration may not have what the program asks for.
        // SAFETY: the function's own signature, the enumeration as the number that it is.
        let ask = library::address(c"cuDeviceGetAttribute")
            .map(|function| unsafe { std::mem::transmute::<*mut c_void, Ask>(function) });
        // SAFETY: writes the value.
        asked("cuDeviceGetAttribute", ask.map(|ask| unsafe { ask(&mut value, number, self.handle) }))?;
        Ok(value)
    }

    /// Its UUID; zeros where it has none.
    pub fn uuid(&self) -> [u8; 16] {
        // SAFETY: all zeros is a value.
        let mut uuid: sys::CUuuid = unsafe { std::mem::zeroed() };
        let _ = call!(cuDeviceGetUuid_v2(&mut uuid, self.handle));
        uuid.bytes.map(|byte| byte as u8)
    }

    /// Fills memory with zeros, at once.
    ///
    /// # Errors
    /// The driver's.
    pub fn clear(&self, address: Address, size: u64) -> Result {
        call!(cuMemsetD8Async(address, 0, size as usize, self.service.raw()))?;
        self.service.wait()
    }

    /// Copies bytes to the device, at once.
    ///
    /// # Errors
    /// The driver's.
    pub fn write(&self, to: Address, from: &[u8]) -> Result {
        call!(cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), self.service.raw()))?;
        self.service.wait()
    }

    /// Copies bytes from the device, at once.
    ///
    /// # Errors
    /// The driver's.
    pub fn read(&self, to: &mut [u8], from: Address) -> Result {
        call!(cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), self.service.raw()))?;
        self.service.wait()
    }

    /// Sets a limit; `CUlimit` and `cudaLimit` number them alike up to 6.
    ///
    /// # Errors
    /// The driver's: there is no such limit, or it cannot be so large.
    pub fn set_limit(&self, number: u32, value: usize) -> Result {
        use sys::CUlimit as Limit;
        const LIMITS: [Limit; 7] = [
            Limit::CU_LIMIT_STACK_SIZE,
            Limit::CU_LIMIT_PRINTF_FIFO_SIZE,
            Limit::CU_LIMIT_MALLOC_HEAP_SIZE,
            Limit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
            Limit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
            Limit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
            Limit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
        ];
        match LIMITS.get(number as usize) {
            Some(&limit) => call!(cuCtxSetLimit(limit, value)),
            None => Err(Error {
                call: "cuCtxSetLimit",
                name: "CUDA_ERROR_UNSUPPORTED_LIMIT".to_owned(),
                code: 215,
            }),
        }
    }

    /// Memory of its own, bytes: free and in all.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        call!(cuMemGetInfo_v2(&mut free, &mut total))?;
        Ok((free as u64, total as u64))
    }

    fn properties(&self) -> sys::CUmemAllocationProp {
        // SAFETY: all zeros is a value of each field.
        let mut properties: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
        properties.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        // The field is part of a union in newer versions of the interface.
        properties.location.id = self.handle;
        properties
    }

    /// What sizes and addresses of physical memory are multiples of, bytes.
    ///
    /// # Errors
    /// The driver's.
    pub fn granularity(&self) -> Result<u64> {
        let mut granularity = 0;
        let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        call!(cuMemGetAllocationGranularity(&mut granularity, &self.properties(), minimum))?;
        Ok((granularity as u64).max(1))
    }

    /// Physical memory.
    ///
    /// # Errors
    /// The driver's: where there is no more, out of memory.
    pub fn create(&self, size: u64) -> Result<Physical> {
        let mut handle = 0;
        call!(cuMemCreate(&mut handle, size as usize, &self.properties(), 0))?;
        Ok(Physical(handle))
    }

    /// Puts physical memory at reserved addresses, for kernels to read and write.
    ///
    /// # Errors
    /// The driver's.
    pub fn map(&self, address: Address, size: u64, memory: Physical) -> Result {
        call!(cuMemMap(address, size as usize, 0, memory.0, 0))?;
        // SAFETY: all zeros is a value of each field.
        let mut access: sys::CUmemAccessDesc = unsafe { std::mem::zeroed() };
        access.location = self.properties().location;
        access.flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        call!(cuMemSetAccess(address, size as usize, &access, 1))
    }
}

/// Gives physical memory back, once it is mapped nowhere.
///
/// # Errors
/// The driver's.
pub fn release(memory: Physical) -> Result {
    call!(cuMemRelease(memory.0))
}

/// Takes memory from its addresses.
///
/// # Errors
/// The driver's.
pub fn unmap(address: Address, size: u64) -> Result {
    call!(cuMemUnmap(address, size as usize))
}

/// Addresses without memory.
///
/// # Errors
/// The driver's.
pub fn reserve(size: u64) -> Result<Address> {
    let mut address = 0;
    call!(cuMemAddressReserve(&mut address, size as usize, 0, 0, 0))?;
    Ok(address)
}

/// Gives such addresses back.
///
/// # Errors
/// The driver's.
pub fn unreserve(address: Address, size: u64) -> Result {
    call!(cuMemAddressFree(address, size as usize))
}

/// Memory at an address of the driver's choice.
///
/// # Errors
/// The driver's.
pub fn allocate(size: u64) -> Result<Address> {
    let mut address = 0;
    call!(cuMemAlloc_v2(&mut address, size as usize))?;
    Ok(address)
}

/// Gives it back.
///
/// # Errors
/// The driver's.
pub fn free(address: Address) -> Result {
    call!(cuMemFree_v2(address))
}

/// Memory of the host that kernels see; its address here and there.
///
/// # Errors
/// The driver's.
pub fn mapped(size: u64) -> Result<(*mut c_void, Address)> {
    let host = page_locked(size)?;
    Ok((host, device_address(host as usize)?))
}

/// Memory that host and device both reach at one address.
///
/// # Errors
/// The driver's.
pub fn managed(size: u64) -> Result<Address> {
    let mut address = 0;
    // CU_MEM_ATTACH_GLOBAL
    call!(cuMemAllocManaged(&mut address, size as usize, 1))?;
    Ok(address)
}

/// Page-locked memory of the host; kernels reach it at the same address.
///
/// # Errors
/// The driver's.
pub fn page_locked(size: u64) -> Result<*mut c_void> {
    let mut host = ptr::null_mut();
    // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
    call!(cuMemHostAlloc(&mut host, size as usize, 1 | 2))?;
    Ok(host)
}

/// Gives it back.
///
/// # Safety
/// Nobody uses it.
///
/// # Errors
/// The driver's.
pub unsafe fn free_page_locked(host: *mut c_void) -> Result {
    call!(cuMemFreeHost(host))
}

/// Page-locks memory of the program.
///
/// # Errors
/// The driver's.
pub fn register(host: usize, size: usize, read_only: bool) -> Result {
    // CU_MEMHOSTREGISTER_PORTABLE | DEVICEMAP, READ_ONLY
    call!(cuMemHostRegister_v2(host as *mut c_void, size, 1 | 2 | (u32::from(read_only) << 3)))
}

/// Takes that back.
///
/// # Errors
/// The driver's.
pub fn unregister(host: usize) -> Result {
    call!(cuMemHostUnregister(host as *mut c_void))
}

/// Where kernels reach page-locked memory.
///
/// # Errors
/// The driver's: they do not.
pub fn device_address(host: usize) -> Result<Address> {
    let mut address = 0;
    call!(cuMemHostGetDevicePointer_v2(&mut address, host as *mut c_void, 0))?;
    Ok(address)
}

/// Loads a module: a cubin, or PTX that ends with a nul.
///
/// # Errors
/// The driver's; for PTX that it cannot compile, with what its compiler says.
pub fn load(code: &[u8]) -> Result<ModuleHandle> {
    let mut log = [0u8; 2048];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len() - 1)];
    let mut module = ptr::null_mut();
    let loaded = call!(cuModuleLoadDataEx(
        &mut module,
        code.as_ptr().cast(),
        2,
        options.as_mut_ptr(),
        values.as_mut_ptr()
    ));
    loaded.map(|()| ModuleHandle(module)).map_err(|mut error| {
        let said = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
        if let Some(line) = said.lines().find(|line| !line.trim().is_empty()) {
            error.name = format!("{}: {}", error.name, line.trim());
        }
        error
    })
}

/// What the driver calls itself: 12040 for that of CUDA 12.4.
///
/// # Errors
/// The driver's.
pub fn version() -> Result<i32> {
    let mut version = 0;
    call!(cuDriverGetVersion(&mut version))?;
    Ok(version)
}

fn c(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// A variable of a module: its address and its size, bytes.
///
/// # Errors
/// The driver's: not found.
pub fn variable(module: ModuleHandle, name: &str) -> Result<(Address, u64)> {
    let (mut address, mut size) = (0, 0);
    call!(cuModuleGetGlobal_v2(&mut address, &mut size, module.0, c(name).as_ptr()))?;
    Ok((address, size as u64))
}

/// Waits for all.
///
/// # Errors
/// The driver's, and what a kernel did wrong.
pub fn wait_for_all() -> Result {
    call!(cuCtxSynchronize())
}
