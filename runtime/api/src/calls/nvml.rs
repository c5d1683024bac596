//! NVML, which tells about devices: what programs ask it at their start. The answers are those of the CUDA Runtime
//! API. What no device of gpurace knows, such as power and temperature, is `NVML_ERROR_NOT_SUPPORTED`.
//!
//! A handle of NVML's is the device's number and one, so none is null.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write as _;

use crate::calls::start::process;
use crate::host::edge::guard;
use crate::host::limits::CUDA_VERSION;
use crate::work::Process;
use crate::work::devices::pci_bus_id;

/// `nvmlReturn_t`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(u32);

type Outcome = Result<(), Status>;

impl Status {
    const SUCCESS: Self = Self(0);
    const INVALID_ARGUMENT: Self = Self(2);
    const NOT_SUPPORTED: Self = Self(3);
    const NOT_FOUND: Self = Self(6);
    const INSUFFICIENT_SIZE: Self = Self(7);
    const UNKNOWN: Self = Self(999);

    fn text(self) -> &'static CStr {
        match self.0 {
            0 => c"Success",
            1 => c"Uninitialized",
            2 => c"Invalid Argument",
            3 => c"Not Supported",
            4 => c"Insufficient Permissions",
            6 => c"Not Found",
            7 => c"Insufficient Size",
            9 => c"Driver Not Loaded",
            _ => c"Unknown Error",
        }
    }
}

/// `nvmlDevice_t`.
type Handle = usize;

