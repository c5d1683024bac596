//! The device and its context.

use std::ffi::{CStr, c_void};
use std::ptr;

use cudarc::driver::sys;

use super::{Address, Error, NOT_THERE, Physical, Result, Stream, Unavailable, asked, call, library};

/// `CUDA_ERROR_STUB_LIBRARY`.
const STUB: u32 = 34;

/// The GPU and its context.
#[derive(Clone, Debug)]
pub struct Device {
    handle: sys::CUdevice,
    context: sys::CUcontext,
    /// The stream of the backend's own copies. It waits for no other stream: on the default stream,
    /// each copy would wait for the program's kernels.
    service: Stream,
    /// The driver's name of the GPU.
    pub name: String,
    /// Number of multiprocessors.
    pub multiprocessors: u64,
    /// The most resident blocks of a multiprocessor.
    pub blocks_per_multiprocessor: u64,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_per_multiprocessor: u64,
    /// Bytes at the start of a block's shared memory that the system keeps.
    pub reserved_shared: u64,
    /// Most bytes of shared memory that a block may ask for, or 0 if the driver does not tell where its
    /// own begin.
    pub shared_per_block: u64,
    /// 80 for compute capability 8.0.
    pub arch: u32,
}

// SAFETY: the context is a handle of the driver, which any thread may use.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// Succeeds if there is a driver.
///
/// # Errors
/// [`Unavailable::NoDriver`].
pub fn present() -> std::result::Result<(), Unavailable> {
    if library::is_there() { Ok(()) } else { Err(Unavailable::NoDriver) }
}

/// Opens the driver and its first GPU, with the context that CUDA's own runtime would use, and
/// makes that context current in this thread.
///
/// # Errors
/// The reason why there is none.
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
    let reserved = attribute(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    let of_block = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
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
        reserved_shared: reserved.as_ref().map_or(0, |&bytes| bytes as u64),
        shared_per_block: reserved.and(of_block).map_or(0, |bytes| bytes as u64),
        arch: (major * 10 + minor) as u32,
    })
}

impl Device {
    /// Makes the context current in this thread, unless it is: the program may have made another
    /// one current.
    pub fn enter(&self) -> Result {
        let mut current = ptr::null_mut();
        call!(cuCtxGetCurrent(&mut current))?;
        if current == self.context { Ok(()) } else { call!(cuCtxSetCurrent(self.context)) }
    }

    /// The value of an attribute. `CUdevice_attribute` and `cudaDeviceAttr` have the same numbers.
    ///
    /// # Errors
    /// The driver's: there is no such attribute.
    pub fn attribute(&self, number: u32) -> Result<i32> {
        type GetAttribute = unsafe extern "C" fn(*mut i32, u32, sys::CUdevice) -> u32;
        let mut value = 0;
        // The binding's enumeration may lack an attribute that the program asks for.
        // SAFETY: the function's own signature, with a number in place of the enumeration.
        let ask = library::address(c"cuDeviceGetAttribute")
            .map(|function| unsafe { std::mem::transmute::<*mut c_void, GetAttribute>(function) });
        // SAFETY: writes the value.
        asked("cuDeviceGetAttribute", ask.map(|ask| unsafe { ask(&mut value, number, self.handle) }))?;
        Ok(value)
    }

    /// Its UUID, or zeros.
    pub fn uuid(&self) -> [u8; 16] {
        // SAFETY: all zeros is a value.
        let mut uuid: sys::CUuuid = unsafe { std::mem::zeroed() };
        let _ = call!(cuDeviceGetUuid_v2(&mut uuid, self.handle));
        uuid.bytes.map(|byte| byte as u8)
    }

    /// Fills memory with zeros, and waits for that.
    pub fn clear(&self, address: Address, size: u64) -> Result {
        call!(cuMemsetD8Async(address, 0, size as usize, self.service.raw()))?;
        self.service.wait()
    }

    /// Copies bytes to the device, and waits for that.
    pub fn write(&self, to: Address, from: &[u8]) -> Result {
        call!(cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), self.service.raw()))?;
        self.service.wait()
    }

    /// Copies bytes from the device, and waits for that.
    pub fn read(&self, to: &mut [u8], from: Address) -> Result {
        call!(cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), self.service.raw()))?;
        self.service.wait()
    }

    /// Sets a limit. `CUlimit` and `cudaLimit` have the same numbers up to 6.
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

    /// Bytes of the device's memory: free and in total.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        call!(cuMemGetInfo_v2(&mut free, &mut total))?;
        Ok((free as u64, total as u64))
    }

    /// The properties of physical memory on the device.
    fn properties(&self) -> sys::CUmemAllocationProp {
        // SAFETY: all zeros is a value of each field.
        let mut properties: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
        properties.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        // In newer versions of the interface the field is part of a union.
        properties.location.id = self.handle;
        properties
    }

    /// The unit of sizes and addresses of physical memory, in bytes.
    pub fn granularity(&self) -> Result<u64> {
        let mut granularity = 0;
        let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        call!(cuMemGetAllocationGranularity(&mut granularity, &self.properties(), minimum))?;
        Ok((granularity as u64).max(1))
    }

    /// Allocates physical memory, without an address.
    ///
    /// # Errors
    /// The driver's: out of memory.
    pub fn create(&self, size: u64) -> Result<Physical> {
        let mut handle = 0;
        call!(cuMemCreate(&mut handle, size as usize, &self.properties(), 0))?;
        Ok(Physical::new(handle))
    }

    /// Maps physical memory at reserved addresses, for kernels to read and write.
    pub fn map(&self, address: Address, size: u64, memory: Physical) -> Result {
        call!(cuMemMap(address, size as usize, 0, memory.raw(), 0))?;
        // SAFETY: all zeros is a value of each field.
        let mut access: sys::CUmemAccessDesc = unsafe { std::mem::zeroed() };
        access.location = self.properties().location;
        access.flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        call!(cuMemSetAccess(address, size as usize, &access, 1))
    }
}

/// Waits for all work of the context.
///
/// # Errors
/// The driver's, and the fault of a kernel.
pub fn wait_for_all() -> Result {
    call!(cuCtxSynchronize())
}
