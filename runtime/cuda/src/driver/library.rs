//! The driver's library, opened on demand by the name that every driver has. Its functions are
//! looked up when they are first called. They have the parameters that `cudarc` declares, but
//! return a number. A driver may know errors that `cudarc`'s enumeration lacks, and no value of the
//! enumeration may have such a number.
//!
//! Nothing links `libcuda`. So no stub of it is needed to build, and a mock can replace it in tests.
//! `cudarc`'s own functions would open the stub.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use cudarc::driver::sys::CUresult;

/// The name that each driver has.
const NAME: &CStr = c"libcuda.so.1";
/// What gpurace's own library exports, and no driver.
const OWN_MARK: &CStr = c"__gpurace_driver_api";
/// Where systems have the driver: Debian, Fedora, others, WSL, containers.
const PLACES: [&CStr; 5] = [
    c"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    c"/usr/lib64/libcuda.so.1",
    c"/usr/lib/libcuda.so.1",
    c"/usr/lib/wsl/lib/libcuda.so.1",
    c"/usr/local/nvidia/lib64/libcuda.so.1",
];

/// The handle of the library, which is never closed.
struct Library(*mut c_void);

// SAFETY: a handle of the dynamic linker, which any thread may use.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    LIBRARY.get_or_init(|| open(NAME).or_else(behind_own)).as_ref()
}

/// The driver's library of this name. `None` if there is none, or if it is gpurace's own.
fn open(name: &CStr) -> Option<Library> {
    // SAFETY: opens the library, whose constructors are NVIDIA's.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!handle.is_null() && !is_own(handle)).then_some(Library(handle))
}

/// True for gpurace's own driver API, which `gpurace run` puts first under the driver's name.
fn is_own(handle: *mut c_void) -> bool {
    // SAFETY: looks a name up in a library that is open.
    !unsafe { libc::dlsym(handle, OWN_MARK.as_ptr()) }.is_null()
}

/// The driver's library where systems have it, if gpurace's own is found first.
fn behind_own() -> Option<Library> {
    // SAFETY: opens the library that is found first.
    let first = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if first.is_null() { None } else { PLACES.iter().find_map(|place| open(place)) }
}

/// True if there is such a library.
pub fn is_there() -> bool {
    library().is_some()
}

/// The library's file.
pub fn path() -> Option<String> {
    let function = address(c"cuInit")?;
    // SAFETY: all zeros is a value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: asks for the library that holds an address.
    if unsafe { libc::dladdr(function, &mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker's constant.
    Some(unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned())
}

/// The address of a function.
pub fn address(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up.
    let found = unsafe { libc::dlsym(library()?.0, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The driver's name of an error.
pub fn name_of_error(code: u32) -> Option<String> {
    type GetErrorName = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
    let function = address(c"cuGetErrorName")?;
    // SAFETY: the function's own signature, with a number in place of the enumeration.
    let ask = unsafe { std::mem::transmute::<*mut c_void, GetErrorName>(function) };
    let mut name = ptr::null();
    // SAFETY: writes the address of a constant, or nothing.
    if unsafe { ask(code, &mut name) } != 0 || name.is_null() {
        return None;
    }
    // SAFETY: the driver's constant.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// A function of the binding. Its type has the parameters of the driver's function.
pub trait Binding {
    /// The driver's function, which returns a number.
    type Callable: Copy;

    /// The driver's function at an address.
    ///
    /// # Safety
    /// It is the function that the binding declares.
    unsafe fn at(address: *mut c_void) -> Self::Callable;
}

macro_rules! bindings {
    ($([$($parameter:ident)*])*) => {
        $(impl<$($parameter),*> Binding for unsafe fn($($parameter),*) -> CUresult {
            type Callable = unsafe extern "C" fn($($parameter),*) -> u32;

            unsafe fn at(address: *mut c_void) -> Self::Callable {
                // SAFETY: the caller keeps the contract above. `CUresult` is an enumeration of C,
                // which is such a number.
                unsafe { std::mem::transmute::<*mut c_void, Self::Callable>(address) }
            }
        })*
    };
}
bindings! {
    [] [A] [A B] [A B C] [A B C D] [A B C D E] [A B C D E F] [A B C D E F G] [A B C D E F G H] [A B C D E F G H I] [A B C D E F G H I J]
    [A B C D E F G H I J K]
}

/// The driver's function of this name, with the binding's type. `None` if the driver lacks it.
/// `place` caches its address.
pub fn function<B: Binding>(_: B, name: &CStr, place: &AtomicPtr<c_void>) -> Option<B::Callable> {
    let mut found = place.load(Ordering::Relaxed);
    if found.is_null() {
        found = address(name)?;
        place.store(found, Ordering::Relaxed);
    }
    // SAFETY: the function of that name, as the binding declares it.
    Some(unsafe { B::at(found) })
}
