//! The driver's library: opened on demand, by the one name that every driver has. Its functions are looked up when they are first called, with
//! the parameters that `cudarc` says they have, and give a number: a driver may know errors that the binding's enumeration does not have.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use cudarc::driver::sys::CUresult;

/// The handle of the library; it is never closed.
struct Library(*mut c_void);

// SAFETY: a handle of the dynamic linker, which takes it from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| {
        // SAFETY: opens the library, whose constructors are NVIDIA's.
        let handle = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!handle.is_null()).then_some(Library(handle))
    });
    opened.as_ref()
}

/// Whether there is one.
pub fn is_there() -> bool {
    library().is_some()
}

/// The file that it is.
pub fn path() -> Option<String> {
    let function = address(c"cuInit")?;
    // SAFETY: all zeros is a value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: asks for what an address of a library lies in.
    if unsafe { libc::dladdr(function, &mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker's constant.
    Some(unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned())
}

/// Where a function lies.
pub fn address(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up.
    let found = unsafe { libc::dlsym(library()?.0, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// What the driver calls an error.
pub fn name_of_error(code: u32) -> Option<String> {
    type Ask = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
    let function = address(c"cuGetErrorName")?;
    // SAFETY: the function's own signature, with the enumeration as the number that it is.
    let ask = unsafe { std::mem::transmute::<*mut c_void, Ask>(function) };
    let mut name = ptr::null();
    // SAFETY: writes the address of a constant, or nothing.
    if unsafe { ask(code, &mut name) } != 0 || name.is_null() {
        return None;
    }
    // SAFETY: the driver's constant.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// A function of the binding, whose type says what parameters the driver's has.
pub trait Binding {
    /// The driver's, which gives a number.
    type Function: Copy;

    /// The function that lies there.
    ///
    /// # Safety
    /// It is this one.
    unsafe fn at(address: *mut c_void) -> Self::Function;
}

macro_rules! bindings {
    ($([$($parameter:ident)*])*) => {
        $(impl<$($parameter),*> Binding for unsafe fn($($parameter),*) -> CUresult {
            type Function = unsafe extern "C" fn($($parameter),*) -> u32;

            unsafe fn at(address: *mut c_void) -> Self::Function {
                // SAFETY: as the caller vouches; `CUresult` is an enumeration of C, which is such a number.
                unsafe { std::mem::transmute::<*mut c_void, Self::Function>(address) }
            }
        })*
    };
}
bindings! {
    [] [A] [A B] [A B C] [A B C D] [A B C D E] [A B C D E F] [A B C D E F G] [A B C D E F G H] [A B C D E F G H I] [A B C D E F G H I J]
    [A B C D E F G H I J K]
}

/// The driver's function of this name, which is the binding's; `None`: it has none. `place` keeps it.
pub fn function<B: Binding>(_: B, name: &CStr, place: &AtomicPtr<c_void>) -> Option<B::Function> {
    let mut found = place.load(Ordering::Relaxed);
    if found.is_null() {
        found = address(name)?;
        place.store(found, Ordering::Relaxed);
    }
    // SAFETY: the function of that name, as the binding declares it.
    Some(unsafe { B::at(found) })
}