/// `nvmlMemory_t`.
#[repr(C)]
pub struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlPciInfo_t`.
#[repr(C)]
pub struct PciInfo {
    bus_id_legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    pci_device_id: u32,
    pci_sub_system_id: u32,
    bus_id: [u8; 32],
}

/// Attributes of the CUDA Runtime API.
const CLOCK_RATE: u32 = 13;
const MEMORY_CLOCK_RATE: u32 = 36;
const MEMORY_BUS_WIDTH: u32 = 37;
const CAPABILITY_MAJOR: u32 = 75;
const CAPABILITY_MINOR: u32 = 76;
/// `NVML_CLOCK_MEM`
const MEMORY_CLOCK: u32 = 2;
/// `NVML_CLOCK_VIDEO`, the last one.
const LAST_CLOCK: u32 = 3;

/// Writes a result through the caller's pointer.
unsafe fn put<T>(to: *mut T, value: T) -> Outcome {
    // SAFETY: the caller's.
    unsafe { crate::host::edge::put(to, value) }.map_err(|_| Status::INVALID_ARGUMENT)
}

/// Writes a text and a nul, for which the caller has this much room.
unsafe fn put_text(to: *mut c_char, room: u32, text: &str) -> Outcome {
    if to.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    if text.len() >= room as usize {
        return Err(Status::INSUFFICIENT_SIZE);
    }
    // SAFETY: not null, and there is room.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// The handle of a device that is there.
unsafe fn handle(to: *mut Handle, is_there: bool) -> Outcome {
    // SAFETY: the caller's.
    if is_there { unsafe { put(to, 1) } } else { Err(Status::NOT_FOUND) }
}

fn check(device: Handle) -> Outcome {
    if device == 1 { Ok(()) } else { Err(Status::INVALID_ARGUMENT) }
}

fn attribute(process: &Process, number: u32) -> Result<c_int, Status> {
    process.backend().attribute(number).map_err(|_| Status::NOT_SUPPORTED)
}

/// The device's name: bytes to the first nul.
fn name(process: &Process) -> String {
    let own = process.backend().properties().name;
    let length = own.iter().position(|&c| c == 0).unwrap_or(own.len());
    own[..length].iter().map(|&c| c as u8 as char).collect()
}

/// As `nvidia-smi -L` prints it.
fn uuid(process: &Process) -> String {
    let mut text = "GPU".to_owned();
    for (i, byte) in process.backend().properties().uuid.iter().enumerate() {
        let dash = if [0, 4, 6, 8, 10].contains(&i) { "-" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{dash}{:02x}", *byte);
    }
    text
}

/// True if a text of the program's is this one, or its end after zeros of a longer PCI domain.
unsafe fn is(asked: *const c_char, own: &str) -> Result<bool, Status> {
    if asked.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: not null, hence a C string.
    let asked = unsafe { CStr::from_ptr(asked) }.to_bytes();
    Ok(asked.eq_ignore_ascii_case(own.as_bytes())
        || asked.strip_prefix(b"0000").is_some_and(|end| end.eq_ignore_ascii_case(own.as_bytes())))
}

/// The bytes of a text, then zeros.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from;
    }
    bytes
}

/// The clock in MHz. All but the memory's are one.
unsafe fn put_clock(process: &Process, device: Handle, kind: u32, to: *mut u32) -> Outcome {
    check(device)?;
    let number = match kind {
        MEMORY_CLOCK => MEMORY_CLOCK_RATE,
        ..=LAST_CLOCK => CLOCK_RATE,
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    // SAFETY: the caller's.
    unsafe { put(to, attribute(process, number)?.unsigned_abs() / 1000) }
}

/// Defines functions of NVML. A body is one `unsafe` block, as for the CUDA Runtime API.
macro_rules! nvml {
    ($process:ident; $(fn $name:ident($($param:ident: $ty:ty),*) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of NVML.")]
        ///
        /// # Safety
        /// Pointers are as NVML documents them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($param: $ty),*) -> Status {
            guard(stringify!($name), Status::UNKNOWN, || {
                let $process = process();
                let _ = $process;
                // SAFETY: the caller keeps the contract of the C function.
                #[allow(unused_unsafe)]
                let body = || -> Outcome { unsafe { $body } };
                body().err().unwrap_or(Status::SUCCESS)
            })
        }
    )*};
}

/// Defines functions that tell what no device of gpurace knows, or that would change a GPU.
macro_rules! unknown {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of NVML: not supported.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(device: Handle) -> Status {
            check(device).err().unwrap_or(Status::NOT_SUPPORTED)
        }
    )*};
}

nvml! { process;
    fn nvmlInit_v2() { Ok(()) }

    fn nvmlInitWithFlags(_flags: u32) { Ok(()) }

    fn nvmlShutdown() { Ok(()) }

    fn nvmlSystemGetDriverVersion(to: *mut c_char, room: u32) { put_text(to, room, env!("CARGO_PKG_VERSION")) }

    fn nvmlSystemGetNVMLVersion(to: *mut c_char, room: u32) { put_text(to, room, env!("CARGO_PKG_VERSION")) }

    fn nvmlSystemGetCudaDriverVersion(to: *mut c_int) { put(to, CUDA_VERSION) }

    fn nvmlSystemGetCudaDriverVersion_v2(to: *mut c_int) { put(to, CUDA_VERSION) }

    fn nvmlDeviceGetCount_v2(to: *mut u32) { put(to, 1) }

    fn nvmlDeviceGetHandleByIndex_v2(index: u32, to: *mut Handle) {
        if index != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        handle(to, true)
    }

    fn nvmlDeviceGetHandleByPciBusId_v2(id: *const c_char, to: *mut Handle) {
        handle(to, is(id, &pci_bus_id(process))?)
    }

    fn nvmlDeviceGetHandleByUUID(id: *const c_char, to: *mut Handle) { handle(to, is(id, &uuid(process))?) }

    fn nvmlDeviceGetIndex(device: Handle, to: *mut u32) {
        check(device)?;
        put(to, 0)
    }

    fn nvmlDeviceGetName(device: Handle, to: *mut c_char, room: u32) {
        check(device)?;
        put_text(to, room, &name(process))
    }

    fn nvmlDeviceGetUUID(device: Handle, to: *mut c_char, room: u32) {
        check(device)?;
        put_text(to, room, &uuid(process))
    }

    fn nvmlDeviceGetPciInfo_v3(device: Handle, to: *mut PciInfo) {
        check(device)?;
        let (own, id) = (process.backend().properties(), pci_bus_id(process));
        put(to, PciInfo {
            bus_id_legacy: padded(&id),
            domain: own.pciDomainID.unsigned_abs(),
            bus: own.pciBusID.unsigned_abs(),
            device: own.pciDeviceID.unsigned_abs(),
            pci_device_id: 0,
            pci_sub_system_id: 0,
            bus_id: padded(&format!("0000{id}")),
        })
    }

    fn nvmlDeviceGetCudaComputeCapability(device: Handle, major: *mut c_int, minor: *mut c_int) {
        check(device)?;
        put(major, attribute(process, CAPABILITY_MAJOR)?)?;
        put(minor, attribute(process, CAPABILITY_MINOR)?)
    }

    fn nvmlDeviceGetMemoryInfo(device: Handle, to: *mut Memory) {
        check(device)?;
        let (free, total) = process.backend().memory();
        put(to, Memory { total: total as u64, free: free as u64, used: total.saturating_sub(free) as u64 })
    }

    fn nvmlDeviceGetMemoryBusWidth(device: Handle, to: *mut u32) {
        check(device)?;
        put(to, attribute(process, MEMORY_BUS_WIDTH)?.unsigned_abs())
    }

    fn nvmlDeviceGetClockInfo(device: Handle, kind: u32, to: *mut u32) { put_clock(process, device, kind, to) }

    fn nvmlDeviceGetMaxClockInfo(device: Handle, kind: u32, to: *mut u32) { put_clock(process, device, kind, to) }
}

unknown! {
    nvmlDeviceGetSerial
    nvmlDeviceGetTemperature
    nvmlDeviceGetPowerUsage
    nvmlDeviceGetPowerManagementLimit
    nvmlDeviceGetEnforcedPowerLimit
    nvmlDeviceGetTotalEnergyConsumption
    nvmlDeviceGetFanSpeed
    nvmlDeviceGetUtilizationRates
    nvmlDeviceGetPersistenceMode
    nvmlDeviceSetPersistenceMode
    nvmlDeviceSetCpuAffinity
    nvmlDeviceSetGpuLockedClocks
    nvmlDeviceResetGpuLockedClocks
}

/// `nvmlErrorString` of NVML.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(status: Status) -> *const c_char {
    status.text().as_ptr()
}
