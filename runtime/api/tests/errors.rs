//! Names and texts of errors are those of NVIDIA's library, where one is there.

use std::ffi::{CStr, c_char};

use gpurace_rt::host::errors::Error;

mod support;

#[test]
fn names_and_texts_are_those_of_libcudart() {
    let Some(toolkit) = support::toolkit() else {
        return;
    };
    let library =
        ["lib64", "lib"].iter().map(|dir| toolkit.join(dir).join("libcudart.so.12")).find(|p| p.is_file());
    let Some(library) = library else {
        eprintln!("skipped: no `libcudart.so.12` in `{}`", toolkit.display());
        return;
    };
    let path = std::ffi::CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: the library's constructors have no effect on this process.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null());
    let function = |name: &CStr| -> extern "C" fn(u32) -> *const c_char {
        // SAFETY: the functions of the CUDA Runtime API have this type.
        unsafe { std::mem::transmute(libc::dlsym(handle, name.as_ptr())) }
    };
    let (name, text) = (function(c"cudaGetErrorName"), function(c"cudaGetErrorString"));
    for code in 0..=10_001 {
        // SAFETY: both give C strings in static data.
        let (name, text) = unsafe { (CStr::from_ptr(name(code)), CStr::from_ptr(text(code))) };
        assert_eq!((Error(code).name(), Error(code).text()), (name, text), "code {code}");
    }
}
